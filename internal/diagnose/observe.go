package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Bounds of what is read of one result, so that a hostile file costs no more than a large honest one.
const (
	maxRows  = 4096
	maxTexts = 2000
)

// observer turns a result into what was seen.
type observer struct {
	in    Input
	by    around
	texts int // read so far
	s     *observed
}

// around is what stands beside a result in the files of a call.
type around struct {
	ran    *fabric.NCCLLog    // of the run that printed this table; nil: none was given
	noted  *fabric.Notes      // of its file; nil: none
	first  bool               // it is the first result of its file, to which the numbers of notes belong
	others []*fabric.Perftest // of its file
}

// aroundOf finds what stands around a result.
func aroundOf(results []fabric.Result, noted []*fabric.Notes, i int) around {
	a := around{ran: runLog(&results[i], results), noted: noted[i], first: true}
	for j := range results {
		if j == i || results[j].File != results[i].File {
			continue
		}
		a.first = a.first && j > i
		if t, ok := results[j].Content.(*fabric.Perftest); ok {
			a.others = append(a.others, t)
		}
	}
	return a
}

// runLog is the log that belongs to a table: of the same file, or the only one of the call. Two logs are two runs,
// and which of them is the table's is unknown then.
func runLog(r *fabric.Result, results []fabric.Result) *fabric.NCCLLog {
	var same, given []*fabric.NCCLLog
	for i := range results {
		if l, ok := results[i].Content.(*fabric.NCCLLog); ok {
			given = append(given, l)
			if results[i].File == r.File {
				same = append(same, l)
			}
		}
	}
	_, table := r.Content.(*fabric.Table)
	switch {
	case !table:
	case len(same) == 1:
		return same[0]
	case len(given) == 1:
		return given[0]
	}
	return nil
}

func observe(r *fabric.Result, in Input, by around) *observed {
	o := observer{in: in, by: by, s: &observed{file: r.File, line: r.Line, kind: r.Kind, hw: in.Hardware}}
	o.recognised(by.noted)
	switch c := r.Content.(type) {
	case *fabric.Notes:
	case *fabric.Table:
		o.table(c)
	case *fabric.Perftest:
		o.perftest(c)
	case *fabric.NCCLLog:
		o.log(c)
	case *fabric.Observations:
		o.observations(c)
	default:
		o.s.unusable = "read, not judged yet: results of this kind are not evaluated"
	}
	if by.noted != nil && by.first && spark(o.s.hw) {
		o.notes(by.noted)
	}
	return o.s
}

// readText reads what a person says; more than maxTexts is noted, not read.
func (o *observer) readText(text, source string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	switch o.texts++; {
	case o.texts == maxTexts+1:
		o.note(source, fmt.Sprintf("only the first %d texts were read", maxTexts))
		fallthrough
	case o.texts > maxTexts:
		return
	}
	seen := evidence.Seen{Source: source, Own: true}
	found := evidence.Read(text, seen)
	o.s.seen = append(o.s.seen, found...)
	o.s.guest = o.s.guest || guest().MatchString(text)
	if slices.ContainsFunc(found, func(e evidence.Evidence) bool { _, tried := e.(evidence.Contrast); return tried }) {
		return // an experiment is no setting of the job
	}
	for _, v := range evidence.SettingsIn(text, seen) {
		o.s.settings = append(o.s.settings, setting{name: v.Name, value: v.Value, source: source})
	}
}

// guest finds that a text speaks of a virtual machine.
var guest = pattern.New(`(?i)\b(?:vms?|guests?|virtual machines?|proxmox|esxi|kvm|hypervisor)\b`)

func (o *observer) note(source, value string) {
	o.s.notes = append(o.s.notes, fabric.Evidence{Source: source, Value: value})
}

func (o *observer) doubt(source, value string) {
	o.s.doubts = append(o.s.doubts, fabric.Evidence{Source: source, Value: value})
}

func (o *observer) assume(what, source string) {
	a := fabric.Assumption{What: what, Source: source}
	if !slices.Contains(o.s.assumed, a) {
		o.s.assumed = append(o.s.assumed, a)
	}
}

func (o *observer) need(what string) {
	if !slices.Contains(o.s.needs, what) {
		o.s.needs = append(o.s.needs, what)
	}
}

// sizesOf are the sizes of the points in order, each once.
func sizesOf(rows []fabric.Row) []int64 {
	var sizes []int64
	for _, r := range rows {
		if r.Size > 0 {
			sizes = append(sizes, r.Size)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// predict asks the model, and says what stands in the way where it cannot answer.
func (o *observer) predict(hw fabric.Hardware, job Job, sizes []int64) *fabric.Prediction {
	if o.in.Predict == nil || len(sizes) == 0 {
		return nil
	}
	if hw.Nodes > 1 && hw.Machine == "" && hw.NICsPerNode == 0 && hw.NICGbps == 0 && !spark(hw) {
		return nil // a guess at the network would be a guess at the verdict
	}
	p, err := o.in.Predict(hw, job, sizes)
	if err != nil {
		o.assume("the expected bandwidth of this hardware is unknown: "+err.Error(), "prediction")
		return nil
	}
	if p == nil || len(p.Rows) != len(sizes) || !sane(p.Rows) {
		o.assume("the expected bandwidth of this hardware is unknown: the prediction has no number for some size", "prediction")
		return nil
	}
	for _, a := range p.Assumptions {
		o.assume(a.What, a.Source)
	}
	return p
}

func sane(rows []fabric.PredictionRow) bool {
	return !slices.ContainsFunc(rows, func(r fabric.PredictionRow) bool {
		return !valid(r.BusBW) || !valid(r.TimeUS) || !valid(r.Band[0]) || !valid(r.Band[1]) || !valid(r.Bound.BusBW)
	})
}

// plateau is the size of which the bandwidth is asked to know how far up a curve goes: 16 GiB, the largest
// size that nccl-tests users commonly reach.
const plateau = 16 << 30

// nearPlateau is the share of the plateau from which a size counts as large: there bandwidth decides and not
// latency, and the prediction is at its surest.
const nearPlateau = 0.8

// nearBand is the share of the lower end of a wide band down to which a result is not called slow.
const nearBand = 0.9

// middling is the share of what is expected from which a size short of the plateau is not called slow: there a
// protocol or an algorithm more or less moves a healthy result by as much.
const middling = 0.4

// artefact is how far above the bound a number may be before the hardware is not what was said: rounding and
// the spread of a line rate, in parts of one.
const artefact = 1.02

// judge compares a point with its row of a prediction. top is the plateau of the same curve in GB/s.
func (p *point) judge(row fabric.PredictionRow, top float64, hw fabric.Hardware) {
	p.expected = fabric.Expected{BusBW: row.BusBW, Low: row.Band[0], High: row.Band[1]}
	p.bound = &row.Bound
	p.large = row.BusBW >= nearPlateau*top
	p.ratio = p.busbw / row.BusBW
	if row.NICGBs > 0 && hw.NICGbps > 0 {
		p.share = row.NICGBs * p.ratio / (hw.NICGbps / 8)
	}
	switch {
	case p.busbw > artefact*row.Bound.BusBW:
		p.quality = above
	case p.large && p.busbw < row.Band[0] && p.busbw >= nearBand*row.Band[0] && row.Band[0] < wideBand*row.Band[1]:
		p.quality = unjudged // just under a band that is wide, because the model is not sure
	case p.busbw < row.Band[0] && !p.large && p.ratio >= middling:
		p.quality = unjudged // between latency and plateau the prediction is not sure enough
	case p.busbw < row.Band[0]:
		p.quality = bad
	default:
		p.quality = good
	}
}

// ringShare is the share of line rate that a ring puts on each NIC: busbw over the NICs of a node, for
// collectiveVotes whose ring moves busbw through each node (collectives.md, section 2).
func ringShare(busbw float64, hw fabric.Hardware) float64 {
	if hw.NICsPerNode <= 0 || hw.NICGbps <= 0 {
		return 0
	}
	return busbw / (float64(hw.NICsPerNode) * hw.NICGbps / 8)
}

// gpuName makes a short name of what a banner says: "NVIDIA H100 80GB HBM3" is h100.
func gpuName(banner string) string {
	for _, w := range strings.FieldsFunc(strings.ToLower(banner), func(r rune) bool { return r == ' ' || r == '-' || r == '_' }) {
		digits := strings.IndexAny(w, "0123456789")
		if digits > 0 && !strings.HasPrefix(w, "hbm") && !strings.HasPrefix(w, "pcie") && !strings.HasPrefix(w, "sxm") {
			if strings.Contains(strings.ToLower(banner), "pcie") {
				return w + "-pcie"
			}
			return w
		}
	}
	return ""
}

// withEnv puts b over a.
func withEnv(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		out[k] = v
	}
	return out
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.SortFunc(v, func(a, b float64) int { return cmp.Compare(a, b) })
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// bytesText prints a size as people say it: 64 KiB.
func bytesText(n int64) string {
	for _, u := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

// integer is the nearest whole number, or 0 where v is none that could count something.
func integer(v float64) int {
	if math.IsNaN(v) || v < 0.5 || v > 1<<20 {
		return 0
	}
	return int(math.Round(v))
}
