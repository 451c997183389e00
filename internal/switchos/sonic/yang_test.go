package sonic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/host"

	"railwright.dev/railwright/internal/switchos/switchtext"
)

// yangFolder contains SONiC's own YANG models.
const yangFolder = "../../../../shared/data/sonic-yang"

// yangTable is the place of a table of CONFIG_DB in SONiC's YANG models.
type yangTable struct {
	table, module string
	list          string   // of rows, where it is not the table's name with _LIST
	keys          []string // of a row; a second list takes rows with one key more
	more          string   // that list, with its further key
	inner         []string // key and value of the list within a row
}

var yangTables = []yangTable{
	{table: "PORT", module: "sonic-port", keys: []string{"name"}},
	{table: "INTERFACE", module: "sonic-interface", keys: []string{"name"}, more: "INTERFACE_IPPREFIX_LIST ip-prefix"},
	{table: "PORT_QOS_MAP", module: "sonic-port-qos-map", keys: []string{"ifname"}},
	{table: "PFC_WD", module: "sonic-pfcwd", keys: []string{"ifname"}},
	{table: "QUEUE", module: "sonic-queue", keys: []string{"ifname", "qindex"}},
	{table: "SCHEDULER", module: "sonic-scheduler", keys: []string{"name"}},
	{table: "WRED_PROFILE", module: "sonic-wred-profile", keys: []string{"name"}},
	{table: "CABLE_LENGTH", module: "sonic-cable-length", keys: []string{"name"}, inner: []string{"port", "length"}},
	{table: "DSCP_TO_TC_MAP", module: "sonic-dscp-tc-map", keys: []string{"name"}, inner: []string{"dscp", "tc"}},
	{table: "TC_TO_QUEUE_MAP", module: "sonic-tc-queue-map", keys: []string{"name"}, inner: []string{"tc", "qindex"}},
	{table: "TC_TO_PRIORITY_GROUP_MAP", module: "sonic-tc-priority-group-map", keys: []string{"name"}, inner: []string{"tc", "pg"}},
	{table: "MAP_PFC_PRIORITY_TO_QUEUE", module: "sonic-pfc-priority-queue-map", keys: []string{"name"}, inner: []string{"pfc_priority", "qindex"}},
	{table: "DEVICE_METADATA", module: "sonic-device_metadata"},
	{table: "BREAKOUT_CFG", module: "sonic-breakout_cfg", keys: []string{"port"}},
	{table: "VLAN", module: "sonic-vlan", keys: []string{"name"}},
	{table: "VLAN_MEMBER", module: "sonic-vlan", keys: []string{"name", "port"}},
	{table: "VLAN_INTERFACE", module: "sonic-vlan", keys: []string{"name"}, more: "VLAN_INTERFACE_IPPREFIX_LIST ip-prefix"},
	{table: "BGP_NEIGHBOR", module: "sonic-bgp-neighbor", list: "BGP_NEIGHBOR_TEMPLATE_LIST", keys: []string{"neighbor"}},
	{table: "DEVICE_NEIGHBOR_METADATA", module: "sonic-device_neighbor_metadata", keys: []string{"name"}},
}

// yangXML writes CONFIG_DB as the data of SONiC's YANG models: libyang takes strings in XML only.
func yangXML(t *testing.T, tables map[string]configTable) []byte {
	t.Helper()
	modules := make(map[string]*bytes.Buffer) // a module has all of its tables in one element
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		i := slices.IndexFunc(yangTables, func(y yangTable) bool { return y.table == name })
		if i < 0 {
			t.Fatalf("table %s has no place in the YANG models: add it to the list", name)
		}
		y := yangTables[i]
		if modules[y.module] == nil {
			modules[y.module] = new(bytes.Buffer)
		}
		b := modules[y.module]
		fmt.Fprintf(b, "<%s>", name)
		for _, key := range slices.Sorted(maps.Keys(tables[name])) {
			yangRow(b, y, key, tables[name][key])
		}
		fmt.Fprintf(b, "</%s>", name)
	}
	var b bytes.Buffer
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		model, err := os.ReadFile(filepath.Join(yangFolder, module+".yang"))
		if err != nil {
			t.Fatal(err)
		}
		namespace := regexp.MustCompile(`(?m)^\s*namespace\s+"([^"]+)"`).FindSubmatch(model)[1]
		fmt.Fprintf(&b, "<%s xmlns=%q>%s</%s>\n", module, namespace, modules[module], module)
	}
	return b.Bytes()
}

func yangRow(b *bytes.Buffer, y yangTable, key string, fields map[string]string) {
	list, keys, values := cmp.Or(y.list, y.table+"_LIST"), y.keys, strings.Split(key, "|")
	if y.keys == nil {
		list, values = key, nil // a container, such as localhost
	}
	if len(values) > len(keys) {
		further := strings.Fields(y.more)
		list, keys = further[0], append(slices.Clone(keys), further[1])
	}
	fmt.Fprintf(b, "<%s>", list)
	for i, value := range values {
		leafXML(b, keys[i], value)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if y.inner == nil {
			leafXML(b, field, fields[field])
			continue
		}
		fmt.Fprintf(b, "<%s>", y.table)
		leafXML(b, y.inner[0], field)
		leafXML(b, y.inner[1], fields[field])
		fmt.Fprintf(b, "</%s>", y.table)
	}
	fmt.Fprintf(b, "</%s>", list)
}

func leafXML(b *bytes.Buffer, name, value string) {
	fmt.Fprintf(b, "<%s>", name)
	if err := xml.EscapeText(b, []byte(value)); err != nil {
		panic(err) // a buffer takes everything
	}
	fmt.Fprintf(b, "</%s>", name)
}

// yanglint validates CONFIG_DB against the models.
func yanglint(t *testing.T, tables map[string]configTable) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.xml")
	if err := os.WriteFile(file, yangXML(t, tables), 0o644); err != nil {
		t.Fatal(err)
	}
	argv := []string{"yanglint", "-p", yangFolder, "-t", "config"}
	modules := []string{"sonic-device_metadata", "sonic-portchannel", "sonic-mirror-session", "sonic-static-anycast-gateway"} // that conditions look into
	for _, y := range yangTables {
		modules = append(modules, y.module)
	}
	seen := make(map[string]bool)
	for _, m := range modules {
		if !seen[m] {
			argv = append(argv, filepath.Join(yangFolder, m+".yang"))
		}
		seen[m] = true
	}
	out, err := host.Output(context.Background(), host.Local{}, host.Command{Argv: append(argv, file)})
	return string(out), err
}

// SONiC's own models accept the rendered tables together with the switch's own, and reject each of some
// mistakes, which shows that the exit status means something.
func TestSONiCYANG(t *testing.T) {
	if _, err := exec.LookPath("yanglint"); err != nil {
		t.Skip("yanglint is not installed (package libyang2-tools): the verdict of SONiC's YANG models is missing")
	}
	if _, err := os.Stat(yangFolder); err != nil {
		t.Skipf("SONiC's YANG models are not beside the checkout (%s): their verdict is missing", yangFolder)
	}
	tables := func(t *testing.T, s sonicSwitch) map[string]configTable {
		all := tablesOf(t, s.of, s.traffic)
		for i, p := range s.of.Ports { // the switch's own, to which the file is added
			all["PORT"][p.Name]["lanes"] = fmt.Sprintf("%d,%d", 8*i+1, 8*i+2)
		}
		return all
	}
	for name, c := range switches() {
		t.Run(name, func(t *testing.T) {
			if out, err := yanglint(t, tables(t, c)); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for _, c := range mistakes {
		t.Run("bad/"+c.name, func(t *testing.T) {
			all := tables(t, sonicSwitch{rails(), classes(true, true)})
			c.spoil(all)
			if out, err := yanglint(t, all); err == nil {
				t.Errorf("it was accepted\n%s", out)
			}
		})
	}
}

// mistakes are single changes of a right configuration.
var mistakes = []struct {
	name  string
	spoil func(map[string]configTable)
}{
	{"mtu out of range", func(m map[string]configTable) { m["PORT"]["Ethernet0"]["mtu"] = "99999" }},
	{"no such FEC", func(m map[string]configTable) { m["PORT"]["Ethernet0"]["fec"] = "rs544" }},
	{"speed in words", func(m map[string]configTable) { m["PORT"]["Ethernet0"]["speed"] = "200G" }},
	{"neither up nor down", func(m map[string]configTable) { m["PORT"]["Ethernet0"]["admin_status"] = "on" }},
	{"no such field", func(m map[string]configTable) { m["PORT"]["Ethernet0"]["breakout"] = "2" }},
	{"PFC on a ninth priority", func(m map[string]configTable) { m["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "9" }},
	{"watchdog on a range", func(m map[string]configTable) { m["PORT_QOS_MAP"]["Ethernet0"]["pfcwd_sw_enable"] = "3-4" }},
	{"map that does not exist", func(m map[string]configTable) { m["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"] = "NONE" }},
	{"maps of a port that does not exist", func(m map[string]configTable) { m["PORT_QOS_MAP"]["Ethernet99"] = nil }},
	{"DSCP 64", func(m map[string]configTable) { m["DSCP_TO_TC_MAP"][switchtext.QoSName]["64"] = "0" }},
	{"traffic class 16", func(m map[string]configTable) { m["DSCP_TO_TC_MAP"][switchtext.QoSName]["26"] = "16" }},
	{"priority group 8", func(m map[string]configTable) { m["TC_TO_PRIORITY_GROUP_MAP"][switchtext.QoSName]["3"] = "8" }},
	{"ECN word", func(m map[string]configTable) { m["WRED_PROFILE"]["RAILWRIGHT_roce"]["ecn"] = "ecn_grene" }},
	{"thresholds crossed", func(m map[string]configTable) { m["WRED_PROFILE"]["RAILWRIGHT_roce"]["green_max_threshold"] = "1" }},
	{"probability above 100", func(m map[string]configTable) { m["WRED_PROFILE"]["RAILWRIGHT_roce"]["green_drop_probability"] = "101" }},
	{"profile that does not exist", func(m map[string]configTable) { m["QUEUE"]["Ethernet0|3"]["wred_profile"] = "RAILWRIGHT_roc" }},
	{"scheduler that does not exist", func(m map[string]configTable) { m["QUEUE"]["Ethernet0|3"]["scheduler"] = "x" }},
	{"no such scheduling", func(m map[string]configTable) { m["SCHEDULER"]["RAILWRIGHT_roce"]["type"] = "SP" }},
	{"weight 0", func(m map[string]configTable) { m["SCHEDULER"]["RAILWRIGHT_roce"]["weight"] = "0" }},
	{"watchdog too quick", func(m map[string]configTable) { m["PFC_WD"]["Ethernet0"]["detection_time"] = "99" }},
	{"no such watchdog action", func(m map[string]configTable) { m["PFC_WD"]["Ethernet0"]["action"] = "dorp" }},
	{"cable without a unit", func(m map[string]configTable) { m["CABLE_LENGTH"]["AZURE"]["Ethernet0"] = "5" }},
	{"address on no port", func(m map[string]configTable) { m["INTERFACE"]["Ethernet99|10.0.0.0/31"] = nil }},
	{"address without its interface", func(m map[string]configTable) { delete(m["INTERFACE"], "Ethernet248") }},
	{"VLAN 1", func(m map[string]configTable) { m["VLAN"]["Vlan1"] = map[string]string{"vlanid": "1"} }},
	{"VLAN of another number", func(m map[string]configTable) { m["VLAN"]["Vlan101"]["vlanid"] = "102" }},
	{"member of no VLAN", func(m map[string]configTable) {
		m["VLAN_MEMBER"]["Vlan103|Ethernet248"] = map[string]string{"tagging_mode": "untagged"}
	}},
	{"port without a tag in two VLANs", func(m map[string]configTable) {
		m["VLAN_MEMBER"]["Vlan102|Ethernet0"] = map[string]string{"tagging_mode": "untagged"}
	}},
	{"routed port in a VLAN", func(m map[string]configTable) {
		m["VLAN_MEMBER"]["Vlan102|Ethernet248"] = map[string]string{"tagging_mode": "untagged"}
	}},
	{"address of no VLAN", func(m map[string]configTable) { m["VLAN_INTERFACE"]["Vlan103"] = nil }},
	{"router id that is none", func(m map[string]configTable) { m["DEVICE_METADATA"]["localhost"]["bgp_router_id"] = "leaf1" }},
	{"neighbour without a number", func(m map[string]configTable) { m["BGP_NEIGHBOR"]["10.127.255.254"]["asn"] = "0" }},
	{"neighbour that is not an address", func(m map[string]configTable) { m["BGP_NEIGHBOR"]["spine1"] = map[string]string{"asn": "1"} }},
}
