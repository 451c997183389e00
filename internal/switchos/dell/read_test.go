package dell

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// readDell reads one text.
func readDell(text string) *fabric.SwitchConfig {
	return OS{}.Read("leaf1", []switchtext.Text{{File: "leaf1.txt", Bytes: []byte(text)}})
}

// public are configurations that people published, and mutants of them. They are not ours to keep here.
const public = "../../../../shared/data/roce-configs"

func publicText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(public, name+".txt"))
	if os.IsNotExist(err) {
		t.Skipf("%s: no published configurations on this machine", public)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func dellIs[T any](s *fabric.Said[T]) string {
	if s == nil {
		return "?"
	}
	return fmt.Sprint(s.Is)
}

func treats(t fabric.Treatment) string {
	return dellIs(t.Class) + "/" + dellIs(t.Queue) + "/" + dellIs(t.Pause)
}

// dellFacts writes a configuration as facts, without lines, so that two can be compared.
func dellFacts(c *fabric.SwitchConfig) map[string]string {
	out := map[string]string{"hostname": dellIs(c.Hostname)}
	for _, p := range c.Ports {
		set := func(name, value string) { out[p.Name+" "+name] = value }
		set("up", dellIs(p.Up))
		set("mtu", dellIs(p.MTU))
		set("rate", dellIs(p.RateGbps))
		set("fec", dellIs(p.FEC))
		set("breakout", dellIs(p.Breakout))
		set("vlan", dellIs(p.VLAN))
		set("cable", dellIs(p.CableM))
		set("trust", dellIs(p.Trust))
		set("pfc", dellIs(p.PFC))
		for i, a := range p.Addresses {
			set(fmt.Sprint("address ", i), a.Is.String())
		}
		if p.DSCP != nil {
			for d, t := range p.DSCP {
				set(fmt.Sprint("dscp ", d), treats(t))
			}
		}
		if p.PCP != nil {
			for d, t := range p.PCP {
				set(fmt.Sprint("pcp ", d), treats(t))
			}
		}
		for i, s := range p.Stops {
			set(fmt.Sprint("stops ", i), dellIs(s))
		}
		for i, q := range p.Queues {
			if q == nil {
				continue
			}
			set(fmt.Sprint("queue ", i), dellIs(q.Algorithm)+" "+dellIs(q.Weight))
			if m := q.Marks; m != nil {
				set(fmt.Sprint("marks ", i), dellMarks(*m))
			}
		}
		for class, d := range p.Rewrite {
			set("rewrite "+class, fmt.Sprint(d.Is))
		}
		if w := p.Watchdog; w != nil {
			set("watchdog", strings.Join([]string{dellIs(w.On), dellIs(w.Action), dellIs(w.DetectMs), dellIs(w.RestoreMs)}, " "))
		}
	}
	for _, v := range c.VLANs {
		out[fmt.Sprint("vlan ", v.ID)] = dellIs(v.MTU)
		for i, a := range v.Addresses {
			out[fmt.Sprintf("vlan %d address %d", v.ID, i)] = a.Is.String()
		}
	}
	if c.BGP != nil {
		out["bgp"] = fmt.Sprint(c.BGP.ASN.Is)
		for _, n := range c.BGP.Neighbours {
			out["bgp "+n.Address.String()] = fmt.Sprint(n.ASN)
		}
	}
	for _, b := range c.Buffers {
		out["buffer "+b.Direction+" "+b.Name] = fmt.Sprint(b.Bytes)
	}
	return out
}

func dellMarks(m fabric.QueueProfile) string {
	text := fmt.Sprintf("%s ecn %t drops %t", m.Name, m.ECN.Is, m.Drops)
	if m.Min != nil && m.Max != nil {
		text += fmt.Sprintf(" %v-%v%s", m.Min.Value, m.Max.Value, m.Min.Unit)
	}
	return text + " " + dellIs(m.Percent)
}

// dellDiff lists the facts of b that a has not or has otherwise, as name: a -> b.
func dellDiff(a, b *fabric.SwitchConfig) []string {
	fa, fb := dellFacts(a), dellFacts(b)
	for name := range fa {
		if _, ok := fb[name]; !ok {
			fb[name] = "gone"
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fb)) {
		if fa[name] != fb[name] {
			out = append(out, fmt.Sprintf("%s: %s -> %s", name, fa[name], fb[name]))
		}
	}
	return out
}

// dellSaid lists problems and what was not understood, without lines.
func dellSaid(c *fabric.SwitchConfig) []string {
	var out []string
	for _, p := range c.Problems {
		out = append(out, p.Kind+": "+p.What)
	}
	for _, l := range c.Unread {
		out = append(out, "unread: "+l.Text)
	}
	return out
}

func TestDellPublic(t *testing.T) {
	for _, c := range []struct {
		name string
		want map[string]string
		said []string
	}{
		{"15", map[string]string{ // traffic class 3 in queue 1 is right: pauses of priority 3 stop queue 1
			"Ethernet0 trust": "pcp", "Ethernet0 pfc": "[3 4]", "Ethernet0 pcp 3": "3/1/3", "Ethernet0 pcp 2": "1/3/-1", "Ethernet0 pcp 4": "4/4/4",
			"Ethernet0 pcp 0": "6/6/-1", "Ethernet0 stops 3": "1", "Ethernet0 stops 4": "4", "Ethernet0 mtu": "?", "Ethernet0 queue 7": "strict ?",
		}, []string{"foreign: a placeholder stands where the name of an interface belongs"}},
		{"16", map[string]string{"hostname": "?"}, []string{
			"unattached: map dot1p-tc rocev2_dot1p-to-tc is on no port", "unattached: map dscp-tc rocev2_dscp-to-tc is on no port",
			"unattached: map tc-dot1p rocev2_tc-to-dot1p is on no port", "unattached: map tc-dscp rocev2_tc-to-dscp is on no port",
			"unattached: map tc-queue rocev2_tc-q is on no port", "unattached: map tc-pg rocev2_tc-pg is on no port",
			"unattached: map pfc-priority-queue rocev2_pfc-priority-q is on no port", "unattached: wred-policy rocev2_wred is on no port",
		}},
		{"52", map[string]string{
			"Eth1/1 trust": "dscp", "Eth1/2 dscp 24": "3/3/3", "Eth1/3 dscp 26": "3/3/3", "Eth1/1 dscp 4": "4/4/4", "Eth1/1 dscp 48": "6/6/-1", "Eth1/1 dscp 25": "0/0/-1",
			"Eth1/1 pfc": "[3 4]", "Eth1/1 mtu": "9216", "Eth1/1 rate": "400", "Eth1/1 fec": "rs", "Eth1/1 marks 3": "ROCE ecn true drops false 2048-12480kB 15",
			"Eth1/1 marks 4": "ROCE ecn true drops false 2048-12480kB 15", "Eth1/1 watchdog": "true drop 200 400", "Eth1/1 queue 6": "strict ?", "Eth1/1 queue 3": "weighted 50",
		}, nil},
		{"54", map[string]string{ // the maps stand elsewhere
			"Eth1/5 pfc": "[1]", "Eth1/6 pfc": "[0]", "Eth1/5 cable": "5", "Eth1/6 cable": "40", "Eth1/5 trust": "dscp", "Eth1/5 dscp 0": "", "Eth1/5 marks 0": "",
			"Eth1/5 watchdog": "true drop 150 250", "Eth1/6 watchdog": "true ? 100 200", "Eth1/5 mtu": "?", "Eth1/5 stops 1": "?",
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := publicText(t, c.name)
			got := readDell(text)
			facts := dellFacts(got)
			for name, want := range c.want {
				if facts[name] != want {
					t.Errorf("%s: %q, want %q", name, facts[name], want)
				}
			}
			if diff := cmp.Diff(c.said, dellSaid(got)); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// A published mutant differs from its base in what was changed, and in nothing else.
func TestDellMutants(t *testing.T) {
	all := func(from, to string) (out []string) {
		for _, port := range []string{"Eth1/1", "Eth1/2", "Eth1/3"} {
			out = append(out, fmt.Sprintf("%s %s -> %s", port, from, to))
		}
		return out
	}
	const marks = "ROCE ecn true drops false 2048-12480kB 15"
	both := func(to string) (out []string) {
		for _, port := range []string{"Eth1/1", "Eth1/2", "Eth1/3"} {
			for _, q := range []int{3, 4} {
				out = append(out, fmt.Sprintf("%s marks %d: %s -> %s", port, q, marks, to))
			}
		}
		return out
	}
	for _, c := range []struct {
		base, name string
		want, said []string
	}{
		{"52", "m21", []string{"Eth1/2 dscp 24: 3/3/3 -> 3/3/-1", "Eth1/2 dscp 26: 3/3/3 -> 3/3/-1", "Eth1/2 pcp 3: 3/3/3 -> 3/3/-1", "Eth1/2 pfc: [3 4] -> [4]", "Eth1/2 stops 3: 3 -> -1"}, nil},
		{"52", "m22", all("dscp 48: 6/6/-1", "3/3/3"), nil},
		{"52", "m23", both("ROCE ecn false drops true 2048-12480kB 15"), []string{"inert: ecn yellow in wred-policy ROCE"}},
		{"52", "m24", []string{"Eth1/3 marks 2:  ecn false drops false ? -> " + marks, "Eth1/3 marks 3: " + marks + " ->  ecn false drops false ?"}, nil},
		{"52", "m26", all("dscp 25: 0/0/-1", "3/3/3"), []string{"duplicate: traffic-class of dscp 25 in map ROCE is 3 here and 0 in line 24"}},
		{"52", "m27", []string{"Eth1/2 watchdog: true drop 200 400 -> false drop ? 400"}, []string{"inert: the watchdog is described and not on"}},
		{"52", "m28", []string{"Eth1/3 mtu: 9216 -> 9100"}, nil},
		{"15", "m29", []string{"Ethernet0 stops 3: 1 -> 3"}, []string{"foreign: a placeholder stands where the name of an interface belongs"}},
		{"52", "m58", both("ROCE ecn true drops false 20-12480kB 15"), []string{"duplicate: minimum-threshold of wred-policy ROCE is 20 here and 2048 in line 3"}},
		{"52", "m62", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readDell(publicText(t, c.name))
			if diff := cmp.Diff(c.want, dellDiff(readDell(publicText(t, c.base)), got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.said, dellSaid(got)); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("m25", func(t *testing.T) { // no DSCP decides any more
		base, got := dellFacts(readDell(publicText(t, "52"))), readDell(publicText(t, "m25"))
		if p := got.Ports[0]; p.DSCP != nil || dellIs(p.Trust) != "pcp" || treats(p.PCP[3]) != "3/3/3" {
			t.Errorf("%+v", p)
		}
		for name, value := range dellFacts(got) {
			if !strings.HasPrefix(name, "Eth1/1 ") && base[name] != value {
				t.Errorf("%s: %s, in the base %s", name, value, base[name])
			}
		}
	})
}

// No published text of another language is taken for this one.
func TestDellRecognizes(t *testing.T) {
	publicText(t, "52")
	files, err := filepath.Glob(filepath.Join(public, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.Fields("15 16 52 54 m21 m22 m23 m24 m25 m26 m27 m28 m29 m58 m62")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		if got := (OS{}).Recognizes(text); got != slices.Contains(ours, name) {
			t.Errorf("%s: recognized %t", name, got)
		}
	}
}
