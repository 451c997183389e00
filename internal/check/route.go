package check

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func sourceRule() Rule {
	return Rule{
		ID:    "source-rule",
		Title: "Each NIC's traffic is routed by its own table",
		Doc: "looks for a policy rule from each NIC's planned address to its planned table: without it the main table routes " +
			"the NIC's traffic through another NIC, or nowhere",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRouteMissing,
		Reference: "Broadcom RoCE guide 2.4.1 no. 7 and 2.4.2 no. 3; ip-rule(8)",
		Facts:     []string{fabric.FactNICAddresses, fabric.FactRules, fabric.FactRoutes},
		Scope:     []Condition{withPlan(), withAddresses(), withTables()},
		DependsOn: []string{"address"},
		Node:      judgeSourceRule,
	}
}

func judgeSourceRule(in NodeInput) []Verdict {
	rules := inOrder(in.Facts.Rules)
	return in.eachAddress(func(a fabric.NICAddress, nic *fabric.NIC) Verdict {
		return in.judgeSource(a, rules)
	})
}

func (in NodeInput) judgeSource(a fabric.NICAddress, rules []fabric.Rule) Verdict {
	name, addr := in.Facts.Node+":"+a.NIC, a.Address.Addr()
	want := "from " + addr.String() + " lookup " + strconv.Itoa(a.Table)
	fail := Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw("ip rule show", fromRules(rules, addr))},
		Fix: in.untilBoot("ip rule add from " + addr.String() + " table " + strconv.Itoa(a.Table)),
	}
	i := slices.IndexFunc(rules, func(r fabric.Rule) bool { return fromOnly(r, addr) && r.Table == a.Table })
	if i < 0 {
		if _, cut := in.missing(fabric.FactRules); cut || len(rules) == 0 {
			return Verdict{Why: in.why("policy rules of "+in.Facts.Node+" were not read", fabric.FactRules)}
		}
		fail.Why = "No policy rule routes traffic from " + addr.String() + " (" + name + ") to table " + strconv.Itoa(a.Table) + "."
		return fail
	}
	mine := rules[i]
	if other, wide := in.alsoFrom(mine.From, a.NIC); wide {
		fail.Why = fmt.Sprintf("The policy rule for %s matches all of %s, including the traffic of %s: it must match only %s.", name, mine.From, other, addr)
		fail.Fix = in.untilBoot("ip rule add from " + addr.String() + " table " + strconv.Itoa(a.Table) +
			" && ip rule del " + selectorText(mine) + " table " + strconv.Itoa(a.Table))
		return fail
	}
	for _, r := range rules[:i] {
		if !fromOnly(r, addr) || r.Table == a.Table || !covering(in.Facts.Routes, r.Table, netip.Prefix{}, addr) {
			continue
		}
		if r.From.Masked() == mine.From.Masked() {
			return Verdict{Why: "not evaluated while rule-shadow fails on " + in.Facts.Node + ": two rules have the selector " + selectorText(mine)}
		}
		fail.Why = fmt.Sprintf("%s uses table %d: the rule `%s` comes before `%s`.", name, r.Table, ruleText(r), ruleText(mine))
		return fail
	}
	return pass(want, saw("ip rule show", ruleText(mine)))
}

// fromOnly reports whether a rule selects by the source address alone, and selects this one.
func fromOnly(r fabric.Rule, addr netip.Addr) bool {
	return !selects(r.To) && r.NIC == "" && selects(r.From) && r.From.Contains(addr)
}

// selects reports whether a prefix excludes something.
func selects(p netip.Prefix) bool { return p.IsValid() && p.Bits() > 0 }

// alsoFrom finds another NIC of the node with an address, planned or real, in a selector.
func (in NodeInput) alsoFrom(from netip.Prefix, nic string) (string, bool) {
	if from.IsSingleIP() {
		return "", false
	}
	for _, a := range in.Plan.Addresses {
		if a.NIC != nic && from.Contains(a.Address.Addr()) {
			return a.NIC, true
		}
	}
	for i := range in.Facts.NICs {
		n := &in.Facts.NICs[i]
		for _, p := range n.Addresses {
			if n.Name != nic && from.Contains(p.Addr()) {
				return n.Name, true
			}
		}
	}
	return "", false
}

func railRoute() Rule {
	return Rule{
		ID:    "rail-route",
		Title: "Each NIC's table routes through that NIC",
		Doc: "looks in each NIC's planned table for the default route through the planned gateway and NIC (without a gateway: the " +
			"subnet of the NIC): without it other rails cannot be reached from this NIC",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRouteMissing,
		Reference: "Broadcom RoCE guide 2.4.1 no. 7 and 2.4.2 no. 3; ip-route(8)",
		Facts:     []string{fabric.FactRoutes},
		Scope:     []Condition{withPlan(), withAddresses(), withTables()},
		DependsOn: []string{"address"},
		Node:      judgeRailRoute,
	}
}

func judgeRailRoute(in NodeInput) []Verdict {
	return in.eachAddress(func(a fabric.NICAddress, nic *fabric.NIC) Verdict {
		want := plannedRoute(a)
		text := routeText(want)
		source := "ip route show table " + strconv.Itoa(a.Table)
		best := bestRoutes(in.Facts.Routes, a.Table, want.Destination)
		if len(best) == 1 && best[0].Gateway == want.Gateway && best[0].NIC == want.NIC {
			return pass(text, saw(source, text))
		}
		name := in.Facts.Node + ":" + a.NIC
		if _, cut := in.missing(fabric.FactRoutes); cut || len(in.Facts.Routes) == 0 {
			return Verdict{Why: in.why("routes of "+in.Facts.Node+" were not read", fabric.FactRoutes)}
		}
		have, seen := "has no such route", "no such route"
		if len(best) > 0 {
			seen = routesText(best)
			have = "has `" + seen + "`"
		}
		return Verdict{
			Status: fabric.Fail, Expected: text, Evidence: []fabric.Evidence{saw(source, seen)},
			Why: fmt.Sprintf("Table %d, which routes the traffic of %s, must contain `%s`, but %s.", a.Table, name, text, have),
			Fix: in.untilBoot("ip route replace " + text + " table " + strconv.Itoa(a.Table)),
		}
	})
}

func plannedRoute(a fabric.NICAddress) fabric.Route {
	r := fabric.Route{Table: a.Table, NIC: a.NIC, Gateway: a.Gateway, Destination: a.Address.Masked()}
	if a.Gateway.IsValid() {
		r.Destination = everything(a.Gateway)
	}
	return r
}

// everything is the prefix of a default route in the family of an address.
func everything(a netip.Addr) netip.Prefix {
	if a.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

// bestRoutes finds the route to exactly this destination that the kernel prefers: of the lowest metric. A
// route over several next hops, between which the kernel spreads traffic, gives several.
func bestRoutes(routes []fabric.Route, table int, to netip.Prefix) (best []fabric.Route) {
	for i, r := range routes {
		switch {
		case r.Table != table || r.Destination != to:
		case best == nil || r.Metric < best[0].Metric:
			best = routes[i : i+1 : i+1]
		case r.Metric == best[0].Metric:
			best = append(best, r)
		}
	}
	return best
}

// covering reports whether a route of a table matches everything in a prefix (without one, everything in the
// family of an address): a packet that is looked up there is never looked up in a later table.
func covering(routes []fabric.Route, table int, to netip.Prefix, family netip.Addr) bool {
	return slices.ContainsFunc(routes, func(r fabric.Route) bool { return r.Table == table && covers(r, to, family) })
}

// covers reports whether a route matches everything in a prefix, or without one everything in the family of an address.
func covers(r fabric.Route, to netip.Prefix, family netip.Addr) bool {
	if !selects(to) {
		to = everything(family)
	}
	d := r.Destination
	return d.Addr().BitLen() == to.Addr().BitLen() && d.Bits() <= to.Bits() && d.Contains(to.Addr())
}

// inOrder sorts rules in the order in which the kernel evaluates them: by priority, and of equal ones the one listed first.
func inOrder(rules []fabric.Rule) []fabric.Rule {
	byPriority := func(a, b fabric.Rule) int { return cmp.Compare(a.Priority, b.Priority) }
	if slices.IsSortedFunc(rules, byPriority) {
		return rules
	}
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, byPriority)
	return sorted
}

func fromRules(rules []fabric.Rule, addr netip.Addr) string {
	var words []string
	for _, r := range rules {
		if selects(r.From) && r.From.Contains(addr) {
			words = append(words, ruleText(r))
		}
	}
	if len(words) == 0 {
		return "no rule from " + addr.String() + " among " + strconv.Itoa(len(rules))
	}
	return strings.Join(words, "; ")
}

// ruleText writes a rule as `ip rule` does.
func ruleText(r fabric.Rule) string {
	return strconv.Itoa(r.Priority) + ": " + selectorText(r) + " lookup " + strconv.Itoa(r.Table)
}

func selectorText(r fabric.Rule) string {
	s := "from all"
	if selects(r.From) {
		s = "from " + prefixText(r.From)
	}
	if selects(r.To) {
		s += " to " + prefixText(r.To)
	}
	if r.NIC != "" {
		s += " iif " + fabric.ShellWord(r.NIC)
	}
	return s
}

func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// routeText writes a route as `ip route` takes it.
func routeText(r fabric.Route) string {
	s := "default"
	if r.Destination.Bits() > 0 {
		s = r.Destination.String()
	}
	if r.Gateway.IsValid() {
		s += " via " + r.Gateway.String()
	}
	if r.NIC != "" {
		s += " dev " + fabric.ShellWord(r.NIC)
	}
	return s
}

func routesText(routes []fabric.Route) string {
	words := make([]string, 0, len(routes))
	for _, r := range routes {
		words = append(words, routeText(r))
	}
	return strings.Join(words, "; ")
}

// wayBack names the NICs by which what comes from an address of the node's own leaves for beyond its
// subnets, and says by which rule and table. No NIC: nothing routes it.
func (in NodeInput) wayBack(from netip.Addr) (nics []string, via string) {
	for _, r := range inOrder(in.Facts.Rules) {
		if selects(r.To) || r.NIC != "" || selects(r.From) && !r.From.Contains(from) {
			continue
		}
		best := bestRoutes(in.Facts.Routes, r.Table, everything(from))
		if len(best) == 0 {
			continue
		}
		for _, route := range best {
			nics = addOnce(nics, route.NIC)
		}
		return nics, ruleText(r) + ": " + routesText(best)
	}
	return nil, "no default route in any table that a rule selects for it"
}
