package collective

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// How many channels a message takes, as addP2pToPlan counts them: with two ranks half of the 32, with four a quarter, with eight an
// eighth, and twice as many while a part is above 16 MiB.
func TestPeerTakes(t *testing.T) {
	const mebi = 1 << 20
	for _, c := range []struct {
		gpus, channels int
		bytes          float64
		want           int
	}{
		{2, 0, 1 * mebi, 16},
		{2, 0, 256 * mebi, 16},
		{2, 0, 512 * mebi, 32},
		{4, 0, 128 * mebi, 8},
		{4, 0, 256 * mebi, 16},
		{4, 0, 1024 * mebi, 32},
		{8, 0, 64 * mebi, 4},
		{4, 1, 1024 * mebi, 1},
		{4, 5, 16 * mebi, 2}, // the next power of two is eight
		{4, 5, 1024 * mebi, 8},
	} {
		cluster := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: c.gpus})
		cluster.blocks.count = c.channels
		if _, got := cluster.peerTakes(c.bytes); got != c.want {
			t.Errorf("%d GPUs, %d channels, %.0f MiB: %d channels, want %d", c.gpus, c.channels, c.bytes/mebi, got, c.want)
		}
	}
}

// The limit of channels holds back what is sent to one peer, and with few channels what is sent to all.
func TestPeerChannelsHoldBack(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 4})
	at := func(what fabric.Collective, size int64, env map[string]string) float64 {
		return predict(t, c, Job{Collective: what, Env: env}, size)[0].BusBW
	}
	if few, all := at(fabric.SendRecv, 128<<20, nil), at(fabric.SendRecv, 1<<30, nil); few < 0.35*all || few > 0.5*all {
		t.Errorf("sendrecv: 8 channels %.0f GB/s, 32 %.0f", few, all)
	}
	usual := at(fabric.AllToAll, 1<<30, nil)
	for name, values := range map[string][]string{"NCCL_MAX_NCHANNELS": {"1", "2", "4", "8"}, "NCCL_MAX_P2P_NCHANNELS": {"1", "2", "4", "8"}} {
		last := 0.0
		for _, v := range values {
			got := at(fabric.AllToAll, 1<<30, map[string]string{name: v})
			if got < 1.5*last || got > 0.6*usual {
				t.Errorf("%s=%s: %.0f GB/s after %.0f, without %.0f", name, v, got, last, usual)
			}
			last = got
		}
	}
	if ring := at(fabric.AllReduce, 1<<30, map[string]string{"NCCL_MAX_P2P_NCHANNELS": "1"}); ring != at(fabric.AllReduce, 1<<30, nil) {
		t.Errorf("all_reduce: %.0f GB/s with a limit of sends and receives", ring)
	}
}

// Within a node a further peer costs what enqueuing it takes; between nodes a proxy posts each.
func TestFurtherPeers(t *testing.T) {
	at := func(gpus, nodes int) float64 {
		c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: nodes, GPUsPerNode: gpus})
		return predict(t, c, Job{Collective: fabric.Gather, Processes: gpus}, 8)[0].TimeUS
	}
	if near, far := at(4, 1)-at(2, 1), at(2, 2)-at(1, 2); near < 0 || near > 2*perPeer+0.1 || far < 2*near {
		t.Errorf("two further peers: %.2f us within a node, %.2f between nodes", near, far)
	}
}
