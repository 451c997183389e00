package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Bounds of a sizing: lines of one list without and with Verbose, plans and speeds of the tables, and groups of refused
// layouts. However much was searched, the text stays a few screens.
const (
	sizingLines    = 6
	sizingLinesAll = 200
	plansShown     = 12
	speedShown     = 24
	refusedGroups  = 8
	refusedAll     = 500
)

// Sizing writes what a model needs on given machines: the answer, why not fewer, the command that starts the
// engine, the memory of one rank, the plans, the layouts that were refused and why, how fast it is and what
// limits it, the effect of the network, storage and platform, and what was assumed. Its last lines are the
// exit status and the answer again. A sizing without any layout is written as not evaluated.
func Sizing(w io.Writer, s *fabric.Sizing, o TextOptions) error {
	p := newPrinter(o)
	if s == nil || len(s.Plans)+len(s.Refused) == 0 {
		answer := statusAnswer(fabric.Unknown, "", "no layout of the model was tried")
		p.answerLine(answer)
		p.end("exit status 2: no layout was tried", answer)
		return p.writeTo(w)
	}
	plan := mainPlan(s)
	answer, exit := sizingAnswer(s, plan), "exit status 1: no layout fits"
	if s.Status() == fabric.Pass {
		exit = "exit status 0: a layout fits"
	}
	p.answerLine(answer)
	if s.ModelAssumed != "" {
		p.field("assumed", modelName(s))
	}
	p.field("", whyNotFewer(s, plan))
	p.subject(s)
	if plan != nil {
		p.plan(s, *plan)
		if err := p.ledger(s, *plan); err != nil {
			return err
		}
	}
	if err := p.plans(s); err != nil {
		return err
	}
	p.refused(s)
	if plan != nil {
		p.performance(*plan)
	}
	p.storage(s.Storage)
	if len(s.Assumptions) > 0 {
		p.blank()
		p.assumptions(s.Assumptions)
	}
	p.blank()
	p.end(exit, answer)
	return p.writeTo(w)
}

// mainPlan is the first plan that fits, else the first; nil where there is none.
func mainPlan(s *fabric.Sizing) *fabric.SizingPlan {
	for i := range s.Plans {
		if s.Plans[i].Fits {
			return &s.Plans[i]
		}
	}
	if len(s.Plans) > 0 {
		return &s.Plans[0]
	}
	return nil
}

// sizingAnswer is how many machines and which layout. That the architecture of a model was taken from another is part of it;
// from which one, the line below it says.
func sizingAnswer(s *fabric.Sizing, plan *fabric.SizingPlan) answer {
	a := answer{word: "FITS", color: green}
	joint, text := " on ", answerText(s, plan)
	if s.Status() != fabric.Pass {
		a, joint = answer{word: "DOES NOT FIT", color: red}, ": "
	}
	a.terms, a.brief = []string{modelName(s) + joint + text}, []string{text}
	if s.ModelAssumed != "" {
		a.brief = []string{s.Model + " (architecture assumed)" + joint + text}
	}
	return a
}

func answerText(s *fabric.Sizing, plan *fabric.SizingPlan) string {
	if plan == nil || !plan.Fits {
		machine := printable(orElse(s.Machine, "these machines"))
		switch {
		case plan != nil:
			return "no layout fits on " + machine + "; nearest: " + machinesText(s, *plan)
		case len(s.Refused) == 1:
			return "the requested layout does not work on " + machine
		default:
			return fmt.Sprintf("none of the %s tried works on %s", fabric.Count(len(s.Refused), "layout"), machine)
		}
	}
	return machinesText(s, *plan)
}

// machinesText returns the machines and the layout of a plan.
func machinesText(s *fabric.Sizing, plan fabric.SizingPlan) string {
	return fmt.Sprintf("%d x %s, %s", plan.Nodes, printable(orElse(s.Machine, "unspecified machine")), draw.PlanName(plan))
}

// subject is the model, the GPU and the engine.
func (p *printer) subject(s *fabric.Sizing) {
	p.blank()
	p.fields("model", modelLines(s))
	p.field("GPU", gpuText(s.GPU))
	p.field("engine", strings.TrimSpace(printable(s.Engine.Name)+" "+printable(s.Engine.Version)))
	p.field("requested", requestText(s))
}

func modelLines(s *fabric.Sizing) []string {
	x := s.Parameters
	parameters := count1e9(x.Total) + " parameters"
	if x.Active > 0 && x.Active < x.Total {
		parameters += ", " + count1e9(x.Active) + " active per token"
	}
	if x.MTP > 0 {
		parameters += ", and " + count1e9(x.MTP) + " of MTP"
	}
	if x.Vision > 0 {
		parameters += ", and " + count1e9(x.Vision) + " of vision"
	}
	weights := fmt.Sprintf("weights %s on disk, %s loaded (known from %s)", gibText(s.DiskBytes), gibText(s.WeightsBytes), printable(orElse(s.Certainty, "an unknown source")))
	kv := fmt.Sprintf("KV cache %s B per token in %s", thousands(s.KVBytesPerToken), printable(orElse(s.KVDType, "an unspecified dtype")))
	if s.StateBytes > 0 {
		kv += ", and " + draw.Bytes(s.StateBytes) + " of state per request"
	}
	return []string{parameters, weights, kv}
}

func gpuText(g fabric.SizingGPU) string {
	parts := []string{printable(orElse(g.Name, "GPU")) + " of " + gibText(g.MemoryBytes)}
	add := func(v float64, format string) {
		if finite(v) && v > 0 {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(g.BandwidthGBs, "memory %.5g GB/s")
	add(g.TFLOPS, "%.5g TFLOPS dense bf16")
	add(g.LinkGBs, "link %.5g GB/s one way")
	if g.Unified {
		parts = append(parts, "shared with the CPU")
	}
	text := strings.Join(parts, ", ")
	if g.Source != "" {
		text += " (" + printable(g.Source) + ")"
	}
	return text
}

func requestText(s *fabric.Sizing) string {
	if s.Context <= 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s tokens", fabric.Count(max(s.Concurrency, 1), "request"), thousands(s.Context))
	if s.ModelContext > 0 {
		text += fmt.Sprintf("; the model supports %s", thousands(s.ModelContext))
	}
	return text
}

// plan is the first plan in full: how to start it, what it holds, what the engine will print.
func (p *printer) plan(s *fabric.Sizing, x fabric.SizingPlan) {
	p.blank()
	if p.start(x); len(x.Start) > 0 {
		p.blank()
	}
	p.field("holds", holdsText(s, x))
	p.field("fraction", fractionText(x))
	p.field("", printable(x.Fraction.Effect))
	var prints []string
	for _, e := range x.Prints {
		prints = append(prints, printable(e.What)+" "+printText(e))
	}
	prints, more := bounded(prints, 2*p.sizingLimit())
	if more > 0 {
		prints = append(prints, fmt.Sprintf("and %d more; %s", more, p.where()))
	}
	if len(prints) > 0 {
		p.field("prints", strings.Join(prints, "; "))
	}
	p.fields("note", limited(printableAll(x.Limits), p.sizingLimit(), p.where()))
	if best := bestBeside(s, x); best != nil {
		p.blank()
		p.field("best", machinesText(s, *best)+": "+holdsText(s, *best))
		p.start(*best)
	}
}

// start is the commands that start a plan, each with the servers that run it.
func (p *printer) start(x fabric.SizingPlan) {
	label := "start"
	for _, c := range x.Start {
		p.commands(label, commandLines(c.Words, p.width()-fieldIndent))
		p.field("", printable(c.On))
		label = ""
	}
}

// bestBeside is the plan that is best where another one is shown in full; nil where there is none.
func bestBeside(s *fabric.Sizing, shown fabric.SizingPlan) *fabric.SizingPlan {
	for i, x := range s.Plans {
		if x.Role == fabric.RoleBest && x.Fits && shown.Role != fabric.RoleBest {
			return &s.Plans[i]
		}
	}
	return nil
}

func (p *printer) sizingLimit() int {
	if p.o.Verbose {
		return sizingLinesAll
	}
	return sizingLines
}

func holdsText(s *fabric.Sizing, x fabric.SizingPlan) string {
	parts := []string{thousands(x.KVTokens) + " tokens of KV cache"}
	if finite(x.Requests) && x.Requests > 0 && s.Context > 0 {
		parts = append(parts, fmt.Sprintf("%s concurrent requests of %s tokens", draw.Rate(x.Requests), thousands(s.Context)))
	}
	if x.MaxContext > 0 {
		parts = append(parts, "one request up to "+thousands(x.MaxContext)+" tokens")
	}
	if x.MaxRunning > 0 {
		parts = append(parts, "at most "+thousands(x.MaxRunning)+" running requests")
	}
	if x.FreeBytes != 0 {
		parts = append(parts, draw.GiB(float64(x.FreeBytes))+" GiB free after start")
	}
	return strings.Join(parts, ", ")
}

// fractionText returns the memory fraction and its valid range.
func fractionText(x fabric.SizingPlan) string {
	text := ratio(x.MemFraction)
	f := x.Fraction
	var parts []string
	for _, of := range []struct {
		what string
		v    float64
	}{{"the engine's default", f.Default}, {"recommended", f.Recommended}} {
		if finite(of.v) && of.v > 0 {
			parts = append(parts, of.what+" "+ratio(of.v))
		}
	}
	if finite(f.Low) && finite(f.High) && f.High > 0 && f.Low <= f.High {
		parts = append(parts, "valid from "+ratio(math.Ceil(f.Low*1000)/1000)+" to "+ratio(math.Floor(f.High*1000)/1000)) // to the safe side
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// printText is a figure as the engine prints it: engines write GB and mean GiB.
func printText(e fabric.EnginePrint) string {
	switch {
	case !finite(e.Value):
		return "?"
	case e.Unit == "GiB":
		return fmt.Sprintf("%.2f GB (GiB)", e.Value)
	case e.Unit == "ratio":
		return ratio(e.Value)
	case e.Value == float64(int64(e.Value)):
		return strings.TrimSpace(thousands(int64(e.Value)) + " " + printable(e.Unit))
	default:
		return strings.TrimSpace(draw.Rate(e.Value) + " " + printable(e.Unit))
	}
}

func (p *printer) ledger(s *fabric.Sizing, x fabric.SizingPlan) error {
	if len(x.Ledger) == 0 {
		return nil
	}
	p.blank()
	if err := p.ledgerText(draw.Ledger{Bars: []draw.LedgerBar{{Name: draw.PlanName(x), Memory: s.GPU.MemoryBytes, Entries: x.Ledger}}}); err != nil {
		return err
	}
	p.line(p.paint(faint, "  GiB is 2^30 bytes; engines print GB and mean GiB"))
	return nil
}

func (p *printer) ledgerText(l draw.Ledger) error {
	var b strings.Builder
	if err := draw.LedgerText(&b, l, p.width(), draw.CurveOptions{Color: p.o.Color, ASCII: p.o.ASCII}); err != nil {
		return err
	}
	p.b.WriteString(b.String()) // LedgerText cleans its names itself
	return nil
}
