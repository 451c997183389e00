package collective

import (
	"math"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// More threads, more channels and larger FIFOs never make a ring slower, and none takes it past its links.
func TestChannelsOnlyHelp(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h200", Nodes: 1})
	at := func(name, value string) float64 {
		env := map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", name: value}
		return predict(t, c, Job{Collective: fabric.AllReduce, Env: env}, 4<<30)[0].BusBW
	}
	usual := at("NCCL_DEBUG", "WARN")
	for name, values := range map[string][]string{
		"NCCL_MAX_NCHANNELS": {"1", "2", "4", "8", "16", "24", "1000"},
		"NCCL_MAX_CTAS":      {"1", "3", "20", "64"},
		"NCCL_NTHREADS":      {"32", "64", "128", "256", "512"},
		"NCCL_BUFFSIZE":      {"1", "65536", "262144", "1048576", "4194304"},
		"NCCL_MIN_CTAS":      {"1", "32"},
	} {
		last := 0.0
		for _, v := range values {
			got := at(name, v)
			if got < last || got > usual*1.03 {
				t.Errorf("%s=%s: %.1f GB/s after %.1f, %.1f without", name, v, got, last, usual)
			}
			last = got
		}
		if math.Abs(last-usual) > 0.03*usual {
			t.Errorf("%s=%s: %.1f GB/s, %.1f without", name, values[len(values)-1], last, usual)
		}
	}
	for _, odd := range []string{"-1", "0", "70", "x", "99999999999999999999"} { // no multiple of a warp, no number
		if got := at("NCCL_NTHREADS", odd); got != usual {
			t.Errorf("NCCL_NTHREADS=%s: %.1f GB/s, NCCL keeps its own: %.1f", odd, got, usual)
		}
	}
}

// A chain within a node has the same ends in every channel, and the GPUs between them send twice.
func TestTreeSendsTwiceWithinANode(t *testing.T) {
	for gpus, want := range map[int]float64{2: 1, 4: 2, 8: 2} {
		c := newCluster(t, fabric.Hardware{GPU: "h200", Nodes: 1, GPUsPerNode: gpus})
		if got := c.treeLinks(); got != want {
			t.Errorf("%d GPUs: %v bytes a byte, want %v", gpus, got, want)
		}
	}
	if got := newCluster(t, fabric.Hardware{Machine: "hgx-h200", Nodes: 2}).treeLinks(); got != 1.75 {
		t.Errorf("two nodes: %v, each channel begins at another GPU", got)
	}
}

// A setting that NCCL's search follows changes its graphs, and one of another value than that finds them again.
func TestSearchFollowsSettings(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	used, notes := c.configured(Job{Env: map[string]string{"NCCL_P2P_DISABLE": "1", "NCCL_CROSS_NIC": "0"}})
	if used.graphs.ring.Channels == c.graphs.ring.Channels || len(notes) == 0 {
		t.Errorf("the search found %d rings without P2P, %d with; notes %v", used.graphs.ring.Channels, c.graphs.ring.Channels, notes)
	}
	if used, _ := c.configured(Job{Env: map[string]string{"NCCL_CROSS_NIC": "2"}}); used.graphs.ring.Channels != c.graphs.ring.Channels {
		t.Errorf("NCCL_CROSS_NIC=2, as it is without: %d rings instead of %d", used.graphs.ring.Channels, c.graphs.ring.Channels)
	}
}

// Threads of sockets copy at the same time; small messages cost their posting.
func TestSockets(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h200", Nodes: 2, Net: "tcp"})
	at := func(env map[string]string) float64 {
		return predict(t, c, Job{Collective: fabric.AllReduce, Env: env}, 1<<30)[0].AlgBW
	}
	usual, four := at(nil), at(map[string]string{"NCCL_SOCKET_NTHREADS": "4"})
	if four < 3*usual || four > 5*usual {
		t.Errorf("four threads: %.2f GB/s, one %.2f", four, usual)
	}
	if small := at(map[string]string{"NCCL_BUFFSIZE": "65536"}); small > usual/2 {
		t.Errorf("messages of 16 KiB: %.2f GB/s, of 1 MiB %.2f", small, usual)
	}
}

// What a rank of a ring does with one piece of each rank: every stage loads and stores, and each piece ends in every rank.
func TestRingWork(t *testing.T) {
	count := func(w work) (times, loads, stores int) {
		for _, s := range w.stages {
			times, loads, stores = times+s.times, loads+s.times*s.loads, stores+s.times*s.stores
		}
		return times, loads, stores
	}
	for _, tt := range []struct {
		f                           function
		n                           int
		sends, times, loads, stores int
	}{
		{fnAllReduce, 2, 2, 3, 4, 4},
		{fnAllReduce, 8, 14, 15, 22, 22},
		{fnAllGather, 8, 7, 8, 8, 15},
		{fnReduceScatter, 8, 7, 8, 15, 8},
		{fnBroadcast, 8, 1, 1, 1, 2},
		{fnReduce, 8, 1, 1, 2, 1},
	} {
		w := tt.f.ringWork(tt.n)
		if times, loads, stores := count(w); w.sends != tt.sends || times != tt.times || loads != tt.loads || stores != tt.stores {
			t.Errorf("function %v of %d ranks: %d sends, %d stages, %d loads, %d stores, want %+v", tt.f, tt.n, w.sends, times, loads, stores, tt)
		}
	}
}

// Without direct access, data of two GPUs that goes one way only uses each GPU's link in one direction.
func TestOneWayThroughHostMemory(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h200-sxm", Nodes: 1, GPUsPerNode: 2})
	at := func(of fabric.Collective) float64 {
		return predict(t, c, Job{Collective: of, Env: map[string]string{"NCCL_P2P_DISABLE": "1"}}, 1<<30)[0].BusBW
	}
	if one, both := at(fabric.Broadcast), at(fabric.AllReduce); one < 1.7*both || one > 2.1*both {
		t.Errorf("broadcast %.1f GB/s, all_reduce %.1f; two H200 of the project: 49.8 and 26.4", one, both)
	}
}
