package eos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// public holds texts that people published, and mutants of them. They are not ours to keep here.
const public = "../../../../shared/data/roce-configs"

func publicText(t *testing.T, file string) switchtext.Text {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(public, file))
	if os.IsNotExist(err) {
		t.Skipf("%s: no published configurations on this machine", public)
	}
	if err != nil {
		t.Fatal(err)
	}
	return switchtext.Text{File: file, Bytes: text}
}

// brief is what a switch does, a line for each thing, without the lines of the text.
func brief(c *fabric.SwitchConfig) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, p := range c.Ports {
		say("%s mtu %s vlan %s trust %s pfc %s rate %s fec %s up %s", p.Name, eosIs(p.MTU), eosIs(p.VLAN), eosIs(p.Trust), eosIs(p.PFC), eosIs(p.RateGbps), eosIs(p.FEC), eosIs(p.Up))
		for _, a := range p.Addresses {
			say("%s address %s", p.Name, a.Is)
		}
		if p.DSCP != nil {
			classes := ""
			for _, d := range p.DSCP {
				classes += classBy(d)
			}
			for _, c := range p.PCP {
				classes += " " + classBy(c)
			}
			say("%s classes %s", p.Name, classes)
			say("%s dscp 26: %s", p.Name, eosTreatment(p.DSCP[26]))
			say("%s dscp 48: %s", p.Name, eosTreatment(p.DSCP[48]))
			say("%s dscp 0: %s", p.Name, eosTreatment(p.DSCP[0]))
			say("%s pcp 0: %s", p.Name, eosTreatment(p.PCP[0]))
			say("%s pcp 3: %s", p.Name, eosTreatment(p.PCP[3]))
		}
		for i, s := range p.Stops {
			if s != nil && s.Is >= 0 {
				say("%s pause %d stops %d", p.Name, i, s.Is)
			}
		}
		for i, q := range p.Queues {
			if q != nil {
				say("%s queue %d %s weight %s %s", p.Name, i, eosIs(q.Algorithm), eosIs(q.Weight), eosMarks(q.Marks))
			}
		}
		if w := p.Watchdog; w != nil {
			say("%s watchdog %s %s %s %s", p.Name, eosIs(w.On), eosIs(w.Action), eosIs(w.DetectMs), eosIs(w.RestoreMs))
		}
	}
	for _, v := range c.VLANs {
		say("vlan %d mtu %s", v.ID, eosIs(v.MTU))
		for _, a := range v.Addresses {
			say("vlan %d address %s", v.ID, a.Is)
		}
	}
	if c.BGP != nil {
		say("bgp %d", c.BGP.ASN.Is)
		for _, n := range c.BGP.Neighbours {
			say("bgp neighbour %s %d", n.Address, n.ASN)
		}
		for _, n := range c.BGP.Networks {
			say("bgp network %s", n.Is)
		}
		say("bgp paths %s", eosIs(c.BGP.Paths))
	}
	for _, p := range c.Profiles {
		say("profile %s %s", p.Name, eosMarks(&p))
	}
	for _, p := range c.Problems {
		say("problem %s %s %q: %s", p.Kind, p.Port, p.At.Text, p.What)
	}
	for _, l := range c.Unread {
		say("unread %s", l.Text)
	}
	return out
}

func eosIs[T any](s *fabric.Said[T]) string {
	if s == nil {
		return "?"
	}
	return fmt.Sprint(s.Is)
}

// classBy is a class, and a mark where EOS's default decides it.
func classBy(t fabric.Treatment) string {
	if t.Class != nil && t.Class.At.Number == 0 {
		return t.Class.Is + "'"
	}
	return eosIs(t.Class)
}

func eosTreatment(t fabric.Treatment) string {
	return "class " + eosIs(t.Class) + " queue " + eosIs(t.Queue) + " pause " + eosIs(t.Pause)
}

func eosMarks(p *fabric.QueueProfile) string {
	if p == nil || p.Min == nil {
		return "no marks"
	}
	return fmt.Sprintf("ecn %v drops %v %g %s to %g %s %s%%", p.ECN.Is, p.Drops, p.Min.Value, p.Min.Unit, p.Max.Value, p.Max.Unit, eosIs(p.Percent))
}

// What published texts say is read, in the words of their collector; Problems say what is wrong in them.
func TestEOSPublic(t *testing.T) {
	for file, want := range map[string][]string{
		"18.txt": {
			"Ethernet1 mtu 9214 vlan 0 trust dscp pfc [3]", "Ethernet1 dscp 26: class 3 queue 3 pause 3", "Ethernet1 dscp 48: class 6 queue 6 pause -1",
			"Ethernet1 queue 3 weighted weight 95 ecn true drops false 256 kB to 512 kB 100%", "Ethernet1 queue 6 strict", "Ethernet1 watchdog true drop 200 200", "problem inert Ethernet1",
		},
		"19.txt": {
			"Ethernet1 mtu 9214 vlan 0 trust dscp pfc [3]", "Ethernet1 dscp 26: class 3 queue 3 pause 3", "Ethernet1 dscp 48: class 6 queue 6 pause -1", "Ethernet1 dscp 0: class 1 queue 1",
			"Ethernet1 queue 3 weighted weight 95 ecn true drops false 512 kB to 768 kB 100%", "Ethernet1 watchdog false",
		},
		"20.txt": {"Ethernet1 mtu ? vlan ? trust ? pfc [3]", "Ethernet1 queue 3 ? weight ? ecn true drops false 256 kB to 512 kB ?%"},
		"21.txt": {
			"Ethernet22/1 mtu 9214 vlan 1 trust pcp pfc []", "Ethernet22/1 queue 5 strict weight ? ecn true drops false 222 kB to 2000 kB 1%",
			"Ethernet1/1 queue 5 strict weight ? ecn true drops false 222 kB to 2000 kB 1%", "Ethernet1/1 queue 4 strict weight ? no marks",
		},
		"22.txt": {"problem foreign", "problem undefined", "unread service-policy type tx-queue output AI-EGRESS-QUEUE", "unread class tx-queue 3", "unread priority-flow-control pause watchdog default action drop timer", "Ethernet1 dscp 26: class ? queue ? pause ?"},
		"23.txt": {"Ethernet9/1 mtu 9214 vlan 1 trust pcp pfc [3]", "Ethernet9/1 pcp 3: class 3 queue 3 pause 3"},
		"24.txt": {"problem unattached  \"qos profile test_with_pfc\"", "problem unattached  \"qos profile uc_mc_queues_test\"",
			"profile uc_mc_queues_test queue 1 ecn true drops false 3 ms to 9 ms 90%", "queue 2 ecn true drops false 320 kB to 320 kB 90%", "queue 4 ecn true drops false 320 segments to 320 segments ?%"},
		"53.txt": {
			"Ethernet2/5/1 mtu 9214 vlan 1 trust dscp pfc [3] rate 200 fec rs", "Ethernet2/5/5 mtu 9214", "Ethernet2/5/1 dscp 26: class 3 queue 3 pause 3", "Ethernet2/5/1 dscp 48: class 6 queue 6 pause -1",
			"Ethernet2/5/1 queue 3 strict weight ? ecn true drops false 2000 segments to 10000 segments 20%", "problem inert Ethernet2/5/1", "problem inert  \"qos map traffic-class 3 to dscp 26\"", "Ethernet2/5/1 watchdog false",
		},
	} {
		t.Run(file, func(t *testing.T) {
			text := publicText(t, file)
			if !(OS{}).Recognizes(text.Bytes) {
				t.Error("is not recognized as EOS")
			}
			got := brief(OS{}.Read("leaf1", []switchtext.Text{text}))
			all := strings.Join(got, "\n")
			for _, w := range want {
				if !strings.Contains(all, w) {
					t.Errorf("%q is not in\n%s", w, all)
				}
			}
			if file != "22.txt" && strings.Contains(all, "unread") {
				t.Errorf("not everything is understood:\n%s", all)
			}
		})
	}
}

// What a mutant changes is what differs in what is read, and nothing else.
func TestEOSMutants(t *testing.T) {
	for _, m := range []struct {
		base, file  string
		gone, added []string // each line that differs has one of them
	}{
		{"18.txt", "m30.txt", []string{"pfc [3]", "dscp 26: class 3 queue 3 pause 3", "pcp 3:", "pause 3 stops 3", "problem inert"}, []string{"pfc []", "dscp 26: class 3 queue 3 pause -1", "pcp 3: class 3 queue 3 pause -1"}},
		{"18.txt", "m31.txt", []string{"pfc [3]", "pause 3", "queue", "problem inert"}, []string{"pfc []", "pause -1", "queue 3 strict weight ? no marks", "queue", "problem unattached"}},
		{"18.txt", "m32.txt", []string{"256 kB to 512 kB"}, []string{"256 segments to 512 segments"}},
		{"18.txt", "m33.txt", []string{"class 3 queue 3", "pause 3 stops 3", "problem inert"}, []string{"class 3 queue 4", "pause 3 stops 4", "problem inert"}},
		{"18.txt", "m34.txt", []string{"trust dscp"}, []string{"trust pcp"}},
		{"53.txt", "m35.txt", []string{"Ethernet2/5/5"}, []string{"Ethernet2/5/5"}},
		{"53.txt", "m36.txt", []string{"Ethernet2/5/1 mtu 9214"}, []string{"Ethernet2/5/1 mtu 1500"}},
		{"18.txt", "m64.txt", []string{"256 kB to 512 kB"}, []string{"256000 bytes to 512000 bytes"}},
	} {
		t.Run(m.file, func(t *testing.T) {
			base := brief(OS{}.Read("leaf1", []switchtext.Text{publicText(t, m.base)}))
			got := brief(OS{}.Read("leaf1", []switchtext.Text{publicText(t, m.file)}))
			sameAs(t, "gone", missing(base, got), m.gone)
			sameAs(t, "added", missing(got, base), m.added)
		})
	}
}

// missing returns the lines of a that b has not.
func missing(a, b []string) (out []string) {
	have := map[string]bool{}
	for _, l := range b {
		have[l] = true
	}
	for _, l := range a {
		if !have[l] {
			out = append(out, l)
		}
	}
	return out
}

// sameAs fails where a line has none of the parts, or a part is in no line.
func sameAs(t *testing.T, what string, lines, parts []string) {
	t.Helper()
	for _, l := range lines {
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(l, p) }) {
			t.Errorf("%s, and nobody said so: %s", what, l)
		}
	}
	for _, p := range parts {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, p) }) {
			t.Errorf("%q is not %s in\n%s", p, what, strings.Join(lines, "\n"))
		}
	}
}

// No text of another language is taken for EOS.
func TestEOSRecognizesNoOther(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(public, "*.*"))
	if err != nil || len(files) == 0 {
		t.Skipf("%s: no published configurations on this machine", public)
	}
	mine := map[string]bool{}
	for _, f := range []string{"18", "19", "20", "21", "22", "23", "24", "53", "m30", "m31", "m32", "m33", "m34", "m35", "m36", "m64"} {
		mine[f+".txt"] = true
	}
	for _, f := range files {
		name := filepath.Base(f)
		if got := (OS{}).Recognizes(publicText(t, name).Bytes); got != mine[name] && name != "README.md" && name != "index.json" {
			t.Errorf("%s: is EOS: %v", name, got)
		}
	}
}
