package collective

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestTrays(t *testing.T) {
	cat := loaded(t)
	no := false
	for _, test := range []struct {
		name string
		hw   fabric.Hardware
		want int
	}{
		{"a rack", fabric.Hardware{GPU: "gb200", Nodes: 18, GPUsPerNode: 4}, 18},
		{"two trays", fabric.Hardware{GPU: "gb300", Nodes: 2, GPUsPerNode: 4}, 2},
		{"two racks", fabric.Hardware{GPU: "gb200", Nodes: 36, GPUsPerNode: 4}, 18},
		{"no even share of racks", fabric.Hardware{GPU: "gb200", Nodes: 20, GPUsPerNode: 4}, 10},
		{"one tray", fabric.Hardware{GPU: "gb200", Nodes: 1, GPUsPerNode: 4}, 1},
		{"without NVLink", fabric.Hardware{GPU: "gb200", Nodes: 18, GPUsPerNode: 4, NVLink: &no}, 1},
		{"HGX", fabric.Hardware{GPU: "h100-sxm", Nodes: 2, GPUsPerNode: 8}, 1},
		{"unknown GPU", fabric.Hardware{GPU: "x9", Nodes: 2, GPUsPerNode: 8}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := traysOf(cat, test.hw); got != test.want {
				t.Errorf("%s: %d trays, want %d", test.name, got, test.want)
			}
		})
	}
}

// TestDomain: a rack of GB200 is one node to NCCL, whose NICs set nothing; switched off, they set the pace.
func TestDomain(t *testing.T) {
	c, err := New(loaded(t), fabric.Hardware{GPU: "gb200", Nodes: 18, GPUsPerNode: 4, NICsPerNode: 4, NICGbps: 400, Net: "ib", CPU: "arm"})
	if err != nil {
		t.Fatal(err)
	}
	if c.nodes() != 1 || c.local() != 72 || c.Ranks() != 72 || c.hw.Nodes != 18 {
		t.Fatalf("%d nodes of %d GPUs, %d ranks, hardware %+v", c.nodes(), c.local(), c.Ranks(), c.hw)
	}
	joined := predict(t, c, Job{Collective: fabric.AllReduce, Processes: 4}, 1<<10, 16<<30)
	apart := predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_MNNVL_ENABLE": "0"}}, 1<<10, 16<<30)
	if b := joined[1].BusBW; b < 800 || b > 950 { // 847 GB/s at 8 GiB: coreweave/nccl-tests, README
		t.Errorf("joined: %.0f GB/s", b)
	}
	if joined[0].TimeUS > 200 {
		t.Errorf("joined: %.0f us for a small size: four processes a tray launch nothing one after the other", joined[0].TimeUS)
	}
	if b := apart[1].BusBW; b > 220 || !strings.Contains(apart[1].Bound.Element, "NIC") {
		t.Errorf("apart: %.0f GB/s, bound by %s", b, apart[1].Bound.Element)
	}
}

// TestTypesOfEightBits: switches reduce none of them.
func TestTypesOfEightBits(t *testing.T) {
	c, err := New(loaded(t), fabric.Hardware{GPU: "h100", Nodes: 1, GPUsPerNode: 8})
	if err != nil {
		t.Fatal(err)
	}
	for dtype, want := range map[string]string{"float": "NVLS", "bfloat16": "NVLS", "int8": "Ring", "uint8": "Ring", "f8e4m3": "Ring", "f8e5m2": "Ring"} {
		if got := predict(t, c, Job{Collective: fabric.AllReduce, DType: dtype}, 8<<30)[0].Algorithm; got != want {
			t.Errorf("%s: %s, want %s", dtype, got, want)
		}
	}
}

// TestNoPeerToPeer: cards whose driver allows no access from GPU to GPU get half of their link, and so do others where a setting
// forbids it.
func TestNoPeerToPeer(t *testing.T) {
	bus := func(gpu string, env map[string]string) float64 {
		c, err := New(loaded(t), fabric.Hardware{GPU: gpu, Nodes: 1, GPUsPerNode: 8, CPU: "amd"})
		if err != nil {
			t.Fatal(err)
		}
		return predict(t, c, Job{Collective: fabric.AllReduce, Env: env}, 128<<20)[0].BusBW
	}
	geforce, server := bus("rtx4090", nil), bus("l40s", nil) // the same PCIe link
	if geforce < 12 || geforce > 15.5 || server < 1.5*geforce {
		t.Errorf("RTX 4090 %.1f GB/s, L40S %.1f", geforce, server)
	}
	off := map[string]string{"NCCL_P2P_DISABLE": "1"}
	if a, b := bus("rtx4090", off), bus("l40s", off); a != geforce || b < 0.95*geforce || b > 1.05*geforce {
		t.Errorf("without peer-to-peer by a setting: RTX 4090 %.1f of %.1f GB/s, L40S %.1f", a, geforce, b)
	}
}

// TestTreeOfTwoNodes: a GPU at an end of the chain passes the data once, so that trees may pass what NCCL counts.
func TestTreeOfTwoNodes(t *testing.T) {
	c, err := New(loaded(t), fabric.Hardware{GPU: "a100-40", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 16, NICGbps: 100, Net: "roce", CPU: "amd"})
	if err != nil {
		t.Fatal(err)
	}
	// 237.9 GB/s: oracle-quickstart/oci-hpc-oke, two BM.GPU4.8.
	if b := predict(t, c, Job{Collective: fabric.AllReduce}, 8<<30)[0].Bound.BusBW; b < 237.9 || b > 310 {
		t.Errorf("bound %.1f GB/s", b)
	}
}

// TestRCCLRanges: between nodes RCCL sets the protocol by size.
func TestRCCLRanges(t *testing.T) {
	c, err := New(loaded(t), fabric.Hardware{GPU: "mi355x", Nodes: 2, GPUsPerNode: 8})
	if err != nil {
		t.Fatal(err)
	}
	rows := predict(t, c, Job{Collective: fabric.AllReduce}, 64<<10, 1<<20, 16<<20, 32<<20, 1<<30)
	for i, want := range []string{"LL", "LL128", "LL128", "Simple", "Simple"} {
		if rows[i].Protocol != want {
			t.Errorf("%d B: %s, want %s", rows[i].Size, rows[i].Protocol, want)
		}
	}
	forced := predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_PROTO": "Simple"}}, 1<<10)
	if forced[0].Protocol != "Simple" {
		t.Errorf("forced: %s", forced[0].Protocol)
	}
	old, err := New(loaded(t), fabric.Hardware{GPU: "mi300x", Nodes: 2, GPUsPerNode: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range predict(t, old, Job{Collective: fabric.AllReduce}, 1<<20, 16<<20) {
		if r.Protocol == "LL128" {
			t.Errorf("MI300X of an unknown version: %+v", r)
		}
	}
}

// TestBandsByKnowledge: what is less known has the wider band, and every band has its prediction inside.
func TestBandsByKnowledge(t *testing.T) {
	width := func(hw fabric.Hardware, what fabric.Collective) float64 {
		c, err := New(loaded(t), hw)
		if err != nil {
			t.Fatal(err)
		}
		r := predict(t, c, Job{Collective: what}, 8<<30)[0]
		if !(r.Band[0] < r.BusBW && r.BusBW <= r.Band[1]) {
			t.Errorf("%+v: %.1f is not in %v", hw, r.BusBW, r.Band)
		}
		return math.Log(r.BusBW / r.Band[0])
	}
	known := width(fabric.Hardware{GPU: "h100", Nodes: 1, GPUsPerNode: 8}, fabric.AllReduce)
	for name, wider := range map[string]float64{
		"unmeasured GPU": width(fabric.Hardware{GPU: "v100", Nodes: 1, GPUsPerNode: 8}, fabric.AllReduce),
		"fabric":         width(fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"}, fabric.AllReduce),
		"alltoall":       width(fabric.Hardware{GPU: "h100", Nodes: 1, GPUsPerNode: 8}, fabric.AllToAll),
		"sockets":        width(fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "tcp"}, fabric.AllReduce),
	} {
		if wider <= known {
			t.Errorf("%s: a band of %.3f below, not wider than %.3f", name, wider, known)
		}
	}
	if known > 0.08 {
		t.Errorf("eight H100: a band of %.3f below", known)
	}
}

// What large clusters measured lies in the band: 20 racks of GB200, and two nodes of A100 of which NCCL may take a tree.
func TestShapesInTheirBands(t *testing.T) {
	for _, c := range []struct {
		name  string
		hw    fabric.Hardware
		env   map[string]string
		busbw float64 // GB/s
	}{
		{"20 racks of GB200", fabric.Hardware{GPU: "gb200", Nodes: 360, GPUsPerNode: 4}, nil, 406},
		{"20 racks, each counted as one machine", fabric.Hardware{GPU: "gb200", Nodes: 20, GPUsPerNode: 72}, nil, 406},
		{"two nodes of A100", fabric.Hardware{GPU: "a100-40", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 16, NICGbps: 100, Net: "roce", CPU: "amd"}, nil, 237.9},
		{"four nodes of A100 with SHARP", fabric.Hardware{Machine: "hgx-a100", Nodes: 4}, map[string]string{"NCCL_COLLNET_ENABLE": "1"}, 160},
	} {
		r := predict(t, newCluster(t, c.hw), Job{Collective: fabric.AllReduce, Env: c.env}, 8<<30)[0]
		if c.busbw < r.Band[0] || c.busbw > r.Band[1] {
			t.Errorf("%s: %.1f GB/s, the band is %.1f", c.name, c.busbw, r.Band)
		}
	}
}

// A NIC less is seen, also where the reduction in the switches is slower than the wire.
func TestSevenOfEightNICs(t *testing.T) {
	for _, nodes := range []int{2, 4} {
		whole := predict(t, newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: nodes}), Job{Collective: fabric.AllReduce}, 8<<30)[0]
		seven := predict(t, newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: nodes, NICsPerNode: 7}), Job{Collective: fabric.AllReduce}, 8<<30)[0]
		if seven.BusBW >= whole.BusBW || seven.NICGBs <= whole.NICGBs {
			t.Errorf("%d nodes: %.1f GB/s with seven NICs of %.1f each, %.1f with eight of %.1f", nodes, seven.BusBW, seven.NICGBs, whole.BusBW, whole.NICGBs)
		}
	}
}

// TestRacksAreUncertain: the answer for several racks says that measured ones reached half, and its band holds them.
func TestRacksAreUncertain(t *testing.T) {
	p, err := newCluster(t, fabric.Hardware{Machine: "gb200-nvl72-tray", Nodes: 360}).Predict(Job{Collective: fabric.AllReduce}, []int64{16 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Rows[0]; r.Band[0] > 406 || r.Band[1] < r.BusBW {
		t.Errorf("band %v", r.Band)
	}
	if !slices.ContainsFunc(p.Remarks, func(s string) bool { return strings.Contains(s, "20 racks of GB200 measured 406 GB/s") }) {
		t.Errorf("remarks %q", p.Remarks)
	}
}
