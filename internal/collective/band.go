package collective

import "math"

// span is how much faster and slower than predicted healthy machines are, as factors on the time.
type span struct{ fast, slow float64 }

// anchor is a span at a size; between two sizes it goes from one to the other.
type anchor struct {
	size float64
	span
}

// anchors are read off the healthy tables of test/accuracy, of all clusters together: nine rows of ten lie inside.
// Small sizes jitter with the host, middle ones depend on versions, large ones on the wire alone.
func anchors() [8]anchor {
	return [8]anchor{
		{1 << 10, span{0.80, 1.45}},
		{1 << 16, span{0.85, 1.55}},
		{1 << 20, span{0.85, 1.50}},
		{1 << 24, span{0.87, 1.45}},
		{1 << 26, span{0.90, 1.30}},
		{1 << 28, span{0.93, 1.20}},
		{1 << 30, span{0.96, 1.10}},
		{1 << 32, span{0.96, 1.06}},
	}
}

// crowded is the span of many senders to one receiver, which settle only in very large sizes: alltoall on four
// nodes took up to 1.8 times as long between 16 MiB and 1 GiB (Broadcom 957608-AN209, 8.7.2.1).
func crowded(size float64) span {
	switch {
	case size < 1<<20:
		return span{0.80, 1.45}
	case size < 4<<30:
		return span{0.85, 1.95}
	default:
		return span{0.93, 1.15}
	}
}

// spanOf gives the span of an option at a size. What rests on rates that nobody measured is less sure.
func (c *Cluster) spanOf(o *option, size int64) span {
	s := float64(size)
	var out span
	if o.algorithm == algorithms && o.named == "" && c.nodes() > 2 {
		out = crowded(s)
	} else {
		out = between(anchors(), s)
	}
	if c.unmeasured {
		out.fast *= 0.92
		out.slow *= 1.15
	}
	return out
}

func between(all [8]anchor, s float64) span {
	if s <= all[0].size {
		return all[0].span
	}
	for i := range all[:len(all)-1] {
		low, high := all[i], all[i+1]
		if s < high.size {
			at := math.Log2(s/low.size) / math.Log2(high.size/low.size)
			return span{low.fast + (high.fast-low.fast)*at, low.slow + (high.slow-low.slow)*at}
		}
	}
	return all[len(all)-1].span
}
