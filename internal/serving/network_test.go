package serving

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/sizing"
)

func TestCurveOf(t *testing.T) {
	c, err := CurveOf(16, []Point{{4096, 30}, {1024, 30}, {1 << 20, 75}, {1 << 22, 95}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		bytes, want float64
	}{
		{0, 30}, {1, 30}, {2048, 30}, {1 << 20, 75}, {1 << 21, math.Sqrt(75 * 95)}, {1 << 22, 95}, {1 << 24, 380},
	} {
		t.Run(fmt.Sprintf("%g bytes", test.bytes), func(t *testing.T) {
			if got, known := c(test.bytes, 16); !known || math.Abs(got-test.want) > 1e-9 {
				t.Errorf("%g bytes: %g us, known %v, want %g", test.bytes, got, known, test.want)
			}
		})
	}
	for _, ranks := range []int{0, 1, 8, 32} {
		t.Run(fmt.Sprintf("%d ranks", ranks), func(t *testing.T) {
			if _, known := c(1024, ranks); known {
				t.Errorf("%d ranks: known, though measured on 16", ranks)
			}
		})
	}
	if _, known := c(math.NaN(), 16); known {
		t.Error("NaN bytes: known")
	}
}

func TestCurveOfBadPoints(t *testing.T) {
	for _, test := range []struct {
		name   string
		ranks  int
		points []Point
		want   string
	}{
		{"one rank", 1, []Point{{1, 1}, {2, 2}}, "1 ranks"},
		{"no size", 16, nil, "0 sizes"},
		{"the same size twice", 16, []Point{{8, 1}, {8, 2}}, "1 sizes"},
		{"no time", 16, []Point{{8, 0}, {16, 2}}, "above 0"},
		{"negative size", 16, []Point{{-8, 1}, {16, 2}}, "above 0"},
		{"not a number", 16, []Point{{8, math.NaN()}, {16, 2}}, "above 0"},
		{"infinite", 16, []Point{{8, 1}, {16, math.Inf(1)}}, "above 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := CurveOf(test.ranks, test.points); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", test.name, err, test.want)
			}
		})
	}
}

func TestCurveOfTable(t *testing.T) {
	us := func(v float64) *float64 { return &v }
	table := &fabric.Table{ID: "t", Collective: fabric.AllReduce, Ranks: 16, Rows: []fabric.Row{
		{Size: 8, TimeUS: us(71.3)}, {Size: 1024, TimeUS: us(30)}, {Size: 2048}, {Size: 4096, TimeUS: us(31)},
	}}
	c, err := CurveOfTable(table)
	if err != nil {
		t.Fatal(err)
	}
	if got, known := c(8, 16); !known || got != 30 {
		t.Errorf("8 bytes: %g us, %v: the set-up in the first row counts", got, known)
	}
	table.Collective = fabric.AllGather
	if _, err := CurveOfTable(table); err == nil || !strings.Contains(err.Error(), "all_gather") {
		t.Errorf("a table of all_gather: %v", err)
	}
	p := &fabric.Prediction{Collective: fabric.AllReduce, Ranks: 2, Rows: []fabric.PredictionRow{{Size: 1024, TimeUS: 10}, {Size: 1 << 20, TimeUS: 100}}}
	two, err := CurveOfPrediction(p)
	if err != nil {
		t.Fatal(err)
	}
	both := Curves(nil, c, two)
	for ranks, want := range map[int]float64{2: 10, 16: 30} {
		t.Run(fmt.Sprintf("%d ranks", ranks), func(t *testing.T) {
			if got, known := both(1024, ranks); !known || got != want {
				t.Errorf("%d ranks: %g us, %v, want %g", ranks, got, known, want)
			}
		})
	}
	if _, known := both(1024, 4); known {
		t.Error("4 ranks: known to neither")
	}
	p.Collective = fabric.SendRecv
	if _, err := CurveOfPrediction(p); err == nil {
		t.Error("a prediction of sendrecv became a curve of all_reduce")
	}
}

// TestReduceInside compares with nccl-tests inside one machine and with engines' own kernels, us.
func TestReduceInside(t *testing.T) {
	h100 := sizing.Machine{Vendor: "nvidia", PerNode: 8, ScaleUp: 8, GPU: fabric.SizingGPU{LinkGBs: 450}}
	mi300 := sizing.Machine{Vendor: "amd", PerNode: 8, ScaleUp: 8, GPU: fabric.SizingGPU{LinkGBs: 448}}
	for _, test := range []struct {
		name     string
		machine  sizing.Machine
		bytes    float64
		ranks    int
		measured float64 // us
		off      float64 // allowed, as a share
	}{
		{"vLLM's kernel, 32 KiB on 8 H100, sglang pull request 2904", h100, 32 << 10, 8, 11.8, 0.2},
		{"the same on 2", h100, 32 << 10, 2, 8.7, 0.15},
		{"the same, 256 KiB on 8", h100, 256 << 10, 8, 24.1, 0.35},
		{"NCCL, 1 MiB on 8 H100, AWS p5", h100, 1 << 20, 8, 28.6, 0.15},
		{"the same, 32 MiB", h100, 32 << 20, 8, 198.6, 0.1},
		{"NCCL, 16 MiB on 2 H200", h100, 16 << 20, 2, 78.3, 0.1},
		{"RCCL, 128 MiB on 8 MI300X", mi300, 128 << 20, 8, 800.3, 0.1},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, known := links{machine: test.machine}.reduce(test.bytes, test.ranks)
			if got *= 1e6; !known || math.Abs(got/test.measured-1) > test.off {
				t.Errorf("%s: %.1f us, measured %.1f", test.name, got, test.measured)
			}
		})
	}
	pair, _ := links{machine: mi300}.reduce(128<<20, 2)
	all, _ := links{machine: h100}.reduce(128<<20, 2)
	if pair < 5*all {
		t.Errorf("two MI300X share one link of seven: %.0f us, two H100 %.0f", pair*1e6, all*1e6)
	}
}

func TestReduceAcross(t *testing.T) {
	m := sizing.Machine{Vendor: "nvidia", PerNode: 8, ScaleUp: 8, GPU: fabric.SizingGPU{LinkGBs: 450}}
	if _, known := (links{machine: m}).reduce(1<<20, 16); known {
		t.Error("16 ranks on machines of 8 without a curve: known")
	}
	flat := func(float64, int) (float64, bool) { return 50, true }
	if s, known := (links{m, Network{Curve: flat}}).reduce(1<<20, 16); !known || math.Abs(s-50e-6) > 1e-12 {
		t.Errorf("16 ranks by the curve: %g s, %v", s, known)
	}
	if s, known := (links{machine: m}).reduce(1<<20, 1); !known || s != 0 {
		t.Errorf("one rank: %g s, %v", s, known)
	}
	m.GPU.LinkGBs = 0 // GPUs that only PCIe joins
	if _, known := (links{machine: m}).reduce(1<<20, 8); known {
		t.Error("8 GPUs without links between them: known")
	}
	if _, known := (links{machine: m}).send(1<<20, false); known {
		t.Error("a send without links and without a curve: known")
	}
	m.GPU.LinkGBs, m.PerNode, m.ScaleUp = 900, 4, 72
	if _, known := (links{machine: m}).reduce(1<<20, 16); !known {
		t.Error("16 ranks inside one NVLink domain of 72: unknown")
	}
}
