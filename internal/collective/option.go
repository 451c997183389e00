package collective

import "math"

// option is an algorithm with a protocol that the library may choose for a collective on a cluster: the
// library's estimate of it, and its real behaviour.
type option struct {
	algorithm Algorithm
	named     string // name where it is not one of NCCL's algorithms
	protocol  Protocol
	believed  cell    // the library's estimate, by which it chooses
	measured  cell    // the same from the newest tables of the library
	shares    *shares // by size, share of believed.bandwidth; nil: all of it
	long      float64 // factor on believed.latency once a ring's channels are full
	full      int64   // bytes from which that is

	rough       bool  // the library's estimate is known within 3 percent only
	least, most int64 // sizes for which the library has it, above least and up to most; 0 and 0: all

	alpha  float64 // us before the first byte has arrived
	fabric float64 // us that the fabric adds
	bulk   float64 // GB/s of algorithm bandwidth at large sizes
	spread float64 // share by which alpha grows once small sizes use many channels
	late   float64 // us more from size above on
	from   int64
	rise   func(size float64) float64 // us to fill and drain the pipeline; nil: none
	held   *shares                    // of bulk; nil: all of it
	wire   float64                    // bytes of the busiest NIC per byte of size
	bound  ceiling
}

// ceiling is the algorithm bandwidth that an algorithm cannot exceed, and what limits it.
type ceiling struct {
	gbs     float64
	element string
}

// tighter keeps the lower of two bounds.
func (b ceiling) tighter(gbs float64, element string) ceiling {
	if b.element == "" || gbs < b.gbs {
		return ceiling{gbs, element}
	}
	return b
}

// slot is the index of a size among powers of two from 64 B.
func slot(size int64) int {
	if size < 64 {
		return 0
	}
	return min(log2(int(size>>6)), 26)
}

// choice is the time by which the library chooses, us; infinite where it does not run the option.
func (o *option) choice(size int64) float64 {
	if o.believed.bandwidth <= 0 || o.most > 0 && (size <= o.least || size > o.most) {
		return math.Inf(1)
	}
	latency := o.believed.latency
	if o.full > 0 && size >= o.full {
		latency *= o.long
	}
	bandwidth := o.believed.bandwidth
	if o.shares != nil {
		bandwidth *= o.shares[slot(size)]
	}
	return latency + float64(size)/(1000*bandwidth)
}

// time is how long the option takes, us.
func (o *option) time(size int64) float64 {
	s := float64(size)
	t := o.fabric + o.alpha*(1+o.spread*s/(s+oneChannel)) + s/(1000*o.bulk*o.heldAt(s))
	if o.rise != nil {
		t += o.rise(s)
	}
	if o.late > 0 && size > o.from {
		t += o.late
	}
	return t
}

// oneChannel is the bytes that NCCL sends in one channel with LL: 512 threads of 8 bytes (nccl, src/graph/tuning.cc,
// threadThresholds). Larger sizes use more channels, each of which has to be started and posted.
const oneChannel = 4096

// pipeline is the time to fill and to drain a pipeline: passes times the time of the bytes in flight;
// smaller sizes fill only a part of it.
func pipeline(passes, inFlight, bulk float64) func(float64) float64 {
	return func(size float64) float64 { return passes * inFlight / (1000 * bulk) * size / (size + inFlight) }
}

// pieces is the same for what moves in whole pieces, of which inFlight bytes are one for each block. Below one a size fills
// nothing: its way through all stages is what the library's latency is of; from some on the pipeline is full. The form is that of
// two nodes of H100 by NVLSTree from 1 MiB to 16 GiB (NVIDIA/nccl-tests issue 309), where it takes 0.07 of the full time at half
// a piece, 0.4 at one, 0.8 at two and all at four.
func pieces(passes, inFlight, bulk float64) func(float64) float64 {
	const sharp, half = 2.5, 1.5
	return func(size float64) float64 {
		r := math.Pow(size/inFlight, sharp)
		return passes * inFlight / (1000 * bulk) * r / (r + half)
	}
}

// heldAt is the share of bulk at a size. Between two powers of two it is interpolated geometrically,
// so that with rising (see settle) a larger size never takes less time.
func (o *option) heldAt(s float64) float64 {
	if o.held == nil {
		return 1
	}
	if s < 64 {
		return o.held[0]
	}
	at := math.Log2(s / 64)
	i := int(at)
	if i >= len(o.held)-1 {
		return o.held[len(o.held)-1]
	}
	if o.held[i] == o.held[i+1] {
		return o.held[i]
	}
	return o.held[i] * math.Pow(o.held[i+1]/o.held[i], at-float64(i))
}

// settle raises the shares that would make twice the size faster than once: such entries of a table are
// for sizes at which it is never chosen.
func settle(of shares) shares {
	for i := len(of) - 2; i >= 0; i-- {
		of[i] = max(of[i], of[i+1]/1.99)
	}
	return of
}

func (o *option) name() string {
	if o.named != "" {
		return o.named
	}
	return o.algorithm.String()
}
