package junos

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// inherit carries out apply-groups: what a group says below the same path holds where the configuration itself says nothing
// (Junos CLI User Guide, Use Configuration Groups). A group that is applied and defined nowhere is a problem: what it says
// is unknown.
func (t *tree) inherit() {
	groups := t.root.kid("groups")
	missing, used := map[string]bool{}, map[string]bool{}
	var walk func(n *junosNode, above []string)
	walk = func(n *junosNode, above []string) {
		for _, k := range n.kids {
			if n != t.root || k.word != "groups" {
				walk(k, append(above[:len(above):len(above)], k.word))
			}
		}
		applied := n.kid("apply-groups")
		if applied == nil {
			return
		}
		for _, g := range applied.values {
			group := groups.kid(g.Is)
			used[g.Is] = true
			if group == nil && !missing[g.Is] && g.Is != "junos-defaults" {
				missing[g.Is] = true
				t.problem(fabric.TextUndefined, g.At, "group "+g.Is+" is applied, and this text does not define it", "what it sets is unknown")
			}
			for _, from := range group.matching(above) {
				n.take(from, g.Is)
			}
		}
	}
	walk(t.root, nil)
	if groups == nil {
		return
	}
	for _, g := range groups.kids {
		if !used[g.word] && (g.kid("class-of-service") != nil || g.kid("interfaces") != nil) {
			t.problem(fabric.TextUnattached, g.at, "group "+g.word+" is applied nowhere", "what it says has no effect")
		}
	}
}

// matching returns the nodes of a group that stand for a path: by name, or by a pattern in angle brackets.
func (n *junosNode) matching(above []string) []*junosNode {
	if n == nil {
		return nil
	}
	found := []*junosNode{n}
	for _, word := range above {
		var next []*junosNode
		for _, f := range found {
			for _, k := range f.kids {
				if k.word == word || groupPattern(k.word, word) {
					next = append(next, k)
				}
			}
		}
		found = next
	}
	return found
}

func groupPattern(pattern, name string) bool {
	inner, ok := strings.CutPrefix(pattern, "<")
	return ok && match(strings.TrimSuffix(inner, ">"), name)
}

// take adds what another node says and this one does not; group is where it comes from, unless the node excepts that.
func (n *junosNode) take(from *junosNode, group string) {
	if except := n.kid("apply-groups-except"); except != nil && slices.ContainsFunc(except.values, func(v fabric.Said[string]) bool { return v.Is == group }) {
		return
	}
	for _, k := range from.kids {
		if strings.HasPrefix(k.word, "<") {
			for _, mine := range n.kids {
				if groupPattern(k.word, mine.word) {
					mine.take(k, group)
				}
			}
			continue
		}
		mine := n.by[k.word]
		if mine == nil {
			mine = n.grow(k.word, k.at, k.schema)
			mine.values = k.values
		}
		mine.take(k, group)
	}
}

// match reports whether a pattern of Junos is one of a name: * and ? and sets of characters, as a shell has them.
func match(pattern, name string) bool {
	return matchFlat(flatten(pattern), flatten(name))
}

// flatten replaces the slashes of a name, which a star takes too.
func flatten(name string) string { return strings.ReplaceAll(name, "/", "\x01") }

func matchFlat(pattern, name string) bool {
	if pattern == name || pattern == "all" {
		return true
	}
	if i := strings.IndexAny(pattern, `*?[\\`); i < 0 || !strings.HasPrefix(name, pattern[:i]) {
		return false
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// ranges returns the interface ranges by the ports that they are of.
func (t *tree) ranges() map[string][]*junosNode {
	out := map[string][]*junosNode{}
	for _, r := range t.root.all("interfaces", "interface-range") {
		for _, m := range t.rangeMembers(r) {
			out[m] = append(out[m], r)
		}
	}
	return out
}

// rangeMembers returns the names and patterns of an interface range.
func (t *tree) rangeMembers(r *junosNode) []string {
	var out []string
	if m := r.kid("member"); m != nil {
		for _, v := range m.values {
			out = append(out, v.Is)
		}
	}
	for _, from := range r.all("member-range") {
		to := from.value("to")
		if to == nil {
			continue
		}
		names, ok := namesBetween(from.word, to.Is)
		if t.ranged += len(names); !ok || t.ranged > mostRanged {
			t.problem(fabric.TextRange, from.at, "member-range "+from.word+" to "+to.Is+" has no ports between its ends, or too many", "its ports are not read")
			continue
		}
		out = append(out, names...)
	}
	return out
}

// mostRanged bounds the ports that the ranges of a text name.
const mostRanged = 1 << 17

// namesBetween counts the last number of a name up: et-0/0/1 to et-0/0/4.
func namesBetween(from, to string) ([]string, bool) {
	i := strings.LastIndexAny(from, "/:") + 1
	a, errA := strconv.Atoi(from[i:])
	if i == 0 || i > len(to) || to[:i] != from[:i] || errA != nil {
		return nil, false
	}
	b, err := strconv.Atoi(to[i:])
	if err != nil || b < a || b-a > 4096 {
		return nil, false
	}
	var out []string
	for n := a; n <= b; n++ {
		out = append(out, from[:i]+strconv.Itoa(n))
	}
	return out, true
}

// expand gives each port what its ranges say: for what it says itself, a range does not count (Junos OS interfaces guide,
// Interface Ranges).
func (t *tree) expand() {
	interfaces := t.root.kid("interfaces")
	for _, r := range t.root.all("interfaces", "interface-range") {
		for _, m := range t.rangeMembers(r) {
			var ports []*junosNode
			if strings.ContainsAny(m, "*?[") {
				for _, k := range interfaces.kids {
					if junosPort(k.word) && match(m, k.word) {
						ports = append(ports, k)
					}
				}
			} else if junosPort(m) {
				ports = []*junosNode{interfaces.grow(m, r.at, t.root.schema.kids["interfaces"].any)}
			}
			for _, port := range ports {
				port.takeRange(r)
			}
		}
	}
}

func (n *junosNode) takeRange(r *junosNode) {
	plain := &junosNode{}
	for _, k := range r.kids {
		if k.word != "member" && k.word != "member-range" {
			plain.kids = append(plain.kids, k)
		}
	}
	n.take(plain, "")
}
