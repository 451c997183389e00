package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Bounds of an explanation, without and with Verbose: results in full, results in a line, plots, causes of
// a result, lines of evidence of a cause. However many results there are, the text stays a few screens, or
// with Verbose a few megabytes.
type explainBounds struct {
	full, folded, plots, causes, lines int
}

func boundsOf(o TextOptions) explainBounds {
	if o.Verbose {
		return explainBounds{full: 200, folded: 10000, plots: 50, causes: 50, lines: 50}
	}
	return explainBounds{full: 10, folded: 20, plots: 2, causes: 3, lines: 3}
}

// longName is the most characters of a file's name or of a cause's id.
const longName = 60

// Explanation writes the answer, then the verdict on every result and why, worst first: what was measured against what
// is healthy and what physics allows, what the result says of itself, the causes with the evidence for and
// against each, the plot, and what was assumed. Among several, healthy results take a line each, unless
// Verbose is set. Its last lines are the exit status and the answer again. Nil is written as unknown.
func Explanation(w io.Writer, x *fabric.Explanation, o TextOptions) error {
	p := newPrinter(o)
	if x == nil || len(x.Results) == 0 {
		answer := statusAnswer(fabric.Unknown, "", "there is no result to explain")
		p.answerLine(answer)
		p.end(exitMeaning(fabric.Unknown), answer)
		return p.writeTo(w)
	}
	results := worstFirst(x.Results)
	answer := explanationAnswer(results)
	p.answerLine(answer)
	if len(results) > 1 {
		p.heading(verdictCounts(results))
	}
	if err := p.results(results, boundsOf(o)); err != nil {
		return err
	}
	p.sources(x.Sources)
	p.blank()
	p.end(exitMeaning(x.Status()), answer)
	return p.writeTo(w)
}

// explanationAnswer is the answer of results, worst first: the verdict on one, or what is wrong with each of several.
func explanationAnswer(results []fabric.Explained) answer {
	word, color := verdictLook(results[0].Verdict)
	a := answer{word: word, color: color}
	if len(results) == 1 {
		a.terms = []string{explainedAnswer(results[0])}
		return a
	}
	for _, e := range results {
		if e.Verdict != fabric.VerdictHealthy {
			e.File = filepath.Base(e.File)
			a.terms = append(a.terms, nameOf(e)+" "+explainedShort(e, results[0].Verdict))
			if causes := shownCauses(e); badness(e.Verdict) > 0 && likeliest(e) != "" {
				a.brief = append(a.brief, nameOf(e)+" "+short(string(causes[0].ID), longName))
			} else {
				a.brief = append(a.brief, nameOf(e)+" "+strings.ToLower(verdictWord(e.Verdict)))
			}
		}
	}
	switch len(a.terms) {
	case 0:
		a.terms = []string{fabric.Count(len(results), "result")}
	case 1:
		a.brief = nil // a sentence may take more than one line
	}
	return a
}

// explainedAnswer is a result in a line: what was measured and the likeliest cause, or why there is no verdict.
func explainedAnswer(e fabric.Explained) string {
	numbers, cause, why := shortNumbers(e), likeliest(e), whyText(e)
	switch {
	case badness(e.Verdict) == 0 || numbers == "" && cause == "":
		return why
	case e.Verdict == fabric.VerdictHealthy:
		return orElse(numbers, why)
	case e.Verdict == fabric.VerdictFailed && cause != "":
		return cause + ": " + why
	case e.Verdict == fabric.VerdictFailed:
		return why
	case cause == "":
		return numbers + "; no known cause fits"
	case numbers == "":
		return cause
	default:
		return numbers + "; " + cause
	}
}

// explainedShort is a result among several: its likeliest cause, or why it is as it is. Beside a worse one, a result
// without a verdict is only that.
func explainedShort(e fabric.Explained, worst fabric.Verdict) string {
	switch cause := likeliest(e); {
	case badness(e.Verdict) == 0 && badness(worst) > 0:
		return "unknown"
	case cause != "" && badness(e.Verdict) > 0:
		return cause
	default:
		return whyText(e)
	}
}

func whyText(e fabric.Explained) string {
	return orElse(strings.TrimSuffix(e.Why, "."), "no reason was recorded")
}

// namedFrom is the confidence from which a cause is named: below it the cause is unknown, and may be this one.
const namedFrom = 0.35

// likeliest names the first cause of what is wrong, with its subject and its confidence; empty: there is none.
func likeliest(e fabric.Explained) string {
	causes := shownCauses(e)
	if len(causes) == 0 || causes[0].ID == fabric.CauseHealthy {
		return ""
	}
	c := causes[0]
	text := short(string(c.ID), longName)
	if c.Subject.Node != "" {
		text += " on " + c.Subject.String()
	}
	if c.Confidence < namedFrom {
		text = "perhaps " + text
	}
	if c.Confidence >= 0 && c.Confidence <= 1 {
		text += fmt.Sprintf(" (%.0f %%)", math.Floor(100*c.Confidence)) // never rounded up to certainty
	}
	return text
}

func worstFirst(all []fabric.Explained) []fabric.Explained {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b fabric.Explained) int { return cmp.Compare(badness(b.Verdict), badness(a.Verdict)) })
	return all
}

// badness orders the verdicts; one outside the closed set is unknown.
func badness(v fabric.Verdict) int {
	return map[fabric.Verdict]int{fabric.VerdictFailed: 3, fabric.VerdictDegraded: 2, fabric.VerdictHealthy: -1}[v]
}

// verdictLook is the word of a verdict and its colour.
func verdictLook(v fabric.Verdict) (word, color string) {
	switch badness(v) {
	case 3:
		return "FAILED", red
	case 2:
		return "DEGRADED", red
	case -1:
		return "HEALTHY", green
	default:
		return "UNKNOWN", yellow
	}
}

func verdictCounts(results []fabric.Explained) string {
	var parts []string
	for _, v := range []fabric.Verdict{fabric.VerdictFailed, fabric.VerdictDegraded, fabric.VerdictUnknown, fabric.VerdictHealthy} {
		if n := countVerdict(results, v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return fabric.Count(len(results), "result") + ": " + strings.Join(parts, ", ")
}

// results writes each in full, or in a line, up to the bounds.
func (p *printer) results(all []fabric.Explained, most explainBounds) error {
	full, folded, plots := 0, 0, most.plots
	for i, e := range all {
		healthy := e.Verdict == fabric.VerdictHealthy
		fold := full >= most.full || healthy && len(all) > 1 && !p.o.Verbose
		switch {
		case !fold:
			full++
			p.blank()
			p.explained(e, most)
			drawn, err := p.explainedCurve(e, plots > 0)
			if err != nil {
				return err
			}
			if drawn {
				plots--
			}
			if len(e.Assumed) > 0 {
				p.blank()
				p.assumptions(e.Assumed)
			}
		case folded < most.folded:
			if folded == 0 {
				p.blank()
			}
			folded++
			p.folded(e)
		default:
			p.line(fmt.Sprintf("... and %s; %s", fabric.Count(len(all)-i, "more result"), p.where()))
			return nil
		}
	}
	return nil
}

// folded is a result in a line.
func (p *printer) folded(e fabric.Explained) {
	word, color := verdictLook(e.Verdict)
	text := fabric.Printable(nameOf(e) + "  " + orElse(shortNumbers(e), e.Why))
	p.line(p.paint(color, word) + "  " + short(text, p.width()-len(word)-2))
}

// nameOf returns the position of a result, with the end of a long path.
func nameOf(e fabric.Explained) string {
	name := e.File
	switch name {
	case "", "-":
		name = "standard input"
	}
	if runes := []rune(name); len(runes) > longName {
		name = "…" + string(runes[len(runes)-longName+1:])
	}
	if e.Line > 1 {
		name += fmt.Sprintf(":%d", e.Line)
	}
	return name
}

// explained is a result in full, less its curve and its assumptions.
func (p *printer) explained(e fabric.Explained, most explainBounds) {
	word, color := verdictLook(e.Verdict)
	p.status(word, color, nameOf(e), cut(e.Why))
	p.field("measured", numbers(e))
	var notes []string
	for _, n := range e.Notes {
		notes = append(notes, evidenceText(n))
	}
	p.fields("note", limited(notes, most.lines, p.where()))
	causes := shownCauses(e)
	p.field("to decide", toDecide(e, causes))
	if len(causes) == 0 && badness(e.Verdict) > 0 {
		p.field("cause", "no known cause fits")
	}
	list, more := bounded(causes, most.causes)
	for i, c := range list {
		p.blank()
		label := "cause"
		if e.Verdict == fabric.VerdictHealthy {
			label = "remark" // on a result that needs no cause
		}
		p.cause(fmt.Sprintf("%s %d", label, i+1), c, most.lines)
	}
	if more > 0 {
		p.blank()
		p.line(fmt.Sprintf("  ... and %s; %s", fabric.Count(more, "more cause"), p.where()))
	}
	if text := repairText(e.Repair); text != "" {
		p.blank()
		p.field("repair", text)
	}
	p.steps(e)
}

// toDecide returns how to get a verdict where there is none; empty: there is one.
func toDecide(e fabric.Explained, causes []fabric.Cause) string {
	switch {
	case badness(e.Verdict) != 0, decidedByStep(e):
		return ""
	case e.Next != "":
		return e.Next
	case slices.ContainsFunc(causes, func(c fabric.Cause) bool { return c.Confirm != "" }):
		return "run what confirms the first cause below, and pass its output to explain as well"
	case e.Expected == nil:
		return "state the machines, so that there is an expected number to compare with: --machine ID --nodes N, or -f FILE with the cluster file"
	default:
		return "add more of the same run: its log with NCCL_DEBUG=INFO next to the result, or --snapshot PATH with the facts of the hosts"
	}
}

// cause is one cause, with the evidence for and against it.
func (p *printer) cause(label string, c fabric.Cause, lines int) {
	text := p.paint(bold, short(fabric.Printable(string(c.ID)), longName)) + "  " + confidence(c.Confidence)
	if c.Subject.Node != "" {
		text += ", " + fabric.Printable(cut(c.Subject.String()))
	}
	p.line(p.label(label) + text)
	p.fields("+ for", p.evidence(c.Evidence, lines))
	p.fields("- against", p.evidence(c.Against, lines))
	p.advice("confirm", c.Confirm)
	p.advice("fix", c.Fix)
	p.field("gain", gainText(c.Gain))
}

// advice writes commands ready to be copied, each on its line; a sentence about commands is wrapped.
func (p *printer) advice(label, text string) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			label = ""
		}
		if command, _, _ := strings.Cut(line, " # "); sentence(command) {
			p.field(label, line)
		} else {
			p.commands(label, oneLine(line))
		}
	}
}

// sentence distinguishes words from a command by their punctuation: a colon or a comma at the end of a word.
func sentence(text string) bool {
	for _, word := range strings.Fields(text) {
		if len(word) > 1 && (strings.HasSuffix(word, ":") || strings.HasSuffix(word, ",")) {
			return true
		}
	}
	return false
}

func (p *printer) evidence(all []fabric.Evidence, most int) []string {
	var lines []string
	for _, e := range all {
		lines = append(lines, evidenceText(e))
	}
	return limited(lines, most, p.where())
}

func evidenceText(e fabric.Evidence) string {
	if e.Source == "" {
		return cut(e.Value)
	}
	return cut(e.Value) + " (" + cut(e.Source) + ")"
}

// limited cuts a list of lines and says how many were left out, and where they are.
func limited(lines []string, most int, where string) []string {
	lines, more := bounded(lines, most)
	if more > 0 {
		lines = append(slices.Clip(lines), fmt.Sprintf("and %d more; %s", more, where))
	}
	return lines
}

// confidence writes a confidence as a word and a number. The likeliest of ten causes that nothing
// distinguishes is still possible, so only less than a tenth is unlikely.
func confidence(v float64) string {
	if !(v >= 0 && v <= 1) {
		return "confidence unknown"
	}
	word := "unlikely"
	switch {
	case v >= 0.8:
		word = "very likely"
	case v >= 0.5:
		word = "likely"
	case v >= 0.1:
		word = "possible"
	}
	return fmt.Sprintf("%s (%.0f %%)", word, math.Floor(100*v)) // never rounded up to certainty
}
