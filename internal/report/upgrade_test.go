package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func sampleUpgrade() *fabric.Upgrade {
	row := func(size int64, before, after fabric.UpgradeChoice, gain float64) fabric.UpgradeRow {
		return fabric.UpgradeRow{Size: size, Choices: []fabric.UpgradeChoice{before, after}, Moved: before.Algorithm != after.Algorithm, Gain: gain}
	}
	ring := fabric.UpgradeChoice{Algorithm: "Ring", Protocol: "LL", TimeUS: 20, BusBW: 1}
	tree := fabric.UpgradeChoice{Algorithm: "Tree", Protocol: "LL128", TimeUS: 10, BusBW: 2}
	return &fabric.Upgrade{
		Meta: fabric.NewMeta("Upgrade"), Collective: fabric.AllReduce, Ranks: 16, Nodes: 2, NCCL: []string{"2.27.7", "2.30.7"},
		Rows: []fabric.UpgradeRow{row(8, ring, ring, 0), row(1<<20, ring, tree, 100), row(2<<20, tree, ring, -50)},
		Moves: []fabric.UpgradeMove{
			{From: 1 << 20, To: 1 << 20, Choices: []string{"Ring LL", "Tree LL128"}, Gain: [2]float64{100, 100}},
			{From: 2 << 20, To: 4 << 20, Choices: []string{"Tree LL128", "Ring LL"}, Gain: [2]float64{-50, -49}},
		},
		Assumptions: []fabric.Assumption{{What: "healthy", Source: "nothing"}},
	}
}

func TestUpgradeText(t *testing.T) {
	var b bytes.Buffer
	if err := Upgrade(&b, sampleUpgrade(), TextOptions{Width: 110}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"EXPECTED: NCCL 2.27.7 to 2.30.7: 2 of 3 sizes move; at most +100.0 % at 1 MiB; at least -50.0 % at 2 MiB\n",
		"all_reduce, 16 ranks on 2 nodes, NCCL 2.27.7 to 2.30.7",
		"1 MiB: Ring LL, then Tree LL128, +100.0 %\n", "2 MiB to 4 MiB: Tree LL128, then Ring LL, -50.0 % to -49.0 %\n",
		"NCCL 2.27.7", "time", "gain",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := Upgrade(&b, sampleUpgrade(), TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), ": 2 of 3 move; +100 % at 1 MiB; -50 % at 2 MiB\n") {
		t.Errorf("a narrow terminal has no brief answer:\n%s", b.String())
	}
	for width := 40; width <= 80; width += 4 {
		b.Reset()
		if err := Upgrade(&b, sampleUpgrade(), TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), " time"); n != 0 && n != 2 {
			t.Errorf("%d columns: the time of %d versions:\n%s", width, n, b.String())
		}
	}
}

// TestUpgradeOfNothing: empty, cut and hostile comparisons are written, not crashed on.
func TestUpgradeOfNothing(t *testing.T) {
	cut := sampleUpgrade()
	cut.Rows[1].Choices = nil
	strange := sampleUpgrade()
	strange.NCCL = []string{"\x1b[31m", "<script>"}
	strange.Rows[0].Gain = math.NaN()
	strange.Moves[0].Choices = []string{"<b>\x07"}
	for _, x := range []*fabric.Upgrade{nil, {}, cut, strange} {
		var text, page bytes.Buffer
		if err := Upgrade(&text, x, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := UpgradeHTML(&page, x, PageInfo{}); err != nil {
			t.Fatal(err)
		}
		if s := text.String(); strings.ContainsAny(s, "\x1b\x07") {
			t.Errorf("control characters in %q", s)
		}
		if s := page.String(); strings.Contains(s, "<script>") || strings.Contains(s, "<b>\x07") {
			t.Errorf("markup of a name in the page")
		}
	}
	var page bytes.Buffer
	if err := UpgradeHTML(&page, sampleUpgrade(), PageInfo{}); err != nil || !strings.Contains(page.String(), "2 MiB to 4 MiB: Tree LL128, then Ring LL") {
		t.Errorf("%v: the page has no moves", err)
	}
}
