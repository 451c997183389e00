package collective

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Predict returns the curve of a collective at sizes in bytes. A combination of algorithm and protocol that the
// library would not run is an error with the reason, and so is a size below 1.
func (c *Cluster) Predict(job Job, sizes []int64) (*fabric.Prediction, error) {
	what, err := check(job, sizes)
	if err != nil {
		return nil, err
	}
	job.Collective = what
	p := &fabric.Prediction{
		Meta:       fabric.NewMeta("Prediction"),
		Collective: job.Collective, Ranks: c.Ranks(), Nodes: c.hw.Nodes, Hardware: c.hw,
		Rows: make([]fabric.PredictionRow, len(sizes)), Assumptions: []fabric.Assumption{},
	}
	all := job
	job = c.reading(job)
	c, decided, err := c.decidedBy(job, p)
	if err != nil {
		return nil, err
	}
	if job.Placement != nil {
		p, err = c.predictPlaced(p, job, sizes, decided)
	} else {
		used, notes := c.configured(job)
		p.Assumptions = slices.Concat(p.Assumptions, c.assumed, notes, decided)
		err = used.describe(p, job, sizes)
	}
	if err != nil {
		return nil, err
	}
	said, beyond := c.settingsSaid(all)
	p.Remarks, p.NotModelled = append(p.Remarks, said...), beyond
	return p, nil
}

// predictPlaced predicts the worst worker's share of the network, with a band up to what the best possible
// assignment of NICs would reach.
func (c *Cluster) predictPlaced(p *fabric.Prediction, job Job, sizes []int64, decided []fabric.Assumption) (*fabric.Prediction, error) {
	share, err := c.Share(job.Placement)
	if err != nil {
		return nil, err
	}
	low := c.placed(job.Placement, share.LowExits)
	p.Ranks, p.Nodes, p.Hardware = low.Ranks(), low.nodes(), low.hw
	low, notes := low.configured(job)
	notes = append(notes, fabric.Assumption{
		What:   fmt.Sprintf("the worst worker sends through %s with a near NIC", fabric.Count(share.LowExits, "GPU")),
		Source: "nccl, src/graph/paths.cc: GPUDirect RDMA up to PXB, and PXN",
	})
	p.Assumptions = slices.Concat(c.assumed, notes, decided)
	if err = low.describe(p, job, sizes); err != nil {
		return nil, err
	}
	if share.HighExits == share.LowExits {
		return p, nil
	}
	high, _ := c.placed(job.Placement, share.HighExits).configured(job)
	best := make([]fabric.PredictionRow, len(sizes))
	if _, err := high.fill(best, job, sizes); err != nil { // its table is that of the worst
		return nil, err
	}
	for i, r := range best {
		p.Rows[i].Band[1] = max(p.Rows[i].Band[1], r.Band[1])
		p.Rows[i].Bound = r.Bound
	}
	p.Assumptions = append(p.Assumptions, fabric.Assumption{
		What:   fmt.Sprintf("rows are for the worst assignment of NICs; bands reach up to the best, with %d", share.HighExits),
		Source: "the workers' NICs are unspecified",
	})
	return p, nil
}

// describe computes the rows, what is remarkable about them, what their bands hold, and the figures by which NCCL chooses.
func (c *Cluster) describe(p *fabric.Prediction, job Job, sizes []int64) error {
	options, err := c.fill(p.Rows, job, sizes)
	if err != nil {
		return err
	}
	p.Remarks = c.remarks(job, options, sizes)
	p.Assumptions = append(p.Assumptions, c.bandNote(job, options, sizes))
	if p.NCCL == "" {
		return nil
	}
	p.Tuning = make([]fabric.TuningCell, len(options))
	for i, o := range options {
		p.Tuning[i] = fabric.TuningCell{Collective: job.Collective, Algorithm: o.name(), Protocol: o.protocol.String(), LatencyUS: o.believed.latency, GBs: o.believed.bandwidth}
	}
	return nil
}

// fill computes the rows; it returns what the library may choose.
func (c *Cluster) fill(rows []fabric.PredictionRow, job Job, sizes []int64) ([]option, error) {
	if c.Ranks() == 1 {
		return nil, errors.New("hardware: a collective needs at least two GPUs")
	}
	options, err := c.enabled(job)
	if err != nil {
		return nil, err
	}
	pairs, direct := c.unlisted(job)
	loosest := options[0].bound // the limit of all algorithms that may run: a version or a tuner may choose another
	for _, o := range options {
		if o.bound.gbs > loosest.gbs {
			loosest = o.bound
		}
	}
	if direct && pairs.bound.gbs > loosest.gbs {
		loosest = pairs.bound
	}
	for i, size := range sizes {
		o := pick(options, size)
		if direct && size >= allPairsFrom && size <= allPairsTo {
			o = &pairs
		}
		rows[i] = c.row(job, o, loosest, size)
		c.otherChoice(&rows[i], job, options)
	}
	return options, c.newerVersion(rows, job, loosest)
}

// otherChoice lets the band of large sizes reach up to the fastest algorithm that may run: on two nodes trees pass rings by what the wire
// carries of them, and versions and tuners choose differently: 238 GB/s of two nodes of eight A100 with 16 NICs of 100 Gb/s, where
// rings reach 188 (oracle-quickstart/oci-hpc-oke).
func (c *Cluster) otherChoice(r *fabric.PredictionRow, job Job, options []option) {
	if c.nodes() != 2 || r.Size < plateauFrom {
		return
	}
	best := quickest(options, r.Size)
	r.Band[1] = min(r.Bound.BusBW, max(r.Band[1], best.busAt(r.Size, job.Collective.BusFactor(c.Ranks()))))
}

const maxSizes = 1 << 16

func check(job Job, sizes []int64) (fabric.Collective, error) {
	if len(sizes) == 0 || len(sizes) > maxSizes {
		return "", fmt.Errorf("sizes: %d are not between 1 and %d", len(sizes), maxSizes)
	}
	for _, s := range sizes {
		if s < 1 || s > 1<<50 {
			return "", fmt.Errorf("size %d is not between 1 B and 1 PiB", s)
		}
	}
	return fabric.ParseCollective(string(job.Collective))
}

// enabled returns the options that the library and the job allow.
func (c *Cluster) enabled(job Job) ([]option, error) {
	f, tuned := functionOf(job.Collective)
	if !tuned {
		if job.Collective != fabric.SendRecv && c.net.neighbours() {
			return nil, fmt.Errorf("%s needs a path between all machines: in a %s of %d without a switch each reaches only its neighbours", job.Collective, c.hw.Wiring, c.hw.Nodes)
		}
		return []option{c.peerToPeer(job)}, nil
	}
	e, err := readSettings(job, f)
	if err != nil {
		return nil, err
	}
	all := c.options(f, e)
	if !e.forced {
		return all, nil
	}
	var some []option
	for _, o := range all {
		if e.algorithms[o.algorithm] && e.protocols[o.protocol] {
			some = append(some, o)
		}
	}
	if len(some) == 0 {
		return nil, c.whyNone(f, e)
	}
	return some, nil
}

// unlisted returns what RCCL runs instead of its table's algorithms, unless the job requests one of these.
func (c *Cluster) unlisted(job Job) (option, bool) {
	f, tuned := functionOf(job.Collective)
	if !tuned || !c.gpu.amd || job.Env["NCCL_ALGO"] != "" || job.Env["NCCL_PROTO"] != "" {
		return option{}, false
	}
	return c.allPairs(f, job)
}

// whyNone returns why nothing that the environment allows would run.
func (c *Cluster) whyNone(f function, e settings) error {
	if c.gpu.amd {
		return errors.New("RCCL does not run it: it has Tree and Ring with LL and Simple, and on one node not Tree with Simple")
	}
	for a := range algorithms {
		for _, p := range []Protocol{Simple, LL128, LL} { // reasons that all algorithms share come before those of some
			if e.algorithms[a] && e.protocols[p] {
				if why := c.refuses(f, a, p, e); why != "" {
					return fmt.Errorf("%s with %s: NCCL does not run it: %s", a, p, why)
				}
			}
		}
	}
	return errors.New("NCCL_ALGO and NCCL_PROTO leave no algorithm")
}

// even is how close two options of RCCL are to count as equal: its tables changed by more from version to version. The
// faster of such options is taken.
const even = 1.03

// pick returns the option that the library estimates to be fastest at a size; of equal ones the first.
func pick(options []option, size int64) *option {
	var times [int(algorithms) * int(protocols)]float64
	least := math.Inf(1)
	for i := range options {
		times[i] = options[i].choice(size)
		least = min(least, times[i])
	}
	best, fastest := &options[0], math.Inf(1)
	for i := range options {
		if times[i] == least && !options[i].rough {
			return &options[i]
		}
		if times[i] <= least*even {
			if t := options[i].time(size); t < fastest {
				best, fastest = &options[i], t
			}
		}
	}
	return best
}

// row fills in the numbers of a size.
func (c *Cluster) row(job Job, o *option, bound ceiling, size int64) fabric.PredictionRow {
	t := max(c.launched(job, size, o.time(size)), float64(size)/(1000*o.bound.gbs))
	factor := job.Collective.BusFactor(c.Ranks())
	algbw := float64(size) / t / 1000
	r := fabric.PredictionRow{
		Size: size, TimeUS: t, AlgBW: algbw, BusBW: algbw * factor,
		Algorithm: o.name(), Protocol: o.protocol.String(),
		NICGBs: algbw * o.wire,
		Bound:  fabric.Bound{BusBW: bound.gbs * factor, Element: bound.element},
	}
	around := c.spanOf(job, o, size)
	r.Band = [2]float64{r.BusBW / around.slow, min(r.BusBW/around.fast, r.Bound.BusBW)}
	return r
}
