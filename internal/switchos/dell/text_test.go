package dell

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/switchos/switchtext"
)

// dellAll is a configuration with a bit of all that is rendered.
func dellAll() string {
	return string(OS{}.Render(uplinks(), classes(true, true)).Text)
}

// The same configuration in other clothes is the same.
func TestDellForms(t *testing.T) {
	text := dellAll()
	indented := regexp.MustCompile(`(?m)^ +exit\n|^exit\n`).ReplaceAllString(text, "") // as show running-configuration prints it
	prompts := func(l string) string {
		if strings.HasPrefix(l, " ") {
			return "sonic(conf-something)# " + strings.TrimSpace(l)
		}
		return "sonic(config)# " + l
	}
	var typed []string
	for _, l := range strings.Split(strings.TrimSpace(indented), "\n") {
		typed = append(typed, prompts(l))
	}
	flat := regexp.MustCompile(`(?m)^ +`).ReplaceAllString(indented, "")
	deep := regexp.MustCompile(`(?m)^`).ReplaceAllString(indented, "      ")
	want := readDell(text)
	for name, other := range map[string]string{
		"indented": indented, "flat": flat, "typed": strings.Join(typed, "\n") + "\n", "Windows": strings.ReplaceAll(text, "\n", "\r\n"),
		"deep": deep, "a mark first": "\ufeff" + text, "tabs": strings.ReplaceAll(indented, "\n ", "\n\t"), "comments": "! a\n# b\n!!! c\n" + strings.ReplaceAll(flat, "\n", "\n!\n"),
		"blank lines": strings.ReplaceAll(text, "\n", "\n\n"), "shown": "sonic# show running-configuration | no-more\n" + indented + "sonic# \n",
	} {
		t.Run(name, func(t *testing.T) {
			if !(OS{}).Recognizes([]byte(other)) {
				t.Error("it is not recognized")
			}
			got := readDell(other)
			if diff := dellDiff(want, got); len(diff) > 0 {
				t.Errorf("%s", strings.Join(diff, "\n"))
			}
			said := slices.DeleteFunc(dellSaid(got), func(s string) bool { return strings.Contains(s, "neither buffer init") })
			if len(said) > 0 {
				t.Errorf("%q\n%s", said, other)
			}
		})
	}
}

const small = `qos map dscp-tc M
 dscp 0-63 traffic-class 0
 dscp 26 traffic-class 3
qos map tc-queue M
 traffic-class 0-7 queue 0
qos map tc-pg M
 traffic-class 0-2,4-7 priority-group 7
 traffic-class 3 pg 3
interface Eth1/1
 qos-map dscp-tc M
 priority-flow-control priority 3
`

// Single lines, each with what it changes and what is said of it.
func TestDellLines(t *testing.T) {
	base := readDell(small)
	for _, c := range []struct {
		name, text string // added to the end
		want       []string
		said       []string // beside what is said of the base
	}{
		{"no map line", "qos map dscp-tc M\n no dscp 26\n", []string{"Eth1/1 dscp 26: 3/0/-1 -> 0/0/-1"}, nil},
		{"no priority", " no priority-flow-control priority 3\n", []string{"Eth1/1 dscp 26: 3/0/-1 -> 3/0/-1"}, nil},
		{"pg map", " qos-map tc-pg M\n", []string{"Eth1/1 dscp 26: 3/0/-1 -> 3/0/3"}, nil},
		{"pg map without the class", "qos map tc-pg N\n traffic-class 4 priority-group 4\ninterface Eth1/1\n qos-map tc-pg N\n", nil, nil},
		{"pg map that may be of PFC", "qos map tc-pg N\n traffic-class 1-7 priority-group 3\ninterface Eth1/1\n qos-map tc-pg N\n priority-flow-control priority 7\n no priority-flow-control priority 7\n",
			[]string{"Eth1/1 dscp 26: 3/0/-1 -> 3/0/3"}, nil},
		{"words of the first version", " pfc priority 4\n queue 3 wred-profile W\n", []string{"Eth1/1 marks 3:  ecn false drops false ? -> gone", "Eth1/1 pfc: [3] -> [3 4]", "Eth1/1 queue 3: ? ? -> gone", "Eth1/1 stops 4: -1 -> ?"}, nil},
		{"queue map", " qos-map tc-queue M\n", nil, nil},
		{"no such map", " qos-map pfc-priority-queue X\nqos map pfc-priority-queue Y\n", nil, []string{"undefined: qos-map pfc-priority-queue X, on 1 ports, names a map that is defined nowhere"}},
		{"pfc list", " priority-flow-control priority 4,5\n", []string{"Eth1/1 pfc: [3] -> [3 4 5]", "Eth1/1 stops 4: -1 -> ?", "Eth1/1 stops 5: -1 -> ?"}, []string{"range: PFC on 3 priorities"}},
		{"priority 8", " priority-flow-control priority 8\n", nil, []string{"range: priority: 8 is above 7"}},
		{"no-drop is of others", " priority-flow-control priority 4 no-drop\n", nil, []string{`foreign: "no-drop" does not belong behind a priority`}},
		{"dscp 64", "qos map dscp-tc M\n dscp 26,64 traffic-class 0\n", []string{"Eth1/1 dscp 26: 3/0/-1 -> 0/0/-1"}, []string{"range: dscp of map M: 64 is above 63", "duplicate: traffic-class of dscp 26 in map M is 0 here and 3 in line 3"}},
		{"class 9", "qos map dscp-tc M\n dscp 26 traffic-class 9\n", nil, []string{"range: traffic-class 9 of map M is above 7"}},
		{"a range backwards", "qos map dscp-tc M\n dscp 8-1 traffic-class 0\n", nil, []string{"range: dscp of map M: the range 8-1 runs backwards"}},
		{"blanks in a list", "qos map dscp-tc N\n dscp 0, 1-2 ,3 traffic-class 3\ninterface Eth1/2\n qos-map dscp-tc N\n", nil, nil},
		{"a rewrite classifies nothing", "qos map tc-dscp W\n traffic-class 3 dscp 26\ninterface Eth1/1\n qos-map tc-dscp W\n", []string{"Eth1/1 rewrite 3:  -> 26"}, nil},
		{"mtu out of range", " mtu 9217\n", nil, []string{"range: mtu 9217 is not in 68 to 9216"}},
		{"mtu twice", " mtu 9100\n mtu 1500\n", []string{"Eth1/1 mtu: ? -> 1500"}, []string{"duplicate: mtu is 1500 here and 9100 in line 12"}},
		{"mtu undone", " mtu 9100\n no mtu\n", nil, nil},
		{"shutdown", " shutdown\n", []string{"Eth1/1 up: ? -> false"}, nil},
		{"breakout", "interface breakout port 1/1 mode 4x100G\n", []string{"Eth1/1 breakout: ? -> 4"}, nil},
		{"vlan", " switchport access Vlan 20\n", []string{"Eth1/1 vlan: ? -> 20"}, nil},
		{"vlan of others", " switchport access Vlan 20\ninterface Vlan 21\n", []string{"Eth1/1 vlan: ? -> 20", "vlan 21:  -> ?"}, []string{"undefined: switchport access Vlan 20, on 1 ports, names a VLAN that is defined nowhere"}},
		{"address", " ip address 10.0.0.0/31\n", []string{"Eth1/1 address 0:  -> 10.0.0.0/31", "Eth1/1 vlan: ? -> 0"}, nil},
		{"an address of others", " ip address 10.0.0.0 255.255.255.254\n", nil, []string{"unread: ip address 10.0.0.0 255.255.255.254"}},
		{"output that nobody reads", "sonic# show qospool\nPool egress_lossless_pool:\n   mode : static\nsonic# show version\nx\n", nil, []string{"unread: sonic# show qospool"}},
		{"address undone", " ip address 10.0.0.0/31\n no ip address\n", nil, nil},
		{"an ACL may classify", " service-policy type qos in P\n", nil, []string{"unread: service-policy type qos in P"}},
		{"room for headroom", "buffer pool ingress_lossless_pool shared-headroom-size 3500000\n", []string{"buffer ingress lossless-headroom:  -> 3500000"}, nil},
		{"no room", " no buffer default-lossless-buffer-profile\n", nil, []string{"unread: no buffer default-lossless-buffer-profile"}},
		{"watchdog of old versions", " priority-flow-control watchdog detect-time 200\n", []string{"Eth1/1 watchdog: false ? ? ? -> true ? 200 ?"}, nil},
		{"watchdog off", " priority-flow-control watchdog on detect-time 200\n priority-flow-control watchdog off\n", []string{"Eth1/1 watchdog: false ? ? ? -> false ? 200 ?"}, nil},
		{"detect time", " priority-flow-control watchdog on detect-time 50\n", nil, []string{"range: detect-time 50 of the watchdog is not in 100 to 5000"}},
		{"thresholds crossed", "qos wred-policy W\n green minimum-threshold 9 maximum-threshold 5 drop-probability 5\n ecn all\ninterface Eth1/1\n queue 3 wred-policy W\n",
			[]string{"Eth1/1 marks 3:  ecn false drops false ? -> W ecn true drops false 9-5kB 5"}, []string{"range: minimum-threshold 9 of wred-policy W is above its maximum-threshold 5"}},
		{"ecn none drops", "qos wred-policy W\n green minimum-threshold 1048.576 maximum-threshold 2097.152 drop-probability 5\n ecn none\ninterface Eth1/1\n queue 3 wred-policy W\n",
			[]string{"Eth1/1 marks 3:  ecn false drops false ? -> W ecn false drops true 1048.576-2097.152kB 5"}, nil},
		{"a range of ports", "interface range Eth 1/1-1/3,1/5\n mtu 9100\n", []string{"Eth1/1 mtu: ? -> 9100"}, nil},
		{"global watchdog", "priority-flow-control watchdog polling-interval 300\nno priority-flow-control watchdog counter-poll\n", nil, nil},
		{"nonsense", " frobnicate on\n", nil, []string{"unread: frobnicate on"}},
		{"an answer", "%Error: Invalid input\n", nil, []string{"foreign: the switch answered %Error: Invalid input"}},
		{"half a line", " priority-flow-control pri", nil, []string{"cut: the text ends in the middle of a line"}},
		{"a placeholder", "interface Ethernet <id>\n mtu 9100\n", nil, []string{"foreign: a placeholder stands where the name of an interface belongs", "unread: mtu 9100"}},
		{"no bearing", "snmp-server community x\nline vty\n service-policy type qos in oob-qos-policy\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readDell(small + c.text)
			diff := slices.DeleteFunc(dellDiff(base, got), func(d string) bool { return !strings.HasPrefix(d, "Eth1/1 ") && strings.HasPrefix(d, "Eth1/") })
			if c.name == "no priority" { // every pause is gone, by the line and not by a map
				diff, c.want = nil, nil
				if p := got.Ports[0]; len(p.PFC.Is) != 0 || p.PFC.At.Number != 12 {
					t.Errorf("%+v", p.PFC)
				}
			}
			if diff := cmp.Diff(c.want, diff, cmp.Transformer("nil", func(l []string) []string { return append([]string{}, l...) })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			said := slices.DeleteFunc(dellSaid(got), func(s string) bool {
				return slices.Contains(dellSaid(base), s) || strings.HasPrefix(s, "duplicate: traffic-class of dscp 26 in map M is 3") || strings.HasPrefix(s, "unattached: ")
			})
			if diff := cmp.Diff(append([]string{}, c.said...), append([]string{}, said...)); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// Names of ports in all their spellings.
func TestDellPortNames(t *testing.T) {
	for text, want := range map[string]string{
		"interface Eth1/1\n": "Eth1/1", "interface Eth 1/1\n": "Eth1/1", "interface Eth1/1/2\n": "Eth1/1/2", "interface Ethernet0\n": "Ethernet0", "interface Ethernet 104\n": "Ethernet104",
		"interface ethernet 1/2\n": "Eth1/2", "interface PortChannel 10 mode active\n": "PortChannel10", "interface range Eth 1/1-1/3,1/5\n": "Eth1/1 Eth1/2 Eth1/3 Eth1/5",
		"interface range Eth1/1-1/2\n": "Eth1/1 Eth1/2", "interface range Eth1/1-Eth1/2\n": "Eth1/1 Eth1/2", "interface Ethernet 8\ninterface range Ethernet 0-16\n": "Ethernet8 Ethernet0 Ethernet16",
		"interface Eth1/1.100\n": "", "interface Loopback 0\n": "", "interface Management 0\n": "", "interface Vlan10\n": "", "interface range create Vlan 2-9\n": "",
		"sonic(conf-if-Eth1/7)# mtu 9100\n": "Eth1/7", "sonic(config-if-Ethernet8)# no shutdown\n": "Ethernet8", "interface range Eth 1/1-1/99999\n": "", "interface Eth1/1\nno interface Eth1/1\n": "",
	} {
		var names []string
		for _, p := range readDell(text).Ports {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Output of show commands says what the configuration says.
func TestDellShows(t *testing.T) {
	text := `sonic# show qos map dscp-tc
DSCP-TC-MAP: R
----------------------------
    DSCP TC
----------------------------
    24   3
    26   3
----------------------------
sonic# show qos map tc-queue
  TC-Q-MAP: R
  ----------------------------
       TC  Q
 ----------------------------
       0    0
       3    5
sonic# show qos map tc-pg
TC-PG-MAP: R
    TC  PG
    0    7
    3    3
sonic# show qos map pfc-priority-queue
PFC-Priority-Queue-MAP: R
    PFC Priority   Queue
    3              5
sonic# show qos wred-policy
---------------------------------------------------
Policy                 : W
---------------------------------------------------
ecn                    : ecn_green
green-min-threshold    : 1048        KBytes
green-max-threshold    : 2097        KBytes
green-drop-probability : 5
sonic# show qos scheduler-policy
 Scheduler Policy: S
   Queue: 5
              type: dwrr
              Weight: 50
              PIR: 200000      Kbps
   Port:
              pir: 100         Kbps
sonic# show qos interface Eth 1/1
        scheduler policy: S
        dscp-tc-map: R
        tc-queue-map: R
        tc-pg-map: R
        pfc-priority-queue-map: R
        pfc-asymmetric: off
        pfc-priority  : 3,4
sonic# show qos interface Eth 1/1 queue 5
       interface queue 5 config:
            WRED profile: W
sonic# show priority-flow-control watchdog
Watchdog Summary
----------------
Polling Interval:   : 150
sonic# show version
Software Version  : 4.3.0-Enterprise_Standard
Product           : Enterprise SONiC Distribution by Dell Technologies
`
	got := readDell(text)
	facts := dellFacts(got)
	for name, want := range map[string]string{
		"Eth1/1 dscp 26": "3/5/3", "Eth1/1 dscp 0": "0/0/-1", "Eth1/1 pfc": "[3 4]", "Eth1/1 stops 3": "5", "Eth1/1 queue 5": "weighted 50",
		"Eth1/1 marks 5": "W ecn true drops false 1048-2097kB 5", "Eth1/1 trust": "dscp",
	} {
		if facts[name] != want {
			t.Errorf("%s: %q, want %q", name, facts[name], want)
		}
	}
	if said := dellSaid(got); len(said) > 0 || got.Texts[0].Whole || got.Texts[0].Form == "configuration" {
		t.Errorf("%q %+v", said, got.Texts)
	}
	// The tables alone, each a text of its own: no port, nothing to complain of.
	if said := dellSaid(readDell(text[:strings.Index(text, "sonic# show qos interface")])); len(said) > 0 {
		t.Errorf("%q", said)
	}
}

// Where no command names the block, the prompt does.
func TestDellPrompts(t *testing.T) {
	facts := dellFacts(readDell(`Leaf-1(conf-dscp-tc-map-R)# dscp 26 traffic-class 3
Leaf-1(conf-tc-pg-map-R)# traffic-class 3 priority-group 3
Leaf-1(conf-if-Eth1/1)# qos-map dscp-tc R
Leaf-1(conf-if-Eth1/1)# qos-map tc-pg R
Leaf-1(conf-if-Eth1/1)# priority-flow-control priority 3
Leaf-1(conf-if-Eth1/2)# mtu 9100
Leaf-1(config)# interface range Eth 1/3-1/4
Leaf-1(conf-if-range-eth**)# mtu 9216
Leaf-1(conf-wred-W)#ecn none
`))
	for name, want := range map[string]string{"Eth1/1 dscp 26": "3/0/3", "Eth1/1 mtu": "?", "Eth1/2 mtu": "9100", "Eth1/3 mtu": "9216", "Eth1/4 mtu": "9216", "Eth1/2 pfc": "[]"} {
		if facts[name] != want {
			t.Errorf("%s: %q, want %q", name, facts[name], want)
		}
	}
}

// A part of a configuration is no whole one, and rows of which nobody says the port are not understood.
func TestDellParts(t *testing.T) {
	for text, want := range map[string]bool{
		"sonic# show running-configuration\ninterface Eth1/1\n": true, "sonic# show running-configuration | no-more\n": true, "sonic# show running-configuration | grep qos\n": false,
		"sonic# show running-configuration interface Eth 1/1\n": false, "interface Eth1/1\n": false, "hostname a\n": false,
	} {
		if got := readDell(text).Texts[0].Whole; got != want {
			t.Errorf("%q: whole %t", text, got)
		}
	}
	got := readDell("        scheduler policy: S\n        dscp-tc-map: R\n        pfc-priority  : 3,4\n")
	if len(got.Unread) != 3 || len(got.Ports) > 0 {
		t.Errorf("%+v", got)
	}
}

// Two texts of one switch are read as one; where they differ, the first counts.
func TestDellTexts(t *testing.T) {
	got := OS{}.Read("leaf1", []switchtext.Text{
		{File: "ports", Bytes: []byte("interface Eth1/1\n mtu 9100\n qos-map dscp-tc M\n")},
		{File: "maps", Bytes: []byte("DSCP-TC-MAP: M\n 26 3\n")},
		{File: "more", Bytes: []byte("interface Eth1/1\n mtu 1500\n")},
	})
	if f := dellFacts(got); f["Eth1/1 mtu"] != "9100" || f["Eth1/1 dscp 26"] != "3/0/-1" || len(got.Texts) != 3 {
		t.Errorf("%v", f)
	}
	if diff := cmp.Diff([]string{"conflict: mtu is 1500 here and 9100 in ports"}, dellSaid(got)); diff != "" {
		t.Error(diff)
	}
}

// A text that does not speak of QoS says nothing of it; a whole one that does not has none.
func TestDellSilence(t *testing.T) {
	const port = "interface Eth1/1\n speed 400000\n no shutdown\n"
	if p := readDell(port).Ports[0]; p.PFC != nil || p.Trust != nil || p.Watchdog != nil || p.MTU != nil || p.Queues[3] != nil {
		t.Errorf("an excerpt: %+v", p)
	}
	whole := readDell("hostname sonic\ninterface Management 0\n" + port)
	if p := whole.Ports[0]; !whole.Texts[0].Whole || dellIs(p.PFC) != "[]" || dellIs(p.Trust) != "none" || dellIs(p.MTU) != "9100" || treats(p.PCP[0]) != "0/0/-1" {
		t.Errorf("all of it: %+v", p)
	}
}

// What each command of Shows prints, without its echo as over SSH, is known for what it is, and any of them make a switch.
func TestDellShowsSubsets(t *testing.T) {
	printed := map[string]string{
		"show running-configuration | no-more": small,
		"show qos map dscp-tc":                 "DSCP-TC-MAP: R\n----------------------------\n    DSCP TC\n----------------------------\n    26   3\n",
		"show qos map dot1p-tc":                "DOT1P-TC-MAP: R\n    DOT1P TC\n    3   3\n",
		"show qos map tc-queue":                "TC-Q-MAP: R\n    TC  Q\n    3   3\n",
		"show qos map tc-pg":                   "TC-PG-MAP: R\n    TC  PG\n    3   3\n",
		"show qos map pfc-priority-queue":      "PFC-PRIORITY-Q-MAP: R\n    PRIORITY  Q\n    3   3\n",
		"show qos map pfc-priority-pg":         "PFC-Priority-Priority-Group-MAP: R\n    PFC Priority   PG\n    3   3\n",
		"show qos wred-policy":                 "---------\nPolicy                 : R\n---------\necn                    : ecn_green\ngreen-min-threshold    : 1048        KBytes\n",
		"show qos scheduler-policy":            " Scheduler Policy: R\n   Queue: 3\n              type: strict\n",
	}
	for _, command := range shows {
		if !(OS{}).Recognizes([]byte(printed[command])) {
			t.Errorf("%s is unknown by what it prints", command)
		}
	}
	for set := range 1 << len(shows) {
		var texts []switchtext.Text
		for i, command := range shows {
			if set>>i&1 == 1 {
				texts = append(texts, switchtext.Text{File: command, Bytes: []byte(printed[command])})
			}
		}
		got := OS{}.Read("leaf1", texts)
		for _, said := range dellSaid(got) {
			if !strings.HasPrefix(said, "unattached: ") && !strings.HasPrefix(said, "undefined: ") && !slices.Contains(dellSaid(readDell(small)), said) {
				t.Fatalf("%b: %q", set, said)
			}
		}
		if len(got.Texts) != len(texts) || set&1 == 1 && len(got.Ports) == 0 {
			t.Fatalf("%b: %d texts, %d ports", set, len(got.Texts), len(got.Ports))
		}
	}
}
