package ncclxml

import (
	"fmt"
	"math"
	"testing"
)

func TestLinkRate(t *testing.T) {
	for _, c := range []struct {
		speed float64
		width int
		want  float64
	}{
		{2.5, 16, 3},
		{5, 16, 6},
		{8, 16, 12},
		{16, 16, 24},
		{32, 16, 48},
		{32, 4, 12}, // DGX Spark: 126 Gb/s
		{64, 16, 96},
		{32, 0, 48}, // a virtual machine: NCCL takes 16 lanes
		{0, 16, 12},
		{24, 16, 12}, // no PCIe speed: NCCL assumes 8 GT/s
		{math.NaN(), 16, 12},
		{math.Inf(1), 16, 12},
		{-8, 16, 12},
	} {
		t.Run(fmt.Sprintf("%g GT/s x%d", c.speed, c.width), func(t *testing.T) {
			if got := LinkRate(c.speed, c.width); math.Abs(got-c.want) > 0.001 {
				t.Errorf("%.3f, want %.3f", got, c.want)
			}
		})
	}
}
