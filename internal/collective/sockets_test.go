package collective

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func boundOf(t *testing.T, hw fabric.Hardware, what fabric.Collective) fabric.PredictionRow {
	t.Helper()
	c, err := New(loaded(t), hw)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Predict(Job{Collective: what}, []int64{1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return p.Rows[0]
}

// Sockets run over the NICs of every machine; other networks need NICs that speak them.
func TestSocketsOnEveryMachine(t *testing.T) {
	cat := loaded(t)
	for id, m := range cat.Machines {
		if m.GPUs.Value == 0 {
			continue
		}
		t.Run(id, func(t *testing.T) {
			row := boundOf(t, fabric.Hardware{Machine: id, Nodes: 80, Net: "tcp"}, fabric.AllGather) // more than an NVLink domain
			if row.BusBW <= 0 || row.BusBW > 4.5 {
				t.Errorf("%.2f GB/s, want about the 4 of a node", row.BusBW)
			}
		})
	}
	_, err := New(cat, fabric.Hardware{Machine: "hgx-h100", Nodes: 2, Net: "efa"})
	if err == nil || !strings.Contains(err.Error(), `net "efa": hgx-h100 has 8 NICs of 400 Gb/s for ib, roce and sockets`) {
		t.Errorf("efa on hgx-h100: %v", err)
	}
}

// The environment takes NCCL off the network only where the network is one that the setting concerns.
func TestOverSockets(t *testing.T) {
	for _, c := range []struct {
		name, machine string
		nodes         int
		env           map[string]string
		want          string
	}{
		{"InfiniBand off", "hgx-h100", 2, map[string]string{"NCCL_IB_DISABLE": "1"}, "tcp"},
		{"InfiniBand left on", "hgx-h100", 2, map[string]string{"NCCL_IB_DISABLE": "0"}, ""},
		{"verbs off, EFA is a plug-in", "p5-48xlarge", 2, map[string]string{"NCCL_IB_DISABLE": "1"}, ""},
		{"sockets instead of the plug-in", "p5-48xlarge", 2, map[string]string{"NCCL_NET": "socket"}, "tcp"},
		{"the network by its name", "hgx-h100", 2, map[string]string{"NCCL_NET": "IB"}, ""},
		{"one node", "hgx-h100", 1, map[string]string{"NCCL_IB_DISABLE": "1"}, ""},
		{"no number", "hgx-h100", 2, map[string]string{"NCCL_IB_DISABLE": "yes"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hw, why := OverSockets(loaded(t), fabric.Hardware{Machine: c.machine, Nodes: c.nodes}, c.env)
			if hw.Net != c.want || (why != "") != (c.want != "") {
				t.Errorf("net %q, %q", hw.Net, why)
			}
		})
	}
}

// Small messages over sockets may wait for an interrupt at each step: what they take is known to that, and large ones are not
// known worse for it.
func TestInterruptsOfSockets(t *testing.T) {
	for _, nodes := range []int{2, 8} {
		c := newCluster(t, fabric.Hardware{GPU: "v100-pcie-16", GPUsPerNode: 1, Nodes: nodes, NICsPerNode: 1, NICGbps: 10, Net: "tcp"})
		p, err := c.Predict(Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Ring"}}, []int64{8, 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		slowest := func(r fabric.PredictionRow) float64 { return r.TimeUS * r.BusBW / r.Band[0] }
		small, large := p.Rows[0], p.Rows[1]
		if wait := slowest(small) - small.TimeUS; wait < 100*float64(nodes-1) {
			t.Errorf("%d nodes: %.0f us to %.0f us for 8 bytes, with two waits of 50 us for each node but one", nodes, small.TimeUS, slowest(small))
		}
		if large.Band[0] < large.BusBW/2.5 {
			t.Errorf("%d nodes: %.2f GB/s of %.2f at 1 GiB", nodes, large.Band[0], large.BusBW)
		}
	}
}
