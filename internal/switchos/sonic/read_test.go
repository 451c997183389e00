package sonic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

func readSONiC(texts ...string) *fabric.SwitchConfig {
	var all []switchtext.Text
	for i, text := range texts {
		all = append(all, switchtext.Text{File: fmt.Sprintf("%d.txt", i+1), Bytes: []byte(text)})
	}
	return OS{}.Read("leaf1", all)
}

func kinds(c *fabric.SwitchConfig) (out []string) {
	for _, p := range c.Problems {
		out = append(out, fmt.Sprintf("%s %s:%d", p.Kind, p.Port, p.At.Number))
	}
	return out
}

// smallSONiC is a switch of two ports, a line a row.
const smallSONiC = `{
"DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "hwsku": "x", "bgp_asn": "65001"}},
"PORT": {
"Ethernet0": {"lanes": "1,2", "speed": "400000", "mtu": "9100", "admin_status": "up", "fec": "rs", "index": "1"},
"Ethernet4": {"lanes": "3,4", "speed": "400000", "admin_status": "up", "index": "1"}},
"DSCP_TO_TC_MAP": {"M": {"0": "0",
"26": "3"}},
"TC_TO_QUEUE_MAP": {"M": {"0": "0", "3": "3"}},
"TC_TO_PRIORITY_GROUP_MAP": {"M": {"0": "0", "3": "3"}},
"MAP_PFC_PRIORITY_TO_QUEUE": {"M": {"3": "3"}},
"PORT_QOS_MAP": {
"Ethernet0": {"dscp_to_tc_map": "M", "tc_to_queue_map": "M", "tc_to_pg_map": "M", "pfc_to_queue_map": "M", "pfc_enable": "3", "pfcwd_sw_enable": "3"},
"Ethernet4": {"dscp_to_tc_map": "M", "tc_to_queue_map": "M", "tc_to_pg_map": "M", "pfc_to_queue_map": "M", "pfc_enable": "3", "pfcwd_sw_enable": "3"}},
"PFC_WD": {
"Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "400"},
"Ethernet4": {"detection_time": "200"}},
"SCHEDULER": {"S": {"type": "DWRR", "weight": "50"}},
"WRED_PROFILE": {"W": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1000", "green_max_threshold": "2000", "green_drop_probability": "5"}},
"QUEUE": {
"Ethernet0|3": {"scheduler": "S", "wred_profile": "W"},
"Ethernet4|3": {"scheduler": "S", "wred_profile": "W"}}
}
`

func TestSONiCReadsSmall(t *testing.T) {
	c := readSONiC(smallSONiC)
	if got := kinds(c); got != nil || len(c.Unread) > 0 || !c.Texts[0].Whole {
		t.Fatalf("%v, unread %v, %+v", got, c.Unread, c.Texts)
	}
	p := c.Ports[1]
	roce := p.DSCP[26]
	for _, f := range []struct {
		name string
		at   fabric.Line
		want int
	}{
		{"class", roce.Class.At, 7}, {"queue", roce.Queue.At, 8}, {"pause", roce.Pause.At, 9}, {"stops", p.Stops[3].At, 10},
		{"PFC", p.PFC.At, 13}, {"no pause stops queue 1", p.Stops[1].At, 13}, {"default MTU", p.MTU.At, 0}, {"MTU", c.Ports[0].MTU.At, 4},
		{"breakout", p.Breakout.At, 5}, {"watchdog", p.Watchdog.On.At, 16}, {"default action", p.Watchdog.Action.At, 0},
		{"weight", p.Queues[3].Weight.At, 17}, {"ECN", p.Queues[3].Marks.ECN.At, 18}, {"no ECN", p.Queues[0].Marks.ECN.At, 0},
	} {
		if f.at.Number != f.want || f.want > 0 && (f.at.File != "1.txt" || f.at.Text == "") || f.want == 0 && !strings.HasPrefix(f.at.Text, "default: ") {
			t.Errorf("%s: %+v, not line %d", f.name, f.at, f.want)
		}
	}
	if roce.Pause.Is != 3 || p.DSCP[0].Pause.Is != -1 || p.DSCP[1].Class != nil || p.Breakout.Is != 2 || p.VLAN.Is != 0 || p.DSCP != c.Ports[0].DSCP {
		t.Errorf("%+v", p)
	}
}

// Forms of the same switch read as the same switch.
func TestSONiCForms(t *testing.T) {
	want := facts(readSONiC(smallSONiC))
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(smallSONiC)); err != nil {
		t.Fatal(err)
	}
	numbers := strings.NewReplacer(`"9100"`, `9100`, `"3": "3"`, `"3": 3`, `"400000"`, `400000`).Replace(smallSONiC)
	oldForm := strings.NewReplacer(`_map": "M"`, `_map": "[ANY_TABLE|M]"`, `"scheduler": "S"`, `"scheduler": "[SCHEDULER|S]"`).Replace(smallSONiC)
	lists := strings.NewReplacer("\"Ethernet0|3\": {\"scheduler\": \"S\", \"wred_profile\": \"W\"},\n", "", `"Ethernet4|3": {`, `"Ethernet0,Ethernet4|3-3": {`).Replace(smallSONiC)
	var dump []string
	var tables map[string]map[string]map[string]string
	if err := json.Unmarshal([]byte(smallSONiC), &tables); err != nil {
		t.Fatal(err)
	}
	for table, rows := range tables {
		for key, fields := range rows {
			value, _ := json.Marshal(fields)
			dump = append(dump, fmt.Sprintf(`%q: {"expireat": 1.5, "ttl": -0.001, "type": "hash", "value": %s}`, table+"|"+key, value))
		}
	}
	slices.Sort(dump)
	for name, text := range map[string]string{
		"compact":   compact.String(),
		"numbers":   numbers,
		"old":       oldForm,
		"lists":     lists,
		"Windows":   "\ufeff" + strings.ReplaceAll(smallSONiC, "\n", "\r\n"),
		"prompts":   "admin@leaf1:~$ show runningconfiguration all\n" + smallSONiC + "admin@leaf1:~$ \n",
		"asics":     `{"localhost": ` + smallSONiC + `, "asic0": {"DEVICE_METADATA": {"localhost": {"hostname": "other"}}, "FEATURE": {}}}`,
		"fragments": strings.TrimSuffix(strings.TrimPrefix(smallSONiC, "{\n"), "\n}\n") + ",\nadmin@leaf1:~$ exit\n",
	} {
		t.Run(name, func(t *testing.T) {
			if !(OS{}).Recognizes([]byte(text)) {
				t.Error("it is not recognized")
			}
			c := readSONiC(text)
			if len(c.Unread) > 0 {
				t.Errorf("unread: %v", c.Unread)
			}
			got := facts(c)
			if name == "asics" { // its tables stand one deeper: it is not known to be whole
				got, want := without(got, "vlan ", "index"), without(want, "vlan ", "index")
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if diff := gocmp.Diff(len(want), len(facts(readSONiC("{"+strings.Join(dump, ",\n")+"}")))); diff != "" {
		t.Errorf("a dump has other facts (-want +got):\n%s", diff)
	}
}

func without(facts []string, words ...string) (out []string) {
	for _, f := range facts {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(f, w) }) {
			out = append(out, f)
		}
	}
	return out
}

// One change of a line each, and what is to be told of it.
func TestSONiCProblems(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"undefined map", `"Ethernet4": {"dscp_to_tc_map": "M"`, `"Ethernet4": {"dscp_to_tc_map": "N"`, []string{"undefined Ethernet4:13"}},
		{"undefined scheduler", `"Ethernet4|3": {"scheduler": "S"`, `"Ethernet4|3": {"scheduler": "T"`, []string{"undefined Ethernet4:21"}},
		{"undefined profile", `"Ethernet4|3": {"scheduler": "S", "wred_profile": "W"`, `"Ethernet4|3": {"scheduler": "S", "wred_profile": "V"`, []string{"undefined Ethernet4:21"}},
		{"port without a row", `"Ethernet4|3"`, `"Ethernet44|3"`, []string{"undefined Ethernet44:21"}},
		{"priority 8", `"pfc_to_queue_map": "M", "pfc_enable": "3", "pfcwd_sw_enable": "3"},`, `"pfc_to_queue_map": "M", "pfc_enable": "8", "pfcwd_sw_enable": "3"},`, []string{"range Ethernet0:12", "conflict Ethernet0:12"}},
		{"watchdog of others", `"pfcwd_sw_enable": "3"}}`, `"pfcwd_sw_enable": "4"}}`, []string{"conflict Ethernet4:13"}},
		{"DSCP 64", `"26": "3"`, `"64": "3"`, []string{"range :7"}},
		{"class 8", `"26": "3"`, `"26": "8"`, []string{"range :7"}},
		{"class in words", `"26": "3"`, `"26": "three"`, []string{"range :7"}},
		{"crossed", `"green_max_threshold": "2000"`, `"green_max_threshold": "999"`, []string{"range :18"}},
		{"probability", `"green_drop_probability": "5"`, `"green_drop_probability": "105"`, []string{"range :18"}},
		{"ECN word", `"ecn": "ecn_all"`, `"ecn": "ecn_alll"`, []string{"foreign :18"}},
		{"green is off", `"wred_green_enable": "true"`, `"wred_green_enable": "false"`, []string{"conflict :18"}},
		{"no such scheduling", `"DWRR"`, `"SP"`, []string{"foreign :17"}},
		{"weight", `"weight": "50"`, `"weight": "0"`, []string{"range :17"}},
		{"field twice", `"mtu": "9100"`, `"mtu": "9100", "mtu": "1500"`, []string{"duplicate :4"}},
		{"row twice", `"SCHEDULER": {`, `"SCHEDULER": {"S": {"type": "STRICT"}, `, []string{"duplicate :17"}},
		{"table twice", `"SCHEDULER":`, `"SCHEDULER": {"T": {}}, "SCHEDULER":`, []string{"duplicate :17"}},
		{"queue that is none", `"Ethernet4|3": {`, `"Ethernet4|x": {`, []string{"range :21"}},
		{"range backwards", `"Ethernet4|3": {`, `"Ethernet4|4-3": {`, []string{"range :21"}},
		{"two rows for a queue", `"Ethernet4|3": {`, `"Ethernet4|3-4": {"scheduler": "U"}, "Ethernet4|3": {`, []string{"conflict Ethernet4:21", "undefined Ethernet4:21"}},
		{"unused map", `"DSCP_TO_TC_MAP": {`, `"DSCP_TO_TC_MAP": {"N": {"0": "0"}, `, []string{"unattached :6"}},
		{"unused profile", `"WRED_PROFILE": {`, `"WRED_PROFILE": {"V": {"ecn": "ecn_none"}, `, []string{"unattached :18"}},
		{"watchdog too quick", `"detection_time": "200"}}`, `"detection_time": "20"}}`, []string{"range Ethernet4:16"}},
		{"watchdog without time", `{"detection_time": "200"}`, `{"action": "drop"}`, []string{"inert Ethernet4:16"}},
		{"watchdog's action", `"action": "drop"`, `"action": "dorp"`, []string{"foreign Ethernet0:15"}},
		{"watchdog looks seldom", `"PFC_WD": {`, `"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "300"}, `, []string{"conflict Ethernet0:15", "conflict Ethernet4:16"}},
		{"MTU", `"mtu": "9100"`, `"mtu": "9999"`, []string{"range Ethernet0:4"}},
		{"up", `"admin_status": "up", "fec"`, `"admin_status": "yes", "fec"`, []string{"foreign Ethernet0:4"}},
		{"row that is none", `"SCHEDULER": {`, `"SCHEDULER": {"T": "DWRR", `, []string{"foreign :17"}},
		{"VLAN twice", `"SCHEDULER":`, `"VLAN": {"Vlan10": {"vlanid": "10"}, "Vlan10": {"vlanid": "10"}}, "SCHEDULER":`, []string{"duplicate :17"}},
		{"VLAN of another number", `"SCHEDULER":`, `"VLAN": {"Vlan10": {"vlanid": "11"}}, "SCHEDULER":`, []string{"conflict :17"}},
		{"VLAN 4095", `"SCHEDULER":`, `"VLAN": {"Vlan4095": {"vlanid": "4095"}}, "SCHEDULER":`, []string{"range :17"}},
		{"member of no VLAN", `"SCHEDULER":`, `"VLAN_MEMBER": {"Vlan9|Ethernet0": {"tagging_mode": "untagged"}}, "SCHEDULER":`, []string{"undefined Ethernet0:17"}},
		{"two VLANs", `"SCHEDULER":`, `"VLAN": {"Vlan8": {}, "Vlan9": {}}, "VLAN_MEMBER": {"Vlan8|Ethernet0": {"tagging_mode": "untagged"}, "Vlan9|Ethernet0": {"tagging_mode": "untagged"}}, "SCHEDULER":`, []string{"conflict Ethernet0:17"}},
		{"routed in a VLAN", `"SCHEDULER":`, `"VLAN": {"Vlan8": {}}, "VLAN_MEMBER": {"Vlan8|Ethernet0": {"tagging_mode": "untagged"}}, "INTERFACE": {"Ethernet0": {}}, "SCHEDULER":`, []string{"conflict Ethernet0:17"}},
		{"no address", `"SCHEDULER":`, `"INTERFACE": {"Ethernet0|10.0.0.300/31": {}}, "SCHEDULER":`, []string{"range Ethernet0:17"}},
		{"buffer profile", `"SCHEDULER":`, `"BUFFER_PG": {"Ethernet0|0": {"profile": "x"}}, "SCHEDULER":`, []string{"undefined :17"}},
		{"queue without a number", `"Ethernet4|3": {`, `"Ethernet4": {`, []string{"range :21"}},
		{"queue of the lossy pool", `"SCHEDULER":`, `"BUFFER_POOL": {"egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9"}}, "BUFFER_PROFILE": {"egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "0"}}, "BUFFER_QUEUE": {"Ethernet0|0-2": {"profile": "egress_lossy_profile"}, "Ethernet4|2-3": {"profile": "egress_lossy_profile"}}, "SCHEDULER":`, []string{"conflict Ethernet4:17"}},
		{"address twice", `"SCHEDULER":`, `"INTERFACE": {"Ethernet0|10.0.0.0/31": {}, "Ethernet4|10.0.0.0/31": {}}, "SCHEDULER":`, []string{"conflict Ethernet4:17"}},
		{"cable that nobody measured", `"SCHEDULER":`, `"CABLE_LENGTH": {"AZURE": {"Ethernet0": "None"}}, "SCHEDULER":`, nil},
		{"no cable", `"SCHEDULER":`, `"CABLE_LENGTH": {"AZURE": {"Ethernet0": "0m", "Ethernet4": "5m"}}, "SCHEDULER":`, []string{"conflict Ethernet0:17"}},
		{"cable in feet", `"SCHEDULER":`, `"CABLE_LENGTH": {"AZURE": {"Ethernet0": "5ft"}}, "SCHEDULER":`, []string{"range Ethernet0:17"}},
		{"breakout", `"SCHEDULER":`, `"BREAKOUT_CFG": {"Ethernet0": {"brkout_mode": "two"}}, "SCHEDULER":`, []string{"foreign Ethernet0:17"}},
		{"control", `"weight": "50"`, `"weight":   "50"`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(smallSONiC, c.old, c.new, 1)
			if text == smallSONiC {
				t.Fatal("the case changes nothing")
			}
			got := kinds(readSONiC(text))
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Changes that are no mistakes of the text, and the facts that differ by them.
func TestSONiCChanges(t *testing.T) {
	base := facts(readSONiC(smallSONiC))
	for _, c := range []struct {
		name, old, new string
		want           []string // beginnings of facts that are new
	}{
		{"ECN off drops", `"ecn": "ecn_all"`, `"ecn": "ecn_none"`, []string{`Ethernet0 queue 3 weighted 50 "W" ecn false drops true`, `Ethernet4 queue 3 weighted 50 "W" ecn false drops true`}},
		{"ECN of others", `"ecn": "ecn_all"`, `"ecn": "ecn_yellow_red"`, []string{`Ethernet0 queue 3 weighted 50 "W" ecn false drops true`, `Ethernet4 queue 3 weighted 50 "W" ecn false drops true`}},
		{"asymmetric", `"fec": "rs"`, `"fec": "rs", "pfc_asym": "on"`, []string{
			"Ethernet0 a pause of 0 stops unknown", "Ethernet0 a pause of 1 stops unknown", "Ethernet0 a pause of 2 stops unknown", "Ethernet0 a pause of 4 stops unknown",
			"Ethernet0 a pause of 5 stops unknown", "Ethernet0 a pause of 6 stops unknown", "Ethernet0 a pause of 7 stops unknown"}},
		{"group of PFC by a map", `"pfc_to_queue_map": "M", "pfc_enable": "3", "pfcwd_sw_enable": "3"}}`, `"pfc_to_pg_map": "P", "pfc_to_queue_map": "M", "pfc_enable": "3", "pfcwd_sw_enable": "3"}}, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"P": {"3": "4"}}`,
			[]string{"Ethernet4 DSCP 26 class 3 queue 3 pause -1"}},
		{"lossy group", `"SCHEDULER":`, `"BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "1000", "xoff": "300"}}, "BUFFER_PROFILE": {"ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"}}, "BUFFER_PG": {"Ethernet4|3-4": {"profile": "ingress_lossy_profile"}}, "SCHEDULER":`,
			[]string{"Ethernet4 DSCP 26 class 3 queue 3 pause -1"}},
		{"group that the daemon makes", `"SCHEDULER":`, `"BUFFER_PG": {"Ethernet4|3-4": {"profile": "NULL"}}, "SCHEDULER":`, nil},
		{"rewrite", `"pfc_to_queue_map": "M", "pfc_enable": "3", "pfcwd_sw_enable": "3"}}`, `"tc_to_dscp_map": "D", "pfc_to_queue_map": "M", "pfc_enable": "3", "pfcwd_sw_enable": "3"}}, "TC_TO_DSCP_MAP": {"D": {"3": "26"}}`,
			[]string{"Ethernet4 rewrites 3 to 26"}},
		{"the switch's own map", `"Ethernet4": {"dscp_to_tc_map": "M", `, `"global": {"dscp_to_tc_map": "M"}, "Ethernet4": {`, nil},
		{"VLAN of a group", `"SCHEDULER":`, `"VLAN": {"Vlan8": {"vlanid": "8"}}, "PORTCHANNEL": {"PortChannel1": {}}, "PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet4": {}}, "VLAN_MEMBER": {"Vlan8|PortChannel1": {"tagging_mode": "untagged"}}, "SCHEDULER":`,
			[]string{"Ethernet4 up true mtu 9100 rate 400 fec unknown breakout 2 vlan 8", "VLAN 8 "}},
		{"no row", `"Ethernet4|3": {"scheduler": "S", "wred_profile": "W"}`, `"Ethernet4|2": {"scheduler": "S"}`, []string{`Ethernet4 queue 2 weighted 50 "" ecn false`, `Ethernet4 queue 3 unknown unknown "" ecn false`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(smallSONiC, c.old, c.new, 1)
			config := readSONiC(text)
			if text == smallSONiC || len(config.Problems)+len(config.Unread) > 0 {
				t.Fatalf("problems %v, unread %v", config.Problems, config.Unread)
			}
			var fresh []string
			for _, f := range facts(config) {
				if !slices.Contains(base, f) {
					fresh = append(fresh, f)
				}
			}
			ok := len(fresh) == len(c.want)
			for i := range fresh {
				ok = ok && strings.HasPrefix(fresh[i], c.want[i])
			}
			if !ok {
				t.Errorf("new are %q, not %q", fresh, c.want)
			}
		})
	}
}

// Every cut of a text is told and gives no port; so does a text that is nearly JSON.
func TestSONiCCut(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSpace(smallSONiC), "\n")
	for i := 1; i < len(lines); i++ {
		c := readSONiC(strings.Join(lines[:i], ""))
		if len(c.Ports) > 0 || !slices.Equal(kinds(c), []string{fmt.Sprintf("cut :%d", i)}) {
			t.Errorf("after line %d: %d ports, %v", i, len(c.Ports), kinds(c))
		}
	}
	for i := 1; i < len(lines); i++ {
		if c := readSONiC(strings.Join(lines[i:], "")); len(c.Ports) > 0 || len(c.Problems) != 1 || c.Problems[0].Kind != fabric.TextCut {
			t.Errorf("from line %d: %d ports, %v", i+1, len(c.Ports), c.Problems)
		}
	}
	for name, text := range map[string]string{
		"trailing comma": strings.Replace(smallSONiC, `"index": "1"}},`, `"index": "1"},},`, 1),
		"missing comma":  strings.Replace(smallSONiC, "}},\n", "}}\n", 1),
		"comment":        strings.Replace(smallSONiC, `"PORT":`, "// ports\n\"PORT\":", 1),
		"template":       strings.Replace(smallSONiC, `"PORT": {`, `"PORT": {{% for p in PORTS %}`, 1),
		"single quotes":  strings.Replace(smallSONiC, `"DWRR"`, `'DWRR'`, 1),
		"brace inside":   strings.Replace(smallSONiC, `"PFC_WD"`, "},\n\"PFC_WD\"", 1),
	} {
		if c := readSONiC(text); name != "brace inside" && (len(c.Ports) > 0 || len(c.Problems) != 1 || c.Problems[0].Kind != fabric.TextForeign) {
			t.Errorf("%s: %d ports, %v", name, len(c.Ports), c.Problems)
		} else if name == "brace inside" && len(c.Problems)+len(c.Unread) == 0 {
			t.Errorf("%s: nothing is told", name)
		}
	}
}

// What nobody knows is told once; what has no bearing is not.
func TestSONiCUnread(t *testing.T) {
	text := strings.Replace(smallSONiC, `"SCHEDULER": {"S": {`, `"FEATURE": {"snmp": {"state": "enabled"}},
"MY_TABLE": {"a": {}},
"SCHEDULER": {"S": {"pir": "1000", `, 1)
	c := readSONiC(text)
	var got []int
	for _, l := range c.Unread {
		got = append(got, l.Number)
	}
	if diff := gocmp.Diff([]int{18, 19}, got); diff != "" || len(c.Problems) > 0 {
		t.Errorf("%v %v", c.Unread, c.Problems)
	}
}

func TestSONiCRecognizes(t *testing.T) {
	for text, want := range map[string]bool{
		smallSONiC: true, "": false, "{}": false, "interface Ethernet1\n mtu 9214\n": false,
		`{"openconfig-interfaces:interfaces": {"interface": []}}`: false, `{"port": {"a": 1}}`: false,
		"set interfaces et-0/0/0 mtu 9192\n": false, "qos map dscp 26 to traffic-class 3\n": false,
	} {
		if got := (OS{}).Recognizes([]byte(text)); got != want {
			t.Errorf("%.40q: %t", text, got)
		}
	}
}

// BGP as the management framework writes it: numbers, networks and paths of the default VRF, and no others.
func TestSONiCBGPGlobals(t *testing.T) {
	c := readSONiC(`{"BGP_GLOBALS": {"default": {"local_asn": "65100", "router_id": "10.1.0.1"}, "Vrf1": {"local_asn": "65999"}},
"BGP_GLOBALS_AF": {"default|ipv4_unicast": {"max_ebgp_paths": "16"}, "Vrf1|ipv4_unicast": {"max_ebgp_paths": "2"}},
"BGP_GLOBALS_AF_NETWORK": {"default|ipv4_unicast|10.1.0.1/24": {}, "Vrf1|ipv4_unicast|10.9.0.0/24": {}},
"ROUTE_REDISTRIBUTE": {"default|connected|bgp|ipv4": {}},
"BGP_PEER_GROUP": {"default|SPINE": {"asn": "65300"}},
"BGP_NEIGHBOR": {"default|10.0.0.1": {"asn": "65200"}, "default|10.0.0.3": {"peer_group_name": "SPINE"}, "Vrf1|10.0.0.5": {"asn": "1"}, "default|Ethernet8": {"asn": "2"}}, "PORT": {}}`)
	got := fmt.Sprint(c.BGP.ASN.Is, " ", c.BGP.Paths.Is)
	for _, n := range c.BGP.Networks {
		got += " " + n.Is
	}
	for _, n := range c.BGP.Neighbours {
		got += fmt.Sprintf(" %s=%d", n.Address, n.ASN)
	}
	if want := "65100 16 10.1.0.0/24 connected 10.0.0.1=65200 10.0.0.3=65300"; got != want || len(c.Problems)+len(c.Unread) > 0 {
		t.Errorf("%s, problems %v, unread %v", got, c.Problems, c.Unread)
	}
}
