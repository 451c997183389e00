package switchtext

import (
	"math"
	"testing"
)

// Computed by hand: 2 frames of mtu + 42, the pause of 84, quanta of 64 bytes, and 1.25 bytes a metre and Gb/s both ways.
func TestHeadroom(t *testing.T) {
	for _, c := range []struct {
		rate       float64
		cable, mtu int
		want       int64
	}{
		{100, 5, 9100, 2*9142 + 84 + 394*64 + 625},
		{400, 5, 9100, 2*9142 + 84 + 905*64 + 2500},
		{400, 300, 9100, 2*9142 + 84 + 905*64 + 150000},
		{25, 0, 1500, 2*1542 + 84 + 80*64},
		{800, 2, 9100, 2*9142 + 84 + 1810*64 + 2000},
		{1600, 2, 9100, 2*9142 + 84 + 3620*64 + 4000},
		{56, 1, 4200, 2*4242 + 84 + 394*64 + 70},
		{0, 5, 9100, 0}, {-1, 5, 9100, 0}, {math.NaN(), 5, 9100, 0}, {math.Inf(1), 5, 9100, 0}, {100, -1, 9100, 0}, {100, 5, -1, 0},
	} {
		if got := Headroom(c.rate, c.cable, c.mtu); got != c.want {
			t.Errorf("%v Gb/s, %d m, %d bytes: %d, not %d", c.rate, c.cable, c.mtu, got, c.want)
		}
	}
}

// More rate, more cable or larger packets never need less.
func TestHeadroomGrows(t *testing.T) {
	for rate := 1.0; rate < 2000; rate += 7 {
		base := Headroom(rate, 10, 9000)
		if Headroom(rate+7, 10, 9000) < base || Headroom(rate, 11, 9000) <= base || Headroom(rate, 10, 9001) <= base {
			t.Fatalf("%v Gb/s needs more than more of something", rate)
		}
	}
}
