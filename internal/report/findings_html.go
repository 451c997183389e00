package report

import (
	"fmt"
	"io"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Checked describes the subject of a page of findings.
type Checked struct {
	Plan  *fabric.Plan     // nil without a cluster file
	Nodes []string         // whose facts were checked, in the order in which they came
	Lost  []fabric.Missing // nodes without facts, and why
	Info  PageInfo
}

// findingsView is the data of the page's template.
type findingsView struct {
	Frame          frame
	Failed         []block
	FailedMore     int
	Unknown        []block
	UnknownMore    int
	Waived         []block
	WaivedMore     int
	Nothing        string // shown instead of failures
	Passed, Scoped []ruleRow

	Switches     []switchRow // as they were read
	SwitchesMore int
	Note         string // what a proof from texts leaves open
}

// HTML writes the findings of a check as one page, under the summary of all that came. Findings that say the same of
// several subjects are one block, and every list has a bound, so that the page of 16,384 nodes stays under 1 MB.
func (g *Groups) HTML(w io.Writer, s fabric.Summary, of Checked) error {
	v := findingsView{
		Frame: frame{
			Page: fmt.Sprintf("%s: %s (check)", of.title(), s.Status()), Label: "check", Title: of.title(), Facts: of.facts(g.Lab),
			Status: s.Status().String(), Word: passWord(s.Status()), Sentence: g.answer(s).text(pageAnswer), Note: checksText(s) + ". " + exitNote(s.Status()),
			Tiles: []tile{
				{"fail", "failed", thousands(int64(s.Fail))}, {"unknown", "unknown", thousands(int64(s.Unknown))}, {"", "waived", thousands(int64(s.Waived))},
				{"pass", "passed", thousands(int64(s.Pass))}, {"", "not applicable", thousands(int64(s.NotApplicable))},
			},
		},
		Passed: ruleRows(g.passed.worstFirst()), Scoped: ruleRows(g.scoped.worstFirst()),
	}
	v.Failed, v.FailedMore = failedBlocks(g.failed.worstFirst())
	v.Unknown, v.UnknownMore = unknownBlocks(g.unknown.worstFirst())
	v.Waived, v.WaivedMore = caveatBlocks(waivedCaveats(g.waived))
	if len(g.Switches) > 0 {
		v.Switches, v.SwitchesMore = bounded(switchesAlike(g.Switches), pageBlocks)
		v.Note = printable(g.Note)
	}
	switch {
	case s.Pass+s.Fail+s.Unknown+s.Waived == 0:
		v.Nothing = "No rule gave a verdict, so nothing is known to have failed."
	case len(v.Failed) == 0:
		v.Nothing = "No rule failed."
	}
	return writePage(w, "findings.html.tmpl", v)
}

// unknownBlocks shows groups of findings that could not be evaluated, and says how many are left out.
func unknownBlocks(all []group) (blocks []block, more int) {
	all, more = bounded(all, pageBlocks)
	for _, g := range all {
		b := block{Kind: "unknown", Word: "unknown", Subject: g.spread.text(pageTerms), Title: g.first.Title, Rule: g.first.ID}
		b.add("Why", nonEmpty(g.reason()), false)
		b.add("Seen", g.seen(pageLines), false)
		b.add("Expected", g.lines(expected, pageLines), false)
		b.add("Fix", g.commands(pageTerms), true)
		blocks = append(blocks, b)
	}
	return blocks, more
}

func (c Checked) title() string {
	switch {
	case c.Plan != nil:
		return c.Plan.Name
	case len(c.Nodes) == 1:
		return c.Nodes[0]
	default:
		return fabric.Count(len(c.Nodes), "node")
	}
}

func (c Checked) facts(lab string) []pair {
	all := []pair{{"Nodes", thousands(int64(len(c.Nodes))) + " checked"}}
	if len(c.Nodes) > 1 {
		all = []pair{{"Nodes", thousands(int64(len(c.Nodes))) + " checked: " + draw.Names(c.Nodes, pageTerms)}}
	}
	if len(c.Lost) > 0 {
		names, more := bounded(c.Lost, pageTerms)
		text := ""
		for i, m := range names {
			if i > 0 {
				text += ", "
			}
			text += m.What
		}
		if more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		all = append(all, pair{"Without facts", text})
	}
	if lab != "" {
		all = append(all, pair{"Where", "a lab of network namespaces, " + lab})
	}
	compared := "no cluster file: only rules that apply everywhere"
	if c.Plan != nil {
		compared = "the plan of " + c.Plan.Name + ": " + fabric.Count(len(c.Plan.Nodes), "node")
	}
	return append(append(all, pair{"Compared with", compared}), c.Info.facts()...)
}
