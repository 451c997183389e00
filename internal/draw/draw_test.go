package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func cablingOf(t *testing.T, p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status) string {
	t.Helper()
	var b bytes.Buffer
	if err := Cabling(&b, p, marks, nil); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

func meshOf(t *testing.T, m *fabric.Mesh) string {
	t.Helper()
	var b bytes.Buffer
	if err := Mesh(&b, m); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

func textOf(t *testing.T, m *fabric.Mesh, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := MeshText(&b, m, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the picture is not well-formed: %v", err)
		}
	}
}

func at(node, nic string) fabric.Endpoint { return fabric.Endpoint{Node: node, NIC: nic} }

func TestGolden(t *testing.T) {
	p := samplePlan(2, 4, 2, false)
	marks := map[fabric.Endpoint]fabric.Status{
		at("host1", "eth1"): fabric.Pass, at("host1", "eth3"): fabric.Fail, at("host2", "eth2"): fabric.Unknown, at("host2", ""): fabric.Fail,
	}
	golden(t, "cabling.svg", cablingOf(t, p, marks))
	golden(t, "mesh.svg", meshOf(t, sampleMesh(p, faults)))
	golden(t, "mesh.txt", textOf(t, sampleMesh(p, faults), 80))
	golden(t, "pods.svg", cablingOf(t, samplePlan(40, 8, 16, true), map[fabric.Endpoint]fabric.Status{at("host20", "eth3"): fabric.Fail}))
	golden(t, "empty.svg", cablingOf(t, nil, nil)+meshOf(t, nil))
}

func TestCabling(t *testing.T) {
	marks := map[fabric.Endpoint]fabric.Status{at("host2", "eth3"): fabric.Fail}
	for _, hosts := range []int{1, 2, 8, 32} {
		p := samplePlan(hosts, 8, 8, hosts == 8)
		svg := cablingOf(t, p, marks)
		if n := strings.Count(svg, `<path class="w `) - 8; n != hosts*8 { // less the eight rails of the legend
			t.Errorf("%d hosts: %d cables drawn", hosts, n)
		}
		crosses := 2 // host2:eth3, and the legend's
		if hosts == 1 {
			crosses = 1
		}
		if n := strings.Count(svg, `<rect class="fail"`); n != crosses {
			t.Errorf("%d hosts: %d crosses", hosts, n)
		}
	}
	bare := cablingOf(t, samplePlan(2, 8, 8, false), nil)
	if strings.Contains(bare, ": pass<") || strings.Count(bare, ": not checked<") != 32 {
		t.Error("a NIC without a mark is not drawn as not checked")
	}
}

func TestCablingOdd(t *testing.T) {
	pair := &fabric.Plan{Nodes: []fabric.Node{{Name: "a", NICs: []string{"x"}}, {Name: "b", NICs: []string{"y"}}},
		Cabling: fabric.Cabling{Links: []fabric.Link{{A: at("a", "x"), B: at("b", "y"), Rail: 1}, {A: at("a", "z"), B: at("leaf", "1"), Rail: 2}}}}
	svg := cablingOf(t, pair, nil)
	if !strings.Contains(svg, "a:x to b:y, rail 1") || !strings.Contains(svg, "1 cable not drawn") {
		t.Errorf("a cable between hosts, or one without an end, is not reported:\n%s", svg)
	}
	if svg := cablingOf(t, &fabric.Plan{Nodes: []fabric.Node{{Name: "a"}}}, nil); !strings.Contains(svg, "names no cable") {
		t.Error("a plan without cables does not say so")
	}
}

func TestPods(t *testing.T) {
	p := samplePlan(1000, 8, 8, false)
	svg := cablingOf(t, p, map[fabric.Endpoint]fabric.Status{at("host999", "eth3"): fabric.Fail})
	for _, want := range []string{"too many to draw each", "Not drawn: 101 blocks more with 808 hosts on 101 switches, 0 failing", "1 failing: host999:eth3", "rail 8: 8", "Failing: host999:eth3."} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if len(svg) > 100<<10 { // bytes: what a page can spare for it
		t.Errorf("the picture has %d bytes", len(svg))
	}
}

func TestMesh(t *testing.T) {
	p := samplePlan(2, 8, 8, false)
	svg := meshOf(t, sampleMesh(p, faults))
	for _, want := range []string{
		"host2:eth2 to host1:eth1: FAIL; small no answer, full no answer; small echo of 84 bytes not answered; full echo of 9000 bytes not answered",
		"host1:eth3 to host2:eth1: FAIL; small 45 µs, full no answer; full echo of 9000 bytes not answered: message too long",
		"host2:eth4 to host1:eth2: FAIL; small 44 µs, full 44 µs; small echo of 84 bytes arrived on eth1, not on eth2",
		"host2:eth1 to host1:eth1: UNKNOWN; small not sent, full not sent; small echo not sent: permission denied; full echo not sent",
		"host1:eth1 to host2:eth1: PASS; small 20 µs, full 20 µs<",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if n := strings.Count(svg, `class="u" x=`) - 1; n != 8 { // less the legend's
		t.Errorf("%d cells are hatched, want the 8 that host2:eth1 did not send", n)
	}
}

func TestMeshAggregates(t *testing.T) {
	for _, c := range []struct {
		hosts, nics int
		cells       int
		want        string
	}{
		{8, 8, 64*64 - 8*64, "every pair"},
		{9, 8, 72, "One cell is a pair of hosts"},
		{65, 2, 33*33 - 1, "groups of up to 2 hosts"},
	} {
		t.Run(fmt.Sprintf("%d hosts", c.hosts), func(t *testing.T) {
			svg := meshOf(t, sampleMesh(samplePlan(c.hosts, c.nics, 8, false), nil))
			if n := strings.Count(svg, "<title>"); n != c.cells {
				t.Errorf("%d hosts: %d cells with a tooltip, want %d", c.hosts, n, c.cells)
			}
			if !strings.Contains(svg, c.want) {
				t.Errorf("%d hosts: the picture does not say %q", c.hosts, c.want)
			}
			if strings.Contains(svg, "µs; for one") {
				t.Errorf("%d hosts: a cell of a sound mesh names a failure", c.hosts)
			}
		})
	}
}

// A cell that stands for many pairs is never drawn better than the worst of them.
func TestAggregatedCells(t *testing.T) {
	p := samplePlan(9, 8, 9, false)
	m := sampleMesh(p, faults)
	g := newGrid(m, 64)
	cell := func(a, b int) cell { return g.cells[a*len(g.lines)+b] }
	if got := cell(1, 0); got.shade() != marked || got.worst != noAnswer || got.failed != 8+7 {
		t.Errorf("host2 to host1 is %+v, want a mark for no answer and 15 failed pairs", got)
	}
	if got := cell(2, 0); got.shade() != full {
		t.Errorf("host3 to host1 is %+v, want all passed", got)
	}
	if got := cell(3, 3); got.shade() != blank {
		t.Errorf("host4 to itself is %+v, want blank", got)
	}
	m.Pairs = m.Pairs[:len(m.Pairs)-1] // host9:eth8 to host8:eth8 was never measured
	g = newGrid(m, 64)
	if got := cell(8, 7); got.shade() != partial {
		t.Errorf("host9 to host8 is %+v, want partly known", got)
	}
	for i := range m.Pairs {
		if m.Pairs[i].From.Node == "host9" {
			m.Pairs[i].Small, m.Pairs[i].Full = fabric.Echo{}, fabric.Echo{}
		}
	}
	g = newGrid(m, 64)
	if got := cell(8, 7); got.shade() != hatched {
		t.Errorf("host9 to host8 is %+v, want hatched", got)
	}
}

func TestMeshText(t *testing.T) {
	m := sampleMesh(samplePlan(8, 8, 8, false), faults)
	for _, c := range []struct {
		width int
		want  string
	}{{120, "every pair"}, {90, "every pair"}, {80, "pair of hosts"}, {40, "pair of hosts"}, {1, "pair of hosts"}} {
		t.Run(fmt.Sprintf("%d columns", c.width), func(t *testing.T) {
			text := textOf(t, m, c.width)
			if !strings.Contains(text, c.want) {
				t.Errorf("at %d columns the text does not say %q:\n%s", c.width, c.want, text)
			}
			for l := range strings.Lines(text) {
				if n := len([]rune(l)) - 1; n > max(c.width, 40) && !strings.HasPrefix(l, "Rows send") {
					t.Errorf("at %d columns a line has %d: %q", c.width, n, l)
				}
			}
		})
	}
	if text := textOf(t, nil, 80); text != "mesh: not measured\n" {
		t.Errorf("no mesh is written as %q", text)
	}
}

func TestScale(t *testing.T) {
	of := func(rtts ...float64) []float64 {
		var cells []cell
		for _, r := range rtts {
			cells = append(cells, cell{rtt: r})
		}
		return scale(cells)
	}
	for _, c := range []struct {
		rtts, want []float64
	}{
		{nil, nil}, {[]float64{0, 0}, nil},
		{[]float64{10, 11}, []float64{10, 13, 17, 23, 30, 40}},
		{[]float64{10, 320}, []float64{10, 20, 40, 80, 160, 320}},
	} {
		t.Run(fmt.Sprint(c.rtts), func(t *testing.T) {
			if diff := cmp.Diff(fmt.Sprintf("%.3g", c.want), fmt.Sprintf("%.3g", of(c.rtts...))); diff != "" {
				t.Errorf("%v: %s", c.rtts, diff)
			}
		})
	}
	g := grid{edges: of(10, 320)}
	for rtt, want := range map[float64]int{5: 0, 10: 0, 19.9: 0, 20: 1, 159: 3, 160: 4, 320: 4, 9000: 4} {
		if got := g.step(rtt); got != want {
			t.Errorf("%v µs has step %d, want %d", rtt, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		limit int
		want  string
	}{
		{nil, 0, ""},
		{[]string{"host1"}, 0, "host1"},
		{[]string{"host10", "host2", "host1", "host3", "host3"}, 0, "host[1-3,10]"},
		{[]string{"gpu01", "gpu02", "gpu10"}, 0, "gpu[01-02,10]"},
		{[]string{"gpu09", "gpu10", "gpu11"}, 0, "gpu[09-11]"},
		{[]string{"gpu9", "gpu10", "gpu011"}, 0, "gpu[9-10,011]"},
		{[]string{"gpu1", "gpu01"}, 0, "gpu[1,01]"},
		{[]string{"a", "b", "c", "d"}, 2, "a, b and 2 more"},
		{[]string{"host1:eth3", "host1:eth4"}, 0, "host1:eth[3-4]"},
		{[]string{"g1-rail1", "g2-rail2", "g2-rail1", "g1-rail2"}, 0, "g[1-2]-rail[1-2]"},
		{[]string{"g9-rail1", "g10-rail1", "g11-rail1", "g11-rail2"}, 0, "g[9-10]-rail1, g11-rail[1-2]"},
		{[]string{"g1-rail1", "g2-rail1", "a", "b"}, 2, "a, b and 2 more"},
		{[]string{"copy01.json", "copy02.json", "copy04.json", "copy.json"}, 0, "copy.json, copy[01-02,04].json"},
		{[]string{"host1:eth1", "host2:eth1"}, 0, "host1:eth1, host2:eth1"},
		{[]string{"0000:09:00.0", "0000:10:00.0"}, 0, "0000:09:00.0, 0000:10:00.0"},
		{[]string{"x99999999999999999999"}, 0, "x99999999999999999999"},
	} {
		t.Run(fmt.Sprintf("%q", c.names), func(t *testing.T) {
			if got := Names(c.names, c.limit); got != c.want {
				t.Errorf("%q: %q, want %q", c.names, got, c.want)
			}
		})
	}
}

// A name from a machine must never become markup, nor write on the terminal.
func TestEscaping(t *testing.T) {
	evil := `e"></title><script>alert(1)</script>` + "\x1b[2J\x00"
	p := samplePlan(2, 2, 2, false)
	p.Nodes[0].NICs[0], p.Cabling.Links[0].A.NIC = evil, evil
	p.Nodes[1].Machine, p.Name, p.Switches[0].Model = evil, evil, evil
	m := sampleMesh(p, func(m *fabric.Measurement) { m.Small.Error, m.Small.Answered = evil, false })
	for _, svg := range []string{cablingOf(t, p, map[fabric.Endpoint]fabric.Status{at("host1", evil): fabric.Fail}), meshOf(t, m)} {
		if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x1b\x00") || !strings.Contains(svg, "&lt;script&gt;") {
			t.Error("a name is not escaped in a picture")
		}
	}
	if text := textOf(t, m, 200); strings.ContainsAny(text, "\x1b\x00") {
		t.Error("a name wrote a control character on the terminal")
	}
}
