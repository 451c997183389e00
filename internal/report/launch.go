package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Launches writes how far launches are: the answer, first and last; of each group its cause or its stall with the line that
// says it, its stages, its pods where they differ, and its figures beside what was computed.
func Launches(w io.Writer, l *fabric.Launches, o TextOptions) error {
	p := newPrinter(o)
	if l == nil {
		l = &fabric.Launches{}
	}
	answer := launchAnswer(l)
	p.answerLine(answer)
	for i := range l.Groups {
		p.blank()
		p.launch(&l.Groups[i], len(l.Groups) > 1)
	}
	p.blank()
	p.end(launchExit(l.Status()), answer)
	return p.writeTo(w)
}

func launchAnswer(l *fabric.Launches) answer {
	status := l.Status()
	a := answer{word: launchWord(status), color: statusColor(status)}
	if len(l.Groups) == 0 {
		a.terms = []string{"no log has a line"}
	}
	for _, s := range []fabric.Status{fabric.Fail, fabric.Unknown, fabric.Pass} { // the worst first
		for _, g := range l.Groups {
			if g.Status == s {
				a.terms = append(a.terms, g.Group+": "+launchTerm(&g))
			}
		}
	}
	return a
}

func launchWord(s fabric.Status) string {
	switch s {
	case fabric.Pass:
		return "READY"
	case fabric.Fail:
		return "FAIL"
	}
	return "UNKNOWN"
}

func launchTerm(g *fabric.Launch) string {
	if c := g.Cause; c != nil {
		text := c.Title
		if c.Stage != "" {
			text += " in stage " + string(c.Stage)
		}
		return text + " (" + launchPlace(c.Pod, c.Rank, len(g.Pods)) + ")"
	}
	return g.Why
}

// launchPlace names a rank of a pod.
func launchPlace(pod, rank string, pods int) string {
	switch {
	case rank == "":
		return pod
	case pods < 2:
		return rank
	}
	return pod + " " + rank
}

func launchExit(s fabric.Status) string {
	switch s {
	case fabric.Pass:
		return "exit status 0: every launch is ready"
	case fabric.Fail:
		return "exit status 1: a launch died and cannot become ready"
	}
	return "exit status 2: no line says that it is ready, none that it died"
}

// launch writes a group; why it is open or ready where the answer has others beside it.
func (p *printer) launch(g *fabric.Launch, several bool) {
	p.status(launchWord(g.Status), statusColor(g.Status), g.Group, launchHead(g))
	if c := g.Cause; c != nil {
		p.launchFailure("cause", c, len(g.Pods))
	} else if several {
		p.field("state", g.Why)
	}
	p.launchStall(g)
	for _, d := range g.Died {
		p.launchFailure("before", &d, len(g.Pods))
	}
	for _, r := range g.Remarks {
		p.field("note", r.Text)
		p.field("line", launchLine(r.Pod, r.Line, r.Said))
	}
	if len(g.Missing) > 0 && g.Status != fabric.Pass {
		p.field("not seen", "ranks "+draw.Names(g.Missing, 12)+": no log has a line of them")
	}
	if len(g.Stages) > 0 {
		p.blank()
		p.table(stageColumns(g.Stages))
	}
	if len(g.Pods) > 1 {
		p.blank()
		p.table(podColumns(g.Pods))
	}
	p.launchNumbers(g)
	if p.o.Verbose {
		p.launchOthers(g)
	}
}

// launchHead says what is launched, as far as the logs tell.
func launchHead(g *fabric.Launch) string {
	engine := g.Engine
	if engine == "" {
		engine = "engine unknown"
	}
	terms := []string{strings.TrimSpace(engine + " " + g.Version)}
	if n := len(g.Pods); n > 1 {
		terms = append(terms, fabric.Count(n, "pod"))
	}
	if g.World > 0 {
		terms = append(terms, fabric.Count(g.World, "rank"))
	}
	if g.Network != "" {
		terms = append(terms, "NCCL over "+g.Network)
	}
	return strings.Join(append(terms, fabric.Count(g.Lines, "line")), ", ")
}

func (p *printer) launchFailure(label string, c *fabric.LaunchFailure, pods int) {
	text := c.Title
	if c.Stage != "" {
		text += ", in stage " + string(c.Stage)
	}
	if c.At != "" {
		text += ", " + c.At
	}
	if c.Start > 0 {
		text += fmt.Sprintf(", start %d of this pod", c.Start)
	}
	p.field(label, text)
	p.field("line", launchLine(launchPlace(c.Pod, c.Rank, pods+1), c.Line, c.Text))
	p.field("means", c.Means)
	p.field("fix", c.Fix)
}

// launchLine quotes a line with its place.
func launchLine(place string, line int, said string) string {
	if said == "" {
		return ""
	}
	if line > 0 {
		place += ":" + strconv.Itoa(line)
	}
	return place + "  " + said
}

func (p *printer) launchStall(g *fabric.Launch) {
	s := g.Stall
	if s == nil {
		return
	}
	if s.Seconds > 0 || s.Passed {
		p.field("silent", fmt.Sprintf("%.0f s without progress, of %.0f s that this stage may take (%s)", s.Seconds, s.Bound, s.BoundWhy))
	} else {
		p.field("bound", fmt.Sprintf("%.0f s without progress would be a stall (%s)", s.Bound, s.BoundWhy))
	}
	for _, c := range s.Candidates {
		p.field("perhaps", c.Text)
		p.field("line", launchLine(c.Pod, c.Line, c.Said))
	}
	if len(s.Candidates) == 0 {
		p.field("perhaps", "no line speaks for a reason")
	}
	p.field("ask", s.Ask)
}

func stageColumns(all []fabric.LaunchSpan) []column {
	stage, begin, end := column{name: "stage", left: true}, column{name: "begin", left: true, drop: 1}, column{name: "end", left: true, drop: 2}
	took, ranks, note := column{name: "took", unit: "s"}, column{name: "ranks", drop: 3}, column{name: "", left: true, drop: 4}
	for _, s := range all {
		stage.cells = append(stage.cells, string(s.Stage))
		begin.cells, end.cells = append(begin.cells, s.Begin), append(end.cells, s.End)
		took.cells = append(took.cells, secondsText(s.Seconds))
		ranks.cells = append(ranks.cells, zeroBlank(s.Ranks))
		note.cells = append(note.cells, spanNote(s))
	}
	return []column{stage, begin, end, took, ranks, note}
}

func secondsText(s float64) string {
	if s < 0 {
		return ""
	}
	return strconv.FormatFloat(s, 'f', 0, 64)
}

func zeroBlank(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func spanNote(s fabric.LaunchSpan) string {
	var terms []string
	if !s.Done && s.Stage != fabric.StageReady && s.Stage != fabric.StageServing {
		terms = append(terms, "not ended")
	}
	if s.Percent > 0 {
		terms = append(terms, fmt.Sprintf("%d %%", s.Percent))
	}
	if len(s.Behind) > 0 {
		terms = append(terms, "behind: "+draw.Names(s.Behind, 4))
	}
	if s.Spread >= 10 {
		terms = append(terms, fmt.Sprintf("%s was %.0f s after the first", s.Slowest, s.Spread))
	}
	return strings.Join(terms, ", ")
}

func podColumns(all []fabric.LaunchPod) []column {
	name, stage, starts := column{name: "pod", left: true}, column{name: "stage", left: true}, column{name: "starts"}
	ranks, last, exit := column{name: "ranks", left: true, drop: 2}, column{name: "last line", left: true, drop: 1}, column{name: "exit", left: true, drop: 3}
	for _, x := range all {
		name.cells = append(name.cells, fabric.Printable(x.Name))
		text := string(x.Stage)
		if x.Percent > 0 {
			text += fmt.Sprintf(" %d %%", x.Percent)
		}
		stage.cells = append(stage.cells, text)
		starts.cells = append(starts.cells, strconv.Itoa(x.Starts))
		ranks.cells = append(ranks.cells, rankRange(x.Ranks))
		last.cells, exit.cells = append(last.cells, x.Last), append(exit.cells, fabric.Printable(x.Exit))
	}
	return []column{name, stage, starts, ranks, last, exit}
}

// rankRange writes the first and the last of the ranks of a pod, which are in order.
func rankRange(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s to %s (%d)", names[0], names[n-1], n)
	}
}

// launchNumbers writes the figures, those that differ from what was computed with the reason that this speaks for.
func (p *printer) launchNumbers(g *fabric.Launch) {
	what, value, want := column{name: "figure", left: true}, column{name: "printed"}, column{name: "computed", drop: 1}
	unit, verdict := column{name: "", left: true}, column{name: "", left: true, drop: 2}
	var off []string
	for _, n := range g.Numbers {
		if n.Unit == "" && !p.o.Verbose && n.Compared != fabric.Above && n.Compared != fabric.Below {
			continue
		}
		what.cells, unit.cells = append(what.cells, strings.ReplaceAll(n.What, "_", " ")), append(unit.cells, n.Unit)
		value.cells = append(value.cells, numberRange(n))
		computed, word := "", ""
		if n.Compared != fabric.Uncompared {
			computed, word = numberText(n.Expected), string(n.Compared)
		}
		want.cells, verdict.cells = append(want.cells, computed), append(verdict.cells, word)
		if n.Words != "" && n.Compared != fabric.Within || n.Words != "" && p.o.Verbose {
			off = append(off, strings.ReplaceAll(n.What, "_", " ")+": "+n.Words)
		}
	}
	if len(what.cells) == 0 {
		return
	}
	p.blank()
	columns := []column{what, value, unit}
	if strings.Join(want.cells, "") != "" {
		columns = []column{what, value, unit, want, verdict}
	}
	p.table(columns)
	p.fields("compared", off)
}

func numberRange(n fabric.LaunchNumber) string {
	if n.Min == n.Max {
		return numberText(n.Max)
	}
	return numberText(n.Min) + " to " + numberText(n.Max)
}

func numberText(v float64) string {
	if v == float64(int64(v)) {
		return fabric.Thousands(int64(v))
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// launchOthers are the other lines that were told apart.
func (p *printer) launchOthers(g *fabric.Launch) {
	for _, f := range g.Failures {
		if g.Cause != nil && f.Line == g.Cause.Line && f.Pod == g.Cause.Pod {
			continue
		}
		p.field("also", f.Title)
		p.field("line", launchLine(launchPlace(f.Pod, f.Rank, len(g.Pods)+1), f.Line, f.Text))
	}
}
