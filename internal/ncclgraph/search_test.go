package ncclgraph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/ncclxml"
)

// host is a two-socket machine with one PCIe switch a GPU, as an HGX board has it.
type host struct {
	gpus, nics int
	sm, links  int
	nicMbps    int
	speed      string // of all PCIe links
	vendor     string
	family     int
	model      int
}

func hgxH100() host {
	return host{gpus: 8, nics: 8, sm: 90, links: 18, nicMbps: 400000, speed: "32.0 GT/s PCIe", vendor: "GenuineIntel", family: 6, model: 143}
}

func (h host) document() *ncclxml.Document {
	d := &ncclxml.Document{}
	system := &ncclxml.Element{Name: "system"}
	system.Set("version", "1")
	d.Roots = []*ncclxml.Element{system}
	for socket := range 2 {
		cpu := system.Add("cpu", attr("numaid", fmt.Sprint(socket)), attr("arch", "x86_64"), attr("vendor", h.vendor),
			attr("familyid", fmt.Sprint(h.family)), attr("modelid", fmt.Sprint(h.model)))
		for i := range h.gpus / 2 {
			gpu := socket*h.gpus/2 + i
			bridge := h.pci(cpu, 0x10+8*gpu, "0x060400")
			g := h.pci(bridge, 0x12+8*gpu, "0x030200").Add("gpu", attr("dev", fmt.Sprint(gpu)), attr("sm", fmt.Sprint(h.sm)),
				attr("rank", fmt.Sprint(gpu)), attr("gdr", "1"))
			if h.links > 0 {
				g.Add("nvlink", attr("target", "fffffff:ff:ff.0"), attr("count", fmt.Sprint(h.links)), attr("tclass", "0x068000"))
			}
			for n := gpu * h.nics / h.gpus; n < (gpu+1)*h.nics/h.gpus; n++ {
				h.pci(bridge, 0x13+8*gpu+n-gpu*h.nics/h.gpus, "0x020700").Add("nic").Add("net", attr("name", fmt.Sprintf("mlx5_%d", n)),
					attr("dev", fmt.Sprint(n)), attr("speed", fmt.Sprint(h.nicMbps)), attr("port", "1"),
					attr("guid", fmt.Sprintf("0x%x", 0x1000+n)), attr("maxconn", "131072"), attr("gdr", "1"))
			}
		}
	}
	return d
}

func (h host) pci(up *ncclxml.Element, bus int, class string) *ncclxml.Element {
	return up.Add("pci", attr("busid", fmt.Sprintf("0000:%02x:00.0", bus)), attr("class", class),
		attr("link_speed", h.speed), attr("link_width", "16"))
}

// TestTypicalMachines has the graphs of machines whose logs are public in part: of the H100 alone nccl#1197 (NCCL 2.19,
// where a link was 20.0 GB/s), and a public write-up of two hosts with eight 400 Gb/s NICs each (crossNic 2, 8 channels
// of 48); of the A100 the twelve channels of 20 that every DGX A100 prints.
func TestTypicalMachines(t *testing.T) {
	b200 := hgxH100()
	b200.sm = 100
	a100 := hgxH100()
	a100.sm, a100.links, a100.speed, a100.nicMbps, a100.vendor = 80, 12, "16.0 GT/s PCIe", 200000, "AuthenticAMD"
	for _, c := range []struct {
		name     string
		host     host
		nodes    int
		want     []string
		channels int
		nvls     int
	}{
		{"HGX H100", hgxH100(), 1, []string{
			"Pattern 4, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1",
			"Pattern 1, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1",
			"Pattern 5, crossNic 0, nChannels 8, bw 40.000000/60.000000, type NVL/PIX, sameChannels 0",
		}, 24, 16},
		{"two HGX H100", hgxH100(), 2, []string{
			"Pattern 4, crossNic 2, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 0",
			"Pattern 3, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 0",
			"Pattern 5, crossNic 0, nChannels 8, bw 40.000000/48.000000, type NVL/PIX, sameChannels 0",
		}, 16, 16},
		{"HGX B200", b200, 1, []string{
			"Pattern 4, crossNic 0, nChannels 16, bw 45.000000/45.000000, type NVL/PIX, sameChannels 1",
			"Pattern 1, crossNic 0, nChannels 16, bw 45.000000/45.000000, type NVL/PIX, sameChannels 1",
			"Pattern 5, crossNic 0, nChannels 8, bw 80.000000/90.000000, type NVL/PIX, sameChannels 0",
		}, 32, 24},
		{"HGX A100", a100, 1, []string{
			"Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1",
			"Pattern 1, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1",
		}, 24, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSystem(t, c.host.document(), Options{Nodes: c.nodes})
			graphs := s.Graphs()
			var got []string
			for _, g := range graphs {
				if g.Channels > 0 {
					got = append(got, g.Line())
				} else if g.Note == "" {
					t.Errorf("graph %d has no channels and does not say why", g.ID)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if n := s.CollChannels(graphs); n != c.channels {
				t.Errorf("%d channels, want %d", n, c.channels)
			}
			if n := s.NVLSChannels(); n != c.nvls {
				t.Errorf("%d NVLS channels, want %d", n, c.nvls)
			}
			for _, g := range graphs {
				carries(t, s, g)
			}
		})
	}
}

// carries checks a graph for itself: each channel has each GPU once, and no link of a GPU or port carries more than it
// has.
func carries(t *testing.T, s *System, g Graph) {
	t.Helper()
	if len(g.Order) != g.Channels {
		t.Errorf("graph %d: %d channels listed of %d", g.ID, len(g.Order), g.Channels)
	}
	ports := map[int]float64{}
	for i, channel := range g.Order {
		seen := map[int]bool{}
		for _, rank := range channel.GPUs {
			seen[rank] = true
		}
		if g.ID != GraphNVLS && (len(seen) != len(s.GPUs) || len(channel.GPUs) != len(s.GPUs)) {
			t.Errorf("graph %d channel %d has GPUs %v of %d", g.ID, i, channel.GPUs, len(s.GPUs))
		}
		if (channel.In >= 0) != s.Inter || (channel.Out >= 0) != s.Inter {
			t.Errorf("graph %d channel %d: in %d, out %d, inter %v", g.ID, i, channel.In, channel.Out, s.Inter)
		}
		ports[channel.In] += g.BWInter
	}
	for _, net := range s.NETs {
		if s.Inter && ports[net.Dev] > net.BW+0.001 {
			t.Errorf("graph %d: %s carries %v GB/s of %v", g.ID, net.Name, ports[net.Dev], net.BW)
		}
	}
	if g.ID == GraphRing && !s.Inter && float64(g.Channels)*g.BWIntra > s.TotalBW+0.001 {
		t.Errorf("rings carry %v GB/s, a GPU's links have %v", float64(g.Channels)*g.BWIntra, s.TotalBW)
	}
}

// TestSettings has what NCCL's environment changes.
func TestSettings(t *testing.T) {
	pcie := hgxH100()
	pcie.sm, pcie.links, pcie.nics, pcie.speed = 89, 0, 2, "16.0 GT/s PCIe"
	far := hgxH100()
	far.nics = 4
	for _, c := range []struct {
		name  string
		host  host
		nodes int
		env   string
		check func(s *System) (got, want any)
	}{
		{"P2P level SYS", pcie, 1, "NCCL_P2P_LEVEL=SYS", func(s *System) (any, any) { _, _, hops, _ := s.Route(0, 7); return hops, 5 }},
		{"P2P off: by the CPU", pcie, 1, "NCCL_P2P_DISABLE=1", func(s *System) (any, any) { t, _, _, _ := s.Route(0, 1); return t, PathPHB }},
		{"PXN", far, 2, "", func(s *System) (any, any) { t, _, _, _ := s.NetRoute(0, 0); return t, PathPXN }},
		{"PXN off", far, 2, "NCCL_PXN_DISABLE=1", func(s *System) (any, any) { t, _, _, _ := s.NetRoute(0, 0); return t, PathPHB }},
		{"GDR level LOC", hgxH100(), 2, "NCCL_NET_GDR_LEVEL=LOC", func(s *System) (any, any) { t, _, _, _ := s.NetRoute(0, 0); return t, PathPHB }},
		{"old GDR level", hgxH100(), 2, "NCCL_NET_GDR_LEVEL=0", func(s *System) (any, any) { t, _, _, _ := s.NetRoute(0, 0); return t, PathPHB }},
		{"GDR level nonsense", hgxH100(), 2, "NCCL_NET_GDR_LEVEL=near", func(s *System) (any, any) { t, _, _, _ := s.NetRoute(0, 0); return t, PathPIX }},
		{"no crossing of NICs", hgxH100(), 2, "NCCL_CROSS_NIC=0", func(s *System) (any, any) {
			// Each ring comes back to its NIC by one more NVLink hop: eight of 48 are more than the 370.8 of a GPU.
			return s.Graphs()[0].Line(), "Pattern 4, crossNic 0, nChannels 8, bw 45.000000/45.000000, type NVL/PXN, sameChannels 0"
		}},
		{"most channels", hgxH100(), 2, "NCCL_MAX_NCHANNELS=4", func(s *System) (any, any) { return s.CollChannels(s.Graphs()), 4 }},
		{"fewest channels", hgxH100(), 2, "NCCL_MIN_NCHANNELS=32", func(s *System) (any, any) { return s.CollChannels(s.Graphs()), 32 }},
		{"NVLS off", hgxH100(), 1, "NCCL_NVLS_ENABLE=0", func(s *System) (any, any) { return s.NVLSChannels(), 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := map[string]string{}
			if name, value, ok := strings.Cut(c.env, "="); ok {
				env[name] = value
			}
			s := newSystem(t, c.host.document(), Options{Nodes: c.nodes, Env: env})
			if got, want := c.check(s); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestSplitHost has a machine whose sockets rather use their NICs than the link between them: to NCCL it is two hosts.
func TestSplitHost(t *testing.T) {
	h := hgxH100()
	h.sm, h.links, h.speed = 89, 0, "16.0 GT/s PCIe"
	s := newSystem(t, h.document(), Options{})
	if len(s.Trimmed) != 4 || len(s.GPUs) != 4 || !s.Inter {
		t.Errorf("trimmed %v, GPUs %v, inter %v; want the second socket's four gone", s.Trimmed, s.GPUs, s.Inter)
	}
	s = newSystem(t, h.document(), Options{Env: map[string]string{"NCCL_NET_DISABLE_INTRA": "1"}})
	if len(s.Trimmed) != 0 || s.Inter {
		t.Errorf("trimmed %v with NCCL_NET_DISABLE_INTRA", s.Trimmed)
	}
}

// TestFullyConnected recognises eight MI300X: each joined to each. AMD's accelerators are of one class or the other.
func TestFullyConnected(t *testing.T) {
	for _, class := range []string{"0x038000", "0x120000"} {
		t.Run(class, func(t *testing.T) { fullyConnected(t, class) })
	}
	if newSystem(t, hgxH100().document(), Options{}).FullyConnected() {
		t.Error("a machine with an NVSwitch is not fully connected")
	}
}

func fullyConnected(t *testing.T, class string) {
	h := hgxH100()
	h.links, h.vendor = 0, "AuthenticAMD"
	d := h.document()
	var gpus []*ncclxml.Element
	var walk func(e *ncclxml.Element)
	walk = func(e *ncclxml.Element) {
		if e.Name == "gpu" {
			e.Set("gcn", "gfx942")
			e.Set("sm", "94")
			gpus = append(gpus, e)
		}
		for _, child := range e.Children {
			walk(child)
		}
	}
	walk(d.Roots[0])
	for _, a := range gpus {
		for _, b := range gpus {
			if bus, _ := b.Parent.Get("busid"); a != b {
				a.Add("xgmi", attr("target", bus), attr("count", "1"), attr("tclass", class))
			}
		}
	}
	s := newSystem(t, d, Options{})
	if !s.AMD || !s.FullyConnected() || s.TotalBW != 336 || s.MaxBW != 48 {
		t.Errorf("AMD %v, fully connected %v, total %v, most %v; want 7 links of 48", s.AMD, s.FullyConnected(), s.TotalBW, s.MaxBW)
	}
	if lines := s.Lines(); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "+ XGMI[48.0] - GPU/0-") }) {
		t.Errorf("no XGMI in %q", lines)
	}
}

// TestCrossedRings has rings that leave by another NIC than they came by: each odd one goes the way of the one before
// back, so that both NICs carry both directions.
func TestCrossedRings(t *testing.T) {
	ring := newSystem(t, hgxH100().document(), Options{Nodes: 2}).Graphs()[0]
	crossed := 0
	for i := 0; i+1 < len(ring.Order); i += 2 {
		a, b := ring.Order[i], ring.Order[i+1]
		if a.In != b.Out || a.Out != b.In {
			t.Errorf("channels %d and %d: in %d out %d, in %d out %d", i, i+1, a.In, a.Out, b.In, b.Out)
		}
		if a.In != a.Out {
			crossed++
		}
	}
	if crossed == 0 {
		t.Errorf("no ring is crossed: %+v", ring.Order)
	}
}

// TestFewNICs has too few search channels to fill the NICs with two channels each.
func TestFewNICs(t *testing.T) {
	h := hgxH100()
	h.gpus, h.nics = 6, 6
	s := newSystem(t, h.document(), Options{Nodes: 2})
	graphs := s.Graphs()
	if n := s.CollChannels(graphs); graphs[0].Channels != 6 || graphs[0].BWIntra != 48 || n != 24 {
		t.Errorf("%s, %d channels; want 6 of 48, four times as many", graphs[0].Line(), n)
	}
}

// TestRelayOverNVLink has two GPUs that reach each other by a third.
func TestRelayOverNVLink(t *testing.T) {
	c := readCase(t, "testdata/system/vega-xgmi-ring.txt")
	s := newSystem(t, c.document, c.options)
	if path, rate, hops, ok := s.Route(0, 3); path != PathNVB || rate != 24 || hops != 2 || !ok {
		t.Errorf("%v, %v GB/s, %d hops, %v; want NVB at 24 in 2", path, rate, hops, ok)
	}
	c.options.Env["NCCL_NVB_DISABLE"] = "1"
	if path, _, _, _ := newSystem(t, c.document, c.options).Route(0, 3); path != PathPHB {
		t.Errorf("%v without relaying, want PHB", path)
	}
}

// TestNVLinksAdd has a GPU's links listed by switch, as a host without virtual machines lists them.
func TestNVLinksAdd(t *testing.T) {
	d := hgxH100().document()
	var walk func(e *ncclxml.Element)
	walk = func(e *ncclxml.Element) {
		for _, child := range e.Children {
			walk(child)
		}
		if e.Name == "gpu" {
			e.Children = nil
			for i, count := range []string{"5", "5", "4", "4"} {
				e.Add("nvlink", attr("target", fmt.Sprintf("0000:%02x:00.0", 5+i)), attr("count", count), attr("tclass", "0x068000"))
			}
		}
	}
	walk(d.Roots[0])
	if s := newSystem(t, d, Options{}); s.TotalBW != 370.8 || s.MaxBW != 370.8 || len(s.nodes[nodeNVS]) != 1 {
		t.Errorf("%v of %v GB/s over %d switches, want all 370.8 over one", s.MaxBW, s.TotalBW, len(s.nodes[nodeNVS]))
	}
}

// TestBroadcomSwitch has a switch that shows itself as two levels: to NCCL it is one where the ids are its own.
func TestBroadcomSwitch(t *testing.T) {
	for subsystem, want := range map[string]PathType{"0x1000": PathPIX, "0x2000": PathPXB} {
		t.Run("subsystem "+subsystem, func(t *testing.T) {
			d := hgxH100().document()
			for _, cpu := range d.Roots[0].Children {
				for _, bridge := range cpu.Children {
					for key, value := range map[string]string{"vendor": "0x1000", "device": "0xc030", "subsystem_vendor": "0x1000", "subsystem_device": "0x0001"} {
						bridge.Set(key, value)
					}
					second := &ncclxml.Element{Name: "pci", Attributes: slices.Clone(bridge.Attributes), Children: bridge.Children[:1]}
					bus, _ := bridge.Get("busid")
					second.Set("busid", strings.Replace(bus, ":00.0", ":01.0", 1))
					second.Set("subsystem_device", subsystem)
					bridge.Children = append([]*ncclxml.Element{second}, bridge.Children[1:]...)
				}
			}
			s := newSystem(t, d, Options{Nodes: 2})
			if path, _, _, _ := s.NetRoute(0, 0); path != want {
				t.Errorf("second level %s: %v, want %v", subsystem, path, want)
			}
		})
	}
}

func TestThousandth(t *testing.T) {
	for bw, want := range map[float32]float32{1.0004: 1, 2.0006: 2.001, -1.0006: -1.001, 5000: 5000} {
		if got := thousandth(bw); got != want {
			t.Errorf("%v: got %v, want %v", bw, got, want)
		}
	}
}

// TestChipToChip has a GPU that reaches its CPU by C2C, and NICs below that CPU's root ports.
func TestChipToChip(t *testing.T) {
	h := hgxH100()
	h.gpus, h.nics = 4, 4
	d := h.document()
	for _, cpu := range d.Roots[0].Children {
		cpu.Set("arch", "arm64")
		var nics []*ncclxml.Element
		for _, bridge := range cpu.Children {
			gpu := bridge.Children[0].Children[0]
			gpu.Add("c2c", attr("bw", "44712"), attr("count", "10"))
			nics = append(nics, bridge.Children[1])
			bridge.Children = bridge.Children[:1]
		}
		cpu.Children = append(cpu.Children, nics...)
	}
	s := newSystem(t, d, Options{Nodes: 2})
	if path, rate, _, _ := s.NetRoute(0, 0); path != PathP2C || rate != 48 {
		t.Errorf("%v at %v GB/s, want P2C at 48", path, rate)
	}
	if g := s.Graphs()[0]; g.TypeInter != PathP2C && g.TypeInter != PathPXN {
		t.Errorf("%s, want rings over P2C or PXN", g.Line())
	}
}
