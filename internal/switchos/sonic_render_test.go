package switchos

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// leaf has four ports in use, routed or not.
func leaf(routed bool) fabric.Switch {
	s := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, Model: "z9664f", OS: "sonic", MTU: 9000}
	at := netip.MustParseAddr("10.64.0.0")
	for i := range 4 {
		p := fabric.SwitchPort{
			Name: fmt.Sprintf("Ethernet%d", 4*i), RateGbps: 400,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("gpu%d", i/2+1), NIC: fmt.Sprintf("eth%d", i%2+1)},
		}
		if routed {
			p.Address = netip.PrefixFrom(at, 31)
			at = at.Next().Next()
		}
		s.Ports = append(s.Ports, p)
	}
	return s
}

func classes(ecn, watchdog bool) *fabric.Traffic {
	t := &fabric.Traffic{CableM: 5, Share: 50, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true},
	}}
	if ecn {
		t.Classes[1].ECN = &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}
	}
	if watchdog {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 200, RestoreMs: 400}
	}
	return t
}

// lossy has no PFC, so that the watchdog has nothing to watch, with other numbers in every field.
func lossy() *fabric.Traffic {
	return &fabric.Traffic{CableM: 40, Share: 80, Watchdog: &fabric.PFCWatchdog{DetectMs: 300, RestoreMs: 600}, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 46, Priority: 6},
		{Name: "roce", DSCP: 24, Priority: 4, ECN: &fabric.ECN{MinBytes: 3 << 20, MaxBytes: 6 << 20, Percent: 20}},
	}}
}

var sonicCases = []struct {
	name    string
	routed  bool
	traffic *fabric.Traffic
}{
	{"routed with all", true, classes(true, true)},
	{"routed with classes alone", true, classes(false, false)},
	{"routed and lossy", true, lossy()},
	{"bridged", false, classes(false, false)},
	{"no classes", true, nil},
}

// rails is a leaf with a VLAN for each of two rails, split cages and two uplinks.
func rails() fabric.Switch {
	s := leaf(false)
	s.VLANs = []fabric.VLAN{
		{ID: 101, Name: "rail1", Gateway: netip.MustParsePrefix("10.65.1.1/24"), Rail: 1},
		{ID: 102, Name: "rail2", Gateway: netip.MustParsePrefix("10.65.2.1/24"), Rail: 2},
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		p.Name, p.VLAN = fmt.Sprintf("Ethernet%d", i/2*4+i%2*2), 101+i%2
		p.Cage, p.Breakout, p.RateGbps = strconv.Itoa(i/2), 2, 200
	}
	return withUplinks(s)
}

// withUplinks adds a cable to each of two spines, and BGP.
func withUplinks(s fabric.Switch) fabric.Switch {
	s.BGP = &fabric.BGP{ASN: 4200000001, RouterID: netip.MustParseAddr("10.127.255.255")}
	for _, v := range s.VLANs {
		s.BGP.Networks = append(s.BGP.Networks, v.Gateway.Masked())
	}
	for _, p := range s.Ports {
		if p.Address.IsValid() {
			s.BGP.Networks = append(s.BGP.Networks, p.Address.Masked())
		}
	}
	for i := range 2 {
		address := netip.MustParsePrefix(fmt.Sprintf("10.127.255.%d/31", 255-2*i))
		s.Ports = append(s.Ports, fabric.SwitchPort{
			Name: fmt.Sprintf("Ethernet%d", 248+4*i), RateGbps: 400, Uplink: true, Address: address,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("spine%d", i+1), NIC: "Ethernet0"},
		})
		s.BGP.Neighbours = append(s.BGP.Neighbours, fabric.BGPNeighbour{Address: address.Addr().Prev(), ASN: 4200000000})
	}
	return s
}

// sonicSwitches are those of sonicCases and what only SONiC's tests have.
func sonicSwitches() map[string]sonicSwitch {
	all := map[string]sonicSwitch{
		"rails with spines":  {rails(), classes(true, true)},
		"routed with spines": {withUplinks(leaf(true)), classes(true, false)},
	}
	for _, c := range sonicCases {
		all[c.name] = sonicSwitch{leaf(c.routed), c.traffic}
	}
	return all
}

type sonicSwitch struct {
	of      fabric.Switch
	traffic *fabric.Traffic
}

func TestSONiCGolden(t *testing.T) {
	for name, c := range sonicSwitches() {
		t.Run(name, func(t *testing.T) {
			got := sonic{}.Render(c.of, c.traffic)
			if again := (sonic{}).Render(c.of, c.traffic); !bytes.Equal(got.Text, again.Text) {
				t.Error("two renders differ")
			}
			for ending, text := range map[string][]byte{".json": got.Text, ".omits": []byte(strings.Join(got.Omits, "\n") + "\n")} {
				file := filepath.Join("testdata", "sonic-"+strings.ReplaceAll(name, " ", "-")+ending)
				if *update {
					if err := os.WriteFile(file, text, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(string(want), string(text)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			}
		})
	}
}

// tablesOf parses rendered text as SONiC does: table, row, field.
func tablesOf(t *testing.T, s fabric.Switch, traffic *fabric.Traffic) map[string]configTable {
	t.Helper()
	var all map[string]configTable
	if err := json.Unmarshal(sonic{}.Render(s, traffic).Text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

type configTable map[string]map[string]string

// Other packets get the lowest priority that no class has, so that none of them is lossless by accident.
func TestOtherPacketsAreLossy(t *testing.T) {
	traffic := classes(false, false)
	traffic.Classes[1].Priority = 0
	tables := tablesOf(t, leaf(true), traffic)
	if got := tables["DSCP_TO_TC_MAP"][qosName]; got["26"] != "0" || got["0"] != "1" || got["48"] != "7" {
		t.Errorf("%v", got)
	}
	if got := tables["TC_TO_PRIORITY_GROUP_MAP"][qosName]; got["0"] != "0" || got["1"] != "1" || got["7"] != "1" {
		t.Errorf("%v", got)
	}
}

// The text is what the standard library writes for the same values, whatever the names contain.
func TestSONiCTextIsJSON(t *testing.T) {
	names := []string{"plain", "", `a"b\c`, "tab\t", "é\xff", "<&>", "\x7f"}
	var tables []table
	want := make(map[string]configTable)
	for _, name := range names {
		tables = append(tables, table{name, []row{{name, []field{{name, name}}}, {key: "none " + name}}})
		valid := strings.ToValidUTF8(name, "\ufffd")
		want[valid] = configTable{valid: {valid: valid}, "none " + valid: {}}
	}
	var got map[string]configTable
	if err := json.Unmarshal(sonicText(tables), &got); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := string(sonicText(nil)); text != "{}\n" {
		t.Errorf("no table is %q", text)
	}
}

func TestFind(t *testing.T) {
	for _, os := range all() {
		id, title := os.Names()
		if found, err := Find(id); err != nil || found != os || title == "" {
			t.Errorf("%s (%s): %v", id, title, err)
		}
		if os.Load("x.json") == "" {
			t.Errorf("%s: no command loads its file", id)
		}
	}
	if _, err := Find("no-os"); err == nil || !strings.HasPrefix(err.Error(), `switch OS "no-os": no configuration is rendered for it in this version; known: sonic, `) {
		t.Error(err)
	}
}

// yangFolder contains SONiC's own YANG models.
const yangFolder = "../../../shared/data/sonic-yang"

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
	for name, c := range sonicSwitches() {
		t.Run(name, func(t *testing.T) {
			if out, err := yanglint(t, tables(t, c)); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for _, c := range sonicMistakes {
		t.Run("bad/"+c.name, func(t *testing.T) {
			all := tables(t, sonicSwitch{rails(), classes(true, true)})
			c.spoil(all)
			if out, err := yanglint(t, all); err == nil {
				t.Errorf("it was accepted\n%s", out)
			}
		})
	}
}

// sonicMistakes are single changes of a right configuration.
var sonicMistakes = []struct {
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
	{"DSCP 64", func(m map[string]configTable) { m["DSCP_TO_TC_MAP"][qosName]["64"] = "0" }},
	{"traffic class 16", func(m map[string]configTable) { m["DSCP_TO_TC_MAP"][qosName]["26"] = "16" }},
	{"priority group 8", func(m map[string]configTable) { m["TC_TO_PRIORITY_GROUP_MAP"][qosName]["3"] = "8" }},
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
	{"neighbour that is no address", func(m map[string]configTable) { m["BGP_NEIGHBOR"]["spine1"] = map[string]string{"asn": "1"} }},
}

// An MTU that CONFIG_DB refuses is left out and listed.
func TestSONiCMTU(t *testing.T) {
	for _, c := range []struct {
		name string
		mtu  int
		want bool
	}{{"largest", 9216, true}, {"too large", 9217, false}} {
		t.Run(c.name, func(t *testing.T) {
			s := leaf(true)
			s.MTU = c.mtu
			got := sonic{}.Render(s, nil)
			if written := bytes.Contains(got.Text, []byte(`"mtu"`)); written != c.want || strings.Contains(strings.Join(got.Omits, "\n"), "PORT mtu") == c.want {
				t.Errorf("mtu written %t, omits %q", written, got.Omits)
			}
		})
	}
}
