package eos

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

func eosRead(text string) *fabric.SwitchConfig {
	return OS{}.Read("leaf1", []switchtext.Text{{File: "leaf1.txt", Bytes: []byte(text)}})
}

// has fails where what is read has not a line with each part, or has a line with an unwanted one.
func has(t *testing.T, text string, want ...string) {
	t.Helper()
	all := strings.Join(brief(eosRead(text)), "\n")
	for _, w := range want {
		if no, ok := strings.CutPrefix(w, "not: "); ok {
			if strings.Contains(all, no) {
				t.Errorf("%q is in\n%s", no, all)
			}
		} else if !strings.Contains(all, w) {
			t.Errorf("%q is not in\n%s", w, all)
		}
	}
}

const eosRouted = "interface Ethernet1/1\n   no switchport\n"

func TestEOSGrammar(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"defaults of a routed port", eosRouted, []string{"mtu 1500 vlan 0 trust dscp pfc []", "dscp 26: class 3 queue 3 pause -1", "dscp 0: class 1 queue 1", "queue 3 strict", "watchdog false"}},
		{"defaults of a switched port", "interface Ethernet1/1\n   description x\n", []string{"mtu 9214 vlan 1 trust pcp", "pcp 0: class 1", "pcp 3: class 3"}},
		{"range of ports", "interface Ethernet1/1-4,5/1\n   no switchport\n   mtu 9000\n", []string{"Ethernet1/1 mtu 9000", "Ethernet1/4 mtu 9000", "Ethernet5/1 mtu 9000", "not: Ethernet1/5"}},
		{"range of cages", "interface Et1/1-3/1\n   mtu 9000\n", []string{"Ethernet1/1 mtu 9000", "Ethernet2/1 mtu 9000", "Ethernet3/1 mtu 9000"}},
		{"negations", eosRouted + "   mtu 9000\n   no mtu\n   shutdown\n   no shutdown\n   ip address 10.0.0.1/31\n   no ip address\n   priority-flow-control on\n   default priority-flow-control\n", []string{"mtu 1500", "up true", "pfc []", "not: address"}},
		{"negation of a map", "qos map dscp 26 to traffic-class 5\nno qos map dscp 26\n" + eosRouted, []string{"dscp 26: class 3"}},
		{"lists and names", "qos map dscp 0-25,af31 ef 48 to traffic-class 4\n" + eosRouted, []string{"dscp 26: class 4", "dscp 48: class 4", "dscp 0: class 4"}},
		{"one value after a list is no mistake", "qos map dscp 0-63 to traffic-class 0\nqos map dscp 26 to traffic-class 3\n" + eosRouted, []string{"dscp 26: class 3", "dscp 48: class 0", "not: problem"}},
		{"one value twice is", "qos map dscp 26 to traffic-class 0\nqos map dscp 26 to traffic-class 3\n" + eosRouted, []string{"dscp 26: class 3", "problem duplicate"}},
		{"class to queue", "qos map traffic-class 3 4 to tx-queue 5\n" + eosRouted, []string{"dscp 26: class 3 queue 5"}},
		{"rewrite is no classification", "qos map traffic-class 7 to dscp 48\n" + eosRouted, []string{"dscp 48: class 6", "problem inert"}},
		{"PFC without on", eosRouted + "   priority-flow-control priority 3 no-drop\n", []string{"pfc []", "problem inert Ethernet1/1"}},
		{"PFC of a port", eosRouted + "   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   priority-flow-control priority 4 drop\n", []string{"pfc [3]", "dscp 26: class 3 queue 3 pause 3", "pause 3 stops 3", "not: problem"}},
		{"PFC off everywhere", "priority-flow-control all off\n" + eosRouted + "   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n", []string{"pfc []", "problem inert"}},
		{"an undefined profile", eosRouted + "   service-profile NONE\n", []string{"problem undefined Ethernet1/1", "pfc ?", "pause ?", "not: watchdog false"}},
		{"a profile without a port", "qos profile P\n   priority-flow-control on\n", []string{"problem unattached"}},
		{"a port before its profile", "qos profile P\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n" + eosRouted + "   service-profile P\n   priority-flow-control priority 3 drop\n", []string{"pfc []"}},
		{"round robin reaches down", "qos profile P\n   tx-queue 4\n      no priority\n      bandwidth percent 50\n   tx-queue 2\n      priority strict\n" + eosRouted + "   service-profile P\n", []string{"queue 2 weighted", "queue 0 weighted", "queue 5 strict", "problem inert Ethernet1/1 \"priority strict\""}},
		{"shares above 100", "qos profile P\n   tx-queue 4\n      bandwidth percent 60\n   tx-queue 3\n      bandwidth percent 60\n" + eosRouted + "   service-profile P\n", []string{"problem range"}},
		{"minimum above maximum", eosRouted + "   tx-queue 3\n      random-detect ecn minimum-threshold 9 kbytes maximum-threshold 5 kbytes max-mark-probability 10\n", []string{"problem range"}},
		{"no ECN", eosRouted + "   tx-queue 3\n      random-detect ecn minimum-threshold 1 kbytes maximum-threshold 5 kbytes\n      no random-detect ecn\n", []string{"queue 3 strict weight ? no marks"}},
		{"WRED drops", eosRouted + "   tx-queue 3\n      random-detect drop drop-precedence 1 minimum-threshold 2 milliseconds maximum-threshold 20 milliseconds drop-probability 80 weight 3\n", []string{"ecn false drops true 2 ms to 20 ms 80%"}},
		{"priority above 7", eosRouted + "   priority-flow-control on\n   priority-flow-control priority 8 no-drop\n", []string{"pfc []", "problem range"}},
		{"DSCP above 63", "qos map dscp 64 to traffic-class 3\n" + eosRouted, []string{"problem range"}},
		{"watchdog of a port", eosRouted + "   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   priority-flow-control pause watchdog\n   priority-flow-control pause watchdog port timer timeout 0.05 polling-interval auto recovery-time 1.11 forced\n   tx-queue 3\n      bandwidth guaranteed 100\n", []string{"watchdog true errdisable 50 1110", "not: problem"}},
		{"watchdog without a queue to watch", "priority-flow-control pause watchdog default timeout 0.20\n" + eosRouted + "   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n", []string{"watchdog true errdisable 200 ?", "problem inert"}},
		{"address on a switched port", "interface Ethernet1/1\n   ip address 10.0.0.1/31\n", []string{"problem inert Ethernet1/1", "address 10.0.0.1/31"}},
		{"an address twice", eosRouted + "   ip address 10.0.0.1/31\ninterface Ethernet2/1\n   no switchport\n   ip address 10.0.0.1/31\n", []string{"problem conflict Ethernet2/1"}},
		{"VLANs", "vlan 10-11\ninterface Ethernet1/1\n   switchport access vlan 11\ninterface Ethernet1/2\n   switchport mode trunk\n   switchport trunk native vlan 10\ninterface Vlan11\n   mtu 9000\n   ip address 10.0.0.1 255.255.255.0\n", []string{"Ethernet1/1 mtu 9214 vlan 11", "Ethernet1/2 mtu 9214 vlan 10", "not: problem"}},
		{"a VLAN that is not", "vlan 10\ninterface Ethernet1/1\n   switchport access vlan 11\n", []string{"problem undefined Ethernet1/1"}},
		{"VLAN above 4094", "vlan 5000\n", []string{"problem range"}},
		{"policy by DSCP", "class-map type qos match-any R\n   match dscp 26\npolicy-map type quality-of-service P\n   class R\n      set traffic-class 5\n   class class-default\n      set traffic-class 0\ninterface Ethernet1/1\n   service-policy type qos input P\n", []string{"trust dscp", "dscp 26: class 5 queue 5", "dscp 48: class 0", "not: problem"}},
		{"policy by access list", "class-map type qos match-any R\n   match ip access-group ROCE\npolicy-map type quality-of-service P\n   class R\n      set traffic-class 5\n" + eosRouted + "   service-policy type qos input P\n", []string{"dscp 26: class ?"}},
		{"policy of nowhere", eosRouted + "   service-policy type qos input P\n", []string{"problem undefined", "dscp 26: class ?"}},
		{"no trust", eosRouted + "   qos trust dscp\n   no qos trust\n   qos cos 3\n", []string{"trust none", "pcp 0: class 3"}},
		{"blocks that matter not", "management api http-commands\n   no shutdown\n!\nrouter ospf 1\n   network 10.0.0.0/8 area 0\n!\nip access-list X\n   10 permit ip any any\nspanning-tree mode mstp\nntp server 10.0.0.1\n" + eosRouted, []string{"not: unread", "mtu 1500"}},
		{"a line that nobody knows", eosRouted + "   frobnicate lossless 3\nqos frobnicate\n", []string{"unread frobnicate lossless 3", "unread qos frobnicate"}},
		{"flat text", "qos profile P\npriority-flow-control on\npriority-flow-control priority 3 no-drop\nuc-tx-queue 3\nno priority\nbandwidth percent 50\ninterface Ethernet1/1\nno switchport\nmtu 9000\nuc-tx-queue 3\nrandom-detect ecn count\nservice-profile P\nvlan 7\nname x\n", []string{"mtu 9000 vlan 0 trust dscp pfc [3]", "queue 3 weighted weight 50", "not: unread", "not: problem"}},
		{"a paste that begins inside", "sw(config-if-Et5/1)# mtu 9000\nsw(config-if-Et5/1-uc-txq-3)# no priority\nsw(config-if-Et5/1)#no switchport\nsw(config)#hostname x\n", []string{"Ethernet5/1 mtu 9000 vlan 0", "queue 3 weighted", "not: unread"}},
		{"port channel", "interface Port-Channel1\n   no switchport\n   mtu 9000\ninterface Ethernet1/1\n   channel-group 1 mode active\n", []string{"Ethernet1/1 mtu 9000 vlan 0 trust dscp"}},
		{"peer groups", "router bgp 65001\n   neighbor SPINES peer group\n   neighbor SPINES remote-as 65000\n   neighbor 10.0.0.1 peer group SPINES\n   neighbor 10.0.0.3 peer group NONE\n   address-family ipv4\n      neighbor SPINES activate\n", []string{"bgp neighbour 10.0.0.1 65000", "problem undefined", "not: unread"}},
		{"blocks and texts in interfaces", eosRouted + "   evpn ethernet-segment\n      identifier 0000:0000:0000:0102:0304\n      redundancy single-active\n   mtu 9000\n   comment\n   mtu 1400\n   EOF\n!\ninterface Ethernet8.101\n   encapsulation dot1q vlan 101\n   ip address 172.31.128.1/31\n!\nbanner login\nqos profile X\nEOF\n", []string{"Ethernet1/1 mtu 9000", "not: unread", "not: Ethernet8.101", "not: problem"}},
		{"notes behind commands", "qos map dscp 26 to traffic-class 5   ! RoCE\n" + eosRouted, []string{"dscp 26: class 5", "not: unread"}},
		{"pauses of the link", eosRouted + "   flowcontrol receive on\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\ninterface Ethernet2/1\n   flowcontrol receive on\ninterface Ethernet3/1\n   flowcontrol receive on\n   flowcontrol receive off\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n", []string{"problem conflict Ethernet1/1", "not: conflict Ethernet2/1", "not: conflict Ethernet3/1"}},
		{"BGP and no routing", "! device: leaf1 (DCS-7060DX4-32, EOS-4.30.1F)\n!\nrouter bgp 65001\n   neighbor 10.0.0.1 remote-as 65000\nend\n", []string{"problem inert", "not: problem cut"}},
		{"defaults that the text sets", "interface defaults\n   ethernet\n      shutdown\n   !\n   mtu 9214\n!\nswitchport default mode routed\n!\ninterface Ethernet1/1\n   no shutdown\ninterface Ethernet2/1\n   switchport\ninterface Vlan7\n   ip address 10.0.0.1/24\n", []string{"Ethernet1/1 mtu 9214 vlan 0 trust dscp", "up true", "Ethernet2/1 mtu 9214 vlan 1 trust pcp", "up false", "vlan 7 mtu 9214", "not: unread"}},
		{"a gateway without MTU", "vlan 7\ninterface Vlan7\n   ip address 10.0.0.1/24\n", []string{"vlan 7 mtu 1500"}},
		{"half a configuration", "sw#show run\n! device: leaf1 (DCS-7060DX4-32, EOS-4.30.1F)\nhostname leaf1\n" + eosRouted, []string{"problem cut"}},
		{"a range says twice", "interface Ethernet1-64\n   mtu 9000\n   mtu 9001\n", []string{"problem duplicate"}},
	} {
		t.Run(c.name, func(t *testing.T) { has(t, c.text, c.want...) })
	}
}

func TestEOSShow(t *testing.T) {
	maps := "   Number of Traffic Classes supported: 8\n   Cos-tc map:\n     cos:  0  1  2  3  4  5  6  7\n     ----------------------------\n      tc:  1  0  2  3  4  5  6  7\n\n   Dscp-tc map:\n     d1 :  d2 0  1  2  3  4  5  6  7  8  9\n     --------------------------------------\n"
	for d := 0; d < 64; d += 10 {
		maps += fmt.Sprintf("      %d :     ", d/10)
		for i := d; i < min(64, d+10); i++ {
			maps += fmt.Sprintf(" %d ", map[bool]int{true: 3, false: 0}[i == 26])
		}
		maps += "\n"
	}
	maps += "   Tc - tx-queue map:\n     tc:        0  1  2  3  4  5  6  7\n     ---------------------------------\n     tx-queue:  0  1  2  4  4  5  6  7\n"
	text := "sw#show interfaces status\nPort       Name   Status       Vlan     Duplex Speed  Type            Flags Encapsulation\nEt1/1      gpu1   connected    routed   full   400G   400GBASE-CR8\nEt2/1      gpu 2  disabled     101      full   400G   Not Present\n" +
		"sw#show priority-flow-control\nThe hardware supports PFC on priorities 0 1 2 3 4 5 6 7\nPort       Enabled  Priorities  Active  Note\n---------  -------  ----------  ------  -------------\nEt1/1      Yes      3 4         Yes     DCBX disabled\nEt2/1      No                   No      DCBX disabled\n" +
		"sw#show qos maps\n" + maps +
		"sw#show qos interfaces ethernet 1/1\nEthernet1/1:\n   Trust Mode: DSCP\n   Default COS: 0\n   Default DSCP: 0\n   Port shaping rate: disabled\n  Tx    Bandwidth     Bandwidth                   Shape Rate         Priority   ECN/WRED\n Queue  (percent)     Guaranteed (units)           (units)\n ----------------------------------------------------------------------------------------\n   7        -             - ( - )              -            ( - )      SP         D\n   3        25          - ( - )           24.9      (Gbps)   RR        L\n\nLegend:\nRR -> Round Robin\n" +
		"sw#show qos interfaces ethernet 1/1 ecn\nTx-Queue  Threshold  ECN Min     ECN Max\n          Unit       Threshold   Threshold\n--------  ---------  ---------   ---------\n3         kbytes     256         512\n"
	has(t, text, "Ethernet1/1 mtu ? vlan 0 trust dscp pfc [3 4] rate 400", "Ethernet1/1 dscp 26: class 3 queue 4 pause 3", "Ethernet1/1 dscp 48: class 0 queue 0 pause -1",
		"Ethernet2/1 mtu ? vlan 101 trust ? pfc [] rate ? fec ? up false", "Ethernet1/1 queue 3 weighted weight 25 ecn true drops false 256 kB to 512 kB", "Ethernet1/1 queue 7 strict", "not: unread", "not: problem")
	for _, form := range eosRead(text).Texts {
		if !strings.Contains(form.Form, "show qos maps") || form.Whole {
			t.Errorf("form %+v", form)
		}
	}
}

func goldenText(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", ""+name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(b), "-- not in it --")
	return text
}

// A text from Windows, with comments, with blanks at its ends, flat, or pasted at prompts says the same.
func TestEOSForms(t *testing.T) {
	text := goldenText(t, "rail24-with-uplinks")
	want := brief(eosRead(text))
	flat, prompts, mode := "", "", ""
	for _, l := range strings.Split(text, "\n") {
		flat += strings.TrimSpace(l) + "\n"
		c := strings.TrimSpace(l)
		if !strings.HasPrefix(l, " ") {
			mode = map[bool]string{true: "config", false: mode}[c != ""]
		}
		prompts += "leaf1(" + mode + ")#" + c + "\n"
		if f := strings.Fields(c); !strings.HasPrefix(l, " ") && len(f) > 1 {
			mode = map[string]string{"interface": "config-if-" + strings.Replace(f[1], "Ethernet", "Et", 1), "router": "config-router-bgp", "vlan": "config-vlan-" + f[1], "qos": "config"}[f[0]]
			if strings.HasPrefix(c, "qos profile") {
				mode = "config-qos-profile-" + f[2]
			} else if mode == "" {
				mode = "config"
			}
		} else if len(f) == 2 && f[0] == "uc-tx-queue" {
			mode = "config-qos-profile-RAILWRIGHT-uc-txq-" + f[1]
		}
	}
	for name, other := range map[string]string{
		"windows": strings.ReplaceAll(text, "\n", "\r\n"), "tabs": strings.ReplaceAll(text, "   ", "\t"), "comments": strings.ReplaceAll(text, "\ninterface", "\n! a comment\ninterface"),
		"flat": flat, "prompts": prompts, "twice": text + text, "no !": strings.ReplaceAll(text, "!\n", ""),
	} {
		if diff := cmp.Diff(want, brief(eosRead(other))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Half a file never says that more is right than the whole one: where RoCE is still lossless by it, the lines are there.
func TestEOSCut(t *testing.T) {
	lines := strings.SplitAfter(goldenText(t, "rail24"), "\n")
	for i := range lines {
		text := strings.Join(lines[:i], "")
		for _, p := range eosRead(text).Ports {
			if p.PFC != nil && len(p.PFC.Is) > 0 && (!strings.Contains(text, "no-drop") || !strings.Contains(text, "service-profile")) {
				t.Fatalf("line %d: %+v", i, p)
			}
		}
		one := strings.Join(slices.Concat(lines[:i], lines[min(i+1, len(lines)):]), "")
		brief(eosRead(one))
	}
}

// 10,000 ports are read in less than a few seconds, and share their tables.
func TestEOSManyPorts(t *testing.T) {
	s, traffic := eosLeaf(), classes(true, true)
	port := s.Ports[0]
	s.Ports = nil
	for i := range 10000 {
		port.Name = fmt.Sprintf("Ethernet%d/%d", 1+i/8, 1+i%8)
		s.Ports = append(s.Ports, port)
	}
	text := OS{}.Render(s, traffic).Text
	start := time.Now()
	c := OS{}.Read("leaf1", []switchtext.Text{{Bytes: text}})
	if d := time.Since(start); d > 2*time.Minute || len(c.Ports) != 10000 || c.Ports[0].DSCP != c.Ports[9999].DSCP {
		t.Errorf("%d ports in %v", len(c.Ports), d)
	} else {
		t.Log(d)
	}
}

func FuzzReadEOS(f *testing.F) {
	for _, name := range []string{"rail24-with-uplinks", "routed-with-all", "bridged"} {
		f.Add([]byte(goldenText(f, name)))
	}
	f.Add([]byte("sw(config)# interface Et1-3\nsw(config-if-Et1-3-uc-txq-3)# no priority\nsw# show qos interfaces ethernet 1 ecn\nTx-Queue  Threshold  ECN Min     ECN Max\n3 kbytes 256 512\nPort Enabled Priorities Active Note\nEt1 Yes 3 Yes x\n"))
	f.Add([]byte("policy-map type quality-of-service P\n class X\n  set dscp 3\nclass-map type qos match-any X\n match dscp 0-63\ninterface Ethernet1\nservice-policy type qos input P\nDscp-tc map:\n6 : 1 1 1 1 1\nno qos map dscp 3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		OS{}.Recognizes(text)
		c := OS{}.Read("leaf1", []switchtext.Text{{File: "a", Bytes: text}, {File: "b", Bytes: bytes.ToUpper(text)}})
		brief(c)
		for _, p := range c.Ports {
			for _, s := range p.Stops {
				if s != nil && (s.Is < -1 || s.Is > 7) {
					t.Fatalf("%s: a pause stops queue %d", p.Name, s.Is)
				}
			}
			if p.PFC != nil && !slices.IsSorted(p.PFC.Is) {
				t.Fatalf("%s: PFC of %v", p.Name, p.PFC.Is)
			}
		}
	})
}

// matterNot are the first words of rendered lines that the model has no place for.
var matterNot = []string{"description", "name", "router-id", "maximum-paths", "network", "ip routing", "flowcontrol", "switchport mode", "qos map traffic-class", "vlan 1", "no shutdown", "hostname",
	"priority-flow-control pause watchdog", "no priority", "priority strict"} // the last three say what is so anyway

// Every rendered line counts: without it, or with another number, something else is read.
func TestEOSEveryLineCounts(t *testing.T) {
	lines := strings.Split(goldenText(t, "rail24-with-uplinks"), "\n")
	tell := func(changed []string) string {
		return strings.Join(brief(eosRead(strings.Join(changed, "\n"))), "\n")
	}
	want := tell(lines)
	changes := 0
	for i, l := range lines {
		c := strings.TrimSpace(l)
		if c == "" || c == "!" || slices.ContainsFunc(matterNot, func(w string) bool { return strings.HasPrefix(c, w) }) {
			continue
		}
		if got := tell(slices.Concat(lines[:i], lines[i+1:])); got == want {
			t.Errorf("without line %d %q the same is read", i+1, c)
		}
		changes++
		for j := range len(l) {
			if l[j] < '0' || l[j] > '9' || strings.HasPrefix(c, "speed") && strings.Contains(l[:j], "-") || strings.Contains(l[:j], "weight") || strings.Contains(l[:j], "guaranteed") {
				continue
			}
			changed := slices.Clone(lines)
			changed[i] = l[:j] + string('0'+(l[j]-'0'+1)%10) + l[j+1:]
			if got := tell(changed); got == want {
				t.Errorf("line %d as %q: the same is read", i+1, changed[i])
			}
			changes++
		}
	}
	t.Log(changes, "changes")
}
