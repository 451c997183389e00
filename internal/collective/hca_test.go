package collective

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// NCCL_IB_HCA leaves functions of cabled ports, by NCCL's own reading of it.
func TestListedNICs(t *testing.T) {
	pair := fabric.Hardware{Machine: "dgx-spark", Nodes: 2}
	two := fabric.Hardware{Machine: "dgx-spark", Nodes: 2, NICsPerNode: 4}
	ring := fabric.Hardware{Machine: "dgx-spark", Nodes: 3}
	table := fabric.Hardware{GPU: "gb10", Nodes: 2, GPUsPerNode: 1, NICsPerNode: 2, NICGbps: 100, Net: "roce"}
	for _, c := range []struct {
		list string
		hw   fabric.Hardware
		want int    // functions; 0: nothing changes
		err  string // part of it
	}{
		{"", pair, 0, ""},
		{"rocep1s0f1,roceP2p1s0f1", pair, 0, ""},
		{"rocep1s0f1", pair, 1, ""},
		{"rocep1s0f1", table, 1, ""},
		{"roceP2p1s0f0", pair, 1, ""},
		{"rocep1s0f1:1", pair, 1, ""},
		{"=rocep1s0f1", pair, 1, ""},
		{"rocep", pair, 1, ""}, // a prefix, of which the letters' case counts
		{"roce", pair, 0, ""},
		{"=roce", pair, 0, ""}, // no name of this machine
		{"mlx5_0,mlx5_2", pair, 0, ""},
		{"mlx5_0,mlx5_1", pair, 1, ""}, // two ports, of which one is cabled
		{"^rocep1s0f1,roceP2p1s0f1", pair, 0, ""},
		{"^rocep", pair, 1, ""},
		{"bond_0", pair, 0, ""},
		{"rocep1s0f0,roceP2p1s0f0", two, 2, ""},
		{"rocep1s0f0, roceP2p1s0f0", pair, 1, ""}, // NCCL does not strip the blank
		{"rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1", ring, 0, ""},
		{"rocep1s0f0,rocep1s0f1", ring, 2, ""},
		{"rocep1s0f1,roceP2p1s0f1", ring, 0, "both ports lead to neighbours"},
		{"mlx5_0", fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, 1, ""},
		{"=mlx5_0:1,mlx5_3:1,mlx5_0:2", fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, 2, ""},
		{"mlx5_0, mlx5_3", fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, 1, ""},
		{"mlx5", fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, 0, ""},
		{"^mlx5_0", fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, 0, ""},
		{"bnxt_re0,bnxt_re1", fabric.Hardware{Machine: "xe9680-mi300x-thor2", Nodes: 2}, 2, ""},
		{"rocep1s0f1", fabric.Hardware{Machine: "dgx-spark", Nodes: 1}, 0, ""},
	} {
		hw, why, err := ListedNICs(loaded(t), c.hw, map[string]string{"NCCL_IB_HCA": c.list})
		want := c.want
		if want == 0 {
			want = c.hw.NICsPerNode
		}
		if hw.NICsPerNode != want || (why != "") != (c.want != 0) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q of %+v: %d functions, %q, %v; want %d", c.list, c.hw, hw.NICsPerNode, why, err, want)
		}
		if err == nil {
			if _, err := New(loaded(t), hw); err != nil {
				t.Errorf("%q of %+v: %v", c.list, c.hw, err)
			}
		}
	}
}
