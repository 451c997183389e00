package serving

import (
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/sizing"
)

// Curve is the time of an all-reduce of so many bytes over so many ranks, in us; false where it is unknown.
type Curve func(bytes float64, ranks int) (us float64, known bool)

// Network is what joins the nodes of a replica.
type Network struct {
	Name  string // as it is printed beside the figures: "8 x 400 Gb/s ib", "tcp", "half the NICs"
	Curve Curve  // nil: unknown
}

// Point is one size of a curve.
type Point struct {
	Bytes  float64
	TimeUS float64
}

// CurveOf is a curve through points that were measured or predicted on so many ranks; it knows no other number of
// ranks. Between points it is straight in the logarithms. Below the smallest size the time stays, as it is latency
// there; above the largest it grows with the size.
func CurveOf(ranks int, points []Point) (Curve, error) {
	if ranks < 2 {
		return nil, fmt.Errorf("curve of an all-reduce: %d ranks: must be at least 2", ranks)
	}
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b Point) int {
		switch {
		case a.Bytes < b.Bytes:
			return -1
		case a.Bytes > b.Bytes:
			return 1
		}
		return 0
	})
	sorted = slices.CompactFunc(sorted, func(a, b Point) bool { return a.Bytes == b.Bytes })
	if len(sorted) < 2 {
		return nil, fmt.Errorf("curve of an all-reduce: %d sizes: must be at least 2", len(sorted))
	}
	for _, p := range sorted {
		if !(p.Bytes > 0) || !(p.TimeUS > 0) || math.IsInf(p.Bytes, 0) || math.IsInf(p.TimeUS, 0) {
			return nil, fmt.Errorf("curve of an all-reduce: size %g takes %g us: both must be above 0", p.Bytes, p.TimeUS)
		}
	}
	return func(bytes float64, n int) (float64, bool) {
		if n != ranks || math.IsNaN(bytes) || bytes < 0 {
			return 0, false
		}
		return between(sorted, bytes), true
	}, nil
}

func between(points []Point, bytes float64) float64 {
	last := points[len(points)-1]
	switch {
	case bytes <= points[0].Bytes:
		return points[0].TimeUS
	case bytes >= last.Bytes:
		return last.TimeUS * bytes / last.Bytes
	}
	i := 1
	for points[i].Bytes < bytes {
		i++
	}
	a, b := points[i-1], points[i]
	part := math.Log(bytes/a.Bytes) / math.Log(b.Bytes/a.Bytes)
	return a.TimeUS * math.Pow(b.TimeUS/a.TimeUS, part)
}

// firstSize is below what a decode step reduces: smaller rows of a table are latency, and its first ones often
// carry the set-up of connections.
const firstSize = 1 << 10

// CurveOfTable is the curve of a measured all-reduce.
func CurveOfTable(t *fabric.Table) (Curve, error) {
	if t.Collective != fabric.AllReduce {
		return nil, fmt.Errorf("table %q: collective %s: must be all_reduce", t.ID, t.Collective)
	}
	var points []Point
	for _, r := range t.Rows {
		if r.TimeUS != nil && r.Size >= firstSize {
			points = append(points, Point{Bytes: float64(r.Size), TimeUS: *r.TimeUS})
		}
	}
	c, err := CurveOf(t.Ranks, points)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", t.ID, err)
	}
	return c, nil
}

// CurveOfPrediction is the curve of a predicted all-reduce.
func CurveOfPrediction(p *fabric.Prediction) (Curve, error) {
	if p.Collective != fabric.AllReduce {
		return nil, fmt.Errorf("prediction: collective %s: must be all_reduce", p.Collective)
	}
	var points []Point
	for _, r := range p.Rows {
		if r.Size >= firstSize {
			points = append(points, Point{Bytes: float64(r.Size), TimeUS: r.TimeUS})
		}
	}
	return CurveOf(p.Ranks, points)
}

// Curves joins curves of different numbers of ranks: the first that knows the number answers.
func Curves(all ...Curve) Curve {
	return func(bytes float64, ranks int) (float64, bool) {
		for _, c := range all {
			if c == nil {
				continue
			}
			if us, known := c(bytes, ranks); known {
				return us, true
			}
		}
		return 0, false
	}
}

// FewerNICs is the curve of a network with a part of the NICs of another, never below that one's: what a part of the NICs carries, all of
// them carry, and only the library's choice of an algorithm, which NCCL_ALGO and NCCL_PROTO settle, may be the better one of the part.
func FewerNICs(all, part Curve) Curve {
	return func(bytes float64, ranks int) (float64, bool) {
		us, known := part(bytes, ranks)
		if least, ok := all(bytes, ranks); ok {
			us = max(us, least)
		}
		return us, known
	}
}

// links times an all-reduce over the ranks of a machine.
type links struct {
	machine sizing.Machine
	network Network
}

// inside reports whether so many ranks are joined by NVLink or XGMI.
func (l links) inside(ranks int) bool {
	return l.machine.GPU.LinkGBs > 0 && ranks <= max(l.machine.ScaleUp, 1)
}

// reduce is the time of an all-reduce in seconds: inside the scale-up links by the faster of the engine's own kernel
// and the library, else by the network's curve.
func (l links) reduce(bytes float64, ranks int) (s float64, known bool) {
	switch {
	case ranks < 2:
		return 0, true
	case l.inside(ranks):
		n := float64(ranks)
		moved := 2 * (n - 1) / n * bytes / l.linkRate(ranks)
		return min(engineLatency+moved/engineShare, libraryLatency+moved/libraryShare), true
	case l.network.Curve == nil:
		return 0, false
	}
	us, known := l.network.Curve(bytes, ranks)
	return us * 1e-6, known
}

// linkRate is what a GPU sends over its scale-up links to so many ranks, B/s. Behind an NVSwitch it is all of them;
// a GPU of AMD has a link of its own to each other GPU, so a part of the machine uses a part of the links.
func (l links) linkRate(ranks int) float64 {
	rate := l.machine.GPU.LinkGBs * 1e9
	if all := l.machine.PerNode; l.machine.Vendor == "amd" && all > 1 && ranks < all {
		rate *= float64(ranks-1) / float64(all-1)
	}
	return rate
}

// send is the time in seconds to hand activations to the next pipeline stage: inside the links their rate, across
// nodes that of an all-reduce of two ranks, which sends every byte once in each direction.
func (l links) send(bytes float64, across bool) (s float64, known bool) {
	if !across && l.inside(2) {
		return engineLatency + bytes/(libraryShare*l.linkRate(2)), true
	}
	if l.network.Curve == nil {
		return 0, false
	}
	us, known := l.network.Curve(bytes, 2)
	return us * 1e-6, known
}
