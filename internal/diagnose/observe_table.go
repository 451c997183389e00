package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// table observes a curve: against itself, and against what its hardware should give.
func (o *observer) table(t *fabric.Table) {
	job := Job{Collective: t.Collective, Env: withEnv(o.in.Env, envOf(t.Config)), Processes: processes(t), Version: t.Library}
	if o.ran != nil {
		job.Tuning = o.ran.Tuning
	}
	for name, value := range job.Env {
		o.s.settings = append(o.s.settings, setting{name, value, "configuration of the table"})
	}
	o.hardware(t)
	ranks := t.Ranks
	if ranks == 0 && t.Copies < 2 {
		ranks = o.s.hw.Nodes * o.s.hw.GPUsPerNode
	}
	o.s.shape = newShape(t, ranks)
	sh := &o.s.shape
	if ranks == 0 && sh.ranks > 0 {
		ranks = sh.ranks
		o.assume(fmt.Sprintf("%d ranks, from bus over algorithm bandwidth", ranks), "the rows")
		o.spread(ranks)
	}
	o.tableNotes(t, ranks)
	if t.Config["dtype"] != "" {
		job.DType = t.Config["dtype"]
	} else if len(t.Rows) > 0 {
		job.DType = t.Rows[len(t.Rows)-1].Type
	}
	o.mayJudge(t, ranks)
	o.curve(t, job, ranks)
}

// hardware puts together what flags, table and banner say, in this order of trust.
func (o *observer) hardware(t *fabric.Table) {
	if t.Hardware != nil {
		o.s.hw = filled(o.s.hw, *t.Hardware)
	}
	var banner fabric.Hardware
	if len(t.Devices) > 0 {
		banner.GPU = gpuName(t.Devices[0].Name)
	}
	banner.Nodes = t.Nodes
	if t.Nodes > 0 && t.Ranks > 0 && t.Ranks%t.Nodes == 0 {
		banner.GPUsPerNode = t.Ranks / t.Nodes
	}
	if o.s.hw.Machine != "" {
		banner.GPU = "" // the machine's own
	}
	if stated := o.in.Hardware.Nodes; stated > 0 && t.Nodes > 0 && stated != t.Nodes {
		o.s.unusable = fmt.Sprintf("the flags state %d nodes and the banner %d", stated, t.Nodes)
	}
	o.s.hw = filled(o.s.hw, banner)
	o.spread(t.Ranks)
	if o.s.hw.Nodes == 1 && o.s.hw.Net == "" {
		o.s.hw.Net = "none"
	}
}

// spread derives the GPUs of a node from the ranks where only one of them is missing.
func (o *observer) spread(ranks int) {
	if hw := &o.s.hw; ranks > 0 && hw.Nodes > 0 && hw.GPUsPerNode == 0 && hw.Machine == "" && ranks%hw.Nodes == 0 {
		hw.GPUsPerNode = ranks / hw.Nodes
	}
}

// tableNotes returns what the table says of itself.
func (o *observer) tableNotes(t *fabric.Table, ranks int) {
	sh := &o.s.shape
	for _, m := range sh.misprints {
		o.note("misprint", m)
	}
	if f := footer(t, sh); f != "" {
		o.note("footer", f)
	}
	for _, h := range sh.holes {
		o.note("hole", h)
	}
	if sh.cliff != "" {
		o.note("cliff", sh.cliff)
	}
	if banner := len(t.Devices) > 0 || t.Library != "" || t.Ranks > 0; o.s.kind == fabric.NCCLTests && !t.Complete && banner {
		// rows that somebody pasted have neither banner nor footer: nothing of a run is missing
		o.note("truncated", "the table has no footer: it was cut off, or the run did not end")
	}
	if o.s.kind == fabric.NCCLTests && !t.Checked {
		o.note("check", "the results were not validated")
	}
	for _, u := range t.Unread[:min(len(t.Unread), 20)] {
		o.note(fmt.Sprintf("line %d", u.Line), u.Reason)
	}
	if ranks > 0 && sh.ranks > 0 && ranks != sh.ranks {
		o.note("ranks", fmt.Sprintf("the header has %d ranks, but bus over algorithm bandwidth is %.4f, that of %d ranks", ranks, sh.factor, sh.ranks))
	}
	if sh.wrong > 0 || t.OutOfBound != nil && *t.OutOfBound > 0 {
		o.s.failed = append(o.s.failed, fabric.Evidence{Source: "table", Value: fmt.Sprintf("%d wrong results in the rows, %s in the footer", sh.wrong, countText(t.OutOfBound))})
	}
	if sh.alone || t.Copies > 1 {
		o.s.failed = append(o.s.failed, fabric.Evidence{Source: "table", Value: fmt.Sprintf("every rank measured only itself: bus bandwidth 0, banner printed %d times", max(1, t.Copies))})
	}
}

func countText(n *int) string {
	if n == nil {
		return "no number"
	}
	return strconv.Itoa(*n)
}

// mayJudge finds what forbids a verdict on the numbers: a contradiction, or something unknown.
func (o *observer) mayJudge(t *fabric.Table, ranks int) {
	sh := &o.s.shape
	hw := o.s.hw
	switch {
	case o.s.unusable != "":
	case sh.absurd != "":
		o.s.unusable = "the table has an impossible number: " + sh.absurd
	case len(t.Rows) == 0 && len(t.Unread) > 0:
		o.s.unusable = "no row of the table can be read: " + t.Unread[0].Reason
	case len(t.Rows) == 0:
		o.s.unusable = "the table has no rows"
	case ranks > 0 && sh.ranks > 0 && !sameRanks(t.Collective, ranks, sh.factor):
		o.s.unusable = fmt.Sprintf("the header has %d ranks and the rows %d", ranks, sh.ranks)
	case ranks > 0 && hw.Nodes > 0 && hw.GPUsPerNode > 0 && hw.Nodes*hw.GPUsPerNode != ranks:
		o.s.unusable = fmt.Sprintf("%d nodes of %d GPUs are not %d ranks", hw.Nodes, hw.GPUsPerNode, ranks)
	case len(sh.misprints)*4 > len(t.Rows) && len(t.Rows) > 0:
		o.s.unusable = fmt.Sprintf("%d cells of %d rows contradict the others of their row", len(sh.misprints), len(t.Rows))
	}
	if ranks == 0 && !sh.alone {
		o.need("how many ranks took part: --nodes N and --gpus N")
	}
}

// sameRanks reports whether a factor, which is printed with limited digits, is that of so many ranks.
func sameRanks(c fabric.Collective, ranks int, factor float64) bool {
	want := c.BusFactor(ranks)
	return want == 0 || factor == 0 || !off(100*factor, 100*want) // cells near 100 GB/s decide
}

// curve predicts the sizes of the table and judges its plateau.
func (o *observer) curve(t *fabric.Table, job Job, ranks int) {
	hw := o.s.hw
	sizes := sizesOf(t.Rows[:min(len(t.Rows), maxRows)])
	p := point{own: true, test: "nccl", collective: t.Collective, nodes: hw.Nodes, scope: scopeOf(hw.Nodes), algorithm: job.Env["NCCL_ALGO"]}
	p.source = sourceOf(p)
	if len(sizes) == 0 || o.s.shape.alone || t.Copies > 1 {
		return
	}
	factor := t.Collective.BusFactor(ranks)
	if factor == 0 {
		factor = o.s.shape.factor
	}
	pred := o.predict(hw, job, append(slices.Clone(sizes), plateau))
	if pred == nil {
		o.need(hardwareNeeded(hw))
		o.unpredicted(t, p, factor)
		return
	}
	o.s.hw = filled(o.s.hw, pred.Hardware)
	rows, top := pred.Rows[:len(sizes)], pred.Rows[len(sizes)].BusBW
	best, large := o.judgeSizes(t, p, sizes, rows, top, factor)
	o.s.shape.latency = o.latency(t, rows, sizes)
	if large == 0 {
		o.need(fmt.Sprintf("larger sizes: the largest of %s is still short of the plateau (-e 8G)", bytesText(sizes[len(sizes)-1])))
		o.unpredicted(t, p, factor)
		return
	}
	if noisy := len(o.s.shape.slow) >= noisyRows; noisy && best.quality == bad && best.busbw >= (1-jitterShare)*best.expected.Low {
		best.quality = good
		o.note("jitter", fmt.Sprintf("%d isolated rows are slow, so %s GB/s, just under the band, counts as healthy", len(o.s.shape.slow), number(best.busbw)))
	}
	o.s.points = append(o.s.points, best)
	o.checkLimitingSettings(best, job)
}

// judgeSizes compares each size with its prediction. It gives the point that stands for the curve, and how many
// sizes are large; p is that point without its size, top the plateau in GB/s.
func (o *observer) judgeSizes(t *fabric.Table, p point, sizes []int64, rows []fabric.PredictionRow, top, factor float64) (best point, large int) {
	best, end, last := p, p, p
	for i := len(sizes) - 1; i >= 0; i-- {
		bus, ok := bestOf(t.Rows, sizes[i], factor)
		if !ok {
			continue
		}
		o.s.rows = append(o.s.rows, fabric.RowVerdict{Size: sizes[i], BusBW: bus, Expected: rows[i].BusBW, Low: rows[i].Band[0], High: rows[i].Band[1], Bound: rows[i].Bound.BusBW})
		q := p
		q.size, q.busbw = sizes[i], bus
		q.judge(rows[i], top, o.s.hw)
		if q.large {
			large++
			if last.quality != good && q.quality == good { // the largest size that is
				last = q
			}
			if q.ratio > best.ratio {
				best = q
			}
			if large <= plateauRows && q.ratio*endSlack > end.ratio {
				end = q
			}
		}
	}
	if last.quality == good && best.quality == good {
		best = last
	}
	// A curve that falls at its end, or that is low everywhere, is judged by its end.
	if end.busbw < endDrop*best.busbw || best.quality == bad {
		best = end
	}
	slices.Reverse(o.s.rows)
	return best, large
}

// plateauRows is how many of the largest sizes must all lie under endDrop of the best large one before the end
// of a curve counts and not its best: one row slow is jitter, three are a fault.
// Of these three the largest is shown unless another is better by more than endSlack.
const (
	plateauRows = 3
	endDrop     = 0.85
	endSlack    = 0.95
)

// noisyRows is from how many isolated slow rows on a table is noisy. Its plateau then carries some of the same
// jitter: jitterShare is taken off the band, half of the tenth by which repeats of such a run differ.
const (
	noisyRows   = 3
	jitterShare = 0.05
)

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

// latency is the median of measured over expected time of the small sizes, of the faster half of each row.
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
			ratios = append(ratios, us/rows[i].TimeUS)
		}
	}
	return median(ratios)
}

func scopeOf(nodes int) scope {
	switch {
	case nodes == 1:
		return scopeNode
	case nodes > 1:
		return scopeNet
	default:
		return scopeUnknown
	}
}

func sourceOf(p point) string {
	parts := []string{strings.TrimSpace(string(p.collective) + " " + p.algorithm)}
	switch {
	case p.nodes == 1:
		parts = append(parts, "1 node")
	case p.nodes > 1:
		parts = append(parts, fmt.Sprintf("%d nodes", p.nodes))
	}
	return strings.Join(parts, ", ")
}

// hardwareNeeded returns which flags are missing for a prediction.
func hardwareNeeded(hw fabric.Hardware) string {
	var flags []string
	if hw.GPU == "" && hw.Machine == "" {
		flags = append(flags, "--machine MACHINE")
	}
	if hw.Nodes == 0 {
		flags = append(flags, "--nodes N")
	}
	if hw.Nodes != 1 && hw.Machine == "" && (hw.NICsPerNode == 0 || hw.NICGbps == 0 || hw.Net == "") {
		flags = append(flags, "--nics N --rate GBPS --net FABRIC (or --machine, which sets all three)")
	}
	if len(flags) == 0 {
		return "hardware in the catalog: --machine MACHINE"
	}
	return "the hardware: " + strings.Join(flags, " ")
}

// envOf are the keys of a table's configuration that are environment variables.
func envOf(config map[string]string) map[string]string {
	env := map[string]string{}
	for k, v := range config {
		if k == strings.ToUpper(k) && strings.Contains(k, "_") {
			env[k] = strings.TrimSuffix(v, "?")
		}
	}
	return env
}

// processes is how many processes a node has: from the banner, the configuration, or what it says of the
// launch; 0: unknown.
func processes(t *fabric.Table) int {
	if n, err := strconv.Atoi(t.Config["procs"]); err == nil {
		return n
	}
	type process struct {
		host string
		pid  int
	}
	seen, hosts := map[process]bool{}, map[string]bool{}
	for _, d := range t.Devices {
		if d.PID > 0 {
			seen[process{d.Host, d.PID}] = true
			hosts[d.Host] = true
		}
	}
	if len(hosts) > 0 {
		return max(1, len(seen)/len(hosts))
	}
	if launch := t.Config["launch"]; strings.Contains(launch, "-g ") || strings.Contains(launch, "process per node") {
		return 1
	}
	return 0
}
