package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func ruleShadow() Rule {
	return Rule{
		ID:    "rule-shadow",
		Title: "No policy rule stands behind another with its selector",
		Doc: "looks for policy rules that select the same packets for different tables: only the first is ever followed, " +
			"so that one NIC carries the traffic of all (eight `to 1.1.0.0/16` rules, as printed in the guide's netplan files)",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseRouteMissing,
		Reference: "Broadcom RoCE guide 2.4.2.1, of whose rules one is followed; ip-rule(8)",
		Node:      judgeRuleShadow,
	}
}

// selector is what a rule asks of a packet. The kernel shows a prefix as it was given: 1.1.101.14/16 and
// 1.1.102.14/16 select the same packets.
type selector struct {
	from, to netip.Prefix
	nic      string
}

// selectorOf gives a rule's selector; ok is false for one that selects no address, such as the kernel's own.
func selectorOf(r fabric.Rule) (s selector, ok bool) {
	s.nic = r.NIC
	if selects(r.From) {
		s.from = r.From.Masked()
	}
	if selects(r.To) {
		s.to = r.To.Masked()
	}
	return s, s.from.IsValid() || s.to.IsValid()
}

// shadow is a rule whose packets all follow an earlier one.
type shadow struct{ first, dead fabric.Rule }

func judgeRuleShadow(in NodeInput) []Verdict {
	node := fabric.NodeSubject(in.Facts.Node)
	rules := inOrder(in.Facts.Rules)
	if _, cut := in.missing("rules"); cut || len(rules) == 0 {
		return []Verdict{unknown(node, in.why("policy rules of "+in.Facts.Node+" were not read", "rules"))}
	}
	const want = "one table for each selector"
	found, sure := in.shadows(rules)
	switch {
	case len(found) > 0:
		v := in.shadowVerdict(found)
		v.Subject, v.Expected = node, want
		return []Verdict{v}
	case !sure:
		return []Verdict{unknown(node, in.why("rules of "+in.Facts.Node+" share a selector, and its routes were not read", "routes"))}
	}
	v := pass(want, saw("ip rule show", strconv.Itoa(len(rules))+" rules"))
	v.Subject = node
	return []Verdict{v}
}

// shadows finds the rules that are never followed. A rule behind another with its selector is followed where
// the first one's table has no route for the packet; sure is false where the routes to tell are missing.
func (in NodeInput) shadows(rules []fabric.Rule) (found []shadow, sure bool) {
	sure = true
	_, cut := in.missing("routes")
	cut = cut || len(in.Facts.Routes) == 0
	first := make(map[selector]fabric.Rule, len(rules))
	for _, r := range rules {
		s, ok := selectorOf(r)
		if !ok {
			continue
		}
		f, again := first[s]
		ends := false
		if again && f.Table != r.Table {
			ends = covering(in.Facts.Routes, f.Table, s.to, s.from.Addr())
			sure = sure && (ends || !cut)
		}
		switch {
		case ends:
			found = append(found, shadow{f, r})
		case !again || f.Table != r.Table:
			first[s] = r // the table before it lets packets pass on
		}
	}
	return found, sure
}

func (in NodeInput) shadowVerdict(found []shadow) Verdict {
	first := found[0].first
	tables := []int{first.Table}
	var dead, fix []string
	for _, s := range found {
		dead = append(dead, ruleText(s.dead))
		fix = append(fix, "ip rule del "+selectorText(s.dead)+" table "+strconv.Itoa(s.dead.Table))
		if !slices.Contains(tables, s.dead.Table) {
			tables = append(tables, s.dead.Table)
		}
	}
	return Verdict{
		Status:   fabric.Fail,
		Evidence: []fabric.Evidence{saw("ip rule show", ruleText(first)), saw("ip rule show, never followed", strings.Join(dead, "; "))},
		Why: fmt.Sprintf("%d policy rules of %s are never followed: `%s` selects the same packets and comes first, to table %d.",
			len(found), in.Facts.Node, ruleText(first), first.Table),
		Cost: fmt.Sprintf("what is not bound to an address leaves by 1 of %d tables: 1/%d of their NICs' rate", len(tables), len(tables)),
		Fix:  kept(strings.Join(fix, "; "), in.Facts.Node),
	}
}
