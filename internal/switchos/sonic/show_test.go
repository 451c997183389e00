package sonic

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// showsSONiC is what the commands of Shows print on a switch, below each other: formats of sonic-utilities, values of ours.
const showsSONiC = `admin@leaf1:~$ show interfaces status
      Interface            Lanes    Speed    MTU    FEC         Alias    Vlan    Oper    Admin             Type    Asym PFC
---------------  ---------------  -------  -----  -----  ------------  ------  ------  -------  ---------------  ----------
      Ethernet0  1,2,3,4,5,6,7,8     400G   9100     rs  Eth1(Port 1)  routed      up       up  QSFP28 or later         off
      Ethernet8    9,10,11,12,13     100G   1500    N/A          etp2   trunk    down     down              N/A         N/A
PortChannel0001              N/A      40G   9100    N/A           N/A  routed      up       up              N/A         N/A
admin@leaf1:~$ show pfc priority

Interface    Lossless priorities
-----------  ---------------------
Ethernet0    3,4
Ethernet8    N/A

admin@leaf1:~$ show pfcwd config
Changed polling interval to 200ms
     PORT    ACTION    DETECTION TIME    RESTORATION TIME    HISTORY
---------  --------  ----------------  ------------------  ---------
Ethernet0      drop               200            infinite    disable
admin@leaf1:~$ show ecn
Profile: ROCE
-----------------------  -------
ecn                      ecn_all
green_min_threshold      1048576
green_max_threshold      2097152
green_drop_probability   5
wred_green_enable        true
-----------------------  -------

admin@leaf1:~$ show vlan config
Name        VID  Member     Mode
--------  -----  ---------  --------
Vlan101     101  Ethernet8  untagged
admin@leaf1:~$ show ip interfaces
Interface    Master    IPv4 address/mask    Admin/Oper    BGP Neighbor    Neighbor IP
-----------  --------  -------------------  ------------  --------------  -------------
Ethernet0              10.0.0.0/31          up/up         N/A             N/A
Vlan101                10.65.1.1/24         up/up         N/A             N/A
eth0                   10.1.1.1/24          up/up         N/A             N/A
`

func TestSONiCReadsShows(t *testing.T) {
	c := readSONiC(showsSONiC)
	if len(c.Problems)+len(c.Unread) > 0 {
		t.Errorf("problems %v, unread %v", c.Problems, c.Unread)
	}
	want := "show interfaces status, show pfc priority, show pfcwd config, show ecn, show vlan config, show ip interfaces"
	if c.Texts[0].Form != want || c.Texts[0].Whole {
		t.Errorf("%+v", c.Texts)
	}
	if diff := gocmp.Diff([]string{
		"Ethernet0 a pause of 0 stops -1", "Ethernet0 a pause of 1 stops -1", "Ethernet0 a pause of 2 stops -1", "Ethernet0 a pause of 3 stops unknown",
		"Ethernet0 a pause of 4 stops unknown", "Ethernet0 a pause of 5 stops -1", "Ethernet0 a pause of 6 stops -1", "Ethernet0 a pause of 7 stops -1",
		"Ethernet0 address 10.0.0.0/31", "Ethernet0 trust unknown pfc [3 4]",
		"Ethernet0 up true mtu 9100 rate 400 fec rs breakout unknown vlan 0 cable unknown",
		"Ethernet0 watchdog true drop 200 unknown unknown",
	}, slices.DeleteFunc(facts(c), func(f string) bool { return !strings.HasPrefix(f, "Ethernet0 ") })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := c.Ports[1]; p.Up.Is || p.MTU.Is != 1500 || p.FEC != nil || p.VLAN.Is != 101 || len(p.PFC.Is) != 0 || p.PFC.At.Number != 12 {
		t.Errorf("%+v", p)
	}
	if q := c.Profiles; len(q) != 1 || !q[0].ECN.Is || q[0].Min.Value != 1<<20 || q[0].Percent.Is != 5 {
		t.Errorf("%+v", q)
	}
	if v := c.VLANs; len(v) != 1 || v[0].ID != 101 || len(v[0].Addresses) != 1 {
		t.Errorf("%+v", v)
	}
}

// Profiles of buffers are not taken for those of ECN.
func TestSONiCReadsBuffers(t *testing.T) {
	c := readSONiC(`admin@leaf1:~$ show buffer configuration
Lossless traffic pattern:
--------------------  -
default_dynamic_th    0
--------------------  -

Pool: ingress_lossless_pool
----  --------
mode  dynamic
size  13945824
xoff  2000
type  ingress
----  --------

Profile: ingress_lossy_profile
----------  ---------------------
dynamic_th  3
pool        ingress_lossless_pool
size        0
----------  ---------------------
`)
	want := []fabric.BufferShare{{Direction: "ingress", Name: "lossless", Bytes: 13945824}, {Direction: "ingress", Name: "lossless-headroom", Bytes: 2000}}
	for i := range c.Buffers {
		c.Buffers[i].At = fabric.Line{}
	}
	if diff := gocmp.Diff(want, c.Buffers); diff != "" || len(c.Profiles)+len(c.Problems)+len(c.Unread) > 0 || c.Texts[0].Form != "show buffer configuration" {
		t.Errorf("%+v\n%s", c, diff)
	}
}

// What a command shows and the configuration does not say is a conflict; what both say is not.
func TestSONiCShowsAgainstConfig(t *testing.T) {
	agree := `Interface    Lossless priorities
-----------  ---------------------
Ethernet0    3
Ethernet4    3
`
	if got := kinds(readSONiC(smallSONiC, agree)); got != nil {
		t.Errorf("they agree: %v", got)
	}
	c := readSONiC(smallSONiC, strings.Replace(agree, "Ethernet4    3", "Ethernet4    3,4", 1))
	if got := kinds(c); !slices.Equal(got, []string{"conflict :4"}) || !slices.Equal(c.Ports[1].PFC.Is, []int{3}) {
		t.Errorf("%v, PFC %v", c.Problems, c.Ports[1].PFC)
	}
	if c.Texts[0].Form != "configuration" || c.Texts[1].Form != "show pfc priority" {
		t.Errorf("%+v", c.Texts)
	}
	late := strings.Replace(smallSONiC, `"pfc_enable": "3", "pfcwd_sw_enable": "3"}}`, `"pfcwd_sw_enable": "3"}}`, 1)
	if got := kinds(readSONiC(late, agree)); !slices.Equal(got, []string{"conflict :4", "conflict Ethernet4:13"}) {
		t.Errorf("a priority that the file does not set: %v", got)
	}
}

// A line that is of no command that is read is told.
func TestSONiCShowsUnread(t *testing.T) {
	c := readSONiC(showsSONiC + "\nError: cannot find interface\n\nFoo    Bar\n-----  -----\na      b\n")
	var got []string
	for _, l := range c.Unread {
		got = append(got, l.Text)
	}
	if diff := gocmp.Diff([]string{"Error: cannot find interface", "Foo    Bar", "a      b"}, got); diff != "" {
		t.Error(diff)
	}
}

// A text of something else is refused in one sentence.
func TestSONiCForeign(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"EOS":        {"hostname leaf1\ninterface Ethernet1/1\n   mtu 9214\n", "foreign :1"},
		"OpenConfig": {"{\n\"openconfig-qos:qos\": {\"classifiers\": {}}\n}\n", "foreign :2"},
		"empty":      {"\n\n", "cut :1"},
		"JSON list":  {"[{\"PORT\": {}}]", "foreign :1"},
		"half table": {"      Interface            Lanes    Speed    MTU    FEC\n", "cut :1"},
	} {
		got := readSONiC(c.text)
		if !slices.Equal(kinds(got), []string{c.want}) || len(got.Ports)+len(got.Unread) > 0 {
			t.Errorf("%s: %v, unread %v", name, got.Problems, got.Unread)
		}
	}
}

// FuzzReadSONiC holds that no text makes the reader fail, that it gives the same for the same text, and that its lines are
// lines of the text.
func FuzzReadSONiC(f *testing.F) {
	for _, text := range []string{
		smallSONiC, showsSONiC, "", "{", `{"PORT": {"Ethernet0": {"mtu": 1e999, "speed": null, "lanes": [1, [2]]}}}`,
		`{"QUEUE": {"a|b|c|3": {}, "|": {}, "Ethernet0|0-99999999999": {}, ",|1": {}}}`, `"QUEUE|Ethernet0|3": {"value": {"scheduler": "[A|B]"}},`,
		`{"BREAKOUT_CFG": {"Ethernet0": {"brkout_mode": "4x25G[10G]+1x1G"}}, "asic0": {"PORT": {"Ethernet0": {}}}}`,
		`{"VLAN": {"Vlan8": {"vlanid": "8"}}, "VLAN_MEMBER": {"Vlan8|PortChannel1": {"tagging_mode": "untagged"}}, "PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet0": {}},
"INTERFACE": {"Ethernet0|10.0.0.0/31": {}}, "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "1"}}, "BUFFER_PG": {"Ethernet0|3-4": {"profile": "NULL"}}, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}}}`,
		"Profile: **x**\n---  ---\na b\n", "---\n---\n", strings.Repeat(`{"a":`, 40),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		begin := time.Now()
		c := OS{}.Read("x", []switchtext.Text{{File: "f", Bytes: text}})
		if took := time.Since(begin); took > time.Minute {
			t.Fatalf("it took %s", took)
		}
		if diff := gocmp.Diff(facts(c), facts(OS{}.Read("x", []switchtext.Text{{File: "f", Bytes: text}}))); diff != "" {
			t.Fatalf("two readings differ:\n%s", diff)
		}
		lines := strings.Count(string(text), "\n") + 1
		check := func(at fabric.Line) {
			if at.Number < 0 || at.Number > lines || at.Number > 0 && at.File != "f" || at.Number == 0 && at.Text == "" {
				t.Fatalf("%+v of %d lines", at, lines)
			}
		}
		for _, p := range c.Problems {
			check(p.At)
		}
		for _, l := range c.Unread {
			check(l)
		}
		for _, p := range c.Ports {
			check(p.At)
			if p.PFC != nil {
				check(p.PFC.At)
			}
		}
		OS{}.Recognizes(text)
	})
}

// What was typed to change a switch is not what it has: it is told. The outputs beside it are read.
func TestSONiCTyped(t *testing.T) {
	c := readSONiC("admin@leaf1:~$ redis-cli -n 4 HSET \"PORT_QOS_MAP|Ethernet8\" \"pfc_enable\" \"3\"\nadmin@leaf1:~$ sudo config interface pfc priority Ethernet8 4 on\n" +
		"admin@leaf1:~$ sudo ecnconfig -p W -gmin 1000\nadmin@leaf1:~$ show pfc priority\nInterface    Lossless priorities\n-----------  ---------------------\nEthernet8    3\n")
	var lines []int
	for _, l := range c.Unread {
		lines = append(lines, l.Number)
	}
	if fmt.Sprint(lines) != "[1 2 3]" || len(c.Ports) != 1 || fmt.Sprint(c.Ports[0].PFC.Is) != "[3]" || len(c.Problems) > 0 {
		t.Errorf("unread %v, problems %v, ports %+v", lines, c.Problems, c.Ports)
	}
}

// Commercial SONiC has the same shell below its own command line: a text with both is its.
func TestSONiCBelowOther(t *testing.T) {
	const table = "show pfc priority\nInterface    Lossless priorities\n-----------  ---------------------\nEthernet8    3\n"
	if !(OS{}).Recognizes([]byte(table)) || (OS{}).Recognizes([]byte("sonic# show qos map dscp-tc\n"+table)) || (OS{}).Recognizes([]byte("interface Eth1/1\n mtu 9100\n"+table)) {
		t.Error("it is not told apart by the lines of sonic-cli")
	}
}

// A part of a database names maps that it does not have: how the port classifies is known, and with what not. SONiC until
// 2021 watched the priorities with PFC.
func TestSONiCParts(t *testing.T) {
	p := readSONiC(`{"PORT_QOS_MAP": {"Ethernet8": {"dscp_to_tc_map": "A", "pfc_enable": "3"}}}`).Ports[0]
	if p.Trust == nil || p.Trust.Is != "dscp" || p.DSCP != nil {
		t.Errorf("%+v", p)
	}
	p = readSONiC(`{"PORT_QOS_MAP": {"Ethernet8": {"pfc_to_queue_map": "[MAP_PFC_PRIORITY_TO_QUEUE|A]", "pfc_enable": "3"}}}`).Ports[0]
	if p.Watchdog == nil || p.Watchdog.On != nil || fmt.Sprint(p.Watchdog.Priorities.Is) != "[3]" {
		t.Errorf("%+v", p.Watchdog)
	}
}

// What is taken and cannot be meant: two priorities that stop one queue, and room for less than a packet.
func TestSONiCNotMeant(t *testing.T) {
	for _, c := range []struct{ want, text string }{
		{"[]", `{"MAP_PFC_PRIORITY_TO_QUEUE": {"A": {"3": "3", "4": "4"}}, "PORT_QOS_MAP": {"Ethernet8": {"pfc_to_queue_map": "A", "pfc_enable": "3"}}}`},
		{"[inert Ethernet8:1]", `{"MAP_PFC_PRIORITY_TO_QUEUE": {"A": {"3": "3", "4": "3"}}, "PORT_QOS_MAP": {"Ethernet8": {"pfc_to_queue_map": "A", "pfc_enable": "3"}, "Ethernet16": {"pfc_to_queue_map": "A", "pfc_enable": "3"}}}`},
		{"[conflict Ethernet8:1]", `{"MAP_PFC_PRIORITY_TO_QUEUE": {"A": {"3": "3", "4": "3"}}, "PORT_QOS_MAP": {"Ethernet8": {"pfc_to_queue_map": "A", "pfc_enable": "3,4"}}}`},
		{"[conflict :2]", `{"BUFFER_POOL": {"p": {}}, "BUFFER_PROFILE": {"A": {"pool": "p",` + "\n" + `"xoff": "180"}}}`},
	} {
		if got := fmt.Sprint(kinds(readSONiC(c.text))); got != c.want {
			t.Errorf("%s: %s, not %s", c.text, got, c.want)
		}
	}
}

// What each command of Shows prints is known for what it is, and any of them make a switch.
func TestSONiCShowsSubsets(t *testing.T) {
	printed := map[string]string{
		"show runningconfiguration all": smallSONiC,
		"show interfaces status":        "  Interface    Lanes    Speed    MTU    FEC    Alias    Vlan    Oper    Admin    Type    Asym PFC\n-----------  -------  -------  -----  -----  -------  ------  ------  -------  ------  ----------\n  Ethernet0      1,2     400G   9100     rs   Eth1/1  routed      up       up     N/A         N/A\n",
		"show pfc priority":             "Interface    Lossless priorities\n-----------  ---------------------\nEthernet0    3\n",
		"show pfcwd config":             "Changed polling interval to 200ms\n     PORT    ACTION    DETECTION TIME    RESTORATION TIME\n---------  --------  ----------------  ------------------\nEthernet0      drop               200                 400\n",
		"show ecn":                      "Profile: X\n-------------------  -------\necn                  ecn_all\ngreen_min_threshold  1048576\n-------------------  -------\n",
	}
	commands := OS{}.Shows()
	for set := range 1 << len(commands) {
		var texts []switchtext.Text
		for i, command := range commands {
			if set>>i&1 == 1 {
				texts = append(texts, switchtext.Text{File: command, Bytes: []byte(printed[command])})
			}
			if !(OS{}).Recognizes([]byte(printed[command])) {
				t.Fatalf("%s is unknown by what it prints", command)
			}
		}
		c := OS{}.Read("leaf1", texts)
		for _, p := range c.Problems {
			if p.Kind == fabric.TextCut || p.Kind == fabric.TextForeign {
				t.Fatalf("%b: %+v", set, p)
			}
		}
		if len(c.Unread) > 0 || len(c.Texts) != len(texts) || set&15 > 0 && len(c.Ports) == 0 {
			t.Fatalf("%b: unread %v, %d ports", set, c.Unread, len(c.Ports))
		}
	}
}
