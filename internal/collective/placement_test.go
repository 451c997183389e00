package collective

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// blocks are the NICs of which the document gives a worker either half.
func blocks() [][]int { return [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}} }

// runA and runB are the workers of the DRA document, by the PCI addresses of its banners. Which two share a machine follows
// from the addresses: no GPU is in two workers of one.
func runA() *Placement {
	return &Placement{Workers: []Worker{
		{Machine: "lp53", GPUs: []int{0, 1, 6, 7}, NICs: blocks()[0]}, // as its ip command shows
		{Machine: "zwtv", GPUs: []int{0, 1, 2, 7}, Choices: blocks()},
		{Machine: "lp53", GPUs: []int{2, 3, 4, 5}, Choices: blocks()},
		{Machine: "zwtv", GPUs: []int{3, 4, 5, 6}, Choices: blocks()},
	}}
}

func runB() *Placement {
	return &Placement{Workers: []Worker{
		{Machine: "a", GPUs: []int{3, 4, 5, 6}, Choices: blocks()},
		{Machine: "a", GPUs: []int{0, 1, 2, 7}, Choices: blocks()},
		{Machine: "b", GPUs: []int{0, 5, 6, 7}, Choices: blocks()},
		{Machine: "b", GPUs: []int{1, 2, 3, 4}, Choices: blocks()},
	}}
}

// runBCrossed is run B where one machine gave its workers the halves that fit them least.
func runBCrossed() *Placement {
	b := runB()
	b.Workers[0].Choices, b.Workers[0].NICs = nil, blocks()[0]
	return b
}

func a4(t testing.TB) *Cluster {
	return newCluster(t, fabric.Hardware{Machine: "a4-highgpu-8g", Nodes: 2})
}

func TestSharesOfTheDocument(t *testing.T) {
	c := a4(t)
	for _, test := range []struct {
		name      string
		placement *Placement
		low, high int
	}{
		{"run A", runA(), 1, 2},
		{"run B", runB(), 1, 3}, // three GPUs each, or one each, by the halves that its workers got
		{"run B, crossed", runBCrossed(), 1, 1},
		{"two GPUs and one near NIC for both", &Placement{Workers: []Worker{{GPUs: []int{0, 1, 6, 7}, NICs: []int{0, 2, 4, 6}}}}, 2, 2},
		{"aligned halves", &Placement{Workers: []Worker{{Machine: "a", GPUs: []int{0, 1, 2, 3}, NICs: blocks()[0]}, {Machine: "a", GPUs: []int{4, 5, 6, 7}, NICs: blocks()[1]}}}, 4, 4},
		{"crossed halves", &Placement{Workers: []Worker{{GPUs: []int{0, 1, 2, 3}, NICs: blocks()[1]}}}, 0, 0},
		{"any four, alone", &Placement{Workers: []Worker{{GPUs: []int{3, 4, 5, 6}, Count: 4}}}, 1, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := c.Share(test.placement)
			if err != nil {
				t.Fatal(test.name, err)
			}
			if s.LowExits != test.low || s.HighExits != test.high {
				t.Errorf("%s: %d to %d GPUs with a NIC, want %d to %d", test.name, s.LowExits, s.HighExits, test.low, test.high)
			}
			if want := float64(test.low) * 50 * c.net.room; math.Abs(s.Low-want) > 0.01 {
				t.Errorf("%s: %.2f GB/s, want %.2f", test.name, s.Low, want)
			}
		})
	}
}

// TestAveragesOfTheDocument: the document prints averages over all sizes, 59.36 of whole machines, 22.22 of run A and
// 11.23 of run B. The whole run has its plateau at 260 GB/s, which is its own limit; what a placement leaves lowers every size
// in proportion, and with it the average.
func TestAveragesOfTheDocument(t *testing.T) {
	c := a4(t)
	const whole, plateau = 59.36, 260.0
	a := runA()
	a.Workers[1].Choices, a.Workers[1].NICs = nil, blocks()[0] // the assignment that gives workers 1 and 3 three GPUs each
	for name, test := range map[string]struct {
		placement *Placement
		published float64
	}{"run A": {a, 22.22}, "run B": {runBCrossed(), 11.23}} {
		t.Run(name, func(t *testing.T) {
			s, err := c.Share(test.placement)
			if err != nil {
				t.Fatal(err)
			}
			if s.Low != s.High {
				t.Errorf("%s: %.1f to %.1f GB/s", name, s.Low, s.High)
			}
			if got := whole * s.Low / plateau; math.Abs(got-test.published)/test.published > 0.04 {
				t.Errorf("%s: average of %.2f GB/s, the document has %.2f", name, got, test.published)
			}
		})
	}
}

func TestPredictPlaced(t *testing.T) {
	c := a4(t)
	job := Job{Collective: fabric.AllGather}
	sizes := []int64{8 << 30}
	free, err := c.Predict(job, sizes)
	if err != nil {
		t.Fatal(err)
	}
	job.Placement = runBCrossed()
	bad, err := c.Predict(job, sizes)
	if err != nil {
		t.Fatal(err)
	}
	if bad.Ranks != 16 || bad.Nodes != 4 {
		t.Errorf("%d ranks on %d nodes", bad.Ranks, bad.Nodes)
	}
	if got := bad.Rows[0].BusBW; got < 40 || got > 50 || bad.Rows[0].Bound.BusBW > 50 {
		t.Errorf("run B: %.1f GB/s of %.1f, one exit of 50", got, bad.Rows[0].Bound.BusBW)
	}
	if free.Rows[0].BusBW < 360 {
		t.Errorf("whole machines: %.1f GB/s", free.Rows[0].BusBW)
	}
	job.Placement = &Placement{Workers: []Worker{{GPUs: []int{3, 4, 5, 6}, Count: 4}, {GPUs: []int{0, 1, 2, 3}, NICs: blocks()[0]}}}
	open, err := c.Predict(job, sizes)
	if err != nil {
		t.Fatal(err)
	}
	if r := open.Rows[0]; r.Band[0] > 50 || r.Band[1] < 150 {
		t.Errorf("unknown assignment: band %.1f to %.1f, want one exit to four", r.Band[0], r.Band[1])
	}
}

func TestAlignedOfEachWorker(t *testing.T) {
	each, worst, err := runA().Aligned(8, 8)
	if err != nil {
		t.Fatal(err)
	}
	want := []fabric.CountRange{{Min: 2, Max: 2}, {Min: 1, Max: 3}, {Min: 2, Max: 2}, {Min: 1, Max: 3}}
	if !slices.Equal(each, want) || worst != (fabric.CountRange{Min: 1, Max: 2}) {
		t.Errorf("run A: %v, the worst %v", each, worst)
	}
	if _, _, err := (&Placement{Workers: []Worker{{GPUs: []int{9}, Count: 1}}}).Aligned(8, 8); err == nil {
		t.Error("GPU 9 of 8 is no error")
	}
}

func TestBadPlacements(t *testing.T) {
	c := a4(t)
	for want, p := range map[string]*Placement{
		"no worker":             {},
		"has no GPU":            {Workers: []Worker{{NICs: []int{0}}}},
		"NIC 8 is not between":  {Workers: []Worker{{GPUs: []int{0}, NICs: []int{8}}}},
		"GPU -1 is not between": {Workers: []Worker{{GPUs: []int{-1}, NICs: []int{0}}}},
		"GPU 8 is not between":  {Workers: []Worker{{GPUs: []int{0, 8}, NICs: []int{0}}}},
		"0 NICs are not":        {Workers: []Worker{{GPUs: []int{0}}}},
		"at the same time":      {Workers: []Worker{{Machine: "a", GPUs: []int{0}, NICs: []int{0}}, {Machine: "a", GPUs: []int{1}, NICs: []int{0}}}},
	} {
		if _, err := c.Share(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
