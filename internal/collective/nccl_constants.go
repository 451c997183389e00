package collective

import "railwright.dev/railwright/internal/fabric"

// table is one figure for each algorithm and protocol.
type table [algorithms][protocols]float64

// Hardware of a step, in NCCL's order.
const (
	hwNVLink = iota
	hwPCI
	hwNet
	hwKinds
)

// Generations of GPUs, the rows of tables of bandwidths.
const (
	volta = iota
	ampere
	hopper
	blackwell
	generations
)

// perNodes is a figure for one node, for two, and for more.
type perNodes [generations][3]float64

// shares is a factor for each size: 64 B and its powers of two up to 4 GiB.
type shares [27]float64

// ncclTables are the constants of NCCL's tuning model. Times are us, bandwidths GB/s.
type ncclTables struct {
	base table
	step [hwKinds]table

	ll        perNodes // of LL: of one node by GPU, of more by CPU, where the first row is Intel and the second AMD
	ringLL128 perNodes // of a channel
	treeLL128 perNodes // of a channel
	tree      perNodes // of a channel
	nvlsTree  perNodes // of a channel
	nvls      [generations]float64
	treeShare [protocols]shares // what a tree reaches of its bandwidth
	nvlsShare *shares           // and NVLSTree on Blackwell with an x86 CPU; nil: all of it
	plainNVLS bool              // the bandwidth of NVLS is that of its graph, without an efficiency of the switch
	sameSM    bool              // LL128 needs GPUs of one compute capability, from 9.0 on too
	nvlsRuns  bool              // a communicator has at least as many channels as NVLS
}

// newNCCLTables returns the figures of nccl 2.30.7, src/graph/tuning.cc, ncclTunerConstantsDefaults and the
// code after it. Rows are Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT; columns LL, LL128, Simple.
func newNCCLTables() *ncclTables {
	return &ncclTables{
		base: table{{6.8, 14, 8.4}, {6.6, 14, 8.4}, {}, {}, {}, {}, {8, 8, 8}},
		step: [hwKinds]table{
			hwNVLink: {{0.6, 1.25, 4}, {0.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
			hwPCI:    {{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4}},
			hwNet:    {{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}},
		},
		ll:        perNodes{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}},
		ringLL128: perNodes{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}},
		treeLL128: perNodes{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}},
		tree:      perNodes{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}},
		nvlsTree:  perNodes{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}},
		nvls:      [generations]float64{0, 0, 0.85, 0.74},
		treeShare: [protocols]shares{
			{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1, 1, 1, 1},
			{1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1, 1, 1, 1},
			{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, 1, 1, 1, 1},
		},
		nvlsShare: &shares{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9, 1, 1, 1},
	}
}

// tablesOf returns the figures of a version: those of the newest with what was different before. Most changes are of
// Blackwell. Versions are written as nccl.h numbers them: 23007 is 2.30.7.
func tablesOf(v fabric.NCCLVersion) *ncclTables {
	t := newNCCLTables()
	if v < 23007 {
		t.nvlsTree[blackwell][2] = 43.8
		t.sameSM = true
	}
	if v < 22907 {
		t.ringLL128[blackwell] = [3]float64{73.4, 34.6, 73.4}
		t.nvlsShare = nil
	}
	if v < 22809 {
		t.nvlsTree[blackwell][2] = 43.1
		t.step[hwNet][NVLSTree][Simple] = 14
	}
	if v < 22807 {
		t.ringLL128[blackwell][1] = 73.4
	}
	if v < 22803 {
		t.treeLL128[blackwell] = [3]float64{73.4, 73.4, 58}
		t.tree[blackwell] = [3]float64{77.4, 82.8, 72}
		t.plainNVLS, t.nvlsRuns = true, true
	}
	return t
}

func generation(sm int) int {
	switch {
	case sm >= 100:
		return blackwell
	case sm >= 90:
		return hopper
	case sm >= 80:
		return ampere
	default:
		return volta
	}
}
