package report

import (
	"fmt"
	"io"

	"railwright.dev/railwright/internal/fabric"
)

// pagePairs is how many groups of pods show the pairs of their first pod on a page.
const pagePairs = 20

// AllocationHTML writes what the claims of pods get as one page: the answer, equal pods as one block with the pairs of the
// first, what decides the alignment, what a collective reaches, and what was not understood.
func AllocationHTML(w io.Writer, a *fabric.Allocation, info PageInfo) error {
	if a == nil {
		a = &fabric.Allocation{}
	}
	f := frame{
		Label: "claims", Title: "What the claims get", Status: a.Status.String(), Word: passWord(a.Status),
		Sentence: allocationAnswer(a).text(pageAnswer), Note: allocationExit(a), Tiles: allocationTiles(a),
	}
	if text := slicesText(a); text != "" {
		f.Facts = append(f.Facts, pair{"Slices", printable(text)})
	}
	f.Facts = append(f.Facts, info.facts()...)
	f.Page = f.Title + ": " + f.Word
	groups := podGroupsOf(a)
	shown, more := bounded(groups, pageBlocks)
	v := allocationView{Frame: f, GroupsMore: more}
	for i, g := range shown {
		v.Groups = append(v.Groups, newPodView(a, g, i < pagePairs))
	}
	for _, r := range allocationFields(a) {
		r.Lines, _ = bounded(r.Lines, pageBlocks)
		r.Label = map[string]string{"order": "Order", "predict": "Collective", "slices": "Slices", "problem": "Not understood", "note": "Notes"}[r.Label]
		v.Around = append(v.Around, r)
	}
	return writePage(w, "claims.html.tmpl", v)
}

// allocationView is the data of the page's template.
type allocationView struct {
	Frame      frame
	Groups     []podView
	GroupsMore int
	Around     []row
}

// podView is a group of equal pods.
type podView struct {
	Block block
	Of    string // whose pairs are shown
	Pairs *pageTable
}

func newPodView(a *fabric.Allocation, g podGroup, withPairs bool) podView {
	status := g.status()
	v := podView{Block: block{Kind: status.String(), Word: statusWord(status), Subject: g.names(pageTerms), Title: g.titleIn(a)}}
	if u := g.lacks; u != nil {
		v.Block.add("Reason", nonEmpty(printable(u.Reason)), false)
		steps, _ := bounded(printableAll(u.Steps), pageBlocks)
		v.Block.add("Left", steps, false)
		v.Block.add("Works", nonEmpty(printable(u.Works)), false)
		return v
	}
	v.Block.add("Nodes", nonEmpty(g.nodes(pageTerms)), false)
	v.Block.add("NICs", nonEmpty(nicText(g.pods[0])), false)
	if first := g.pods[0]; withPairs && len(first.Pairs) > 0 {
		v.Pairs = newPageTable(pairColumns(first.Pairs))
		if len(g.pods) > 1 {
			v.Of = printable(first.Pod)
		}
	}
	return v
}

func allocationTiles(a *fabric.Allocation) []tile {
	c := countPods(a)
	all := []tile{
		{"fail", "pods without devices", fmt.Sprint(c.lacking)}, {"fail", "pods misaligned", fmt.Sprint(c.misaligned)},
		{"unknown", "pods unknown", fmt.Sprint(c.unknown + c.undecided)}, {"pass", "pods aligned", fmt.Sprint(c.aligned)},
		{"", fmt.Sprintf("of %s aligned", fabric.Count(a.TotalPairs, "pair")), countSpan(a.AlignedPairs)},
	}
	if x := a.Collective; x != nil {
		all = append(all, tile{"", "GB/s " + cut(x.Collective), span(x.BusBW.Min, x.BusBW.Max, "-")}, tile{"", "GB/s with all aligned", positive(x.Aligned)})
	}
	return all
}
