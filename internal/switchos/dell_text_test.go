package switchos

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// dellAll is a configuration with a bit of all that is rendered.
func dellAll() string {
	return string(dellSONiC{}.Render(dellUplinks(), classes(true, true)).Text)
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
			if !(dellSONiC{}).Recognizes([]byte(other)) {
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

const dellSmall = `qos map dscp-tc M
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
	base := readDell(dellSmall)
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
		{"words of the first version", " pfc priority 4\n queue 3 wred-profile W\n", []string{"Eth1/1 marks 3:  ecn false drops false ? -> gone", "Eth1/1 pfc: [3] -> [3 4]", "Eth1/1 stops 4: -1 -> ?"}, nil},
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
			got := readDell(dellSmall + c.text)
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

// Two texts of one switch are read as one; where they differ, the first counts.
func TestDellTexts(t *testing.T) {
	got := dellSONiC{}.Read("leaf1", []Text{
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
	if p := whole.Ports[0]; !whole.Texts[0].Whole || dellIs(p.PFC) != "[]" || dellIs(p.Trust) != "none" || dellIs(p.MTU) != "9100" || dellTreats(p.PCP[0]) != "0/0/-1" {
		t.Errorf("all of it: %+v", p)
	}
}

// Half a text, a line twice, lines in another order: never a panic, and half of it never means more than all.
func TestDellAttack(t *testing.T) {
	text := dellAll()
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		readDell(strings.Join(lines[:i], ""))
		got := readDell(strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), "")) // twice
		for _, said := range dellSaid(got) {
			if !strings.HasPrefix(said, "duplicate: ") && !strings.HasPrefix(said, "unread: ") {
				t.Errorf("line %d twice, %q: %s", i+1, lines[i], said)
			}
		}
	}
	for i := 1; i < len(text); i += 7 {
		readDell(text[:i])
	}
	slices.Reverse(lines)
	readDell(strings.Join(lines, ""))
	for _, other := range []string{"", "\x00", "{}", "interface", "no", "no no", "qos", "qos map", "do", "neighbor 1.1.1.1\n", "router bgp 1\nno router bgp 1\nneighbor 1.1.1.1\n", "router bgp 1\nneighbor 1.1.1.1\nno neighbor 1.1.1.1\nremote-as 2\n", "show", "interface range", strings.Repeat("a", 1<<16)} {
		readDell(other)
	}
}

func TestDellManyPorts(t *testing.T) {
	s := dellLeaf(true)
	for i := range 10_000 {
		p := s.Ports[0]
		p.Name = fmt.Sprintf("Eth%d/%d", 1+i/100, 1+i%100)
		s.Ports = append(s.Ports, p)
	}
	text := bytes.ReplaceAll(dellSONiC{}.Render(s, classes(true, true)).Text, []byte("exit\n"), nil)
	start := time.Now()
	got := dellSONiC{}.Read("leaf1", []Text{{File: "x", Bytes: text}})
	t.Logf("%d lines in %s", bytes.Count(text, []byte("\n")), time.Since(start))
	tables, profiles := make(map[*[64]fabric.Treatment]bool), make(map[*fabric.QueueProfile]bool)
	for _, p := range got.Ports {
		tables[p.DSCP] = true
		profiles[p.Queues[3].Marks] = true
	}
	if len(got.Ports) < 9_000 || len(tables) != 1 || len(profiles) != 1 {
		t.Errorf("%d ports with %d tables and %d profiles", len(got.Ports), len(tables), len(profiles))
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func FuzzReadDell(f *testing.F) {
	f.Add(dellAll())
	f.Add(dellSmall)
	f.Add("sonic(config)#buffer init\nsonic(config)# interface Ethernet <id>\nsonic(conf-if-Ethernet0)# mtu 9100\n")
	f.Add("DSCP-TC-MAP: M\n 26 3\nPolicy : W\necn : ecn_green\ngreen-min-threshold : 1 KBytes\nScheduler Policy: S\nQueue: 3\nweight: 5\n")
	f.Add("router bgp 65000.1\n peer-group P\n  remote-as 5\n neighbor 10.0.0.1\n  peer-group P\ninterface range Eth 1/1-1/4\nno interface Vlan 5\n")
	f.Fuzz(func(t *testing.T, text string) {
		dellSONiC{}.Recognizes([]byte(text))
		c := readDell(text)
		for _, p := range c.Ports {
			if p.Name == "" || strings.ContainsAny(p.Name, "<> ") {
				t.Errorf("port %q", p.Name)
			}
			if p.PFC != nil && !slices.IsSorted(p.PFC.Is) {
				t.Errorf("PFC %v", p.PFC.Is)
			}
			for i, q := range p.Stops {
				if q != nil && (q.Is < -1 || q.Is > 7) {
					t.Errorf("priority %d stops queue %d", i, q.Is)
				}
			}
			if p.DSCP == nil {
				continue
			}
			for d, treat := range p.DSCP {
				if treat.Class == nil || treat.Queue != nil && (treat.Queue.Is < 0 || treat.Queue.Is > 7) || treat.Pause != nil && (treat.Pause.Is < -1 || treat.Pause.Is > 7) {
					t.Errorf("DSCP %d: %s", d, dellTreats(treat))
				}
			}
		}
	})
}

// dellWhole is what a switch has besides: none of it bears on lossless RoCE.
const dellWhole = `!
hostname leaf7
interface-naming standard
ip load-share hash ipv4 ipv4-src-ip
ip vrf mgmt
!
username admin password x role admin
aaa authentication login default local
ntp server 10.0.0.1 minpoll 6 maxpoll 10
ntp source-interface Management 0
logging server 10.0.0.2 severity info
snmp-server community c group g
spanning-tree mode rapid-pvst
ip prefix-list P seq 10 permit 10.0.0.0/8 le 32
ipv6 access-list A6
 seq 10 permit tcp any any
!
route-map R permit 10
 match ip address prefix-list P
!
class-map oob-ip-multicast match-type fields match-all
 match destination-address ipv4 224.0.0.0/4
!
policy-map oob-qos-policy type qos
 class oob-ip-multicast priority 1000
  set traffic-class 0
  !
!
qos scheduler-policy copp-scheduler-policy
 !
 queue 0
  type wrr
  weight 1
  pir 100
 !
 queue 40
  type strict
!
roce enable
buffer pool ingress_lossless_pool shared-headroom-size 3500000
buffer profile big ingress_lossless_pool 0 dynamic-threshold -2 pause pause-threshold 55000
qos wred-policy ROCE
 green minimum-threshold 1048 maximum-threshold 2097 drop-probability 5
 ecn green
!
qos map dscp-tc ROCE
 dscp 0-25,27-63 traffic-class 0
 dscp 26 traffic-class 3
!
qos map tc-queue ROCE
 traffic-class 0 queue 0
 traffic-class 3 queue 3
!
qos map tc-pg ROCE
 traffic-class 3 priority-group 3
 traffic-class 0-2,4-7 priority-group 7
!
qos map pfc-priority-queue ROCE
 pfc-priority 3 queue 3
!
mclag domain 100
 source-ip 172.30.95.0
 peer-ip 172.30.95.1
!
link state track up
 timeout 5
!
evpn esi-multihoming
 mac-holdtime 60
!
ars profile p1
 sampling-interval 140
!
line vty
 service-policy type qos in oob-qos-policy
!
interface Management 0
 description oob
 mtu 1500
 autoneg on
 speed 1000
 ip address 10.1.1.1/24 gwaddr 10.1.1.254
!
interface Loopback 0
 ip address 10.255.0.7/32
!
interface vxlan vtep1
 source-ip Loopback2
 qos-mode pipe dscp 0
!
interface CPU
 scheduler-policy copp-scheduler-policy
!
interface Vlan20
 mtu 9100
 ip anycast-address 10.2.0.1/24
 neigh-suppress
!
interface PortChannel10
 mtu 9100
 no shutdown
 system-mac 00:00:00:01:01:01
 mclag 100
 qos-map dscp-tc ROCE
 switchport trunk allowed Vlan 20
!
interface Eth1/1
 description "to spine"
 channel-group 10
 mtu 9100
 speed 400000
 fec RS
 standalone-link-training
 unreliable-los auto
 no shutdown
 lldp transmit
 storm-control broadcast kbps 1000
 queue 3 wred-policy ROCE
 qos-map tc-queue ROCE
 qos-map tc-pg ROCE
 qos-map pfc-priority-queue ROCE
 buffer priority-group 3 profile big
 priority-flow-control priority 3
 link state track up upstream
 ars bind p1
!
interface Eth1/1.100
 ip address 10.3.0.1/24
!
interface Eth1/2
 mtu 9100
 speed 400000
 shutdown
 ip vrf forwarding Vrf1
 ipv6 address 2001:db8::1/64
 ip ospf area 0
!
router bgp 65101 vrf Vrf1
 neighbor 10.9.9.9
  remote-as 1
!
router bgp 65101
 router-id 10.255.0.7
 log-neighbor-changes
 timers 60 180
 !
 address-family ipv4 unicast
  redistribute connected
  maximum-paths 64
 !
 peer-group SPINES
  remote-as 65100
  bfd
  address-family ipv4 unicast
   activate
 !
 neighbor 10.8.0.1
  peer-group SPINES
 !
 neighbor 10.8.0.3 remote-as 65200
 neighbor interface Eth1/3
  remote-as external
 !
 neighbor 10.8.0.5
  remote-as internal
!
ip route 0.0.0.0/0 10.1.1.254
end
`

// A whole configuration is read without a word of complaint, indented and flat; a member of a port channel classifies as the channel.
func TestDellWhole(t *testing.T) {
	for name, text := range map[string]string{"indented": dellWhole, "flat": regexp.MustCompile(`(?m)^ +`).ReplaceAllString(dellWhole, "")} {
		t.Run(name, func(t *testing.T) {
			got := readDell(text)
			if said := dellSaid(got); len(said) > 0 || !got.Texts[0].Whole {
				t.Errorf("whole %t: %q", got.Texts[0].Whole, said)
			}
			facts := dellFacts(got)
			for name, want := range map[string]string{
				"hostname": "leaf7", "Eth1/1 dscp 26": "3/3/3", "Eth1/1 dscp 0": "0/0/-1", "Eth1/1 trust": "dscp", "Eth1/1 pfc": "[3]", "Eth1/1 mtu": "9100",
				"Eth1/1 marks 3": "ROCE ecn true drops false 1048-2097kB 5", "Eth1/1 watchdog": "false ? ? ?", "Eth1/1 stops 3": "3", "Eth1/2 trust": "none", "Eth1/2 vlan": "0",
				"Eth1/2 up": "false", "Eth1/2 pfc": "[]", "PortChannel10 mtu": "9100", "PortChannel10 pfc": "?", "vlan 20": "9100", "vlan 20 address 0": "10.2.0.1/24",
				"bgp": "65101", "bgp 10.8.0.1": "65100", "bgp 10.8.0.3": "65200", "bgp 10.8.0.5": "65101", "bgp 10.9.9.9": "", "buffer ingress lossless-headroom": "3500000",
			} {
				if facts[name] != want {
					t.Errorf("%s: %q, want %q", name, facts[name], want)
				}
			}
			if len(got.Ports) != 3 {
				t.Errorf("%d ports", len(got.Ports))
			}
		})
	}
}
