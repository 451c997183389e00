package collective

import "strings"

// AllPairs names what RCCL runs for small sizes on a full mesh of XGMI links: each GPU reduces an eighth that it
// receives from all others at once, and sends it to all at once (rccl, README, MSCCL: for MI300X, one process per GPU).
const AllPairs = "MSCCL"

// Sizes for which RCCL has such an algorithm, bytes.
const (
	allPairsFrom = 1 << 10
	allPairsTo   = 4 << 20
)

// allPairs returns that option; ok is false where RCCL has none. Two phases of 1/g of the data on every link, in
// words of which half is a flag.
func (c *Cluster) allPairs(f function, job Job) (o option, ok bool) {
	if f != fnAllReduce || c.nodes() > 1 || c.local() != 8 || !strings.HasPrefix(c.gpu.gfx, "gfx94") ||
		c.eachLaunches(job) == float64(c.local()) || job.is("RCCL_MSCCL_ENABLE", 0) {
		return o, false
	}
	link := c.gpu.ring / float64(c.gpu.links)
	const phases, flags = 2, 2
	o = option{algorithm: algorithms, protocol: LL, named: AllPairs}
	o.alpha = c.rccl.base[Ring][LL] + phases*c.rccl.step[hwNVLink][Ring][LL]
	o.bulk = link * float64(c.local()) / (phases * flags)
	o.bound = ceiling{}.tighter(c.gpu.limit*float64(c.local())/(phases*float64(c.local()-1)), c.linkNames)
	return o, true
}
