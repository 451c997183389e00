package report

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// whyNotFewer returns why fewer machines are not enough: of the layouts refused on fewer nodes, or on fewer GPUs
// of the one node, the largest that memory refuses, for which there is no remedy; else the largest.
func whyNotFewer(s *fabric.Sizing, plan *fabric.SizingPlan) string {
	if plan == nil || !plan.Fits {
		if plan != nil && len(plan.Limits) > 0 {
			return printable(plan.Limits[0])
		}
		if len(s.Refused) > 0 {
			return refusedText(s.Refused[len(s.Refused)-1])
		}
		return ""
	}
	for _, other := range s.Plans {
		if other.Fits && other.GPUs < plan.GPUs {
			return "Fewer are enough: " + machinesText(s, other) + "; this one is " + orElse(printable(plan.Role), "the first of the list") + "."
		}
	}
	if plan.GPUs == 1 {
		return "One GPU is the minimum."
	}
	best, n := largestFewer(s.Refused, plan)
	if best == nil {
		return "Whether fewer are enough was not checked."
	}
	text := "Not fewer: " + layoutText(*best) + ": " + strings.TrimSuffix(printable(best.Reason), ".")
	if n > 1 {
		what := "GPUs"
		if plan.Nodes > 1 {
			what = "machines"
		}
		text += fmt.Sprintf("; %s on fewer %s were refused", fabric.Count(n-1, "more layout"), what)
	}
	return text + "."
}

// largestFewer is of the layouts refused on fewer machines than a plan has, or on fewer GPUs of its one machine, the
// largest that memory refuses, else the largest; and how many there are.
func largestFewer(refused []fabric.Refused, plan *fabric.SizingPlan) (best *fabric.Refused, n int) {
	better := func(r fabric.Refused) bool {
		if best == nil {
			return true
		}
		if memory, bestMemory := r.Rule == memoryRule, best.Rule == memoryRule; memory != bestMemory {
			return memory
		}
		return r.GPUs > best.GPUs
	}
	for i, r := range refused {
		if r.Nodes < plan.Nodes || plan.Nodes <= 1 && r.GPUs < plan.GPUs {
			n++
			if better(r) {
				best = &refused[i]
			}
		}
	}
	return best, n
}

// memoryRule is the rule of sizing that a layout breaks which the engine would take and the GPU does not hold.
const memoryRule = "memory"

// layoutText returns a refused layout and its GPUs.
func layoutText(r fabric.Refused) string {
	layout := printable(orElse(r.Layout, "a layout"))
	if r.GPUs > 0 {
		return fabric.Count(r.GPUs, "GPU") + " as " + layout
	}
	return layout
}

// refusedText returns a refused layout, why, and what works.
func refusedText(r fabric.Refused) string {
	text := layoutText(r) + ": " + strings.TrimSuffix(printable(r.Reason), ".")
	if len(r.Nearest) > 0 {
		text += "; nearest layouts that work: " + nearestText(r.Nearest)
	}
	return text + "."
}

// refused writes the layouts that were refused, folded by rule: the rule, which layouts, the reason of the
// largest, and the nearest that work. With Verbose each is listed.
func (p *printer) refused(s *fabric.Sizing) {
	if len(s.Refused) == 0 {
		return
	}
	p.heading("Refused: " + fabric.Count(len(s.Refused), "layout"))
	if p.o.Verbose {
		list, more := bounded(s.Refused, refusedAll)
		for _, r := range list {
			p.refusedOne(r)
		}
		if more > 0 {
			p.line(fmt.Sprintf("... and %s; %s", fabric.Count(more, "more layout"), p.where()))
		}
		return
	}
	groups, more := bounded(refusedByRule(s.Refused), refusedGroups)
	for _, g := range groups {
		p.refusedGroup(g)
	}
	if more > 0 {
		p.line(fmt.Sprintf("... and %s; %s", fabric.Count(more, "more rule"), p.where()))
	}
}

func (p *printer) refusedOne(r fabric.Refused) {
	p.status("REFUSED", faint, "", layoutText(r)+": "+orElse(printable(r.Rule), "an unnamed rule"))
	p.fields("why", limited(printableAll(reasonsOf(r)), sizingLinesAll, p.where()))
	p.field("source", printable(r.Assert))
	p.field("nearest", nearestText(r.Nearest))
}

// reasonsOf are all reasons of a refused layout.
func reasonsOf(r fabric.Refused) []string {
	if len(r.Reasons) == 0 {
		return []string{r.Reason}
	}
	return r.Reasons
}

func (p *printer) refusedGroup(g refusedRule) {
	const names = 8
	var layouts []string
	for _, r := range g.all {
		layouts = append(layouts, short(orElse(r.Layout, "a layout"), longName))
	}
	layouts, more := bounded(slices.Compact(layouts), names)
	text := fabric.Count(len(g.all), "layout") + ": " + strings.Join(layouts, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	p.status("REFUSED", faint, short(orElse(g.rule, "an unnamed rule"), longName), text)
	r := g.all[len(g.all)-1]
	if len(g.all) == 1 {
		p.fields("why", limited(printableAll(reasonsOf(r)), p.sizingLimit(), p.where()))
	} else {
		p.field("why", layoutText(r)+": "+printable(r.Reason))
	}
	p.field("nearest", nearestText(r.Nearest))
}

// refusedRule is the layouts that one rule refuses first.
type refusedRule struct {
	rule string
	all  []fabric.Refused
}

func refusedByRule(all []fabric.Refused) []refusedRule {
	var groups []refusedRule
	index := map[string]int{}
	for _, r := range all {
		i, ok := index[r.Rule]
		if !ok {
			i = len(groups)
			index[r.Rule] = i
			groups = append(groups, refusedRule{rule: r.Rule})
		}
		groups[i].all = append(groups[i].all, r)
	}
	return groups
}

func nearestText(all []string) string {
	const most = 6
	list, more := bounded(printableAll(all), most)
	text := strings.Join(list, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
