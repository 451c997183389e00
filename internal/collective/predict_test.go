package collective

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func predict(t testing.TB, c *Cluster, job Job, sizes ...int64) []fabric.PredictionRow {
	t.Helper()
	p, err := c.Predict(job, sizes)
	if err != nil {
		t.Fatal(err)
	}
	return p.Rows
}

// TestKnownRates compares large sizes with what is published of machines that are in no table: bus bandwidth, GB/s.
func TestKnownRates(t *testing.T) {
	for _, test := range []struct {
		hw   fabric.Hardware
		what fabric.Collective
		size int64
		want float64 // S. Bekman, Machine Learning Engineering, network/README.md
	}{
		{fabric.Hardware{GPU: "h200", Nodes: 1, GPUsPerNode: 4, NVLink: nil}, fabric.AllReduce, 8 << 30, 363},
		{fabric.Hardware{GPU: "h200", Nodes: 1, GPUsPerNode: 5}, fabric.AllReduce, 8 << 30, 414},
		{fabric.Hardware{GPU: "h200", Nodes: 1, GPUsPerNode: 6}, fabric.AllReduce, 8 << 30, 436},
		{fabric.Hardware{GPU: "b200", Nodes: 1, GPUsPerNode: 6}, fabric.AllReduce, 8 << 30, 778},
		{fabric.Hardware{GPU: "b200", Nodes: 1, GPUsPerNode: 8}, fabric.AllReduce, 8 << 30, 838},
		{fabric.Hardware{GPU: "b200", Nodes: 1, GPUsPerNode: 8}, fabric.ReduceScatter, 8 << 30, 695},
		{fabric.Hardware{GPU: "mi300x", Nodes: 1, GPUsPerNode: 2}, fabric.AllReduce, 8 << 30, 47.7},
		{fabric.Hardware{GPU: "mi355x", Nodes: 1, GPUsPerNode: 8}, fabric.AllReduce, 16 << 30, 409},
	} {
		t.Run(fmt.Sprintf("%s %d GPUs %s", test.hw.GPU, test.hw.GPUsPerNode, test.what), func(t *testing.T) {
			r := predict(t, newCluster(t, test.hw), Job{Collective: test.what, Version: "2.27.7"}, test.size)[0] // from 2.28 on five H200 and six B200 run rings
			if math.Abs(r.BusBW-test.want)/test.want > 0.06 {
				t.Errorf("%s %d GPUs %s: %.1f GB/s, published %.1f", test.hw.GPU, test.hw.GPUsPerNode, test.what, r.BusBW, test.want)
			}
			if r.Bound.BusBW < test.want || r.Bound.BusBW > 1.6*test.want { // of reductions in the switch, which reach 0.64 of the links
				t.Errorf("%s %d GPUs %s: bound %.1f GB/s, published %.1f", test.hw.GPU, test.hw.GPUsPerNode, test.what, r.Bound.BusBW, test.want)
			}
		})
	}
}

// TestWireRates: what the busiest NIC sends is bytes over time, whatever bus bandwidth says.
func TestWireRates(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	ring := predict(t, c, Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_ALGO": "Ring"}}, 8<<30)[0]
	tree := predict(t, c, Job{Collective: fabric.AllReduce}, 8<<30)[0]
	if got := ring.BusBW / 8; math.Abs(ring.NICGBs-got) > 0.1 {
		t.Errorf("ring: %.1f GB/s a NIC, want an eighth of %.1f", ring.NICGBs, ring.BusBW)
	}
	if tree.Algorithm != "NVLSTree" || math.Abs(tree.NICGBs-tree.AlgBW/8) > 0.1 {
		t.Errorf("%s: %.1f GB/s a NIC: between two nodes a tree sends each byte once, algorithm bandwidth %.1f", tree.Algorithm, tree.NICGBs, tree.AlgBW)
	}
	all := predict(t, c, Job{Collective: fabric.AllToAll}, 8<<30)[0]
	if got := float64(8<<30) / 2 / all.TimeUS / 1000; math.Abs(all.NICGBs-got) > 0.1 {
		t.Errorf("alltoall: %.1f GB/s a NIC, half of what each GPU has goes by its own: %.1f", all.NICGBs, got)
	}
	if tree.BusBW < 400 {
		t.Errorf("two nodes of NVLSTree: %.1f GB/s is above the 400 of the NICs everywhere", tree.BusBW)
	}
}

func TestForced(t *testing.T) {
	two := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	one := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 1})
	pair := newCluster(t, fabric.Hardware{GPU: "h200", Nodes: 1, GPUsPerNode: 2})
	spark := newCluster(t, fabric.Hardware{Machine: "dgx-spark", Nodes: 2})
	for _, test := range []struct {
		c           *Cluster
		what        fabric.Collective
		algo, proto string
		want        string // "Ring/LL", or part of the error
	}{
		{two, fabric.AllReduce, "Ring", "LL", "Ring/LL"},
		{two, fabric.AllReduce, "RING?", "", `ends the job: algorithm "RING?": unknown`},
		{two, fabric.AllReduce, " Ring", "", `algorithm " Ring": unknown`},
		{two, fabric.AllReduce, ",ring,,", "", "Ring/Simple"},
		{two, fabric.AllReduce, "^", "", "NVLSTree/Simple"},
		{two, fabric.AllReduce, "AllReduces:Ring", "", `collective "AllReduces"`},
		{two, fabric.AllReduce, "allreduce:tree;broadcast:ring", "", "Tree/"},
		{two, fabric.AllReduce, "", "^Simple,LL", "Ring/LL128"},
		{two, fabric.AllReduce, "tree", "ll128", "Tree/LL128"},
		{two, fabric.AllReduce, "^NVLSTree,Tree", "Simple", "Ring/Simple"},
		{two, fabric.AllReduce, "Tree;allgather:Ring", "LL", "Tree/LL"},
		{two, fabric.AllGather, "Tree;allgather:Ring", "LL", "Ring/LL"},
		{two, fabric.AllGather, "Tree", "", "Tree has no implementation of this collective"},
		{two, fabric.AllReduce, "NVLS", "", "CollNet is off"},
		{two, fabric.AllReduce, "NVLSTree", "LL", "NVLSTree has only the protocol Simple"},
		{one, fabric.AllReduce, "NVLS", "", "NVLS/Simple"},
		{one, fabric.AllReduce, "NVLSTree", "", "NVLSTree requires more than one node"},
		{pair, fabric.AllReduce, "NVLS", "", "NVLS requires more than two GPUs"},
		{two, fabric.AllGather, "PAT", "", "PAT requires one GPU per node"},
		{spark, fabric.AllGather, "PAT", "", "PAT/Simple"},
		{two, fabric.AllReduce, "CollNetDirect", "", "CollNet is off"},
		{two, fabric.AllReduce, "Butterfly", "", `algorithm "Butterfly": unknown; known: Tree, Ring`},
		{two, "AllReduce", "Ring", "LL", "Ring/LL"},
		{newCluster(t, fabric.Hardware{GPU: "l40s", Nodes: 1, GPUsPerNode: 4}), fabric.AllReduce, "Ring", "LL128", "Ring/LL128"}, // asked for, it is run
		{newCluster(t, fabric.Hardware{Machine: "oam8-mi325x", Nodes: 1}), fabric.AllReduce, "Tree", "Simple", "RCCL does not run it"},
		{two, fabric.AllReduce, "Ring", "LL64", `protocol "LL64": unknown`},
		{two, fabric.AllReduce, "Ring;Tree", "", "only the first list may be without a collective"},
	} {
		t.Run(fmt.Sprint(test.what, " ", test.algo, " ", test.proto), func(t *testing.T) {
			env := map[string]string{"NCCL_ALGO": test.algo}
			if test.proto != "" {
				env["NCCL_PROTO"] = test.proto
			}
			p, err := test.c.Predict(Job{Collective: test.what, Env: env}, []int64{1 << 30})
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = p.Rows[0].Algorithm + "/" + p.Rows[0].Protocol
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%s %s %s: got %q, want %q", test.what, test.algo, test.proto, got, test.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	one := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 1})
	four := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 4})
	two := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	base := Job{Collective: fabric.AllReduce}
	with := func(name, value string) Job {
		return Job{Collective: fabric.AllReduce, Env: map[string]string{name: value}}
	}
	top := func(c *Cluster, j Job) fabric.PredictionRow { return predict(t, c, j, 8<<30)[0] }

	if r := top(one, with("NCCL_NVLS_ENABLE", "0")); r.Algorithm != "Ring" || r.BusBW > 371 {
		t.Errorf("without NVLS: %+v", r)
	}
	if r := top(one, Job{Collective: fabric.AllReduce, DType: "uint8"}); r.Algorithm != "Ring" {
		t.Errorf("uint8: %s, NVLS cannot", r.Algorithm)
	}
	if r := top(one, with("NCCL_P2P_DISABLE", "1")); r.BusBW > 30 {
		t.Errorf("without P2P: %.1f GB/s", r.BusBW)
	}
	if r := top(one, with("NCCL_MAX_NCHANNELS", "2")); r.BusBW > 110 {
		t.Errorf("two channels: %.1f GB/s", r.BusBW)
	}
	if few, many := top(four, base), top(four, with("NCCL_IB_QPS_PER_CONNECTION", "8")); many.BusBW <= few.BusBW {
		t.Errorf("QPs: %.1f and %.1f GB/s", few.BusBW, many.BusBW)
	}
	if near, far := top(two, base), top(two, with("NCCL_NET_GDR_LEVEL", "LOC")); far.NICGBs > 0.6*near.Bound.BusBW/8 || far.BusBW >= near.BusBW {
		t.Errorf("without GPUDirect: %.1f of %.1f GB/s", far.BusBW, near.BusBW)
	}
	for _, same := range [][2]Job{ // what NCCL makes of a value
		{with("NCCL_MAX_NCHANNELS", "many"), with("NCCL_MAX_NCHANNELS", "1")},
		{with("NCCL_MAX_NCHANNELS", "0x2"), with("NCCL_MAX_NCHANNELS", "2")},
		{with("NCCL_MAX_NCHANNELS", ""), base},
		{with("NCCL_MIN_NCHANNELS", "-1"), base},
		{with("NCCL_NVLS_ENABLE", "no"), with("NCCL_NVLS_ENABLE", "0")},
		{with("NCCL_P2P_DISABLE", " 1"), with("NCCL_P2P_DISABLE", "1")},
		{with("NCCL_P2P_DISABLE", "2"), base},
		{with("NCCL_NTHREADS", "100"), base},
	} {
		if got, want := top(one, same[0]), top(one, same[1]); got.BusBW != want.BusBW || got.Algorithm != want.Algorithm {
			t.Errorf("%v: %s %.1f GB/s; %v: %s %.1f", same[0].Env, got.Algorithm, got.BusBW, same[1].Env, want.Algorithm, want.BusBW)
		}
	}
	older := Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_MAX_NRINGS": "2", "NCCL_MAX_NCHANNELS": "4"}}
	if got, want := top(one, older), top(one, with("NCCL_MAX_NCHANNELS", "4")); got.BusBW != want.BusBW {
		t.Errorf("the older name beside the newer one: %.1f GB/s, want %.1f", got.BusBW, want.BusBW)
	}
	all := predict(t, one, Job{Collective: fabric.AllReduce, Processes: 1}, 8)[0]
	each := predict(t, one, base, 8)[0]
	if all.TimeUS < 40 || each.TimeUS > 20 {
		t.Errorf("8 bytes: %.1f us by one process, %.1f by eight", all.TimeUS, each.TimeUS)
	}
}

// TestLoggedTuning: the table of a debug log decides what is taken, not how long it takes.
func TestLoggedTuning(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	job := Job{Collective: fabric.AllReduce, Tuning: []fabric.TuningCell{
		{Collective: fabric.AllReduce, Algorithm: "Ring", Protocol: "Simple", LatencyUS: 10, GBs: 200},
		{Collective: fabric.AllReduce, Algorithm: "Tree", Protocol: "LL", LatencyUS: 20, GBs: 20},
		{Collective: fabric.AllReduce, Algorithm: "NVLSTree", Protocol: "Simple", LatencyUS: 10, GBs: 0},
		{Collective: fabric.AllReduce, Algorithm: "Ring", Protocol: "LL", LatencyUS: math.NaN(), GBs: math.Inf(1)},
		{Collective: fabric.AllGather, Algorithm: "Ring", Protocol: "LL", LatencyUS: 1, GBs: 1000},
	}}
	for _, r := range predict(t, c, job, 8, 1<<30) {
		if r.Algorithm != "Ring" || r.Protocol != "Simple" {
			t.Errorf("%d bytes: %s/%s, the log has Ring/Simple as the fastest", r.Size, r.Algorithm, r.Protocol)
		}
	}
	if r := predict(t, c, job, 8)[0]; r.TimeUS < 50 {
		t.Errorf("a ring of 16 with Simple took %.1f us: the log's idea is not a measurement", r.TimeUS)
	}
}

// TestPlateau: once all channels are full NCCL assumes longer steps of a ring.
func TestPlateau(t *testing.T) {
	o := option{believed: cell{latency: 10, bandwidth: 1}, long: 1.4, full: 1000}
	if before, after := o.choice(999), o.choice(1000); math.Abs(before-10.999) > 1e-9 || math.Abs(after-15) > 1e-9 {
		t.Errorf("%v us and %v us, want 10.999 and 15", before, after)
	}
	if !math.IsInf((&option{}).choice(8), 1) {
		t.Error("an option without bandwidth can be chosen")
	}
}

func TestVersions(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	before := predict(t, c, Job{Collective: fabric.AllReduce, Version: "2.26.2"}, 1<<20)[0]
	after := predict(t, c, Job{Collective: fabric.AllReduce, Version: "2.28.9"}, 1<<20)[0]
	if before.Algorithm != "NVLSTree" || after.Algorithm != "Tree" {
		t.Errorf("1 MiB on two nodes: %s before 2.28.9, %s from then on", before.Algorithm, after.Algorithm)
	}
	for version, want := range map[string]struct{ follows, note string }{
		"": {"2.30.7", "its version is unspecified"}, "2.30.7": {"2.30.7", ""}, "22809": {"2.28.9", ""}, "2.28.9+cuda13.0": {"2.28.9", ""}, "2.28": {"2.28.9", "NCCL 2.28 chooses as 2.28.9 does"},
		"2.29.2": {"2.28.9", "the newest before it"}, "3.0.1": {"2.30.7", "the newest before it"}, "2.18.5": {"2.27.7", "the oldest"}, "new": {"2.30.7", "is no version"},
	} {
		p, err := c.Predict(Job{Collective: fabric.AllReduce, Version: version}, []int64{8})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(p.Assumptions, func(a fabric.Assumption) bool {
			return strings.Contains(a.What, want.note) && strings.Contains(a.Source, "tuning.cc")
		})
		if p.NCCL != want.follows || said != (want.note != "") {
			t.Errorf("%q: follows %s, %+v", version, p.NCCL, p.Assumptions)
		}
	}
}

func TestBadInput(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 1})
	for _, test := range []struct {
		job   Job
		sizes []int64
		want  string
	}{
		{Job{Collective: fabric.AllReduce}, nil, "sizes: 0 are not between"},
		{Job{Collective: fabric.AllReduce}, []int64{0}, "size 0 is not between"},
		{Job{Collective: fabric.AllReduce}, []int64{1 << 51}, "is not between"},
		{Job{Collective: "all_love"}, []int64{8}, `collective "all_love": unknown`},
	} {
		t.Run(test.want, func(t *testing.T) {
			if _, err := c.Predict(test.job, test.sizes); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
	for want, hw := range map[string]fabric.Hardware{
		"gpus_per_node: unspecified":                   {GPU: "mystery"},
		"its links are needed":                         {GPU: "mystery", GPUsPerNode: 8},
		`net "none" cannot connect 2 nodes`:            {GPU: "h100", Nodes: 2, Net: "none"},
		`net "token-ring": unknown`:                    {GPU: "h100", Nodes: 2, Net: "token-ring", NICsPerNode: 8, NICGbps: 400},
		"nodes 40000 is not between":                   {GPU: "h100", Nodes: 40000},
		"nic_gbps NaN is not between":                  {GPU: "h100", Nodes: 2, NICGbps: math.NaN()},
		"oversubscription -1 is not":                   {GPU: "h100", Nodes: 2, Oversubscription: -1},
		`machine "hgx-x" is not in`:                    {Machine: "hgx-x"},
		"nics_per_node (--nics) and nic_gbps (--rate)": {GPU: "h100", Nodes: 2, Net: "ss11"},
	} {
		if _, err := New(loaded(t), hw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: want %q, got %v", hw, want, err)
		}
	}
	lone := newCluster(t, fabric.Hardware{Machine: "dgx-spark", Nodes: 1})
	if _, err := lone.Predict(Job{Collective: fabric.AllReduce}, []int64{8}); err == nil {
		t.Error("one GPU: no error")
	}
}

// TestAssumptionsHaveSources also shows that what was said is not listed as assumed.
func TestAssumptionsHaveSources(t *testing.T) {
	no := false
	for _, hw := range []fabric.Hardware{
		{GPU: "h100", Nodes: 4}, {GPU: "b300", Nodes: 1}, {GPU: "rtx6000d", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "roce", NVLink: &no},
	} {
		p, err := newCluster(t, hw).Predict(Job{Collective: fabric.AllReduce}, []int64{8})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Assumptions) == 0 {
			t.Errorf("%+v: nothing is assumed", hw)
		}
		for _, a := range p.Assumptions {
			if a.What == "" || a.Source == "" {
				t.Errorf("%+v: %+v", hw, a)
			}
		}
	}
}

// TestBandNoteNamesSmallSizes: what widens the bands of small sizes is said too, where the largest size has no such doubt.
func TestBandNoteNamesSmallSizes(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h200", GPUsPerNode: 4, Nodes: 1})
	for processes, want := range map[int]bool{1: true, 4: false} {
		p, err := c.Predict(Job{Collective: fabric.AllReduce, Processes: processes}, []int64{1 << 10, 8 << 30})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(p.Assumptions, func(a fabric.Assumption) bool { return strings.Contains(a.What, "how fast a CPU launches kernels") })
		if said != want {
			t.Errorf("%d processes: launches of a CPU are named: %v", processes, said)
		}
	}
}

// TestReductionsInTheNetwork: a machine whose NICs are not known to reduce is answered without, and says so.
func TestReductionsInTheNetwork(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "a100", GPUsPerNode: 8, Nodes: 4, NICsPerNode: 8, NICGbps: 200, Net: "ib"})
	job := Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_COLLNET_ENABLE": "1"}}
	p, err := c.Predict(job, []int64{8 << 30})
	if err != nil || len(p.Remarks) == 0 || !strings.Contains(p.Remarks[0], "no NIC of this machine is known to reduce") {
		t.Fatalf("%v, %v", p.Remarks, err)
	}
	job.Env["NCCL_ALGO"] = "CollNetDirect"
	if _, err := c.Predict(job, []int64{8 << 30}); err == nil || !strings.Contains(err.Error(), "no NIC of this machine is known to reduce") {
		t.Errorf("forced: %v", err)
	}
}

// Settings by which blocks use the links otherwise count where that was measured, with the value that was, and are said elsewhere.
func TestOtherLinks(t *testing.T) {
	at := func(gpu string, set ...string) (float64, string) {
		env := map[string]string{}
		for _, s := range set {
			name, value, _ := strings.Cut(s, "=")
			env[name] = value
		}
		p, err := newCluster(t, fabric.Hardware{GPU: gpu, Nodes: 1, GPUsPerNode: 4}).Predict(Job{Collective: fabric.AllReduce, Env: env}, []int64{1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		return p.Rows[0].BusBW, fmt.Sprint(p.Remarks)
	}
	const off = "NCCL_NVLS_ENABLE=0"
	usual, _ := at("h200-sxm", off)
	for set, share := range map[string]float64{"NCCL_P2P_READ_ENABLE=1": 0.83, "NCCL_CGA_CLUSTER_SIZE=0": 0.89, "NCCL_CGA_CLUSTER_SIZE=2": 1} {
		got, said := at("h200-sxm", off, set)
		if got < (share-0.02)*usual || got > (share+0.02)*usual || strings.Contains(said, "not modelled") != (share == 1) {
			t.Errorf("%s: %.0f of %.0f GB/s, %s", set, got, usual, said)
		}
	}
	before, _ := at("a100-80-sxm")
	if got, said := at("a100-80-sxm", "NCCL_P2P_READ_ENABLE=1"); got != before || !strings.Contains(said, "not modelled") {
		t.Errorf("A100: %.0f of %.0f GB/s, %s", got, before, said)
	}
}
