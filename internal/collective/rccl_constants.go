package collective

import "strings"

// correction is what an algorithm reaches of its bandwidth.
type correction [protocols]shares

// rcclTable is one of RCCL's tuning models: AMD measured each on machines of one kind.
type rcclTable struct {
	base       table
	step       [hwKinds]table
	twoNodes   table // share of the bandwidth of the graph
	moreNodes  table
	tree, ring correction
	held       correction // tree, for the time: without entries that are never chosen
	fabric     float64    // step of the fabric that it was measured on, as a multiple of NCCL's
}

// All of this file: rccl, src/graph/tuning.cc, baseLat and tuning_model_4 to 6 (times us). Which machine uses
// which: rccl, src/graph/rome_models.cc.

func rcclBase() table {
	return table{{12, 12, 17}, {12, 12, 17}, {12, 12, 17}, {12, 12, 17}, {}, {}, {8, 8, 8}}
}

// rcclTableOf returns the model that RCCL uses for a GPU.
func rcclTableOf(gfx string) *rcclTable {
	t := rcclMI200()
	switch {
	case strings.HasPrefix(gfx, "gfx95"):
		t = rcclMI300()
		t.tree, t.ring = rcclMI350Tree(), rcclMI350Ring()
	case strings.HasPrefix(gfx, "gfx94"):
		t = rcclMI300()
	}
	t.base = rcclBase()
	for p := range t.tree {
		t.held[p] = settle(t.tree[p])
	}
	return &t
}

// rcclMI200 is tuning_model_4: MI250X on Slingshot.
func rcclMI200() rcclTable {
	return rcclTable{
		fabric: 2,
		step: [hwKinds]table{
			hwNVLink: {{0.8, 1.4, 2.5}, {0.8, 2.2, 3.6}},
			hwPCI:    {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
			hwNet:    {{32.2, 34.4, 47.6}, {35.4, 87.8, 209.2}},
		},
		twoNodes:  table{{0.16, 1.09, 1.61}, {0.15, 0.41, 1}},
		moreNodes: table{{0.16, 1.09, 1.08}, {0.15, 0.41, 1}},
		tree: correction{
			{.1, .1, .1, .1, .1, .1, .1, .1, 1, .1, .1, .2, .4, .6, .5, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .2, .1, .1, .2, 1, .5, .2, .2, .2, .2, .2, .2, .2, .2, .2, .2, .2, .2},
			{1, 1, 1, 1, 1, 1, 1, 1, .8, .4, .3, .3, .1, .1, 1, 1, .7, .5, .6, .5, .6, .6, .5, .6, .6, .6, .7},
		},
		ring: correction{
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .2, .2, .1, .3, .1, .1, .1, .2, .1, .1, .1, .1, .1, .1, .1, .1},
			{.4, .5, .5, .4, .4, .4, .4, .2, .2, .1, .3, 1, 1, .7, .8, .5, 1, 1, 1, 1, 1, .9, .8, .5, .4, .3, .3},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, 1, 1, .8, .5, .1, .7, .2, .4, .4, .6, .7, .9, 1, 1, 1, 1, 1, 1},
		},
	}
}

// rcclMI300 is tuning_model_5: MI300X and MI325X.
func rcclMI300() rcclTable {
	return rcclTable{
		fabric: 1,
		step: [hwKinds]table{
			hwNVLink: {{0.9, 0.9, 2.3}, {0.8, 0.8, 2.1}},
			hwPCI:    {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
			hwNet:    {{10.5, 10.5, 25}, {9.5, 9.5, 320}},
		},
		twoNodes:  table{{0.06, 0.06, 0.11}, {0.08, 0.08, 1}},
		moreNodes: table{{0.06, 0.06, 0.59}, {0.08, 0.08, 1}},
		tree: correction{
			{.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .7, 1, 1, 1, 1, 1, .7, .7, .5, .6, .6, .6},
		},
		ring: correction{
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .8, 1, 1, 1},
		},
	}
}

// rcclMI350Tree and rcclMI350Ring are what tuning_model_6 changes for MI350X and MI355X.
func rcclMI350Tree() correction {
	return correction{
		{.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
		{.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1, 1, 1, 1, 2, .1, .1, .1, .1, .1, .1, .1},
		{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .7, 1, .1, .1, .1, .9, .9, .7, .8, .6, .6, .6},
	}
}

func rcclMI350Ring() correction {
	return correction{
		{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
		{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4, .1, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1},
		{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .8, .8, 1, 1},
	}
}
