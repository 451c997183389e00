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
		Title: "No policy rule is shadowed by an earlier one",
		Doc: "looks for policy rules that select the same packets for different tables: only the first is ever used, " +
			"so that one NIC carries the traffic of all (eight `to 1.1.0.0/16` rules, as printed in the guide's netplan files); " +
			"of rules with one priority, that is the one that was added first at this boot",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseRouteMissing,
		Reference: "Broadcom RoCE guide 2.4.2.1, of whose rules one is followed; ip-rule(8)",
		Facts:     []string{fabric.FactRules, fabric.FactRoutes},
		Node:      judgeRuleShadow,
	}
}

// selector is what a rule matches in a packet. The kernel shows a prefix as it was given: 1.1.101.14/16 and
// 1.1.102.14/16 select the same packets.
type selector struct {
	from, to netip.Prefix
	nic      string
}

// selectorOf returns a rule's selector; ok is false for one that selects no address, such as the kernel's own.
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
	if _, cut := in.missing(fabric.FactRules); cut || len(rules) == 0 {
		return []Verdict{unknown(node, in.why("policy rules of "+in.Facts.Node+" were not read", fabric.FactRules))}
	}
	const want = "one table for each selector"
	found, sure := in.shadows(rules)
	switch {
	case len(found) > 0:
		v := in.shadowVerdict(found)
		v.Subject, v.Expected = node, want
		return []Verdict{v}
	case !sure:
		return []Verdict{unknown(node, in.why("rules of "+in.Facts.Node+" share a selector, and its routes were not read", fabric.FactRoutes))}
	}
	v := pass(want, saw("ip rule show", strconv.Itoa(len(rules))+" rules"))
	v.Subject = node
	return []Verdict{v}
}

// shadows finds the rules that are never followed. A rule behind another with its selector is followed where
// the first one's table has no route for the packet; sure is false where the routes to tell are missing.
func (in NodeInput) shadows(rules []fabric.Rule) (found []shadow, sure bool) {
	sure = true
	_, cut := in.missing(fabric.FactRoutes)
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
	first, dead := found[0].first, found[0].dead
	var tables []int
	var followed, ignored []string
	for _, s := range found {
		if text := ruleText(s.first); !slices.Contains(followed, text) {
			followed = append(followed, text)
		}
		ignored = append(ignored, ruleText(s.dead))
		if s.first == first && !slices.Contains(tables, s.dead.Table) {
			tables = append(tables, s.dead.Table)
		}
	}
	why := fmt.Sprintf("%s never uses %d of its %d policy rules: `%s` is shadowed by `%s`, which selects the same packets first.",
		in.Facts.Node, len(found), len(in.Facts.Rules), ruleText(dead), ruleText(first))
	if first.Priority == dead.Priority {
		why += " " + in.byBootOrder(first)
	}
	return Verdict{
		Status: fabric.Fail,
		Evidence: []fabric.Evidence{
			saw("ip rule show", strings.Join(followed, "; ")),
			saw("ip rule show, never used", strings.Join(ignored, "; ")),
		},
		Why: why,
		Cost: fmt.Sprintf("traffic %s uses 1 of %d tables: 1/%d of the rate of their NICs",
			selectorText(first), len(tables)+1, len(tables)+1),
		Fix: onNode(in.shadowFix(found), in.Facts.Node) + ", and remove them from the file that sets them",
	}
}

// byBootOrder says of a rule that was added before others of its selector and priority what it does now, and until when.
func (in NodeInput) byBootOrder(first fabric.Rule) string {
	now := "table " + strconv.Itoa(first.Table)
	var nics []string
	for _, r := range in.Facts.Routes {
		if r.Table == first.Table && r.NIC != "" && covers(r, first.To, first.From.Addr()) {
			nics = addOnce(nics, r.NIC)
		}
	}
	if len(nics) > 0 {
		now += " (" + strings.Join(nics, ", ") + ")"
	}
	return "They have one priority, so the kernel uses the one that was added first: now " + now +
		". Which one that is changes with the order in which the links come up at boot."
}

// shadowFix deletes the rules that are not to stay.
func (in NodeInput) shadowFix(found []shadow) string {
	var commands []string
	drop := func(r fabric.Rule) {
		command := "ip rule del " + selectorText(r) + " table " + strconv.Itoa(r.Table)
		if !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	for _, s := range found {
		// Without a plan the intended table is unknown. Rules by destination serve no rail, and of
		// those by source the one that is followed stays.
		if in.Plan != nil && !in.isPlanned(s.first) || in.Plan == nil && selects(s.first.To) {
			drop(s.first)
		}
		if in.Plan == nil || !in.isPlanned(s.dead) {
			drop(s.dead)
		}
	}
	return strings.Join(commands, "; ")
}

// isPlanned reports whether a rule is the source rule of a planned address.
func (in NodeInput) isPlanned(r fabric.Rule) bool {
	return slices.ContainsFunc(in.Plan.Addresses, func(a fabric.NICAddress) bool {
		return fromOnly(r, a.Address.Addr()) && r.From.IsSingleIP() && r.Table == a.Table
	})
}
