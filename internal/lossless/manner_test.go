package lossless

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestBelow(t *testing.T) {
	at := func(v float64, unit string) *fabric.Threshold { return &fabric.Threshold{Value: v, Unit: unit} }
	for _, c := range []struct {
		least, most *fabric.Threshold
		want        known
	}{
		{nil, at(1, "bytes"), maybe},
		{at(1, "bytes"), nil, maybe},
		{at(1, "segments"), at(2, "segments"), yes},
		{at(2, "segments"), at(2, "segments"), no},
		{at(1, "percent"), at(2, "bytes"), maybe},
		{at(999, "bytes"), at(1, "kB"), yes},
		{at(1000, "bytes"), at(1, "kB"), maybe}, // a kB may be 1000 bytes
		{at(1023, "bytes"), at(1, "kB"), maybe},
		{at(1024, "bytes"), at(1, "kB"), no},
		{at(1, "kB"), at(1000, "bytes"), no},
		{at(1, "kB"), at(1024, "bytes"), maybe},
		{at(1, "kB"), at(1025, "bytes"), yes},
	} {
		if got := below(c.least, c.most); got != c.want {
			t.Errorf("below(%+v, %+v) = %v, want %v", c.least, c.most, got, c.want)
		}
	}
}
