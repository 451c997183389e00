package collective

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// What DGX Sparks measured, GB/s of bus bandwidth: inside the healthy band, below the bound and near what is expected.
func TestSparksMeasured(t *testing.T) {
	const gib = int64(1) << 30
	for _, c := range []struct {
		name     string
		hw       fabric.Hardware
		job      Job
		size     int64
		measured float64
		within   float64 // of the expectation
	}{
		{"one cable", fabric.Hardware{Nodes: 2}, Job{Collective: fabric.AllGather}, 16 * gib, 23.74, 0.01},
		{"one cable, all_reduce", fabric.Hardware{Nodes: 2}, Job{Collective: fabric.AllReduce}, gib, 187.1 / 8, 0.02},
		{"one cable, another pair", fabric.Hardware{Nodes: 2}, Job{Collective: fabric.AllReduce}, gib, 22.7, 0.05},
		{"one cable, MTU 1500", fabric.Hardware{Nodes: 2, MTU: 1500}, Job{Collective: fabric.AllReduce}, gib, 22.0, 0.02},
		{"two cables", fabric.Hardware{Nodes: 2, NICsPerNode: 4}, Job{Collective: fabric.AllReduce}, gib, 196.09 / 8, 0.08},
		{"one function, tonyd2wild", fabric.Hardware{Nodes: 2, NICsPerNode: 1}, Job{Collective: fabric.AllReduce}, gib, 98.0 / 8, 0.12},
		{"four on a switch", fabric.Hardware{Nodes: 4}, Job{Collective: fabric.AllGather}, gib, 21.3, 0.07},
		{"three in a ring", fabric.Hardware{Nodes: 3}, Job{Collective: fabric.AllGather}, 16 * gib, 23.92, 0.02},
		{"three in a ring, NVIDIA forum 365160", fabric.Hardware{Nodes: 3}, Job{Collective: fabric.AllGather}, 16 * gib, 20.84, 0.13},
		{"three in a ring, one function of each port", fabric.Hardware{Nodes: 3, NICsPerNode: 2, Wiring: fabric.WiredRing}, Job{Collective: fabric.AllReduce}, gib / 4, 13.86, 0.03},
		{"four in a ring", fabric.Hardware{Nodes: 4, Wiring: fabric.WiredRing}, Job{Collective: fabric.AllGather}, gib, 13.7, 0.01},
		{"one function, 16 KiB", fabric.Hardware{Nodes: 2, NICsPerNode: 1}, Job{Collective: fabric.AllReduce}, 16 << 10, 0.539, 0.15},
		{"one function, 64 KiB", fabric.Hardware{Nodes: 2, NICsPerNode: 1}, Job{Collective: fabric.AllReduce}, 64 << 10, 1.827, 0.27},
		{"one function, 1 MiB", fabric.Hardware{Nodes: 2, NICsPerNode: 1}, Job{Collective: fabric.AllReduce}, 1 << 20, 8.635, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.hw.Machine = "dgx-spark"
			row := predict(t, newCluster(t, c.hw), c.job, c.size)[0]
			if c.measured < row.Band[0] || c.measured > row.Band[1] || c.measured > row.Bound.BusBW {
				t.Errorf("%.2f GB/s: healthy is %.2f to %.2f, bound %.2f by %s", c.measured, row.Band[0], row.Band[1], row.Bound.BusBW, row.Bound.Element)
			}
			if off := c.measured/row.BusBW - 1; off > c.within || off < -c.within {
				t.Errorf("%.2f GB/s, expected %.2f", c.measured, row.BusBW)
			}
		})
	}
}

// What sets the bound of DGX Sparks, and how much it is.
func TestSparksBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		hw      fabric.Hardware
		bound   float64 // GB/s
		element string
	}{
		{"one function", fabric.Hardware{Nodes: 2, NICsPerNode: 1}, 14.40, "one PCIe link of 32 GT/s x4"},
		{"one cable", fabric.Hardware{Nodes: 2}, 24.51, "one Ethernet port of 200 Gb/s"},
		{"one cable, as a table states it", fabric.Hardware{GPU: "gb10", Nodes: 2, GPUsPerNode: 1, NICsPerNode: 2, NICGbps: 100, Net: "roce"}, 24.51, "one Ethernet port of 200 Gb/s"},
		{"one cable, as NCCL counts its functions", fabric.Hardware{GPU: "gb10", Nodes: 2, GPUsPerNode: 1, NICsPerNode: 2, NICGbps: 200, Net: "roce"}, 24.51, "one Ethernet port of 200 Gb/s"},
		{"one cable, MTU 1500", fabric.Hardware{Nodes: 2, MTU: 1500}, 23.15, "one Ethernet port of 200 Gb/s"},
		{"a cable of 100 Gb/s", fabric.Hardware{Nodes: 2, NICsPerNode: 2, NICGbps: 50}, 12.26, "one Ethernet port of 100 Gb/s"},
		{"two cables", fabric.Hardware{Nodes: 2, NICsPerNode: 4}, 28.81, "2 PCIe links of 32 GT/s x4"},
		{"eight on a switch", fabric.Hardware{Nodes: 8}, 24.51, "one Ethernet port of 200 Gb/s"},
		{"five in a ring", fabric.Hardware{Nodes: 5, Wiring: fabric.WiredRing}, 28.81, "2 PCIe links of 32 GT/s x4"},
		{"three in a chain", fabric.Hardware{Nodes: 3, Wiring: fabric.WiredChain}, 14.40, "2 PCIe links of 32 GT/s x4 of a machine that forwards between two others"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.hw.GPU == "" {
				c.hw.Machine = "dgx-spark"
			}
			row := predict(t, newCluster(t, c.hw), Job{Collective: fabric.AllGather, Env: map[string]string{"NCCL_ALGO": "Ring"}}, 1<<30)[0]
			if off := row.Bound.BusBW - c.bound; off > 0.01 || off < -0.01 || row.Bound.Element != c.element {
				t.Errorf("%.3f GB/s by %s, want %.2f by %s", row.Bound.BusBW, row.Bound.Element, c.bound, c.element)
			}
			if row.BusBW > row.Bound.BusBW || row.Band[1] > row.Bound.BusBW {
				t.Errorf("%.2f GB/s, healthy to %.2f, above the bound", row.BusBW, row.Band[1])
			}
		})
	}
}

// How machines are cabled is assumed by their number, and said; what cannot be cabled so is refused.
func TestSparksWiring(t *testing.T) {
	for nodes, want := range map[int]fabric.Wiring{2: fabric.WiredPair, 3: fabric.WiredRing, 4: fabric.WiredSwitch, 8: fabric.WiredSwitch} {
		c := newCluster(t, fabric.Hardware{Machine: "dgx-spark", Nodes: nodes})
		p, err := c.Predict(Job{Collective: fabric.AllReduce}, []int64{1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if p.Hardware.Wiring != want || !strings.Contains(p.Assumptions[0].Source, "--wiring") {
			t.Errorf("%d: %q, assumed %+v", nodes, p.Hardware.Wiring, p.Assumptions[0])
		}
	}
	for _, c := range []struct {
		hw   fabric.Hardware
		want string
	}{
		{fabric.Hardware{Machine: "dgx-spark", Nodes: 2, Wiring: fabric.WiredRing}, `wiring "ring": 2 machines: it needs three or more`},
		{fabric.Hardware{Machine: "dgx-spark", Nodes: 3, Wiring: fabric.WiredPair}, `wiring "pair": 3 machines`},
		{fabric.Hardware{Machine: "dgx-spark", Nodes: 3, Wiring: "rings"}, `wiring "rings": unknown; did you mean "ring"?`},
		{fabric.Hardware{Machine: "dgx-spark", Nodes: 4, NICsPerNode: 1, Wiring: fabric.WiredRing}, "uses both ports"},
		{fabric.Hardware{Machine: "hgx-h100", Nodes: 4, Wiring: fabric.WiredSwitch}, `wiring "switch": only of machines whose ports`},
		{fabric.Hardware{Machine: "dgx-spark", Nodes: 2, MTU: 300}, "mtu 300: too small for RDMA"},
		{fabric.Hardware{Machine: "xe9680-mi300x-thor2", Nodes: 2, MTU: 300}, "mtu 300: too small for RDMA"},
	} {
		if _, err := New(loaded(t), c.hw); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.hw, err, c.want)
		}
	}
}

// Without a switch, four and more reach only their neighbours.
func TestSparksInRing(t *testing.T) {
	four := newCluster(t, fabric.Hardware{Machine: "dgx-spark", Nodes: 4, Wiring: fabric.WiredRing})
	for what, want := range map[fabric.Collective]string{fabric.AllToAll: "needs a path between all machines", fabric.Gather: "needs a path", fabric.SendRecv: ""} {
		_, err := four.Predict(Job{Collective: what}, []int64{1 << 20})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := four.Predict(Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Tree"}}, []int64{1 << 20})
	if err == nil || !strings.Contains(err.Error(), "reaches only its neighbours") {
		t.Errorf("Tree: %v", err)
	}
	half := predict(t, four, Job{Collective: fabric.AllGather}, 1<<30)[0]
	whole := predict(t, four, Job{Collective: fabric.AllGather, Env: map[string]string{"NCCL_SWITCHLESS_RING_ONLY": "1"}}, 1<<30)[0]
	if half.BusBW > 14 || whole.BusBW < 23 || half.Bound != whole.Bound {
		t.Errorf("one function to a neighbour %.2f GB/s, both %.2f", half.BusBW, whole.BusBW)
	}
	three := newCluster(t, fabric.Hardware{Machine: "dgx-spark", Nodes: 3})
	if all := predict(t, three, Job{Collective: fabric.AllToAll}, 1<<30)[0]; all.Bound.Element != "2 PCIe links of 32 GT/s x4" {
		t.Errorf("alltoall of three goes by both ports: %+v", all.Bound)
	}
	if one := predict(t, three, Job{Collective: fabric.SendRecv}, 1<<30)[0]; one.BusBW > 24.52 {
		t.Errorf("to a neighbour leads one cable: %.2f GB/s", one.BusBW)
	}
}

// A DGX Spark has one memory: NCCL never uses GPUDirect RDMA there, and is not slower where it is told not to.
func TestSparksHaveOneMemory(t *testing.T) {
	pair := newCluster(t, fabric.Hardware{Machine: "dgx-spark", Nodes: 2})
	usual := predict(t, pair, Job{Collective: fabric.AllReduce}, 1<<30)[0]
	off := predict(t, pair, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_NET_GDR_LEVEL": "LOC"}}, 1<<30)[0]
	if usual.BusBW != off.BusBW {
		t.Errorf("%.2f GB/s, without GPUDirect RDMA %.2f", usual.BusBW, off.BusBW)
	}
	system, err := nominalSystem(loaded(t), pair.hw, 121, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := FromSystem(loaded(t), system, fabric.Hardware{Nodes: 2, Net: "roce"})
	if err != nil {
		t.Fatal(err)
	}
	if row := predict(t, c, Job{Collective: fabric.AllReduce}, 1<<30)[0]; row.BusBW != usual.BusBW || row.Bound != usual.Bound {
		t.Errorf("by its topology %.2f GB/s of %+v, by the catalog %.2f of %+v", row.BusBW, row.Bound, usual.BusBW, usual.Bound)
	}
}
