package collective

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Channels that stop together cost two GPUs as much for each byte until they have drifted apart, and no more after it: two H200 lost
// 139 us at 256 MiB, 0.52 us per MB, and 290 at 8 GiB (NCCL 2.28.9).
func TestChannelsDriftApart(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h200-sxm", Nodes: 1, GPUsPerNode: 2})
	rows := predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}}, 64<<20, 256<<20, 8<<30, 16<<30)
	rate := float64(8<<30) / (rows[3].TimeUS - rows[2].TimeUS)
	lost := func(i int) float64 { return rows[i].TimeUS - float64(rows[i].Size)/rate }
	if first, next, most := lost(0), lost(1), lost(2); most < 200 || most > 330 || next < 0.4*most || next > 0.65*most || first > 0.6*next {
		t.Errorf("lost %.0f us at 64 MiB, %.0f at 256 MiB, %.0f at 8 GiB", first, next, most)
	}
}

// Within a node LL128 takes as long with all channels as with one: two H200 14.7 us at 16 KiB and 15.8 at 64 KiB, of which NCCL's table
// says 17.8.
func TestLL128StartsAtOnce(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h200-sxm", Nodes: 1, GPUsPerNode: 2})
	rows := predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL128"}}, 8, 64<<10)
	if first, all := rows[0].TimeUS, rows[1].TimeUS; all > 18.5 || all-first > 1 {
		t.Errorf("%.1f us for one channel, %.1f for all", first, all)
	}
}

// What a step takes grows with the size while a block's threads fill up, and the launch does not: eight H100 12.9 us at 8 B, 15.5 at 512 B and 19.1
// at 64 KiB (aws-samples/awsome-distributed-training, p5), two H200 no more than 1 us.
func TestLLWithinANode(t *testing.T) {
	grows := func(gpus int) float64 {
		c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: gpus})
		rows := predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}}, 8, 64<<10)
		return rows[1].TimeUS - rows[0].TimeUS
	}
	if two, eight := grows(2), grows(8); two > 1 || eight < 2 || eight > 4 {
		t.Errorf("two GPUs %.1f us more, eight %.1f", two, eight)
	}
}

// What fits the L2 cache is loaded sooner, which shows where few channels of LL or LL128 are slower than the links: two channels of four H200 take 100 us
// for 1 MiB and 31.8 ms for 256 MiB with LL, 172 us for 4 MiB and 10.6 ms for 256 MiB with LL128, whose GPUs send on what they receive.
func TestFlagsInTheCache(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h200-sxm", Nodes: 1, GPUsPerNode: 4})
	for _, m := range []struct {
		protocol string
		size     int64
		us       float64
	}{{"LL", 1 << 20, 100}, {"LL", 256 << 20, 31841}, {"LL128", 4 << 20, 172}, {"LL128", 256 << 20, 10629}} {
		env := map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": m.protocol, "NCCL_MAX_NCHANNELS": "2"}
		if got := predict(t, c, Job{Collective: fabric.AllReduce, Env: env, Processes: 1}, m.size)[0].TimeUS; got < 0.88*m.us || got > 1.15*m.us {
			t.Errorf("%s, %d MiB: %.0f us, measured %.0f", m.protocol, m.size>>20, got, m.us)
		}
	}
}

// A test that launches a broadcast again and again sees its way through all GPUs once, one that waits for each sees it each time.
func TestBroadcastsOverlap(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 4})
	for _, what := range []fabric.Collective{fabric.Broadcast, fabric.Reduce, fabric.AllReduce} {
		at := func(iterations int) float64 {
			return predict(t, c, Job{Collective: what, Iterations: iterations}, 16<<20)[0].TimeUS
		}
		one, usual, many := at(1), at(0), at(1000)
		if usual != at(20) {
			t.Errorf("%s: %.1f us, with 20 iterations %.1f", what, usual, at(20))
		}
		if what == fabric.AllReduce {
			if one != many {
				t.Errorf("%s, which waits for all: %.1f us once, %.1f of many", what, one, many)
			}
			continue
		}
		if one < 1.5*usual || many > usual {
			t.Errorf("%s: %.1f us once, %.1f of 20, %.1f of many", what, one, usual, many)
		}
		eight := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 8})
		small := func(iterations int) float64 {
			return predict(t, eight, Job{Collective: what, Iterations: iterations}, 1024)[0].TimeUS
		}
		if small(1) < 1.05*small(20) {
			t.Errorf("%s of 1 KiB by eight: %.2f us once, %.2f of 20", what, small(1), small(20))
		}
	}
}

// With two GPUs a block keeps half of what it handles: rings reach less than with four, of which the catalog's figure is.
func TestRingsOfFewerGPUs(t *testing.T) {
	at := func(gpus int, size int64) float64 {
		c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: gpus})
		return predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}}, size)[0].BusBW
	}
	const gibi = 1 << 30
	two, four, eight := at(2, 16*gibi), at(4, 16*gibi), at(8, 16*gibi)
	if two > 0.97*four || two < 0.94*four || eight < four || eight > 1.03*four {
		t.Errorf("2, 4 and 8 GPUs: %.0f, %.0f and %.0f GB/s", two, four, eight)
	}
	few := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 2})
	few.graphs.ring.Channels = 2
	if got := few.ringOf(fnAllReduce); got != few.gpu.ring {
		t.Errorf("rings of two channels, whose blocks are below the links: %.0f GB/s, want %.0f", got, few.gpu.ring)
	}
	// What two lose at middle sizes, as all channels stop together, is several times what four lose.
	if a, b := at(2, 64<<20)/two, at(4, 64<<20)/four; a > b-0.03 {
		t.Errorf("64 MiB: %.2f of the plateau with two, %.2f with four", a, b)
	}
}

// With few threads the blocks are slower than the links, and what stays in the L2 cache goes through them sooner: a size of which most
// does is faster than one of which nothing does.
func TestSmallSizesStayInTheCache(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 2})
	env := map[string]string{"NCCL_NTHREADS": "64", "NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
	rows := predict(t, c, Job{Collective: fabric.AllReduce, Env: env}, 32<<20, 64<<20)
	if rows[0].BusBW < rows[1].BusBW || rows[0].BusBW > 1.2*rows[1].BusBW {
		t.Errorf("32 MiB %.0f GB/s, 64 MiB %.0f", rows[0].BusBW, rows[1].BusBW)
	}
}

// The channels of Simple are started one after the other, so a few bytes for each of them take longer than for one.
func TestChannelsOfSimpleStart(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h200-sxm", Nodes: 1, GPUsPerNode: 2})
	at := func(env ...string) float64 {
		set := map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
		for _, name := range env {
			set[name] = "1"
		}
		rows := predict(t, c, Job{Collective: fabric.AllReduce, Env: set}, 8, 128<<10)
		return rows[1].TimeUS - rows[0].TimeUS
	}
	if all, one := at(), at("NCCL_MAX_NCHANNELS"); all < 3.5 || all > 6 || one > 15 {
		t.Errorf("128 KiB take %.1f us longer than 8 B, with one channel %.1f", all, one)
	}
}
