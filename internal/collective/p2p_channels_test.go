package collective

import (
	"strings"
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

// The channels of a gather's root carry one operation each while each has channels of its own: two H100 with NCCL_MAX_P2P_NCHANNELS=2
// take 66 us for 4 MiB and 723 for 64 MiB, whose parts are above 16 MiB; with 8 23 and 252.
func TestRootsAreHeldBack(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 2})
	for _, what := range []fabric.Collective{fabric.Gather, fabric.Scatter} {
		for _, m := range []struct {
			most string
			size int64
			us   float64
		}{{"2", 4 << 20, 66}, {"2", 64 << 20, 723}, {"8", 4 << 20, 23}, {"8", 64 << 20, 252}} {
			env := map[string]string{"NCCL_MAX_P2P_NCHANNELS": m.most}
			if got := predict(t, c, Job{Collective: what, Env: env, Processes: 1}, m.size)[0].TimeUS; got < 0.92*m.us || got > 1.08*m.us {
				t.Errorf("%s of %d MiB with %s channels: %.0f us, measured %.0f", what, m.size>>20, m.most, got, m.us)
			}
		}
	}
}

// Smaller pieces take more channels sooner: two H100 send 64 MiB in 206 us with pieces of 64 KiB, in 253 with NCCL's own, and 16 MiB in 88
// and 82, as each piece is posted. A FIFO has room for eight.
func TestPieces(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 2})
	at := func(size int64, set ...string) float64 {
		env := map[string]string{}
		for _, s := range set {
			name, value, _ := strings.Cut(s, "=")
			env[name] = value
		}
		return predict(t, c, Job{Collective: fabric.SendRecv, Env: env, Processes: 1}, size)[0].TimeUS
	}
	const small = "NCCL_P2P_NVL_CHUNKSIZE=65536"
	if with, without := at(64<<20, small), at(64<<20); with > 0.9*without || with < 0.75*without {
		t.Errorf("64 MiB: %.0f us in small pieces, %.0f without", with, without)
	}
	if with, without := at(16<<20, small), at(16<<20); with < 1.03*without {
		t.Errorf("16 MiB: %.0f us in small pieces, %.0f without", with, without)
	}
	if large, usual := at(16<<20, "NCCL_P2P_NVL_CHUNKSIZE=1048576"), at(16<<20); large != usual {
		t.Errorf("pieces larger than a step of the FIFO: %.1f us, without %.1f", large, usual)
	}
	if buffer := at(16<<20, "NCCL_BUFFSIZE=524288"); buffer != at(16<<20, small) {
		t.Errorf("a FIFO of eight small pieces: %.1f us, small pieces %.1f", buffer, at(16<<20, small))
	}
}

// Few channels leave the links idle and do not wait for one another's beginning: two H100 with NCCL_MAX_P2P_NCHANNELS=2 send 1 MiB
// in 59 us, 47 of them in one channel at 22 GB/s.
func TestFewPeerChannels(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 2})
	got := predict(t, c, Job{Collective: fabric.SendRecv, Env: map[string]string{"NCCL_MAX_P2P_NCHANNELS": "2"}, Processes: 1}, 1<<20)[0].TimeUS
	if got < 55 || got > 63 {
		t.Errorf("%.0f us", got)
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
