package collective

import (
	"maps"
	"math"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// unmeasuredFabric is the catalog as if nobody had measured a fabric.
func unmeasuredFabric(t *testing.T, id string) *catalog.Catalog {
	t.Helper()
	less := *loaded(t)
	less.Fabrics = maps.Clone(less.Fabrics)
	f := less.Fabrics[id]
	f.Payload, f.Step, f.Floor = catalog.Figure{}, catalog.Figure{}, catalog.Figure{}
	less.Fabrics[id] = f
	return &less
}

func TestUnmeasuredFabrics(t *testing.T) {
	cat := loaded(t)
	verbs := func(a, b string) float64 { // what a reaches of its packets, as b does
		return room(cat.Fabrics[a]) * cat.Fabrics[b].Payload.Value / room(cat.Fabrics[b])
	}
	for _, c := range []struct {
		net, gpu             string
		payload, step, floor float64
	}{
		{"ib", "h100", room(cat.Fabrics["ib"]), 1, 0},
		{"roce", "h100", verbs("roce", "ib"), 1, 0},
		{"ss11", "mi250x", 0.925, 2, 0}, // RCCL's table is of such machines
		{"tcpxo", "h100", 0.925, 4, 18}, // the median of the transports of clouds
		{"efa", "h100", 0.929, 3, 30},   // without the generation before it
	} {
		got, err := New(unmeasuredFabric(t, c.net), fabric.Hardware{GPU: c.gpu, GPUsPerNode: 8, Nodes: 2, NICsPerNode: 8, NICGbps: 200, Net: c.net})
		if err != nil {
			t.Fatal(err)
		}
		if n := got.net; math.Abs(n.payload-c.payload) > 1e-3 || n.step != c.step || n.floor != c.floor || !got.unmeasured {
			t.Errorf("%s: payload %.3f, step %v, floor %v, unmeasured %v; want %.3f, %v, %v", c.net, n.payload, n.step, n.floor, got.unmeasured, c.payload, c.step, c.floor)
		}
	}
}

// TestUnmeasuredLinks: a GPU whose rings nobody measured has those of the GPUs whose links are as fast, as far as the library's count of
// its own goes, and one without such GPUs what all others reach.
func TestUnmeasuredLinks(t *testing.T) {
	less := func(ids ...string) *catalog.Catalog {
		cat := *loaded(t)
		cat.GPUs = maps.Clone(cat.GPUs)
		for _, id := range ids {
			g := cat.GPUs[id]
			g.Ring, g.Multicast = catalog.Figure{}, catalog.Figure{}
			cat.GPUs[id] = g
		}
		return &cat
	}
	hopper := less("h100-sxm", "h200-sxm", "h20")
	a100, h800 := 235.0/(12*20), 138/(8*20.6)
	for _, c := range []struct {
		cat         *catalog.Catalog
		gpu         string
		rings, nvls float64
	}{
		{hopper, "h100-sxm", a100 * 18 * 20.6, h800 * 18 * 20.6},
		{loaded(t), "b300", 679.0, 541},
		{less("b200", "gb200", "gb300"), "b200", (363/370.8 + a100) / 2 * 18 * 40.1, 0.74 * 18 * 40.1},
	} {
		got, err := New(c.cat, fabric.Hardware{GPU: c.gpu, GPUsPerNode: 8, Nodes: 1})
		if err != nil {
			t.Fatal(err)
		}
		if g := got.gpu; math.Abs(g.ring/c.rings-1) > 0.005 || math.Abs(g.nvls/c.nvls-1) > 0.005 || !got.unmeasured {
			t.Errorf("%s: rings %.0f GB/s, switch %.0f, unmeasured %v; want %.0f and %.0f", c.gpu, g.ring, g.nvls, got.unmeasured, c.rings, c.nvls)
		}
	}
}

// TestSocketsHaveNoSteps: sockets are no fabric of a kind whose steps could be like others'.
func TestSocketsHaveNoSteps(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100", GPUsPerNode: 8, Nodes: 2, NICsPerNode: 8, NICGbps: 200, Net: "tcp"})
	if c.net.step != 1 || c.net.floor != 0 {
		t.Errorf("step %v, floor %v", c.net.step, c.net.floor)
	}
}

// TestEagerMessages: a fabric whose larger messages are read by their receivers takes a trip more for each step, above one message.
func TestEagerMessages(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "p4de-24xlarge", Nodes: 2})
	rows := predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Tree"}}, 8192, 16384)
	if trips := networkStep * c.net.step * c.networkSteps(Tree, fnAllReduce); rows[1].TimeUS-rows[0].TimeUS < trips {
		t.Errorf("8 KiB %.1f us, 16 KiB %.1f us: less than %.0f us apart", rows[0].TimeUS, rows[1].TimeUS, trips)
	}
}

// TestStepsOfLL128: a table of RCCL that has measured LL128 keeps it; one that repeats LL has a longer step.
func TestStepsOfLL128(t *testing.T) {
	mi200, mi300 := rcclTableOf("gfx90a"), rcclTableOf("gfx942")
	if got := mi200.stepOf(Tree, LL128); got != 1.4 {
		t.Errorf("MI200: %g us, its table says 1.4", got)
	}
	if got := mi300.stepOf(Tree, LL128); math.Abs(got-0.9*1.4/0.8) > 1e-9 || mi300.stepOf(Tree, LL) != 0.9 {
		t.Errorf("MI300: LL128 %g us, LL %g us", got, mi300.stepOf(Tree, LL))
	}
}

// TestPagesAreCopiedFirst: where a network leaves pages, the blocks of a ring copy them before their own work, and with half of the channels
// half as much gets through.
func TestPagesAreCopiedFirst(t *testing.T) {
	cat := unmeasuredFabric(t, "tcpx")
	plateau := func(env map[string]string) float64 {
		t.Helper()
		c, err := New(cat, fabric.Hardware{Machine: "a3-highgpu-8g", Nodes: 2})
		if err != nil {
			t.Fatal(err)
		}
		return predict(t, c, Job{Collective: fabric.AllGather, Env: env}, 16<<30)[0].BusBW
	}
	all, half := plateau(nil), plateau(map[string]string{"NCCL_MAX_NCHANNELS": "4"})
	f := cat.Fabrics["tcpx"]
	f.Pages = catalog.Figure{}
	cat.Fabrics["tcpx"] = f
	inPlace := plateau(nil)
	if line := 4 * 200.0 / 8; inPlace < 0.9*line || all > 0.75*line {
		t.Errorf("pages %.1f GB/s, in place %.1f of %.0f", all, inPlace, line)
	}
	if math.Abs(half/all-0.5) > 0.02 {
		t.Errorf("4 channels %.1f GB/s, all %.1f", half, all)
	}
}
