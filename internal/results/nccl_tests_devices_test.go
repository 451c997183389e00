package results

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestBannerOfRanks: the hosts of a banner are counted only where each of its ranks was read, whatever white space a copy of it
// has: with lines missing, two nodes would be taken for one.
func TestBannerOfRanks(t *testing.T) {
	banner := func(left ...int) string {
		var b strings.Builder
		b.WriteString("# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
		for r := range 16 {
			if len(left) > 0 && r >= left[0] && r < left[1] {
				continue
			}
			fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid %6d on node-%d device %2d [0000:%02x:00] NVIDIA H100 80GB HBM3\n", r, 4000+r, r/8, r%8, 0x10+r%8)
		}
		return b.String() + string(text(t, "nccl_paste.txt"))
	}
	for _, c := range []struct {
		name, text            string
		devices, ranks, nodes int
	}{
		{"as printed", banner(), 16, 16, 2},
		{"tabs for columns", strings.ReplaceAll(banner(), "  ", "\t"), 16, 16, 2},
		{"tabs for all blanks of device lines", strings.ReplaceAll(banner(), " on node", "\ton\tnode"), 16, 16, 2},
		{"its first line left out", withoutFirstLine(banner()), 16, 16, 2},
		{"below another table", string(text(t, "nccl_paste.txt")) + "\n" + withoutFirstLine(banner()), 16, 16, 2},
		{"the first host left out", banner(0, 8), 8, 16, 0},
		{"lines in the middle left out", banner(3, 12), 7, 16, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := Read("x", strings.NewReader(c.text))
			if err != nil || len(found) == 0 {
				t.Fatalf("%d results, %v", len(found), err)
			}
			table, ok := found[len(found)-1].Content.(*fabric.Table)
			if !ok {
				t.Fatalf("%T", found[0].Content)
			}
			if len(table.Devices) != c.devices || table.Ranks != c.ranks || table.Nodes != c.nodes {
				t.Errorf("%d devices, %d ranks, %d nodes, want %d, %d, %d", len(table.Devices), table.Ranks, table.Nodes, c.devices, c.ranks, c.nodes)
			}
			if c.nodes == 0 && table.Processes != 0 {
				t.Errorf("%d processes of a banner with lines missing", table.Processes)
			}
		})
	}
}

func withoutFirstLine(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
