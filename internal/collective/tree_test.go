package collective

import (
	"fmt"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestMoreNICsAreNotSlower: what NCCL chooses may change with the NICs, but each algorithm with each protocol takes no longer
// with more of them.
func TestMoreNICsAreNotSlower(t *testing.T) {
	for _, machine := range []string{"hgx-h100", "hgx-h200", "hgx-b200", "hgx-a100"} {
		for _, nodes := range []int{2, 4, 16} {
			before := map[string]option{}
			for _, nics := range []int{2, 4, 8} {
				c := newCluster(t, fabric.Hardware{Machine: machine, Nodes: nodes, NICsPerNode: nics})
				for _, o := range c.ncclOptions(fnAllReduce, settings{nvls: true}) {
					name := fmt.Sprintf("%s, %d nodes, %s %s", machine, nodes, o.name(), o.protocol)
					fewer, known := before[name]
					before[name] = o
					for size := int64(1 << 10); known && size <= 16<<30; size *= 4 {
						if more, less := o.time(size), fewer.time(size); more > less*1.001 {
							t.Errorf("%s, %d B: %.1f us with %d NICs, %.1f with half of them", name, size, more, nics, less)
						}
					}
				}
			}
		}
	}
}

// TestLinesChunk: the pieces of LL128 in a tree, as NCCL halves them: 576000 bytes of data in a step of the FIFO, 16 channels, two nodes of eight.
func TestLinesChunk(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	c.blocks.count = 16
	for size, want := range map[float64]float64{
		1 << 20:  18000,  // 65536 bytes a channel: fewer than 5.6 pieces of 36000
		4 << 20:  36000,  // 7 pieces
		16 << 20: 72000,  // 14, where 144000 would be fewer than 22.4
		1 << 30:  576000, // 116
	} {
		if got := c.linesChunk(size); got != want {
			t.Errorf("%g B: %g, want %g", size, got, want)
		}
	}
}

// TestPiecesGrow: the time to fill the pipeline grows with the size up to all of it.
func TestPiecesGrow(t *testing.T) {
	fill, last := pieces(2, 4<<20, 250), 0.0
	for size := 1.0; size < 1e11; size *= 1.5 {
		if us := fill(size); us < last {
			t.Fatalf("%g B: %g us after %g", size, us, last)
		} else {
			last = us
		}
	}
	if full := 2 * float64(4<<20) / 250e3; last > full || last < 0.999*full {
		t.Errorf("large sizes: %g us of %g", last, full)
	}
}

// TestPassesOfLL: blocks of two GPUs forward nothing in a broadcast or an all_gather, and of eight most of the time; the rate of an
// all_reduce of eight is then near NCCL's own figure.
func TestPassesOfLL(t *testing.T) {
	if fnBroadcast.passes(2, 1.46) != 1 || fnAllGather.passes(2, 1.46) != 1 || fnBroadcast.passes(3, 1.46) != 1.46 {
		t.Error("what a rank of two or three does with a piece")
	}
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 1})
	if rate, own := c.flaggedRing(LL, fnAllReduce, 0), c.tables.ll[hopper][0]; rate < 0.9*own || rate > 1.1*own {
		t.Errorf("eight GPUs: %.0f GB/s, NCCL's own figure is %.0f", rate, own)
	}
}

// A GPU inside a chain serves both directions with the threads of one block, and with LL128 they share its links too.
func TestInsideOfATree(t *testing.T) {
	at := func(gpus int, env map[string]string) float64 {
		env["NCCL_ALGO"], env["NCCL_NVLS_ENABLE"] = "Tree", "0"
		c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: gpus})
		return predict(t, c, Job{Collective: fabric.AllReduce, Env: env}, 1<<30)[0].AlgBW
	}
	few := func() map[string]string { return map[string]string{"NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": "4"} }
	if two, four := at(2, few()), at(4, few()); four > 0.75*two || four < 0.5*two {
		t.Errorf("four channels: %.0f GB/s of four GPUs, %.0f of two", four, two)
	}
	lines := func() map[string]string { return map[string]string{"NCCL_PROTO": "LL128"} }
	if two, four := at(2, lines()), at(4, lines()); four > 0.8*two || four < 0.6*two {
		t.Errorf("LL128: %.0f GB/s of four GPUs, %.0f of two", four, two)
	}
}
