package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"railwright.dev/railwright/internal/topology"
)

func topologyTextOf(t *testing.T, m *topology.Machine, x topology.Matrix, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := TopologyText(&b, m, x, topology.PairDevices(x), width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func topologyOf(t *testing.T, m *topology.Machine, p topology.Pairing) string {
	t.Helper()
	var b bytes.Buffer
	if err := TopologySVG(&b, m, p); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

// flattened takes the switches out of a host.
func flattened(m *topology.Machine) *topology.Machine {
	for i := range m.CPUs {
		var flat []topology.Device
		for _, d := range m.CPUs[i].Devices {
			flat = append(flat, d.Children...)
		}
		m.CPUs[i].Devices = flat
	}
	return m
}

func topologySamples() map[string]*topology.Machine {
	return map[string]*topology.Machine{
		"hgx": sampleHost(8, 1, 1), "amd": sampleAMD(), "guest": sampleGuest(), "spark": sampleSpark(), "faulty": sampleFaulty(),
		"nested": sampleNested(), "nics64": sampleHost(8, 1, 8), "flat": flattened(sampleHost(8, 1, 1)), "flat64": flattened(sampleHost(8, 0, 8)), "wide": sampleHost(16, 2, 2),
	}
}

func TestTopologyGolden(t *testing.T) {
	for name, m := range topologySamples() {
		t.Run(name, func(t *testing.T) {
			golden(t, "topology-"+name+".txt", topologyTextOf(t, m, m.Matrix(), 80))
		})
	}
	hgx, matrix := sampleHost(8, 1, 1), sampleHost(8, 1, 1).Matrix()
	golden(t, "topology-hgx-120.txt", topologyTextOf(t, hgx, matrix, 120))
	alone := &topology.Machine{Source: "nvidia-smi topo -m"}
	golden(t, "topology-matrix.txt", topologyTextOf(t, alone, matrix, 100))
	golden(t, "topology-matrix.svg", topologyOf(t, alone, topology.PairDevices(matrix)))
	for _, name := range []string{"hgx", "amd", "guest", "spark", "faulty", "nested"} {
		m := topologySamples()[name]
		golden(t, "topology-"+name+".svg", topologyOf(t, m, m.Pairing()))
	}
}

// No line of the text is wider than the terminal; 8 GPUs and 8 NICs are one matrix at 120 columns.
func TestTopologyTextFits(t *testing.T) {
	for name, m := range topologySamples() {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{60, 80, 100, 120, 200} {
				for line := range strings.Lines(topologyTextOf(t, m, m.Matrix(), width)) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
						t.Errorf("%s at %d columns: a line has %d: %q", name, width, n, line)
					}
				}
			}
		})
	}
	hgx := sampleHost(8, 1, 1)
	if text := topologyTextOf(t, hgx, hgx.Matrix(), 120); strings.Count(text, "\nGPU3 ") != 1 {
		t.Errorf("at 120 columns the matrix is folded:\n%s", text)
	}
	many := sampleHost(8, 1, 8)
	if text := topologyTextOf(t, many, many.Matrix(), 80); strings.Contains(text, "\nNIC3 ") || !strings.Contains(text, "From NIC to NIC is left out.") {
		t.Errorf("72 devices at 80 columns are not folded to the GPUs:\n%s", text)
	}
}

func TestTopologyTextSays(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
	}{
		{"hgx", []string{"2 NUMA nodes, 8 GPUs, 8 NICs", "NUMA 1: x86_64 GenuineIntel family 6 model 143", "root port 0000:10:01.0", "switch  0000:11:00.0  Gen5 x16 63.0 GB/s",
			"GPU0  0000:12:00.0  Gen5 x16 63.0 GB/s", "NIC0  0000:13:00.0  Gen5 x16 63.0 GB/s  mlx5_0  400 Gb/s", "NVLink: each of GPU[0-7] has 18 links to NVSwitches.",
			"PIX = one PCIe switch at most", "NIC[0-7] = mlx5_[0-7]", "8 of 8 GPUs have a NIC near enough", "GPU0  NIC0 mlx5_0  PIX\n"}},
		{"faulty", []string{"Gen4 x16 31.5 GB/s,", "DOWNGRADED from Gen5 x16 63.0 GB/s", "Gen5 x8 31.5 GB/s,", "Gen1 x16 4.0 GB/s at rest, of Gen5 x16 63.0 GB/s", "7 of 8 GPUs have a NIC near enough", "GPU4  none               loses 50.0 GB/s"}},
		{"amd", []string{"XGMI: each of GPU[0-7] has 1 link to every other GPU.", "XGMI = XGMI links"}},
		{"guest", []string{"NUMA node unknown: x86_64", "GPU0  0000:00:06.0  Gen5, width unknown", "Without a place in the PCI tree:", "NIC0  eth0  10 Gb/s, no GPUDirect RDMA"}},
		{"spark", []string{"NVLink-C2C: GPU0 has 1 link to its CPU, 300 GB/s.", "Not used: NIC[1-3].", "roceP2p1s0f1  200 Gb/s"}},
		{"nics64", []string{"GPU0  NIC[0-7]    PIX"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := topologySamples()[c.name]
			text := topologyTextOf(t, m, m.Matrix(), 80)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q:\n%s", c.name, want, text)
				}
			}
		})
	}
	faulty := sampleFaulty()
	text := topologyTextOf(t, faulty, faulty.Matrix(), 80)
	if strings.Index(text, "  GPU4  none") > strings.Index(text, "  GPU0  NIC0") {
		t.Errorf("the GPU that loses most is not the first:\n%s", text)
	}
	if strings.Count(text, "DOWNGRADED") != 2 {
		t.Errorf("the GPU at rest is told as downgraded:\n%s", text)
	}
}

func TestTopologyTextOfMatrixAlone(t *testing.T) {
	x := sampleHost(8, 1, 1).Matrix()
	text := topologyTextOf(t, nil, x, 120)
	for _, want := range []string{"The PCI tree is unknown: distances and pairs only.\n", "GPU7 NV18", "Pairs: 8 of 8"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "NUMA 0:") || strings.Contains(text, "switch") && !strings.Contains(text, "PCIe switch") {
		t.Errorf("a tree is made up:\n%s", text)
	}
	empty := topologyTextOf(t, nil, topology.Matrix{Gaps: []string{"5000 GPUs and NICs: a matrix holds at most 4096"}}, 80)
	for _, want := range []string{"Distances: none is known.", "no GPU and no NIC of the fabric is known", "Unknown: 5000 GPUs"} {
		if !strings.Contains(empty, want) {
			t.Errorf("nothing known lacks %q:\n%s", want, empty)
		}
	}
}

func TestTopologySVG(t *testing.T) {
	for name, m := range topologySamples() {
		svg := topologyOf(t, m, m.Pairing())
		if n := strings.Count(svg, `<rect class="gpu`); n != len(m.GPUs) {
			t.Errorf("%s: %d GPUs drawn of %d", name, n, len(m.GPUs))
		}
		if n := strings.Count(svg, `<rect class="nic`); n != len(m.NICs) {
			t.Errorf("%s: %d NICs drawn of %d", name, n, len(m.NICs))
		}
		lines := strings.Count(svg, `<path class="near`) + strings.Count(svg, `<path class="far`)
		for _, item := range []string{`<path class="near" stroke-width="3"`, `<path class="far" stroke-width="3"`} {
			lines -= strings.Count(svg, item) // of the key
		}
		pairs := 0
		for _, p := range m.Pairing().Pairs {
			if p.NIC != nil {
				pairs++
			}
		}
		if lines != pairs {
			t.Errorf("%s: %d lines for %d pairs", name, lines, pairs)
		}
		if len(svg) > 100<<10 { // bytes: what a page can spare for it
			t.Errorf("%s: the picture has %d bytes", name, len(svg))
		}
	}
	svg := topologyOf(t, sampleFaulty(), sampleFaulty().Pairing())
	for want, times := range map[string]int{
		`<path class="down"`: 2, `<text class="lab bad"`: 2, `<text class="lab mid bad"`: 1, // the switch's link with its rate, the NIC's link
		"GPU4 without a NIC: loses 50.0 GB/s": 1, "Downgraded: switch 0000:2b:00.0 at Gen4 x16 of Gen5 x16; NIC1 0000:2d:00.0 at Gen5 x8 of Gen5 x16.": 1,
		`<rect class="fail"`: 5, // GPU4, the switch, NIC1, and two of the key
	} {
		if n := strings.Count(svg, want); n != times {
			t.Errorf("%q is %d times in the picture, want %d", want, n, times)
		}
	}
}

func TestTopologySVGLimits(t *testing.T) {
	if svg := topologyOf(t, nil, topology.Pairing{}); !strings.Contains(svg, "not drawn") {
		t.Errorf("nothing is drawn as something:\n%s", svg)
	}
	big := sampleHost(16, 8, 8)
	if svg := topologyOf(t, big, big.Pairing()); !strings.Contains(svg, "128 GPUs and 128 NICs are too many to draw") || len(svg) > 10<<10 {
		t.Errorf("a machine of 256 devices has a picture of %d bytes", len(svg))
	}
	lost := sampleHost(2, 1, 1)
	lost.GPUs = append(lost.GPUs, topology.GPU{Index: 9, Bus: "0000:ff:00.0", NUMA: -1})
	if svg := topologyOf(t, lost, lost.Pairing()); !strings.Contains(svg, "unknown place") || !strings.Contains(svg, ">GPU9<") {
		t.Error("a GPU outside the tree is not drawn as such")
	}
	alone := topologyOf(t, nil, topology.PairDevices(sampleHost(8, 1, 1).Matrix()))
	if !strings.Contains(alone, "the PCI tree is unknown") || strings.Contains(alone, `class="pci`) || strings.Count(alone, `<rect class="gpu`) != 8 {
		t.Error("a matrix alone is not drawn as such")
	}
}

// Texts do not overlap, and none is outside the picture.
func TestTopologyTextsDoNotOverlap(t *testing.T) {
	pictures := map[string]string{"matrix": topologyOf(t, nil, topology.PairDevices(sampleHost(8, 1, 1).Matrix()))}
	for name, m := range topologySamples() {
		pictures[name] = topologyOf(t, m, m.Pairing())
	}
	long := sampleHost(8, 1, 1)
	for i := range long.NICs {
		long.NICs[i].Name, long.GPUs[i].Model = strings.Repeat("roceo", 6), strings.Repeat("gpu", 9)
	}
	long.Name, long.CPUs[0].Vendor = strings.Repeat("host ", 60), strings.Repeat("Vendor", 30)
	pictures["long names"] = topologyOf(t, long, long.Pairing())
	for name, svg := range pictures {
		texts, width := textsOf(t, svg)
		for i, a := range texts {
			if a.left < -0.5 || a.right > width+0.5 {
				t.Errorf("%s: %q is outside the picture: %.1f to %.1f of %.1f", name, a.text, a.left, a.right, width)
			}
			for _, b := range texts[:i] {
				if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
					t.Errorf("%s: %q overlaps %q", name, a.text, b.text)
				}
			}
		}
	}
}

type placedText struct {
	text                     string
	left, right, top, bottom float64
}

// textsOf measures the texts of a picture by the width of DejaVu Sans: 0.56 em a character on average, 0.62 if
// bold.
func textsOf(t *testing.T, picture string) (texts []placedText, width float64) {
	t.Helper()
	var class string
	var x, y float64
	d := xml.NewDecoder(strings.NewReader(picture))
	inText := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts, width
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
			class, x, y = "", 0, 0
			for _, a := range e.Attr {
				n, _ := strconv.ParseFloat(a.Value, 64)
				switch {
				case a.Name.Local == "class":
					class = " " + a.Value + " "
				case a.Name.Local == "x":
					x = n
				case a.Name.Local == "y":
					y = n
				case a.Name.Local == "width" && e.Name.Local == "svg":
					width = n
				}
			}
		case xml.CharData:
			if !inText || strings.TrimSpace(string(e)) == "" {
				continue
			}
			size, em := 11.0, 0.56
			for part, of := range map[string]float64{" cap ": 12, " name ": 10, " lab ": 9, " hop ": 8} {
				if strings.Contains(class, part) {
					size = of
				}
			}
			if strings.Contains(class, " name ") {
				em = 0.62
			}
			wide := em * size * float64(utf8.RuneCount(e))
			left := x
			if strings.Contains(class, " mid ") {
				left -= wide / 2
			}
			texts = append(texts, placedText{text: string(e), left: left, right: left + wide, top: y - 0.72*size, bottom: y + 0.1*size})
		case xml.EndElement:
			inText = false
		}
	}
}

// A name from a machine must never become markup, nor write on the terminal.
func TestTopologyEscaping(t *testing.T) {
	evil := `e"></title><script>alert(1)</script>` + "\x1b[2J\x00"
	m := sampleFaulty()
	m.Name, m.Source, m.CPUs[0].Vendor, m.Gaps = evil, evil, evil, []string{evil}
	m.GPUs[0].Name, m.GPUs[0].Model, m.NICs[0].Name = evil, evil, evil
	m.CPUs[0].Devices[0].Bus, m.CPUs[0].Devices[0].Port = evil, evil
	x := m.Matrix()
	p := m.Pairing()
	p.Pairs[0].Why = evil
	for i := range p.Spare {
		p.Spare[i].Label = evil
	}
	svg := topologyOf(t, m, p)
	if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x1b\x00") {
		t.Error("a name is not escaped in a picture")
	}
	var b bytes.Buffer
	if err := TopologyText(&b, m, x, p, 80); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x00") {
		t.Error("a name wrote a control character on the terminal")
	}
}

func TestLinkWords(t *testing.T) {
	for _, c := range []struct {
		speed float64
		width int
		want  string
	}{
		{32, 16, "Gen5 x16 63.0 GB/s"}, {16, 8, "Gen4 x8 15.8 GB/s"}, {2.5, 1, "Gen1 x1 0.2 GB/s"},
		{0, 0, "link unknown"}, {32, 0, "Gen5, width unknown"}, {0, 16, "x16, speed unknown"}, {20, 4, "20 GT/s x4 9.8 GB/s"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := linkWords(c.speed, c.width); got != c.want {
				t.Errorf("%v GT/s of %d lanes: %q, want %q", c.speed, c.width, got, c.want)
			}
		})
	}
}

func TestScaleUpWords(t *testing.T) {
	gpus := func(links ...[]topology.ScaleUp) *topology.Machine {
		m := &topology.Machine{}
		for i, l := range links {
			m.GPUs = append(m.GPUs, topology.GPU{Index: i, Bus: fmt.Sprintf("b%d", i), Links: l})
		}
		return m
	}
	to := func(target string, count int) topology.ScaleUp {
		return topology.ScaleUp{Target: target, Class: 0x030200, Count: count}
	}
	toSwitch := func(count int) topology.ScaleUp {
		return topology.ScaleUp{Class: topology.ClassNVSwitch, Count: count}
	}
	for want, m := range map[string]*topology.Machine{
		"No NVLink or XGMI between the GPUs is known.":                                                                    gpus(nil, nil),
		"NVLink: each of GPU[0-1] has 18 links to NVSwitches.":                                                            gpus([]topology.ScaleUp{toSwitch(10), toSwitch(8)}, []topology.ScaleUp{toSwitch(18)}),
		"NVLink: GPU0 has 18 links to NVSwitches; NVLink: GPU1 has 6 links to NVSwitches.":                                gpus([]topology.ScaleUp{toSwitch(18)}, []topology.ScaleUp{toSwitch(6)}),
		"NVLink: GPU0 has 4 links to GPU1; NVLink: GPU1 has 4 links to GPU0.":                                             gpus([]topology.ScaleUp{to("b1", 4)}, []topology.ScaleUp{to("b0", 4)}, nil),
		"NVLink: GPU0 has links 1 to GPU1, 2 to GPU2; NVLink: GPU1 has 1 link to GPU0; NVLink: GPU2 has 2 links to GPU0.": gpus([]topology.ScaleUp{to("b1", 1), to("b2", 2)}, []topology.ScaleUp{to("b0", 1)}, []topology.ScaleUp{to("b0", 2)}),
		"NVLink: each of GPU[0-2] has 2 links to every other GPU.":                                                        gpus([]topology.ScaleUp{to("b1", 2), to("b2", 2)}, []topology.ScaleUp{to("b0", 2), to("b2", 2)}, []topology.ScaleUp{to("b0", 2), to("b1", 2)}),
		"NVLink: GPU0 has 3 links to what is not in the tree; NVLink: GPU0 has 2 links to its CPU.":                       nil,
	} {
		if m == nil {
			m = gpus([]topology.ScaleUp{{Target: "b9", Class: 0x030200, Count: 3}, {Class: topology.ClassLinkedCPU, Count: 2}})
			want = "NVLink: GPU0 has 2 links to its CPU; NVLink: GPU0 has 3 links to what is not in the tree."
		}
		if got := scaleUpWords(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
