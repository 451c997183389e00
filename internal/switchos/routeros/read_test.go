package routeros

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Texts of switches are read as a person reads them.
func TestTexts(t *testing.T) {
	for name, want := range map[string][]string{
		"export-crs812.rsc": {
			"form configuration whole true", "hostname leaf1",
			"qsfp56-1-1 up true mtu 9216 rate 200 fec rs split 1 vlan 100 trust dscp pfc [3]", "qsfp56-dd-1-5 up true mtu 9216 rate 200 fec rs split 2 vlan 100 trust dscp pfc [3]",
			"qsfp56-dd-2-1 up false mtu 1584 rate ? fec ? split ? vlan ? trust none pfc []", "ether1 up true mtu 1592 rate ? fec ? split ? vlan 1 trust none pfc []",
			"qsfp56-1-1 dscp 26: class 3 queue 3 pause 3", "qsfp56-1-1 dscp 48: class 6 queue 6 pause -1", "qsfp56-1-1 dscp 0: class 1 queue 1 pause -1",
			"qsfp56-1-1 queue 1 weighted weight 1 marks false drops false", "qsfp56-1-1 queue 3 weighted weight 1 marks true drops false", "qsfp56-1-1 queue 6 strict weight ? marks false drops false",
			"ether1 rewrites class 1 to 0", "vlan 1 mtu ?", "vlan 1 address 192.168.88.1/24", "vlan 100 mtu 9000", "vlan 100 address 10.64.0.254/24",
		},
		"export-factory.rsc": {
			"form configuration whole true", "hostname MikroTik", "qsfp56-dd-1-1 up true mtu 1584 rate ? fec ? split ? vlan 1 trust none pfc []", "qsfp56-dd-1-1 rewrites class 1 to 0",
			"qsfp56-dd-1-1 dscp 26: class 1 queue 1 pause -1",
			`problem conflict qsfp56-dd-1-1 "add address-pool=default-dhcp interface=bridge name=defconf": DHCP server defconf answers on bridge, and so on qsfp56-dd-1-1 and 5 more`,
		},
		"prints.txt": {
			"form /interface bridge port print, /interface bridge print, /interface ethernet print, /interface ethernet monitor, /interface ethernet switch qos port print, /interface ethernet switch qos tx-manager queue print whole false",
			"qsfp56-1-1 up true mtu 9216 rate 200 fec rs split 1 vlan 100 trust dscp pfc ?", "qsfp56-2-1 up false mtu 1584 rate ? fec ? split ? vlan 100 trust ? pfc ?",
			"qsfp56-dd-1-1 up ? mtu ? rate 100 fec none split ? vlan 100 trust none pfc []", "qsfp56-1-1 queue 3 weighted weight 1 marks true drops false", "qsfp56-1-1 queue 7 strict weight ? marks false drops false",
			`problem conflict qsfp56-dd-1-1 "3    qsfp56-dd-1-1  bridge  yes   100  0x80      none": is not hardware offloaded (its line has no H)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := told(read(file(t, name)))
			for _, w := range lacks(have, want) {
				t.Errorf("not told: %s", w)
			}
			for _, h := range have {
				if (strings.HasPrefix(h, "problem ") || strings.HasPrefix(h, "unread ")) && len(lacks([]string{h}, want)) == len(want) {
					t.Errorf("told: %s", h)
				}
			}
			if t.Failed() {
				t.Logf("%s", strings.Join(have, "\n"))
			}
		})
	}
}

// fine is a part of an export with which nothing is wrong.
const fine = `/interface bridge
add name=bridge
/interface ethernet
set [ find default-name=qsfp56-dd-1-1 ] auto-negotiation=no speed=200G-baseCR4 l2mtu=9216 mtu=9000
set [ find default-name=qsfp56-dd-1-5 ] auto-negotiation=no speed=200G-baseCR4 l2mtu=9216 mtu=9000
/interface bridge port
add bridge=bridge interface=qsfp56-dd-1-1
add bridge=bridge interface=qsfp56-dd-1-5
/interface ethernet switch qos profile
add name=roce dscp=26 traffic-class=3 automap=yes
/interface ethernet switch qos priority-flow-control
add name=pfc traffic-class=3 rx=yes tx=yes
/interface ethernet switch qos port
set qsfp56-dd-1-1 trust-l3=keep pfc=pfc egress-rate-queue3=200G
set qsfp56-dd-1-5 trust-l3=keep pfc=pfc egress-rate-queue3=200G
`

// One change is named, and nothing else is.
func TestChanges(t *testing.T) {
	if c := read(fine); len(c.Problems)+len(c.Unread) > 0 {
		t.Fatalf("%+v %+v", c.Problems, c.Unread)
	}
	for _, c := range []struct{ from, to, want string }{
		{"mtu=9000", "mtu=9300", "range qsfp56-dd-1-1: mtu 9300 is above l2mtu 9216"},
		{"l2mtu=9216", "l2mtu=9900", "range qsfp56-dd-1-1: l2mtu 9900 is above 9570"},
		{"mtu=9000", "mtu=jumbo", "range qsfp56-dd-1-1: mtu jumbo: must be 68 to 65535 bytes"},
		{"auto-negotiation=no speed", "auto-negotiation=yes speed", "inert qsfp56-dd-1-1: forces a speed while auto-negotiation is on|conflict qsfp56-dd-1-5: has a speed of its own on a lane that qsfp56-dd-1-1 takes"},
		{"speed=200G-baseCR4", "speed=200G-baseXX4x", ""},
		{"speed=200G-baseCR4", "speed=fast", "range qsfp56-dd-1-1: fast is not a speed"},
		{"speed=200G-baseCR4 l2mtu=9216", "speed=400G-baseCR8 l2mtu=9216", "conflict qsfp56-dd-1-5: has a speed of its own on a lane that qsfp56-dd-1-1 takes (lanes 1 to 8 of its cage)|conflict qsfp56-dd-1-1: limits queue 3 to 200 Gb/s, and the port runs at 400"},
		{"set [ find default-name=qsfp56-dd-1-5 ] auto-negotiation=no speed=200G-baseCR4", "set [ find default-name=qsfp56-dd-1-5 ] auto-negotiation=no speed=400G-baseCR8", "range qsfp56-dd-1-5: 400G-baseCR8 takes 8 lanes, more than its cage has from there on"},
		{"trust-l3=keep pfc", "trust-l3=keep trust-l3=ignore pfc", "duplicate : says trust-l3 twice"},
		{"l2mtu=9216 mtu=9000\n", "name=a l2mtu=9216 mtu=9000\n", "undefined qsfp56-dd-1-1: names qsfp56-dd-1-1, a port that is called a|undefined qsfp56-dd-1-1: names qsfp56-dd-1-1, a port that is called a"},
		{"interface=qsfp56-dd-1-1", "hw=no interface=qsfp56-dd-1-1", "conflict qsfp56-dd-1-1: is not hardware offloaded (hw=no)"},
		{"bridge=bridge interface=qsfp56-dd-1-5", "bridge=bridge2 interface=qsfp56-dd-1-5", "conflict qsfp56-dd-1-5: is in bridge bridge2, and other ports are in bridge bridge"},
		{"add bridge=bridge interface=qsfp56-dd-1-5", "add bridge=bridge interface=qsfp56-dd-1-1", "duplicate : adds qsfp56-dd-1-1, which"},
		{"add name=roce", "add name=roce dscp=24 traffic-class=2 automap=yes\nadd name=roce", "duplicate : adds roce, which"},
		{"traffic-class=3 automap", "traffic-class=9 automap", "range : traffic-class 9: must be 0 to 7"},
		{"trust-l3=keep pfc=pfc", "trust-l3=yes pfc=pfc", "range qsfp56-dd-1-1: yes is not a way to trust"},
		{"pfc=pfc egress", "pfc=pfc2 egress", "undefined qsfp56-dd-1-1: PFC profile pfc2 is defined nowhere in the text"},
		{" egress-rate-queue3=200G", "", "inert qsfp56-dd-1-1: obeys pauses of class 3, and egress-rate-queue3 is not set"},
		{"egress-rate-queue3=200G", "egress-rate-queue3=10.0Gbps", "conflict qsfp56-dd-1-1: limits queue 3 to 10 Gb/s, and the port runs at 200"},
		{"l2mtu=9216 mtu=9000", "l2mtu=9216 mtu=9000 rx-flow-control=on", "conflict qsfp56-dd-1-1: flow control of the whole link is on beside PFC"},
		{"/interface ethernet switch qos port\n", "/interface ethernet switch qos settings\nset lossless-traffic-class=4\n/interface ethernet switch qos port\n", "conflict : does not list class 3 as lossless"},
		{"/interface ethernet switch qos port\n", "/interface ethernet switch qos tx-manager queue\nset 3 use-shared-buffers=no\n/interface ethernet switch qos port\n", "conflict : queue 3 uses no shared buffers, and has PFC"},
		{"/interface ethernet switch qos port\n", "/interface ethernet switch qos tx-manager queue\nset 4 use-shared-buffers=no ecn=yes\n/interface ethernet switch qos port\n", "inert : marks packets of queue 4, which uses no shared buffers"},
		{"add name=pfc ", "add name=other traffic-class=4\nadd name=pfc ", "unattached : PFC profile other is of no port (pfc)"},
		{"add name=roce ", "add name=other dscp=30 traffic-class=4 automap=no\nadd name=roce ", "unattached : profile other is of no port, and in no map that a port uses"},
		{"/interface ethernet switch qos priority", "/interface ethernet switch qos map ip\nadd dscp=24 profile=gold\n/interface ethernet switch qos priority", "undefined : profile gold is defined nowhere in the text"},
		{"/interface ethernet switch qos priority", "/interface ethernet switch qos map ip\nadd dscp=70 profile=roce\n/interface ethernet switch qos priority", "range : dscp 70: must be 0 to 63"},
		{"/interface bridge port", "/ip dhcp-server\nadd name=dhcp interface=bridge\n/interface bridge port", "conflict qsfp56-dd-1-1: DHCP server dhcp answers on bridge"},
		{"/interface bridge port", "/interface ethernet\nset qsfp56-dd-1-1 mtu=8000\n/interface bridge port", "duplicate : says mtu again, with another value than"},
		{"egress-rate-queue3=200G\nset", "egress-rate-queue3=200G; :error stop\nset", "unread set qsfp56-dd-1-1 trust-l3=keep pfc=pfc egress-rate-queue3=200G; :error stop"},
		{"/interface bridge port", "/interface frobnicator\nadd name=x\n/interface bridge port", "unread add name=x"},
		{"interface=qsfp56-dd-1-1", "interface=qsfp56-dd-1-1 warp=9", "unread add bridge=bridge interface=qsfp56-dd-1-1 warp=9"},
		{"set qsfp56-dd-1-5 trust", ":foreach p in={\"qsfp56-dd-1-5\";\"x\"} do={\n  set $p trust-l3=keep\n}\nset qsfp56-dd-1-5 trust", "unread :foreach p in="},
		{"/interface bridge port", "/interface ethernet switch rule\nadd new-qos-profile=roce ports=qsfp56-dd-1-1 switch=switch1\n/interface bridge port", "unread add new-qos-profile=roce"},
	} {
		t.Run(c.to, func(t *testing.T) {
			if !strings.Contains(fine, c.from) {
				t.Fatalf("%q is not in the text", c.from)
			}
			got := read(strings.Replace(fine, c.from, c.to, 1))
			var all []string
			for _, p := range got.Problems {
				all = append(all, p.Kind+" "+p.Port+": "+p.What)
			}
			for _, l := range got.Unread {
				all = append(all, "unread "+l.Text)
			}
			if c.want == "" {
				return
			}
			want := strings.Split(c.want, "|")
			for i, w := range want {
				if len(all) != len(want) || !strings.HasPrefix(all[i], w) {
					t.Fatalf("told %q, want %q", all, want)
				}
			}
		})
	}
}

// What is the same, written otherwise, is read the same.
func TestSameOtherwise(t *testing.T) {
	want := strings.Join(told(read(fine)), "\n")
	for name, text := range map[string]string{
		"whole paths":           pathed(fine, "/interface ethernet switch qos port", " "),
		"slashes":               slashed(fine),
		"Windows":               strings.ReplaceAll(fine, "\n", "\r\n"),
		"broken lines":          strings.ReplaceAll(fine, " l2mtu=", " \\\n    l2mtu=\\\n    "),
		"where":                 strings.ReplaceAll(fine, "[ find default-name=", "[find where default-name="),
		"by name":               strings.ReplaceAll(strings.ReplaceAll(fine, "[ find default-name=", ""), " ] auto", " auto"),
		"several on one line":   strings.ReplaceAll(fine, "egress-rate-queue3=200G\nset", "egress-rate-queue3=200G; set"),
		"shortened":             strings.ReplaceAll(fine, "/interface ethernet switch qos", "/in/eth/sw/qos"),
		"a query of two":        strings.Replace(fine, "set qsfp56-dd-1-1 trust-l3=keep pfc=pfc egress-rate-queue3=200G\nset qsfp56-dd-1-5", `set [find where name="qsfp56-dd-1-1" or name="qsfp56-dd-1-5"]`, 1),
		"a list":                strings.Replace(fine, "set qsfp56-dd-1-1 trust-l3=keep pfc=pfc egress-rate-queue3=200G\nset qsfp56-dd-1-5", "set qsfp56-dd-1-1,qsfp56-dd-1-5", 1),
		"a pattern":             strings.Replace(fine, "set qsfp56-dd-1-1 trust-l3=keep pfc=pfc egress-rate-queue3=200G\nset qsfp56-dd-1-5", "set qsfp56-dd-1-1\nset qsfp56-dd-1-5\nset [find name~\"dd-1-[15]\"]", 1),
		"all":                   strings.Replace(fine, "set qsfp56-dd-1-1 trust-l3=keep pfc=pfc egress-rate-queue3=200G\nset qsfp56-dd-1-5", "set [find]", 1),
		"at prompts":            prompted(fine),
		"notes behind commands": strings.ReplaceAll(fine, "speed=200G-baseCR4 l2mtu=9216 mtu=9000", "speed=200G-baseCR4 l2mtu=9216 mtu=9000   # (a spark"),
		"offloading, as it is":  strings.Replace(fine, "/interface ethernet switch qos profile", "/interface/bridge/port\nset [find interface~\"qsfp28\"] hw=yes\n/interface ethernet switch qos profile", 1),
		"what a script prints":  strings.Replace(fine, "/interface bridge port", ":put \"ports\"\n/interface bridge port", 1),
	} {
		t.Run(name, func(t *testing.T) {
			have := strings.Join(told(read(text)), "\n")
			if have != want {
				t.Errorf("read otherwise:\n%s\nwant:\n%s\nof:\n%s", have, want, text)
			}
		})
	}
}

// pathed writes commands with their menus.
func pathed(text, _, _ string) string {
	var b strings.Builder
	menu := ""
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "/") {
			menu = strings.TrimSpace(l)
			continue
		}
		b.WriteString(menu + " " + l)
	}
	return b.String()
}

func slashed(text string) string {
	var b strings.Builder
	menu := ""
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "/") {
			menu = strings.ReplaceAll(strings.TrimSpace(l), " ", "/")
			continue
		}
		b.WriteString(menu + "/" + l)
	}
	return b.String()
}

func prompted(text string) string {
	var b strings.Builder
	menu := ""
	for l := range strings.Lines(text) {
		b.WriteString("[admin@leaf1] " + menu + "> " + l)
		if strings.HasPrefix(l, "/") {
			menu = strings.ReplaceAll(strings.TrimSpace(l), " ", "/")
		}
	}
	return b.String()
}

// A text that ends in the middle of something says so.
func TestCut(t *testing.T) {
	for text, cut := range map[string]bool{
		fine:                                 false,
		fine + "set x \\\n":                  true,
		fine + "set x \\":                    true,
		":foreach p in={1;2} do={\n set x\n": true,
	} {
		c := read(text)
		found := false
		for _, p := range c.Problems {
			found = found || p.Kind == fabric.TextCut
		}
		if found != cut {
			t.Errorf("%q: cut %v, %+v", text[max(0, len(text)-30):], found, c.Problems)
		}
	}
	if c := read(fine + `set qsfp56-dd-1-1 comment="open` + "\n"); len(c.Unread) != 1 {
		t.Errorf("an open quote: %+v", c.Unread)
	}
}

// Each line that is lost from an export is missed, or says nothing of the ports: nothing is read from nowhere.
func TestLostLines(t *testing.T) {
	text := string(OS{}.Render(inVLANs(spark()), traffic(true, false)).Text)
	want := strings.Join(told(read(text)), "\n")
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	same := 0
	for i, l := range all {
		rest := strings.Join(append(append([]string{}, all[:i]...), all[i+1:]...), "\n") + "\n"
		if have := strings.Join(told(read(rest)), "\n"); have == want {
			// Comments, what clears the way, what other lines say too, and what is so from the factory.
			silent := []string{"#", "/", "remove ", "set [ find ] l2mtu=", "set switch1 ", "set [ find interface=bridge ] disabled=yes", "add bridge=bridge vlan-ids=", "set lossless-traffic-class=", "set [ find tx-manager=default traffic-class=7 ]"}
			if !slices.ContainsFunc(silent, func(s string) bool { return strings.HasPrefix(l, s) }) {
				t.Errorf("nobody misses %q", l)
			}
			same++
		}
	}
	if same > len(all)/2 {
		t.Errorf("%d of %d lines are not missed", same, len(all))
	}
}

// Several texts are read as one: a configuration counts before what a command printed.
func TestSeveralTexts(t *testing.T) {
	monitor := "      name: qsfp56-dd-1-1\n    status: link-ok\n      rate: 100Gbps\n       fec: fec91\n"
	c := OS{}.Read("leaf1", []switchtext.Text{{File: "monitor", Bytes: []byte(monitor)}, {File: "export", Bytes: []byte(fine)}})
	if p := c.Ports[0]; p.RateGbps == nil || p.RateGbps.Is != 200 || p.FEC == nil || p.FEC.Is != "rs" || p.FEC.At.File != "monitor" {
		t.Errorf("%v %+v", is(p.RateGbps), p.FEC)
	}
}

// Ten thousand lines are read in a moment, whatever they are.
func TestLarge(t *testing.T) {
	var many strings.Builder
	many.WriteString("/interface bridge port\n")
	for i := range 10000 {
		many.WriteString("add bridge=bridge interface=qsfp28-" + strings.Repeat("1", 1+i%5) + "-1 pvid=100\n")
	}
	var ports strings.Builder
	ports.WriteString("/interface ethernet\n")
	for i := range 10000 {
		ports.WriteString("set [ find default-name=sfp" + string(rune('a'+i%26)) + strings.Repeat("x", i%300) + "1 ] mtu=9000 name=port" + strings.Repeat("y", i%300) + "\n")
	}
	for name, text := range map[string]string{
		"one port again and again": many.String(), "ports": ports.String(), "scripts": strings.Repeat(":if (true) do={ :put 1 }\n", 10000), "rows": "Flags: X - DISABLED\n # NAME MTU\n" + strings.Repeat(" 0 X sfp1 9000\n", 10000),
		"one word": strings.Repeat("x", 1<<20), "brackets": "/interface ethernet set " + strings.Repeat("[", 100000), "braces": strings.Repeat(":do {\n", 100000), "broken lines": strings.Repeat("a\\\n", 100000), "menus": strings.Repeat("/interface ethernet \\\n", 100000),
		"addresses": "/ip address\n" + strings.Repeat("add address=10.0.0.1/24 interface=sfp1\n", 10000) + ports.String(), "ranges": "/interface bridge vlan add vlan-ids=" + strings.Repeat("0-4094,", 50000),
	} {
		begun := time.Now()
		read(text)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"export-crs812.rsc", "export-factory.rsc", "prints.txt"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add(fine)
	f.Add("[a@b] /> print\n 0 R =\n/.. set [find where a~\"(\"] !x .y=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		OS{}.Recognizes([]byte(text))
		c := read(text)
		for _, p := range c.Ports {
			if p.Name == "" {
				t.Errorf("a port without a name")
			}
		}
	})
}

// Each output is known for RouterOS by itself: over SSH it comes without the command that printed it.
func TestOutputsAlone(t *testing.T) {
	text := file(t, "prints.txt")
	parts := strings.Split(text, "[admin@leaf1] > ")[1:]
	var texts []switchtext.Text
	for _, p := range parts {
		command, output, _ := strings.Cut(p, "\n")
		if !(OS{}).Recognizes([]byte(output)) {
			t.Errorf("%s: its output is not recognized:\n%s", command, output)
		}
		texts = append(texts, switchtext.Text{File: command, Bytes: []byte(output)})
	}
	alone, together := told(OS{}.Read("leaf1", texts)), told(read(text))
	drop := func(of []string) (out []string) {
		for _, l := range of {
			if !strings.HasPrefix(l, "form ") {
				out = append(out, l)
			}
		}
		return out
	}
	if a, b := strings.Join(drop(alone), "\n"), strings.Join(drop(together), "\n"); a != b {
		t.Errorf("read otherwise:\n%s\nwant:\n%s", a, b)
	}
	for _, other := range []string{"{\"PORT\": {}}", "interface Ethernet1\n   mtu 9214\n", "set interfaces et-0/0/0 mtu 9216\n", "Flags: Up SNMP-Traps\n", "name: x\n", "/etc/hosts\n", "# just a note\n"} {
		if (OS{}).Recognizes([]byte(other)) {
			t.Errorf("%q is taken for RouterOS", other)
		}
	}
}

// A port that does not keep DSCP rewrites it to that of the profile: 0 where nobody gave it one.
func TestRewrite(t *testing.T) {
	for trust, want := range map[string]string{"keep": "map[]", "trust": "map[1:0]", "ignore": "map[1:0]"} {
		c := read(strings.ReplaceAll(fine, "trust-l3=keep", "trust-l3="+trust))
		got := map[string]int{}
		for class, to := range c.Ports[0].Rewrite {
			got[class] = to.Is
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, not %s", trust, got, want)
		}
	}
}

// A whole export that names ports of bridges names all of them; one that names none may have lost them.
func TestPortOfNoBridge(t *testing.T) {
	export := "# 2026-10-01 10:00:00 by RouterOS 7.23\n# model = CRS812-8DS-2DQ-2DDQ\n/system identity\nset name=leaf1\n/interface bridge\nadd name=bridge\n/interface ethernet\nset [ find default-name=qsfp56-1-1 ] mtu=9104\nset [ find default-name=qsfp56-2-1 ] mtu=9104\n"
	for name, tt := range map[string]struct{ text, want string }{
		"both":    {export + "/interface bridge port\nadd bridge=bridge interface=qsfp56-1-1\nadd bridge=bridge interface=qsfp56-2-1\n", "true true"},
		"one":     {export + "/interface bridge port\nadd bridge=bridge interface=qsfp56-1-1\n", "true false"},
		"off":     {export + "/interface bridge port\nadd bridge=bridge interface=qsfp56-1-1\nadd bridge=bridge interface=qsfp56-2-1 disabled=yes\n", "true false"},
		"cut":     {export, "unknown unknown"},
		"excerpt": {strings.TrimPrefix(export, "# 2026-10-01 10:00:00 by RouterOS 7.23\n") + "/interface bridge port\nadd bridge=bridge interface=qsfp56-1-1\n", "true unknown"},
	} {
		var got []string
		for _, p := range read(tt.text).Ports {
			word := "unknown"
			if p.Bridged != nil {
				word = strconv.FormatBool(p.Bridged.Is)
			}
			got = append(got, word)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
