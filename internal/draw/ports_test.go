package draw

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

func portsOf(t *testing.T, p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status, seen ...fabric.Link) string {
	t.Helper()
	var b bytes.Buffer
	if err := Cabling(&b, p, marks, seen); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

func portsText(t *testing.T, p *fabric.Plan, width int, o CurveOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := PortsText(&b, p, width, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPortsGolden(t *testing.T) {
	for _, name := range []string{"pair", "ring3", "ring5", "switch4", "switch8"} {
		t.Run(name, func(t *testing.T) {
			p := samplePorts()[name]
			golden(t, "ports-"+name+".txt", portsText(t, p, 80, CurveOptions{}))
			golden(t, "ports-"+name+".svg", portsOf(t, p, nil))
		})
	}
	p := samplePorts()["ring3"]
	marks := map[fabric.Endpoint]fabric.Status{
		at("spark1", "enp1s0f0np0"): fabric.Fail, at("spark1", "enP2p1s0f0np0"): fabric.Pass, at("spark2", "enp1s0f0np0"): fabric.Unknown, at("spark3", ""): fabric.Fail,
	}
	golden(t, "ports-faults.svg", portsOf(t, p, marks,
		fabric.Link{A: at("spark2", "enp1s0f0np0"), B: at("spark3", "enp1s0f0np0")},
		fabric.Link{A: at("spark2", "enP2p1s0f0np0"), B: at("spark3", "enP2p1s0f0np0")},
		fabric.Link{A: at("spark1", "enp1s0f1np1"), B: at("desk", "eth0")}))
	golden(t, "ports-ascii.txt", portsText(t, p, 80, CurveOptions{ASCII: true}))
	golden(t, "ports-color.txt", portsText(t, p, 80, CurveOptions{Color: true}))
}

// Each cable is drawn once, with its letter at both ends, and nothing is said to be wrong.
func TestPortsSound(t *testing.T) {
	for name, p := range samplePorts() {
		t.Run(name, func(t *testing.T) {
			svg := portsOf(t, p, nil)
			cables := p.Cables()
			if n := strings.Count(svg, `<path class="w thick`); n != cables {
				t.Errorf("%d cables drawn, want %d", n, cables)
			}
			for i := range cables {
				if n := strings.Count(svg, `class="let" `); n != 2*cables {
					t.Fatalf("%d letters, want %d", n, 2*cables)
				}
				if letter := cableLetter(i); strings.Count(svg, ">"+letter+"</text>") != 2 {
					t.Errorf("cable %s has not two ends", letter)
				}
			}
			for _, l := range p.Cabling.Links {
				if !strings.Contains(svg, ">"+l.A.NIC+"<") {
					t.Errorf("%s is not drawn", l.A)
				}
			}
			for _, n := range p.Addressing.Nodes {
				for _, a := range n.NICs {
					if !strings.Contains(svg, ">"+a.Address.String()+"<") {
						t.Errorf("%s of %s is not drawn", a.Address, n.Node)
					}
				}
			}
			if strings.Contains(svg, `class="bad"`) || strings.Contains(svg, "not drawn") || strings.Contains(svg, ": pass<") {
				t.Error("a plan of which nothing is known is judged")
			}
			if ring := strings.HasPrefix(name, "ring"); strings.Contains(svg, "one network of all RJ-45 ports") != ring {
				t.Errorf("the network of the RJ-45 ports is drawn: %v", !ring)
			}
		})
	}
}

// Lanes keep cables apart, whatever their ways.
func TestLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var spans []span
		for range 1 + rng.IntN(12) {
			spans = append(spans, span{float64(rng.IntN(40)), float64(rng.IntN(40)), spanSide(rng.IntN(3))})
		}
		lane, count := lanes(spans)
		for i, a := range spans {
			if lane[i] < 0 || lane[i] >= count {
				t.Fatalf("lane %d of %d", lane[i], count)
			}
			for j, b := range spans[:i] {
				if lane[i] == lane[j] && overlap(a, b) {
					t.Fatalf("%v and %v share a lane", a, b)
				}
				if a.side < b.side && lane[i] > lane[j] {
					t.Fatalf("%v lies below %v", a, b)
				}
			}
		}
	}
	if lane, _ := lanes([]span{{0, 30, bothAbove}, {10, 20, bothAbove}}); !slices.Equal(lane, []int{1, 0}) {
		t.Errorf("a long cable lies at %v above a short one", lane)
	}
}

// Whoever follows a line of the terminal's picture from a letter comes to the same letter, and the ports are the planned ones.
func TestPortsTextLines(t *testing.T) {
	for name, p := range samplePorts() {
		if p.Wiring() == fabric.WiredSwitch {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text := portsText(t, p, 80, CurveOptions{})
			var lines [][]rune
			for line := range strings.Lines(text[:strings.Index(text, "What to plug")]) {
				lines = append(lines, []rune(strings.TrimRight(line, "\n")))
			}
			ends := 0
			for y, line := range lines {
				for x, r := range line {
					if r < 'A' || r > 'F' || x > 0 && line[x-1] != ' ' || x+1 < len(line) && line[x+1] != ' ' {
						continue
					}
					ends++
					if got := follow(lines, x, y); got != r {
						t.Errorf("the line of %c at %d,%d leads to %c\n%s", r, x, y, got, text)
					}
				}
			}
			if ends != 2*p.Cables() {
				t.Errorf("%d ends of %d cables:\n%s", ends, p.Cables(), text)
			}
		})
	}
}

// follow walks from a letter along its line. What crosses a line is passed straight.
func follow(lines [][]rune, x, y int) rune {
	at := func(x, y int) rune {
		if y < 0 || y >= len(lines) || x < 0 || x >= len(lines[y]) {
			return ' '
		}
		return lines[y][x]
	}
	dx, dy := 0, 1
	if r := at(x, y+1); r != '│' && r != '╰' && r != '╯' {
		dy = -1
	}
	for range 1000 {
		x, y = x+dx, y+dy
		switch r := at(x, y); r {
		case '│', '─':
		case '╰', '╭':
			if dx == 0 {
				dx, dy = 1, 0
			} else {
				dx, dy = 0, map[rune]int{'╰': -1, '╭': 1}[r]
			}
		case '╯', '╮':
			if dx == 0 {
				dx, dy = -1, 0
			} else {
				dx, dy = 0, map[rune]int{'╯': -1, '╮': 1}[r]
			}
		default:
			return r
		}
	}
	return '?'
}

func TestPortsTextWidth(t *testing.T) {
	long := func(m int) string { return strings.Repeat("n", 61) + fmt.Sprintf("-%d", m+1) }
	for name, p := range samplePorts() {
		for _, width := range []int{80, 72, 60} {
			for _, named := range []bool{false, true} {
				if named {
					p = rename(p, long)
				}
				for line := range strings.Lines(portsText(t, p, width, CurveOptions{})) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && !strings.Contains(line, "nnnnn") {
						t.Errorf("%s at %d columns: a line has %d: %q", name, width, n, line)
					} else if n > 80 {
						t.Errorf("%s: a line with a long name has %d columns: %q", name, n, line)
					}
				}
			}
		}
	}
	if text := portsText(t, samplePorts()["ring6"], 40, CurveOptions{}); strings.Contains(text, "┌") || !strings.Contains(text, "Cable F: spark6 port 0") {
		t.Errorf("40 columns show\n%s", text)
	}
}

// What is plugged is compared by ports, not by twins or directions; what is not seen is no fault.
func TestPlugged(t *testing.T) {
	link := func(a, x, b, y string) fabric.Link { return fabric.Link{A: at(a, x), B: at(b, y)} }
	for name, c := range map[string]struct {
		plan  string
		seen  []fabric.Link
		wrong []string
		ghost int // planned cables that something else is plugged instead of
	}{
		"as planned":                       {"ring3", []fabric.Link{link("spark1", "enp1s0f0np0", "spark2", "enp1s0f1np1")}, nil, 0},
		"as planned, from the other end":   {"ring3", []fabric.Link{link("spark2", "enp1s0f1np1", "spark1", "enP2p1s0f0np0")}, nil, 0},
		"port 0 to port 0":                 {"ring3", []fabric.Link{link("spark1", "enp1s0f0np0", "spark2", "enp1s0f0np0")}, []string{"spark1 port 0 to spark2 port 0"}, 2},
		"the same twice":                   {"ring3", []fabric.Link{link("spark1", "enp1s0f0np0", "spark2", "enp1s0f0np0"), link("spark2", "enP2p1s0f0np0", "spark1", "enP2p1s0f0np0")}, []string{"spark1 port 0 to spark2 port 0"}, 2},
		"the port that is to stay empty":   {"pair", []fabric.Link{link("spark1", "enp1s0f1np1", "spark2", "enp1s0f0np0")}, []string{"spark1 port 1 to spark2 port 0"}, 1},
		"both ports that are to be empty":  {"pair", []fabric.Link{link("spark1", "enp1s0f0np0", "spark2", "enP2p1s0f0np0")}, []string{"spark1 port 0 to spark2 port 0"}, 0},
		"another machine":                  {"ring3", []fabric.Link{link("spark3", "enp1s0f0np0", "desk", "eth0")}, []string{"spark3 port 0 to desk port eth0"}, 1},
		"another port of the switch":       {"switch4", []fabric.Link{link("spark1", "enp1s0f1np1", "leaf1", "qsfp56-2-1")}, []string{"spark1 port 1 to leaf1 port qsfp56-2-1"}, 2},
		"a free port of the switch":        {"switch4", []fabric.Link{link("spark1", "enp1s0f1np1", "leaf1", "qsfp56-9-1")}, []string{"spark1 port 1 to leaf1 port qsfp56-9-1"}, 1},
		"past the switch":                  {"switch8", []fabric.Link{link("spark1", "enp1s0f1np1", "spark2", "enp1s0f1np1")}, []string{"spark1 port 1 to spark2 port 1"}, 2},
		"past the switch, to a lower row":  {"switch8", []fabric.Link{link("spark1", "enp1s0f1np1", "spark8", "enp1s0f1np1")}, []string{"spark1 port 1 to spark8 port 1"}, 2},
		"the ordinary network":             {"ring3", []fabric.Link{link("spark1", "enP7s7", "office", "swp7"), link("spark2", "enP7s7", "spark3", "enP7s7")}, nil, 0},
		"an interface that nobody planned": {"ring3", []fabric.Link{link("spark1", "docker0", "x", "y")}, nil, 0},
		"a port of its own":                {"ring3", []fabric.Link{link("spark1", "enp1s0f0np0", "spark1", "enP2p1s0f0np0")}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := samplePorts()[c.plan]
			svg := portsOf(t, p, nil, c.seen...)
			for _, want := range c.wrong {
				if !strings.Contains(svg, "Plugged otherwise than planned: "+want+".") || !strings.Contains(svg, "plugged: "+want+"; not planned") {
					t.Errorf("%q is not drawn and named", want)
				}
			}
			if n := strings.Count(svg, "Plugged otherwise"); n != len(c.wrong) {
				t.Errorf("%d cables are named as wrong, want %d", n, len(c.wrong))
			}
			if n := strings.Count(svg, "; planned, plugged otherwise<"); n != c.ghost {
				t.Errorf("%d planned cables are not plugged, want %d", n, c.ghost)
			}
		})
	}
}

func TestPortMarks(t *testing.T) {
	p := samplePorts()["ring3"]
	svg := portsOf(t, p, map[fabric.Endpoint]fabric.Status{
		at("spark1", "enp1s0f0np0"): fabric.Fail, at("spark2", "enp1s0f0np0"): fabric.Unknown, at("spark3", ""): fabric.Fail, at("spark2", ""): fabric.Unknown,
		at("spark3", "enp1s0f0np0"): fabric.Pass,
	})
	for _, want := range []string{
		"spark1:enp1s0f0np0, 10.64.0.1/24: fail<", "spark2:enp1s0f0np0, 10.64.2.2/24: unknown<", "spark3:enp1s0f0np0, 10.64.4.3/24: pass<",
		"spark3:enP2p1s0f0np0, 10.64.5.3/24: not checked<", "Failing: spark3, spark1:enp1s0f0np0.", `class="box broken"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	for what, c := range map[string]struct {
		text string
		want int
	}{
		"cables cut":     {`<path class="w cut"`, 1},
		"crosses":        {`<rect class="fail"`, 1 + 3}, // the legend's; the twin's, its port's, the machine's
		"question marks": {`<rect class="q"`, 1 + 3},
		"passed":         {`<rect class="d`, 1 + 1},
	} {
		if n := strings.Count(svg, c.text); n != c.want {
			t.Errorf("%s: %d, want %d", what, n, c.want)
		}
	}
}

func TestPortsOdd(t *testing.T) {
	p := sampleTwins(fabric.WiredRing, 1, 1)
	if svg := portsOf(t, p, nil); !strings.Contains(svg, "The plan names no cable.") {
		t.Error("a machine alone is not said to have no cable")
	}
	if text := portsText(t, p, 80, CurveOptions{}); !strings.Contains(text, "The plan names no cable.") || !strings.Contains(text, "no address") {
		t.Errorf("a machine alone is\n%s", text)
	}
	p = samplePorts()["ring3"]
	p.Cabling.Links[0].B.Node = "nobody"
	p.Ports[0].Number, p.Ports[1].Number = 1<<40, -3
	svg := portsOf(t, p, nil)
	if !strings.Contains(svg, "cables not drawn: an end is not a port of the plan.") {
		t.Error("a cable that is not drawn is not counted")
	}
	portsText(t, p, 80, CurveOptions{})
	if text := portsText(t, samplePlan(2, 2, 2, false), 80, CurveOptions{}); text != "" {
		t.Errorf("a plan without twins has %q", text)
	}
}

// A split cage has one cable with several ends.
func TestSplitCage(t *testing.T) {
	p := samplePorts()["switch2"]
	for i := range p.Switches[0].Ports {
		p.Switches[0].Ports[i].Cage, p.Switches[0].Ports[i].Breakout = "3", 2
	}
	if text := portsText(t, p, 80, CurveOptions{}); !strings.Contains(text, "1. Cable A: spark1 port 1 to leaf1 port qsfp56-1-1 (cage 3, split in 2).") {
		t.Errorf("the cage is not named:\n%s", text)
	}
}

func TestPortsEscaped(t *testing.T) {
	const evil = `e"></title><script>` + "\x1b[2J\x00"
	p := rename(samplePorts()["switch4"], func(m int) string { return fmt.Sprint(evil, m) })
	p.Name, p.Switches[0].Model, p.Nodes[0].Machine, p.Nodes[0].Management = evil, evil, evil, evil
	p.Switches[0].Name, p.Ports[0].Twins[0].NIC = evil, evil
	for i := range p.Cabling.Links {
		p.Cabling.Links[i].B = at(evil, evil+fmt.Sprint(i/2))
	}
	svg := portsOf(t, p, map[fabric.Endpoint]fabric.Status{at(evil+"0", evil): fabric.Fail}, fabric.Link{A: at(evil+"1", "enp1s0f1np1"), B: at(evil, evil)})
	if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x1b\x00") || !strings.Contains(svg, "&lt;script&gt;") {
		t.Error("a name is not escaped in the picture")
	}
	if text := portsText(t, p, 80, CurveOptions{}); strings.ContainsAny(text, "\x1b\x00") {
		t.Error("a name wrote a control character on the terminal")
	}
}

func TestFunctionOf(t *testing.T) {
	for nic, want := range map[string]int{
		"enp1s0f0np0": 0, "enP2p1s0f1np1": 1, "enp1s0f1": 1, "enp1s0f10np10": 10, "enP7s7": -1, "eth0": -1, "mlx5_0": -1, "docker0": -1, "wlP9s9": -1, "": -1, "enf": -1,
	} {
		if got := functionOf(nic); got != want {
			t.Errorf("%q: %d, want %d", nic, got, want)
		}
	}
}
