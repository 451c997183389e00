package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// measureCurve reads the shape of a table, and two sizes of an observation.
func (s *observed) measureCurve() {
	across := s.hw.Nodes != 1 // no network, no loss
	switch text := s.fall(); {
	case s.shape.cliff != "" && across:
		s.showText("a cliff", "curve", s.shape.cliff, fabric.Subject{})
	case text != "" && across:
		s.showText("a cliff", "curve", text, fabric.Subject{})
	}
	if p := s.slowAcross(); s.shape.flat && p != nil && p.ratio < 0.3 {
		s.showText("the same at every size", "table", "the same low bandwidth at every size from 1 MiB up", fabric.Subject{})
	}
	if n := len(s.shape.slow); n > 0 {
		shows := "isolated slow sizes"
		if n == 1 {
			shows = "one isolated slow size"
		}
		s.showText(shows, "table", fmt.Sprintf("%d isolated slow sizes: %s", n, s.shape.slowSizes()), fabric.Subject{})
	}
	if s.shape.alone {
		s.showText("every rank alone", "table", "bus bandwidth 0 in every row while algorithm bandwidth is not: a single rank, without a peer", fabric.Subject{})
	} else if s.copies > 1 {
		s.showText("every rank alone", "table", fmt.Sprintf("the banner is printed %d times: each process measured by itself", s.copies), fabric.Subject{})
	}
	if s.limitedBy != "" {
		s.showText("what settings allow", "prediction", s.limitedBy, fabric.Subject{})
	}
	s.measureLatency()
}

func (s *shape) slowSizes() string {
	text := ""
	for i, n := range s.slow[:min(len(s.slow), 12)] {
		if i > 0 {
			text += ", "
		}
		text += bytesText(n)
	}
	return text
}

// fall finds a larger size with a quarter of the bandwidth of a smaller one among the numbers of an observation.
func (s *observed) fall() string {
	points := s.filter(func(p point) bool { return acrossNodes(p) && p.size > 0 && p.busbw > 0 && p.steady() && p.pair == nil })
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.size, b.size) })
	least := leastBehind(points)
	for i, p := range points {
		if least[i] > p.busbw/cliffDrop {
			continue
		}
		for _, q := range points[i+1:] {
			if sameTest(p, q) && q.size > p.size && q.busbw <= p.busbw/cliffDrop {
				return fmt.Sprintf("%s GB/s at %s, %s GB/s at %s", number(p.busbw), bytesText(p.size), number(q.busbw), bytesText(q.size))
			}
		}
	}
	return ""
}

func sameTest(p, q point) bool { return p.collective == q.collective && p.nodes == q.nodes }

// leastBehind is, for each of points in the order of their sizes, the least bandwidth of the same test at a larger size, GB/s;
// infinite where there is none.
func leastBehind(points []point) []float64 {
	type test struct {
		collective fabric.Collective
		nodes      int
	}
	type behind struct {
		size         int64   // of the last point
		larger, last float64 // the least at larger sizes, and with those of its own size
	}
	out, tests := make([]float64, len(points)), map[test]behind{}
	for i, p := range slices.Backward(points) {
		key := test{p.collective, p.nodes}
		b, known := tests[key]
		switch {
		case !known:
			b = behind{p.size, math.Inf(1), math.Inf(1)}
		case p.size < b.size:
			b.size, b.larger = p.size, b.last
		}
		out[i], b.last = b.larger, min(b.last, p.busbw)
		tests[key] = b
	}
	return out
}

// Ratios of measured to expected latency of small sizes from which it is named, and from which it is a fault
// (collectives.md, section 7: twice the table).
const latencyNamed, latencyFault = 2.0, 2.5

// measureLatency reads small sizes that take much longer than they should.
func (s *observed) measureLatency() {
	if r := s.shape.latency; r >= latencyNamed {
		s.showText("small sizes slow", "table", fmt.Sprintf("sizes up to %s take %.1f times what is expected", bytesText(smallest), r), fabric.Subject{})
		return
	}
	for _, p := range s.points {
		if p.us > 0 && p.quality == bad && p.test == "perftest" {
			s.show("small sizes slow", p)
			return
		}
	}
}
