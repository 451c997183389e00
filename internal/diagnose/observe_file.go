package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// observations observes what a person knows.
func (o *observer) observations(f *fabric.Observations) {
	o.compare("the file states "+statedText(f.Hardware), f.Hardware)
	o.s.hw = filled(o.in.Hardware, f.Hardware)
	o.planned()
	o.resolve()
	for _, e := range f.Observed[:min(len(f.Observed), maxTexts)] {
		if e.Setting != "" {
			o.s.settings = append(o.s.settings, setting{name: e.Setting, value: e.Value, source: o.place(e)})
		}
	}
	for _, e := range f.Observed[:min(len(f.Observed), maxTexts)] {
		o.entry(e)
	}
	o.leeway()
	if len(f.Observed) == 0 {
		o.s.unusable = "the file holds no observation"
	}
}

// jitterShare is half of the tenth by which repeats of one run differ.
const jitterShare = 0.05

// leeway takes a number just under its band for healthy: people quote one run, and runs differ by as much.
func (o *observer) leeway() {
	for i := range o.s.points {
		p := &o.s.points[i]
		if p.quality == bad && p.busbw > 0 && p.expected.Low > 0 && p.busbw >= (1-jitterShare)*p.expected.Low {
			p.quality = good
			o.note("jitter", fmt.Sprintf("%s: %s GB/s is just under the band, as a single run may be", p.source, number(p.busbw)))
		}
	}
}

func (o *observer) place(e fabric.Observation) string {
	if e.Line > 0 {
		return fmt.Sprintf("observation, line %d", e.Line)
	}
	return "observation"
}

// entry reads an observation: its texts, then its numbers.
func (o *observer) entry(e fabric.Observation) {
	where := o.place(e)
	o.entryTexts(e, where)
	p := o.point(e)
	p.changed = e.Changed
	for _, v := range []*float64{e.BusBWGBs, e.AlgBWGBs, e.Gbps, e.US} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0) {
			o.s.unusable = fmt.Sprintf("%s has an impossible number: %v", where, *v)
			return
		}
	}
	if e.BusBWGBs != nil && *e.BusBWGBs == 0 && e.Test == "nccl" {
		o.s.shape.alone = true
		o.s.failed = append(o.s.failed, fabric.Evidence{Source: where, Value: "a bus bandwidth of 0"})
	}
	if p.busbw > 0 || p.gbps > 0 || p.us > 0 {
		o.s.points = append(o.s.points, o.judged(p, e))
		return
	}
	if p.test == "" || p.scope != scopeUnknown {
		o.s.said = append(o.s.said, quantitiesIn(e.Fact+". "+e.Note)...)
	}
}

// entryTexts reads what an observation says in words.
func (o *observer) entryTexts(e fabric.Observation, where string) {
	for _, line := range e.Messages {
		o.message(line, where, e.Log == "")
	}
	switch {
	case e.Fact != "":
		o.readText(e.Fact, where)
	case e.Log != "" && len(e.Messages) == 0:
		o.readText(e.Log, where) // no program's message: people paste what they saw under any key
	}
	for _, v := range evidence.SettingsIn(e.Log, evidence.Seen{}) {
		o.s.settings = append(o.s.settings, setting{name: v.Name, value: v.Value, source: where})
	}
	o.copied(e, where)
	o.logText(e.Log)
	o.logText(e.Fact)
	o.entryOutcome(e, where)
	switch {
	case e.Changed != "" && e.BusBWGBs == nil && e.AlgBWGBs == nil && e.Gbps == nil && e.US == nil:
		o.s.seen = append(o.s.seen, evidence.Changed(e.Changed, strings.TrimSpace(e.Note+" "+e.Outcome), "", evidence.Seen{Source: where, Own: true})...)
		o.readText(e.Changed+", "+e.Note, where)
	case e.Setting == "":
		o.readText(e.Note, where)
	}
}

// copied keeps what a copied line says of the run. Of which run it is, the person who copied it knows.
func (o *observer) copied(e fabric.Observation, where string) {
	text := cmp.Or(e.Log, e.Fact)
	switch e.LogLevel {
	case "":
	case fabric.LineError:
		o.doubt(where, "the log names a failure: "+text)
		o.s.copiedFailure = true
	default:
		o.fault(fabric.LogLine{Text: text, Level: e.LogLevel, Message: firstMessage(e.Messages)}, where)
	}
}

func firstMessage(lines []fabric.LogLine) string {
	for _, l := range lines {
		if l.Message != "" {
			return l.Message
		}
	}
	return ""
}

// entryOutcome reads how a test of an observation ended.
func (o *observer) entryOutcome(e fabric.Observation, where string) {
	if e.Outcome == "" || e.Outcome == "ok" {
		return
	}
	text := strings.TrimSpace(fmt.Sprintf("%s %s: %s %s", e.Test, e.Collective, e.Outcome, e.Note))
	how := evidence.Crash
	if e.Outcome == "hang" {
		how = evidence.Hang
	}
	o.s.failed = append(o.s.failed, fabric.Evidence{Source: where, Value: text})
	o.s.seen = append(o.s.seen, evidence.Outcome{How: how, Seen: evidence.Seen{Source: where, Text: text, Own: true}})
}

// point reads the numbers of an entry.
func (o *observer) point(e fabric.Observation) point {
	p := point{own: true, test: e.Test, collective: e.Collective, nodes: e.Nodes, size: e.Size, algorithm: e.Algorithm, pair: e.Pair}
	p.memory = e.Memory
	said := e.Note + ". " + e.Fact
	if p.memory == "" && ofGPUMemory().MatchString(said) && !ofHostMemory().MatchString(said) {
		p.memory = "gpu"
	}
	p.average = ofAverage().MatchString(said)
	if e.Test == "" && e.BusBWGBs != nil {
		p.test = "nccl" // an entry that says only what was changed is of the test above it
		p.collective = o.lastCollective()
	}
	if p.nodes == 0 && len(p.pair) == 2 {
		p.nodes = 2
	}
	if p.nodes == 0 && ofOneNode().MatchString(said) && p.test == "nccl" {
		p.nodes = 1
	}
	if p.nodes == 0 && p.test == "nccl" && o.s.hw.Nodes > 0 {
		p.nodes = o.s.hw.Nodes
		o.assume(fmt.Sprintf("a test with an unspecified number of nodes ran on all %d", p.nodes), "observation")
	}
	p.scope = scopeOf(p.nodes)
	if p.test == "perftest" {
		p.scope = scopeNet
	}
	for _, v := range []struct {
		from *float64
		to   *float64
	}{{e.BusBWGBs, &p.busbw}, {e.Gbps, &p.gbps}, {e.US, &p.us}} {
		if v.from != nil && valid(*v.from) {
			*v.to = *v.from
		}
	}
	if p.test == "nccl" && p.busbw == 0 && e.AlgBWGBs != nil && valid(*e.AlgBWGBs) {
		if f := p.collective.BusFactor(p.nodes * o.s.hw.GPUsPerNode); f > 0 {
			p.busbw = *e.AlgBWGBs * f
		}
	}
	p.source = o.sourceOf(p, e)
	return p
}

func (o *observer) sourceOf(p point, e fabric.Observation) string {
	if p.test == "nccl" {
		text := sourceOf(p)
		if p.size > 0 {
			text += ", " + bytesText(p.size)
		}
		if len(p.pair) == 2 {
			text += ", " + p.pair[0] + " and " + p.pair[1]
		}
		return strings.TrimLeft(text, ", ")
	}
	text := strings.TrimSpace(e.Test + " " + e.Tool)
	if p.memory != "" {
		text += ", " + p.memory + " memory"
	}
	return text
}

func (o *observer) lastCollective() fabric.Collective {
	for i := len(o.s.points) - 1; i >= 0; i-- {
		if c := o.s.points[i].collective; c != "" {
			return c
		}
	}
	return fabric.AllReduce
}

// bothWays finds a perftest that counted both directions.
var bothWays = pattern.New(`(?i)\bbidirectional|both (ways|directions)|\s-b\b`)

// What a text beside a number says of it.
var (
	ofGPUMemory  = pattern.New(`(?i)\b(?:gpu|device|cuda|rocm) (?:memory|buffers?)\b|--?use_(?:cuda|rocm)`)
	ofHostMemory = pattern.New(`(?i)\b(?:host|cpu) (?:memory|buffers?)\b|use_cuda=0`)
	ofAverage    = pattern.New(`(?i)\b(?:average|avg|mean)\b`)
	ofOneNode    = pattern.New(`(?i)\b(?:single|one)[- ]node\b|within (?:a|one) node`)
)

// judged compares a number with what should be: a collective with the model, perftest with the wire. A text
// beside the number may say what is normal, which serves where nothing else does.
func (o *observer) judged(p point, e fabric.Observation) point {
	switch p.test {
	case "nccl":
		o.collective(&p, e)
	case "perftest":
		if bothWays().MatchString(e.Note + " " + e.Tool) {
			p.gbps /= 2
		}
		o.rate(&p, 0, "")
	}
	value := p.busbw + p.gbps
	open := p.quality == unjudged || p.average && p.quality != bad
	if ref, firm := reference(e.Note+" "+e.Fact, value); ref > 0 && (open || firm && value < perftestLow*ref) {
		p.ratio, p.quality = value/ref, good
		if p.ratio < perftestLow {
			p.quality = bad
			for _, what := range evidence.SwitchesIn(e.Note + " " + e.Fact) { // bare metal gives more
				o.s.seen = append(o.s.seen, evidence.Contrast{What: what, Effect: evidence.Better, Seen: evidence.Seen{Source: o.place(e), Text: strings.TrimSpace(e.Note + " " + e.Fact), Own: true}})
			}
		}
		o.assume(fmt.Sprintf("%s is normal for %s", number(ref), p.source), "the text of the observation")
	}
	return p
}

func (o *observer) collective(p *point, e fabric.Observation) {
	size := p.size
	if size <= 0 {
		size = plateau / 2
		if !p.average {
			o.assume("a bandwidth without a size is that of large messages", "observation")
		}
	}
	hw := o.s.hw
	hw.Nodes = p.nodes
	if p.nodes == 0 || p.collective == "" {
		o.need("collective and nodes of each bandwidth")
		p.share = ringShare(p.busbw, hw)
		return
	}
	env := withEnv(o.in.Env, nil)
	for _, v := range o.s.settings {
		env[v.name] = v.value
	}
	if p.algorithm != "" {
		env["NCCL_ALGO"] = p.algorithm
	}
	if e.Protocol != "" {
		env["NCCL_PROTO"] = e.Protocol
	}
	job := Job{Collective: p.collective, Env: env, DType: dtypeIn(e.Note + " " + e.Fact), Version: o.version("")}
	o.s.job = job
	if p.average {
		o.averaged(p, hw, job)
		return
	}
	pred := o.predict(hw, job, []int64{size, plateau})
	if pred == nil || size == plateau && len(pred.Rows) < 2 {
		o.need(hardwareNeeded(hw))
		p.share = ringShare(p.busbw, hw)
		return
	}
	o.s.hw = filled(o.s.hw, pred.Hardware)
	if p.busbw == 0 { // a time
		if r := p.us / pred.Rows[0].TimeUS; p.size > 0 && p.size <= smallest {
			o.s.shape.latency = max(o.s.shape.latency, r)
		}
		return
	}
	if p.size > 0 && p.size <= smallest { // a bandwidth of a few bytes is a latency
		o.s.shape.latency = max(o.s.shape.latency, pred.Rows[0].BusBW/p.busbw)
		o.need("larger sizes (-e 8G)")
		return
	}
	p.judge(pred.Rows[0], pred.Rows[1].BusBW, filled(hw, pred.Hardware))
	if p.quality == unjudged {
		o.need("larger sizes (-e 8G)")
	}
	if p.changed == "" {
		o.checkLimitingSettings(*p, job)
	}
}

// averageFrom and averageTo are the sizes over which an average is assumed to be where it is unspecified: those of
// the published runs of nccl-tests on GKE (-b 1K -e 8G), in steps of two.
const averageFrom, averageTo = 1 << 10, 8 << 30

// averageLow is the share of the expected average under which an average is bad whatever sizes it is over: one
// or two sizes more at either end move it by a third.
const averageLow = 0.5

// averaged compares an average over all sizes. It can show a fault and never health: the sizes are unknown.
func (o *observer) averaged(p *point, hw fabric.Hardware, job Job) {
	var sizes []int64
	for n := int64(averageFrom); n <= averageTo; n *= 2 {
		sizes = append(sizes, n)
	}
	o.need("the bandwidth at a large size: an average over sizes depends on which they were")
	pred := o.predict(hw, job, sizes)
	if pred == nil {
		o.need(hardwareNeeded(hw))
		return
	}
	sum := 0.0
	for _, r := range pred.Rows {
		sum += r.BusBW
	}
	o.s.hw = filled(o.s.hw, pred.Hardware)
	p.expected = fabric.Expected{BusBW: sum / float64(len(sizes))}
	p.ratio = p.busbw / p.expected.BusBW
	o.assume("an average is over 1 KiB to 8 GiB in steps of two", "observation")
	if p.ratio < averageLow {
		p.quality = bad
	}
}

var dtype = pattern.New(`(?i)\b(u?int8)\b`)

func dtypeIn(text string) string { return strings.ToLower(dtype().FindString(text)) }

// measuredElsewhere finds a number that somebody measured where nothing is wrong, hoped one that somebody
// expects.
var (
	measuredElsewhere = pattern.New(`(?i)(?:normal(?:ly)?|healthy|reference|baseline|bare[- ]metal|good (?:pairs?|nodes?|ones)|otherwise|before|elsewhere|usual(?:ly)?)\D{0,24}?(\d+(?:\.\d+)?)(?:\s*(?:%|percent))?`)
	measuredAfter     = pattern.New(`(?i)(\d+(?:\.\d+)?)\s*(?:GB/s|Gb/s|Gbps)?\s*(?:is|are|was|were)?\s*(?:normal|healthy|usual|on bare metal|on other|elsewhere|before|for good|otherwise)`)
	hoped             = pattern.New(`(?i)(?:expect\w*|should be|vs\.?|versus|against|instead of|of about)\D{0,24}?(\d+(?:\.\d+)?)`)
	hopedAfter        = pattern.New(`(?i)(\d+(?:\.\d+)?)\s*(?:GB/s|Gb/s|Gbps)?\s*(?:is |was |were )?expected`)
)

// reference is a number of a text that the measured one should have been: above it, and not a hundred times.
// Firm is one that was measured.
func reference(text string, value float64) (ref float64, firm bool) {
	if len(text) > maxText {
		text = text[:maxText]
	}
	for i, form := range []*pattern.Regexp{measuredElsewhere(), measuredAfter(), hoped(), hopedAfter()} {
		for _, m := range form.FindAllStringSubmatch(text, 8) {
			ref, err := strconv.ParseFloat(m[1], 64)
			if err == nil && !strings.HasSuffix(m[0], "%") && ref > value && ref < 100*value {
				return ref, i < 2
			}
		}
	}
	return 0, false
}
