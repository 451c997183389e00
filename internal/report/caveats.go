package report

import (
	"fmt"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// caveat is something in a run that a reader must not take for a pass, and why.
type caveat struct {
	What   string
	Of     string // subjects as a range; empty for the run as a whole
	Reason string
	Items  []string // what exactly, where one reason covers several things
	Expect string
	Fix    []string
	Rule   string
	Tag    string
}

// What keeps something from being a pass.
const (
	tagUnknown = "unknown"
	tagWaived  = "waived"   // failing, and accepted for a while
	tagOmitted = "left out" // by the plan
	tagNotRead = "not read" // a fact
)

// Everything is the name of the fact that a node lacks of which no fact was read.
const Everything = "everything"

// caveats lists everything that a reader could take for a pass and must not: missing parts of the run,
// rules without a verdict, nodes without facts, pairs that were not measured, steps that did not finish, what is
// waived, and what the plan leaves out. limit bounds the terms of each list.
func (r Run) caveats(limit int) []caveat {
	all := r.absentParts()
	if r.Findings != nil {
		all = append(all, unknownCaveats(r.Findings, limit)...)
	}
	all = append(all, r.meshCaveats(limit)...)
	all = append(all, missingCaveats(r.Missing, limit, true)...)
	if r.Findings != nil {
		all = append(all, waivedCaveats(r.Findings.Findings)...)
	}
	if r.Plan != nil {
		for _, n := range r.Plan.Notes {
			all = append(all, caveat{What: "Left out of the plan", Reason: n, Tag: tagOmitted})
		}
	}
	for i := range all {
		all[i].Tag = orElse(all[i].Tag, tagUnknown)
	}
	return all
}

// absentParts are the fields that are nil, and the steps and nodes at which the run stopped.
func (r Run) absentParts() []caveat {
	var all []caveat
	part := func(absent bool, what, reason string) {
		if absent {
			all = append(all, caveat{What: what, Reason: reason})
		}
	}
	part(r.Findings == nil, "Rules", "no rule was evaluated")
	part(r.Findings != nil && len(r.Findings.Findings) == 0, "Rules", "no rule gave a verdict")
	part(r.Mesh == nil || len(r.Mesh.Pairs) == 0, "Mesh", "no pair of NICs was measured")
	part(r.Missing == nil, "Facts", "which facts could not be read was not recorded")
	part(r.Plan == nil, "Plan", "there is no plan to compare with")
	part(r.Applied == nil, "Configuration of the hosts", "this run did not apply any")
	part(r.Artifacts == nil, "Artifacts", "this run did not render any")
	for _, s := range r.Steps {
		if s.Status == fabric.Fail || s.Status == fabric.Unknown {
			reason := orElse(s.Note, "it did not finish, and no reason was recorded")
			if s.Name == "bench" && r.Bench != nil {
				reason += "; why is said of each below, under Bandwidth"
			}
			all = append(all, caveat{What: "Step " + s.Name, Reason: reason})
		}
	}
	for _, a := range r.appliedGroups() {
		if a.status != fabric.Pass && a.status != fabric.NotApplicable {
			all = append(all, caveat{What: "Configuration of a host", Of: a.Nodes, Reason: orElse(a.Reason, "not applied, and no reason was recorded")})
		}
	}
	return all
}

func unknownCaveats(f *fabric.Findings, limit int) []caveat {
	var all []caveat
	for _, g := range groups(f.Findings, fabric.Unknown) {
		all = append(all, caveat{
			What: g.first.Title, Of: g.spread.text(limit), Reason: g.reason(),
			Expect: g.first.Expected, Fix: g.commands(limit), Rule: g.first.ID,
		})
	}
	return all
}

func (r Run) meshCaveats(limit int) []caveat {
	if r.Mesh == nil {
		return nil
	}
	var all []caveat
	for _, m := range r.Mesh.Absent {
		all = append(all, caveat{What: "Mesh from " + m.What, Reason: m.Reason + " (" + m.Source + ")"})
	}
	var unknown []fabric.Measurement
	for _, p := range r.Mesh.Pairs {
		if p.Status() == fabric.Unknown {
			unknown = append(unknown, p)
		}
	}
	byReason := pairsByReason(unknown)
	for i, g := range byReason {
		if i == limit {
			all = append(all, caveat{What: "Pairs of the mesh", Reason: fmt.Sprintf("%d more reasons are in the saved mesh", len(byReason)-limit)})
			break
		}
		all = append(all, caveat{What: fabric.Count(g.pairs, "pair") + " of the mesh", Of: subjects(placesOf(g.from), limit), Reason: g.reason})
	}
	return all
}

// factsNotRead counts the facts that could not be read, and names the nodes that lack one. Nodes of which nothing was
// read are not among them: they are caveats of their own.
func factsNotRead(missing map[string][]fabric.Missing) (facts int, nodes []string) {
	for n, list := range missing {
		before := facts
		for _, m := range list {
			if m.What != Everything {
				facts++
			}
		}
		if facts > before {
			nodes = append(nodes, n)
		}
	}
	return facts, nodes
}

// missingCaveats groups the facts that the same nodes lack for the same reason: those of nodes of which nothing was
// read, or those of the others.
func missingCaveats(missing map[string][]fabric.Missing, limit int, whole bool) []caveat {
	nodes := map[fabric.Missing][]string{}
	var order []fabric.Missing
	for _, n := range slices.SortedFunc(maps.Keys(missing), draw.Natural) {
		for _, m := range missing[n] {
			if (m.What == Everything) != whole {
				continue
			}
			if nodes[m] == nil {
				order = append(order, m)
			}
			nodes[m] = append(nodes[m], n)
		}
	}
	tag := tagNotRead
	if whole {
		tag = tagUnknown
	}
	var all []caveat
	for _, m := range order {
		of := draw.Names(nodes[m], limit)
		i := slices.IndexFunc(all, func(g caveat) bool { return g.Of == of && g.Reason == m.Reason })
		if i < 0 {
			all = append(all, caveat{What: "Facts that were not read", Of: of, Reason: m.Reason, Tag: tag})
			i = len(all) - 1
		}
		all[i].Items = append(all[i].Items, m.What+" ("+m.Source+")")
	}
	for i := range all {
		if more := len(all[i].Items) - limit; more > 0 {
			all[i].Items = append(all[i].Items[:limit], fmt.Sprintf("and %d more", more))
		}
	}
	return all
}

// waivedCaveats are the findings that the cluster file keeps out of the verdict.
func waivedCaveats(findings []fabric.Finding) []caveat {
	var all []caveat
	for _, one := range findings {
		if one.Waived {
			all = append(all, caveat{What: one.Title, Of: one.Subject.String(), Reason: one.Why, Rule: one.ID, Tag: tagWaived})
		}
	}
	return all
}

// pairGroup is pairs of the mesh that have the same reason.
type pairGroup struct {
	reason   string
	pairs    int
	from, to []fabric.Subject
}

// pairsByReason groups pairs by what is wrong with them, most first.
func pairsByReason(pairs []fabric.Measurement) []pairGroup {
	index := map[string]int{}
	var all []pairGroup
	for _, p := range pairs {
		reason := draw.Reason(p)
		i, ok := index[reason]
		if !ok {
			i = len(all)
			index[reason] = i
			all = append(all, pairGroup{reason: reason})
		}
		all[i].pairs++
		all[i].from = append(all[i].from, fabric.NICSubject(p.From.Node, p.From.NIC))
		all[i].to = append(all[i].to, fabric.NICSubject(p.To.Node, p.To.NIC))
	}
	slices.SortStableFunc(all, func(a, b pairGroup) int { return b.pairs - a.pairs })
	return all
}

// appliedGroup is nodes that were configured in the same way.
type appliedGroup struct {
	How, Reason, Nodes string
	status             fabric.Status
	Count              int
}

func (r Run) appliedGroups() []appliedGroup {
	type key struct {
		how, reason string
		status      fabric.Status
	}
	nodes := map[key][]string{}
	var order []key
	for _, a := range r.Applied {
		k := key{a.How, a.Reason, a.Status}
		if nodes[k] == nil {
			order = append(order, k)
		}
		nodes[k] = append(nodes[k], a.Node)
	}
	var all []appliedGroup
	for _, k := range order {
		all = append(all, appliedGroup{k.how, k.reason, draw.Names(nodes[k], 8), k.status, len(nodes[k])})
	}
	return all
}

func orElse(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}
