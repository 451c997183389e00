package junos

import (
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

// digest writes what a configuration says in words, without the lines.
func digest(c *fabric.SwitchConfig) string {
	var b strings.Builder
	for _, p := range c.Ports {
		fmt.Fprintf(&b, "%s up=%s mtu=%s rate=%s fec=%s split=%s vlan=%s cable=%s trust=%s pfc=%s", p.Name, junosValue(p.Up), junosValue(p.MTU), junosValue(p.RateGbps), junosValue(p.FEC), junosValue(p.Breakout), junosValue(p.VLAN), junosValue(p.CableM), junosValue(p.Trust), junosValue(p.PFC))
		for _, a := range p.Addresses {
			fmt.Fprintf(&b, " %s", a.Is)
		}
		if p.Pauses != nil {
			fmt.Fprintf(&b, " sends=%s obeys=%s", junosValue(p.Pauses.Sends), junosValue(p.Pauses.Obeys))
		}
		if w := p.Watchdog; w != nil {
			fmt.Fprintf(&b, " watchdog=%s/%s/%s/%s", junosValue(w.On), junosValue(w.Action), junosValue(w.DetectMs), junosValue(w.RestoreMs))
		}
		b.WriteString(junosTables(p) + queueDigest(p) + "\n")
	}
	for _, v := range c.VLANs {
		fmt.Fprintf(&b, "VLAN %d mtu=%s", v.ID, junosValue(v.MTU))
		for _, a := range v.Addresses {
			fmt.Fprintf(&b, " %s", a.Is)
		}
		b.WriteString("\n")
	}
	if c.BGP != nil {
		fmt.Fprintf(&b, "AS %d", c.BGP.ASN.Is)
		for _, n := range c.BGP.Neighbours {
			fmt.Fprintf(&b, " %s=%d", n.Address, n.ASN)
		}
		b.WriteString("\n")
	}
	for _, s := range c.Buffers {
		fmt.Fprintf(&b, "%s %s %v\n", s.Direction, s.Name, s.Percent)
	}
	return b.String()
}

func junosTables(p fabric.PortConfig) string {
	var b strings.Builder
	write := func(name string, list []fabric.Treatment) {
		last := ""
		for i, t := range list {
			if is := junosValue(t.Class) + "/" + junosValue(t.Queue) + "/" + junosValue(t.Pause); is != last {
				fmt.Fprintf(&b, " %s%d=%s", name, i, is)
				last = is
			}
		}
	}
	if p.DSCP != nil {
		write("d", p.DSCP[:])
	}
	if p.PCP != nil {
		write("p", p.PCP[:])
	}
	for i, s := range p.Stops {
		if s != nil && s.Is >= 0 {
			fmt.Fprintf(&b, " stop%d=%d", i, s.Is)
		}
	}
	return b.String()
}

func queueDigest(p fabric.PortConfig) string {
	var b strings.Builder
	for i, q := range p.Queues {
		if q == nil || junosValue(q.Algorithm) == "weighted" && q.Weight == nil && q.Marks != nil && q.Marks.Min == nil {
			continue
		}
		fmt.Fprintf(&b, " q%d=%s/%s", i, junosValue(q.Algorithm), junosValue(q.Weight))
		if m := q.Marks; m != nil && m.Min != nil {
			fmt.Fprintf(&b, "/ecn=%t/drops=%t/%v-%v/%s", m.ECN.Is, m.Drops, m.Min.Value, m.Max.Value, junosValue(m.Percent))
		}
	}
	for class, d := range p.Rewrite {
		fmt.Fprintf(&b, " rewrite=%s/%d", class, d.Is)
	}
	return b.String()
}

func junosValue[T any](s *fabric.Said[T]) string {
	if s == nil {
		return "?"
	}
	return fmt.Sprint(s.Is)
}

// kinds lists problems as kind:line, and unread lines as unread:line.
func kinds(c *fabric.SwitchConfig) []string {
	var out []string
	for _, p := range c.Problems {
		out = append(out, fmt.Sprintf("%s:%d", p.Kind, p.At.Number))
	}
	for _, u := range c.Unread {
		out = append(out, fmt.Sprintf("unread:%d", u.Number))
	}
	slices.Sort(out)
	return out
}

func readJunos(texts ...string) *fabric.SwitchConfig {
	var list []switchtext.Text
	for i, t := range texts {
		list = append(list, switchtext.Text{File: fmt.Sprintf("f%d", i), Bytes: []byte(t)})
	}
	return OS{}.Read("leaf1", list)
}

const qoS = `class-of-service {
    classifiers {
        dscp c1 {
            forwarding-class LL {
                loss-priority low code-points af31;
            }
        }
    }
    forwarding-classes {
        class LL queue-num 3 no-loss pfc-priority 3;
    }
    congestion-notification-profile {
        p1 {
            input {
                dscp {
                    code-point 011010 {
                        pfc;
                    }
                }
            }
            output {
                ieee-802.1 {
                    code-point 011 {
                        flow-control-queue 3;
                    }
                }
            }
        }
    }
    interfaces {
        et-0/0/0 {
            congestion-notification-profile p1;
            unit 0 {
                classifiers {
                    dscp c1;
                }
            }
        }
    }
}
`

func TestJunosRead(t *testing.T) {
	entries, err := filepath.Glob("testdata/read/*.txt")
	if err != nil || len(entries) < 20 {
		t.Fatalf("%d cases, %v", len(entries), err)
	}
	for _, file := range entries {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, found := strings.Cut(string(text), "-- says --\n")
			if !found && !*update {
				t.Fatal("no part says what it says")
			}
			if !(OS{}).Recognizes([]byte(input)) {
				t.Error("it is not recognized")
			}
			c := readJunos(input)
			var b strings.Builder
			b.WriteString(digest(c))
			for _, p := range c.Problems {
				fmt.Fprintf(&b, "problem %s on line %d: %s\n", p.Kind, p.At.Number, strings.TrimSpace(p.Port+" "+p.What))
			}
			for _, u := range c.Unread {
				fmt.Fprintf(&b, "unread line %d: %s\n", u.Number, u.Text)
			}
			if *update {
				if err := os.WriteFile(file, []byte(input+"-- says --\n"+b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The same configuration with braces, as set commands, from Windows, with prompts, and in pieces says the same.
func TestJunosForms(t *testing.T) {
	want := digest(readJunos(qoS))
	if !strings.Contains(want, "d26=LL/3/3") {
		t.Fatal(want)
	}
	set := setForm(t, qoS)
	_, inner, _ := strings.Cut(qoS, "{\n")
	inner = inner[:strings.LastIndex(inner, "}")]
	forms := map[string]string{
		"set": set, "Windows": strings.ReplaceAll(qoS, "\n", "\r\n"), "without the stanza": inner,
		"session": "{master:0}\nuser@leaf1> show configuration class-of-service | no-more \n" + inner + "\n{master:0}\nuser@leaf1> ",
		"edit":    "[edit class-of-service]\nuser@leaf1# show\n" + inner + "\n[edit class-of-service]\nuser@leaf1# ",
		"typed":   "[edit]\n" + "user@leaf1# " + strings.ReplaceAll(strings.TrimSuffix(set, "\n"), "\n", "\n\n[edit]\nuser@leaf1# "),
		"typed below": "user@leaf1# edit class-of-service\n\n[edit class-of-service]\nuser@leaf1# " +
			strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(set, "set class-of-service ", "set "), "\n"), "\n", "\n[edit class-of-service]\nuser@leaf1# "),
		"comments": "## Last commit: 2026-01-01 by root\n/* one\n two } */\n" + strings.ReplaceAll(qoS, "{\n", "{ # why\n /* et-0/0/* */\n"),
		"one line": strings.Join(strings.Fields(qoS), " ") + "\n",
		"indented": "      " + strings.ReplaceAll(set, "\n", "\n      "),
		"twice":    qoS + qoS,
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			if !(OS{}).Recognizes([]byte(text)) {
				t.Error("it is not recognized")
			}
			got := readJunos(text)
			if diff := cmp.Diff(want, digest(got)); diff != "" {
				t.Error(diff)
			}
			if k := kinds(got); len(k) > 0 {
				t.Error(k, got.Unread)
			}
		})
	}
	t.Run("two files", func(t *testing.T) {
		i := strings.Index(qoS, "    interfaces {")
		if diff := cmp.Diff(want, digest(readJunos(qoS[:i]+"}\n", "class-of-service {\n"+qoS[i:]))); diff != "" {
			t.Error(diff)
		}
	})
}

// setForm turns braces into set commands, as display set does.
func setForm(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	var walk func(path string, s []*statement)
	walk = func(path string, list []*statement) {
		for _, s := range list {
			var plain, listed []string
			for _, w := range s.words {
				word := w.text
				if strings.ContainsAny(word, " {};") {
					word = `"` + word + `"`
				}
				if w.listed {
					listed = append(listed, word)
				} else {
					plain = append(plain, word)
				}
			}
			here := path + " " + strings.Join(plain, " ")
			switch {
			case len(s.block) > 0:
				walk(here, s.block)
			case len(listed) > 0:
				for _, v := range listed {
					fmt.Fprintln(&b, here, v)
				}
			default:
				fmt.Fprintln(&b, here)
			}
		}
	}
	walk("set", parseJunos(switchtext.Text{File: "f", Bytes: []byte(text)}).statements)
	return b.String()
}

// Every text of another language stays theirs.
func TestJunosRecognizesItsOwn(t *testing.T) {
	for name, text := range map[string]string{
		"json": `{"PORT": {"Ethernet0": {"mtu": "9100"}}}`, "eos": "interface Ethernet1\n   mtu 9214\n", "nvue": "nv set interface swp1 link mtu 9216\n",
		"vyos": "interfaces {\n    ethernet eth0 {\n        address 10.0.0.1/24\n    }\n}\n", "vyos set": "set interfaces ethernet eth0 address 10.0.0.1/24\n",
		"nginx": "server {\n    listen 80;\n}\n", "dhcpd": "subnet 10.0.0.0 netmask 255.0.0.0 {\n  range 10.0.0.1 10.0.0.9;\n}\n", "sr linux": "interface ethernet-1/1 {\n    admin-state enable\n}\n",
		"dell": "interface Eth1/1\n mtu 9216\n no shutdown\n!\n", "xml": "<configuration><class-of-service/></configuration>", "prose": "class-of-service is set; interfaces { are not\n", "empty": "",
		"show": "Physical interface: et-0/0/0, Index: 1\n  Forwarding classes: 12 supported\n",
	} {
		if (OS{}).Recognizes([]byte(text)) {
			t.Errorf("%s is taken for Junos", name)
		}
	}
	for _, file := range []string{"eos/testdata/routed-with-all.txt", "sonic/testdata/routed-with-all.json"} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if (OS{}).Recognizes(text) {
			t.Errorf("%s is taken for Junos", file)
		}
	}
	for _, c := range cases {
		if !(OS{}).Recognizes(OS{}.Render(c.s, c.traffic).Text) {
			t.Errorf("%s is not recognized", c.name)
		}
	}
}

// A file that ends early is never read as a whole one.
func TestJunosHalfFile(t *testing.T) {
	lines := strings.SplitAfter(qoS, "\n")
	for n := 1; n < len(lines)-1; n++ {
		cut := strings.Join(lines[:n], "")
		if c := readJunos(cut); !slices.ContainsFunc(c.Problems, func(p fabric.TextProblem) bool { return p.Kind == fabric.TextCut }) {
			t.Errorf("cut after line %d: %v", n, c.Problems)
		}
		rest := strings.Join(lines[n:], "")
		if c := readJunos(rest); !slices.ContainsFunc(c.Problems, func(p fabric.TextProblem) bool { return p.Kind == fabric.TextCut }) {
			t.Errorf("cut before line %d: %v", n+1, c.Problems)
		}
	}
}

// Ten thousand ports, each with a classifier of its own by name, and patterns beside them.
func TestJunosManyPorts(t *testing.T) {
	var b strings.Builder
	b.WriteString("interfaces {\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "et-%d/0/%d {\n description \"host %d\";\n mtu 9216;\n unit 0 {\n family inet {\n mtu 9000;\n address 10.%d.%d.%d/31;\n}\n}\n}\n", i/100, i%100, i, i>>14, i>>7&127, i&127*2)
	}
	b.WriteString("}\n" + strings.Replace(qoS, "et-0/0/0 {", "et-* {", 1))
	start := time.Now()
	c := readJunos(b.String())
	if took := time.Since(start); len(c.Ports) != 10_000 || c.Ports[9999].DSCP != c.Ports[0].DSCP || c.Ports[5000].MTU.Is != 9000 || took > 2*time.Minute {
		t.Errorf("%d ports in %v", len(c.Ports), took)
	}
	if k := kinds(c); len(k) != 1 || !strings.Contains(c.Problems[0].What, "headroom for frames of 2500") { // once for all ports
		t.Error(k[:min(5, len(k))])
	}
}

// Nothing that a text repeats without end ends the program.
func TestJunosDepth(t *testing.T) {
	for name, text := range map[string]string{
		"braces": "interfaces {\n" + strings.Repeat("a {\n", 300_000) + "mtu 1;\n", "groups": "set " + strings.Repeat("groups a ", 100_000) + "interfaces et-0/0/0 mtu 9216\n",
		"words": "set class-of-service classifiers dscp " + strings.Repeat("a forwarding-class b ", 50_000) + "\n", "closing": strings.Repeat("}\n", 100_000), "lists": "interfaces { et-0/0/0 { mtu [ " + strings.Repeat("1 ", 100_000) + "]; } }\n",
		"ranges": strings.Repeat("set interfaces interface-range r member-range et-0/0/0 to et-0/0/4000\n", 200) + strings.Repeat("set interfaces interface-range s member-range et-1/0/0 to et-1/0/4000\n", 200),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c := readJunos(text)
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("it took %v", took)
			}
			if name != "ranges" && len(kinds(c)) == 0 {
				t.Error("nothing is said of it")
			}
		})
	}
}
