package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// curve predicts the sizes of the table and judges its plateau.
func (o *observer) curve(t *fabric.Table, job Job, ranks int) {
	o.nodesOf(job, ranks)
	o.s.job = job
	hw := o.s.hw
	sizes := sizesOf(t.Rows[:min(len(t.Rows), maxRows)])
	p := point{own: true, test: "nccl", collective: t.Collective, nodes: hw.Nodes, scope: scopeOf(hw.Nodes), algorithm: job.Env["NCCL_ALGO"]}
	p.source = sourceOf(p)
	if w := o.s.workers; w != nil {
		job = o.placed(job)
		p.nodes, p.scope = len(w.hosts), scopeNet // NVLink does not cross from one pod to another
		p.source = strings.TrimSpace(string(p.collective)+" "+p.algorithm) + ", " + w.text()
	}
	if leftOut(t) && o.s.unusable == "" {
		o.footerOnly(t, p, job)
		return
	}
	if len(sizes) == 0 || o.s.shape.alone || t.Copies > 1 {
		return
	}
	if o.s.unusable != "" { // a band of other machines would say nothing
		o.unpredicted(t, p, o.s.shape.factor)
		return
	}
	factor := t.Collective.BusFactor(ranks)
	if factor == 0 {
		factor = o.s.shape.factor
	}
	job = o.inForce(t, p, job, sizes, factor)
	o.s.job = job
	pred := o.predict(hw, job, append(slices.Clone(sizes), plateau))
	if pred == nil && o.suppose(t, p, job, sizes, factor) {
		pred = o.predict(o.s.hw, job, append(slices.Clone(sizes), plateau))
	}
	if pred == nil {
		o.need(o.machinesNeeded(t))
		o.unpredicted(t, p, factor)
		return
	}
	o.s.hw = filled(o.s.hw, pred.Hardware)
	rows, top := pred.Rows[:len(sizes)], pred.Rows[len(sizes)].BusBW
	large, smaller := o.judgeSizes(t, p, sizes, rows, top, factor)
	o.s.shape.latency = o.latency(t, rows, sizes)
	if len(large) == 0 {
		o.need(fmt.Sprintf("larger sizes: the largest of %s is still short of the plateau (-e 8G)", bytesText(sizes[len(sizes)-1])))
		o.unpredicted(t, p, factor)
		return
	}
	stands := o.judgePlateau(large)
	if stands.quality == bad {
		o.averageNote(t, sizes, job)
	}
	if high := stands.expected.High; high > 0 && stands.busbw > contradicts*high {
		o.doubt("rows", fmt.Sprintf("%s GB/s is %.1f times the most that is expected of the stated machines and network: the run was on others", number(stands.busbw), stands.busbw/high))
	}
	o.judgeHalves(t, large, factor)
	if i := slices.IndexFunc(smaller, func(p point) bool { return p.quality == above }); i >= 0 {
		o.doubt("rows", fmt.Sprintf("%s GB/s at %s is more than the bound of %s GB/s allows", number(smaller[i].busbw), bytesText(smaller[i].size), number(smaller[i].bound.BusBW)))
	}
	if low := below(smaller); 2*len(low) > len(smaller) && len(low) >= endRows {
		o.doubt("rows", fmt.Sprintf("the large sizes are not slow, but %d of %d smaller sizes lie below their bands: %s", len(low), len(smaller), rowsText(low)))
	}
	if text := sag(append(slices.Clone(smaller), large...)); text != "" {
		o.doubt("rows", text)
	}
	o.s.points = append(o.s.points, stands)
	o.checkReplaced(t, stands, job)
	o.checkLimitingSettings(stands, job)
}

// judgeSizes compares each size with its prediction: those of the plateau, where bandwidth decides, and the smaller
// ones, each in the order of the sizes. p is a point without its size, top the plateau in GB/s.
func (o *observer) judgeSizes(t *fabric.Table, p point, sizes []int64, rows []fabric.PredictionRow, top, factor float64) (large, smaller []point) {
	for i, size := range sizes {
		bus, ok := bestOf(t.Rows, size, factor)
		if !ok {
			continue
		}
		o.s.rows = append(o.s.rows, fabric.RowVerdict{Size: size, BusBW: bus, Expected: rows[i].BusBW, Low: rows[i].Band[0], High: rows[i].Band[1], Bound: rows[i].Bound.BusBW})
		q := p
		q.size, q.busbw = size, bus
		q.judge(rows[i], top, o.s.hw)
		if q.large {
			large = append(large, q)
		} else {
			smaller = append(smaller, q)
		}
	}
	return large, smaller
}

// endRows is how many of the largest sizes are the end of a curve: one or two slow rows may be jitter, three in a row
// at the end are what larger messages will see. Of 30 published healthy tables none has a large row below its band,
// and the one that its collectors call noisy has three of seven, the largest not among them.
const endRows = 3

// judgePlateau returns the row that stands for the large sizes, all of which count. They are slow where most of them
// are below their bands, or the end is; where fewer are, the largest within its band stands for them, and if that is
// not the largest size measured there is a doubt.
func (o *observer) judgePlateau(large []point) point {
	if i := slices.IndexFunc(large, func(p point) bool { return p.quality == above }); i >= 0 {
		return large[i]
	}
	low := below(large)
	last := large[len(large)-1]
	end := below(large[max(0, len(large)-endRows):])
	if len(low) == 0 {
		return last
	}
	o.note("low rows", fmt.Sprintf("%d of %d large sizes below the band: %s", len(low), len(large), rowsText(low)))
	if 2*len(low) > len(large) || len(end) == endRows {
		slow := low[len(low)-1]
		if len(low) > 1 {
			slow.quality = bad // rows that agree need no narrow band
		}
		return slow
	}
	for _, p := range slices.Backward(large) {
		if p.quality == good {
			if p.size != last.size {
				o.doubt("rows", fmt.Sprintf("the largest size measured is below its band: %s; a longer run (-n 100, -e 16G) decides whether that is jitter", rowsText([]point{last})))
			}
			return p
		}
	}
	return last
}

// sag is where larger messages are slower than smaller ones: after a size within its band, two or more in a row lie below
// theirs and move less than that size by more than a change of protocol costs (1/holeFactor). One such row is a hole; empty: nowhere.
func sag(points []point) string {
	for i, before := range points {
		if before.size < 1<<20 || before.busbw < before.expected.Low {
			continue
		}
		var low []point
		for _, p := range points[i+1:] {
			if p.busbw >= p.expected.Low {
				break
			}
			low = append(low, p)
		}
		if len(low) > 1 && low[0].busbw*holeFactor <= before.busbw {
			return fmt.Sprintf("larger messages are slower than smaller ones: %s GB/s at %s, but %s", number(before.busbw), bytesText(before.size), rowsText(low))
		}
	}
	return ""
}

// contradicts is how many times the upper edge of its band a measurement may be before it says that something else was
// measured than what is stated. The band holds what is uncertain of rates and settings: of the 238 rows from 64 MiB of
// the published tables the highest is 1.11 times its edge.
const contradicts = 1.5

// nodesOf derives the number of nodes from the ranks of the rows where nothing states it.
func (o *observer) nodesOf(job Job, ranks int) {
	if o.s.hw.Nodes > 0 || ranks == 0 || o.s.unusable != "" {
		return
	}
	pred := o.predict(o.s.hw, job, []int64{plateau})
	if pred == nil {
		return
	}
	if per := pred.Hardware.GPUsPerNode; per > 0 && ranks > per && ranks%per == 0 {
		o.s.hw.Nodes = ranks / per
		o.assume(fmt.Sprintf("%s, from %d ranks and %d GPUs per node", fabric.Count(o.s.hw.Nodes, "node"), ranks, per), "the rows")
	}
}

// judgeHalves doubts a table of which one half, in place or out of place, is slow at large sizes while the other is not:
// both move the same bytes, and a program uses one of them.
func (o *observer) judgeHalves(t *fabric.Table, large []point, factor float64) {
	slow := map[string][]point{}
	for _, p := range large {
		if p.busbw < p.expected.Low {
			continue // both are
		}
		for _, r := range t.Rows {
			if r.Size != p.size {
				continue
			}
			for _, h := range halves(r) {
				if bus, ok := h.busOf(p.size, factor); ok && bus < p.expected.Low {
					q := p
					q.busbw = bus
					slow[h.name] = append(slow[h.name], q)
				}
			}
		}
	}
	for _, name := range []string{"out of place", "in place"} {
		if low := slow[name]; 2*len(low) > len(large) && len(low) >= endRows {
			o.doubt("rows", fmt.Sprintf("%s is slow where the other half of the rows is not: %s", name, rowsText(low)))
		}
	}
}

// below are the points under their bands.
func below(points []point) []point {
	var low []point
	for _, p := range points {
		if p.busbw < p.expected.Low {
			low = append(low, p)
		}
	}
	return low
}

// rowsText lists points beside their bands, a few of them.
func rowsText(points []point) string {
	const most = 4
	var parts []string
	for _, p := range points[:min(len(points), most)] {
		parts = append(parts, fmt.Sprintf("%s %s of %s to %s GB/s", bytesText(p.size), number(p.busbw), number(p.expected.Low), number(p.expected.High)))
	}
	if more := len(points) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// unpredicted keeps the plateau as a number without a judgement.
func (o *observer) unpredicted(t *fabric.Table, p point, factor float64) {
	for _, r := range t.Rows[:min(len(t.Rows), maxRows)] {
		if bus, ok := bestOf([]fabric.Row{r}, r.Size, factor); ok && bus > p.busbw {
			p.busbw, p.size = bus, r.Size
		}
	}
	if p.busbw > 0 {
		p.share = ringShare(p.busbw, o.s.hw)
		o.s.points = append(o.s.points, p)
	}
}

// bestOf is the better half of the rows of a size.
func bestOf(rows []fabric.Row, size int64, factor float64) (float64, bool) {
	best, found := 0.0, false
	for _, r := range rows {
		if r.Size != size {
			continue
		}
		for _, h := range halves(r) {
			if b, ok := h.busOf(size, factor); ok {
				best, found = max(best, b), true
			}
		}
	}
	return best, found
}

// smallest is the largest size, in bytes, of which the time is latency alone.
const smallest = 8 << 10

// latency is the median of measured over expected time of the small sizes, of the faster half of each row; 1 for those within
// their band.
func (o *observer) latency(t *fabric.Table, rows []fabric.PredictionRow, sizes []int64) float64 {
	var ratios []float64
	for i, size := range sizes {
		if size > smallest {
			break
		}
		for _, r := range t.Rows {
			if r.Size != size || r.TimeUS == nil || !valid(*r.TimeUS) {
				continue
			}
			us := *r.TimeUS
			if r.InPlace != nil && r.InPlace.TimeUS != nil && valid(*r.InPlace.TimeUS) {
				us = min(us, *r.InPlace.TimeUS)
			}
			ratio := us / rows[i].TimeUS
			if low := rows[i].Band[0]; low > 0 && ratio <= rows[i].BusBW/low {
				ratio = min(ratio, 1) // within its band, which is wide where latencies are not known
			}
			ratios = append(ratios, ratio)
		}
	}
	return median(ratios)
}
