package claims

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// broken is a condition that every allocation of claims on a node meets, and that does not hold.
type broken struct {
	reason     string
	claim      int // of the claims of the pod
	constraint int // of the claim, -1 where it is a request
	requests   []view
	err        bool // an expression cannot be evaluated, or a class is unknown
}

// impossible tells claims that no search can allocate on a node, without searching.
func (r *run) impossible(node *corev1.Node, claims []*resourceapi.ResourceClaim) bool {
	b, _ := r.conditions(node, claims)
	return b != nil && !b.err
}

// conditions looks for a broken condition, and gives the views of all requests in their order.
func (r *run) conditions(node *corev1.Node, claims []*resourceapi.ResourceClaim) (first *broken, steps []string) {
	devices, out := r.scheduler.reachable(node)
	steps = out
	alike := map[string]*demand{} // requests of all claims that choose from the same devices
	keep := func(b *broken) {
		if first == nil && b != nil {
			first = b
		}
	}
	for ci, c := range claims {
		views := make([][]view, len(c.Spec.Devices.Requests))
		for i := range c.Spec.Devices.Requests {
			for _, a := range alternatives(&c.Spec.Devices.Requests[i]) {
				v := r.look(a, devices)
				views[i] = append(views[i], v)
				steps = append(steps, "request "+a.request+": "+v.steps)
			}
			keep(tooFew(ci, views[i]))
			keep(alikeTooFew(alike, ci, views[i]))
		}
		for i, constraint := range c.Spec.Devices.Constraints {
			b, text := unmatched(ci, i, constraint, views)
			steps = append(steps, text...)
			keep(b)
			b, text = distinctTooFew(ci, i, constraint, views)
			steps = append(steps, text...)
			keep(b)
		}
		keep(groupsTooFew(ci, &c.Spec, views))
	}
	return first, steps
}

// tooFew: no alternative of a request has enough devices.
func tooFew(claim int, ways []view) *broken {
	var reasons []string
	err := false
	for _, v := range ways {
		need := max(v.count, 1)
		if v.err == nil && int64(len(v.found)) >= need && (!v.all || v.taken == 0) {
			return nil
		}
		err = err || v.err != nil
		reasons = append(reasons, fmt.Sprintf("request %s wants %s: %s", v.request, wants(v), v.steps))
	}
	return &broken{reason: strings.Join(reasons, "; or "), claim: claim, constraint: -1, requests: ways, err: err}
}

func wants(v view) string {
	if v.all {
		return "all devices"
	}
	return number(v.count, "device")
}

// sharedDevices tells devices that several requests may have at once.
func sharedDevices(cs []candidate) bool {
	return slices.ContainsFunc(cs, func(c candidate) bool {
		return c.device.AllowMultipleAllocations != nil && *c.device.AllowMultipleAllocations
	})
}

// plain tells a request of a number of devices, each for it alone: the only ones that are counted together.
func plain(ways []view) bool {
	return len(ways) == 1 && !ways[0].all && !ways[0].admin && ways[0].err == nil && !sharedDevices(ways[0].found)
}

// demand is how many devices requests want that choose from the same ones.
type demand struct {
	want  int64
	names []string
}

// signature is equal for requests that choose from the same devices.
func signature(v view) string {
	text := v.class
	for _, s := range v.selectors {
		text += "\x00" + s.CEL.Expression
	}
	return text + fmt.Sprint(v.tolerates)
}

// alikeTooFew: requests that choose from the same devices want more than there are.
func alikeTooFew(alike map[string]*demand, claim int, ways []view) *broken {
	if !plain(ways) {
		return nil
	}
	v := ways[0]
	d := alike[signature(v)]
	if d == nil {
		d = &demand{}
		alike[signature(v)] = d
	}
	d.want += v.count
	d.names = append(d.names, v.request)
	if d.want <= int64(len(v.found)) {
		return nil
	}
	return &broken{
		reason: fmt.Sprintf("requests %s want %d devices together: %s", listed(d.names), d.want, v.steps),
		claim:  claim, constraint: -1, requests: ways,
	}
}

// listed is a list of names, cut after six.
func listed(names []string) string {
	if len(names) > 6 {
		return strings.Join(names[:6], ", ") + fmt.Sprintf(" and %d more", len(names)-6)
	}
	return strings.Join(names, ", ")
}

// unmatched: a matchAttribute constraint for which no value is on enough devices of every request.
func unmatched(claim, index int, c resourceapi.DeviceConstraint, views [][]view) (*broken, []string) {
	if c.MatchAttribute == nil {
		return nil, nil
	}
	name := string(*c.MatchAttribute)
	var inside []view
	var texts, names []string
	judged := true
	for _, ways := range views {
		if !concerns(c, ways) {
			continue
		}
		judged = judged && len(ways) == 1 && ways[0].err == nil
		inside = append(inside, ways[0])
		names = append(names, ways[0].request)
		values, without := valuesOn(ways[0].found, name)
		text := "none"
		if len(values) > 0 {
			text = counted(values)
		}
		if without > 0 {
			text += fmt.Sprintf(" (not published on %d)", without)
		}
		texts = append(texts, ways[0].request+" has "+text)
	}
	step := fmt.Sprintf("constraint %s over %s: %s", name, listed(names), strings.Join(texts, "; "))
	if !judged || matchable(name, inside) {
		return nil, []string{step}
	}
	return &broken{reason: step + ": no value is on enough devices of each", claim: claim, constraint: index, requests: inside}, []string{step}
}

// concerns tells whether a constraint is about a request.
func concerns(c resourceapi.DeviceConstraint, ways []view) bool {
	if len(ways) == 0 {
		return false
	}
	return len(c.Requests) == 0 || slices.ContainsFunc(ways, func(v view) bool {
		base, _, _ := strings.Cut(v.request, "/")
		return slices.Contains(c.Requests, base) || slices.Contains(c.Requests, v.request)
	})
}

// valuesOn counts devices by the values of an attribute, and those that do not have it.
func valuesOn(cs []candidate, name string) (values map[string]int, without int) {
	values = map[string]int{}
	for _, c := range cs {
		a, ok := fullAttribute(c.driver, c.device, name)
		if !ok {
			without++
			continue
		}
		for _, v := range attributeValues(a) {
			values[v]++
		}
	}
	return values, without
}

// matchable tells whether one value of an attribute is on as many devices of each request as it wants.
func matchable(name string, views []view) bool {
	if len(views) == 0 {
		return true
	}
	have := make([]map[string]int, len(views))
	for i, v := range views {
		have[i], _ = valuesOn(v.found, name)
	}
	for value := range have[0] {
		enough := true
		for i, v := range views {
			want := v.count
			if v.all {
				want = int64(len(v.found))
			}
			enough = enough && int64(have[i][value]) >= want
		}
		if enough {
			return true
		}
	}
	return false
}

// groupsTooFew: constraints over the same kinds of requests, as of eight GPU-NIC pairs, of which the devices admit
// fewer together than the claim wants. Each constraint takes one value, and its devices are its own.
func groupsTooFew(claim int, spec *resourceapi.ResourceClaimSpec, views [][]view) *broken {
	type group struct {
		attribute string
		inside    []view
		wanted    int
		index     int
		used      map[string]bool // requests; one in two constraints is not judged
	}
	groups := map[string]*group{}
	for i, c := range spec.Devices.Constraints {
		inside, key, judged := pairOf(c, views)
		if !judged {
			continue
		}
		g := groups[key]
		if g == nil {
			g = &group{attribute: string(*c.MatchAttribute), inside: inside, index: i, used: map[string]bool{}}
			groups[key] = g
		}
		repeated := false
		for _, v := range inside {
			repeated = repeated || g.used[v.request]
			g.used[v.request] = true
		}
		if !repeated {
			g.wanted++
		}
	}
	for _, g := range groups {
		if n := together(g.attribute, g.inside); n < g.wanted {
			var names []string
			for _, v := range g.inside {
				values, without := valuesOn(v.found, g.attribute)
				names = append(names, fmt.Sprintf("%s has %s%s", v.request, counted(values), onlyIf(without > 0, fmt.Sprintf(" (not published on %d)", without))))
			}
			return &broken{
				reason: fmt.Sprintf("%d constraints of %s like that over %s want one value each: the devices suffice for %d (%s)",
					g.wanted, g.attribute, listed(requestNames(g.inside)), n, strings.Join(names, "; ")),
				claim: claim, constraint: g.index, requests: g.inside,
			}
		}
	}
	return nil
}

func requestNames(vs []view) (names []string) {
	for _, v := range vs {
		names = append(names, v.request)
	}
	return names
}

// pairOf are the requests of a constraint, with a key that is equal for constraints over requests that are alike.
func pairOf(c resourceapi.DeviceConstraint, views [][]view) (inside []view, key string, judged bool) {
	if c.MatchAttribute == nil {
		return nil, "", false
	}
	var parts []string
	for _, ways := range views {
		if !concerns(c, ways) {
			continue
		}
		if !plain(ways) {
			return nil, "", false
		}
		inside = append(inside, ways[0])
		parts = append(parts, fmt.Sprintf("%s\x01%d", signature(ways[0]), ways[0].count))
	}
	slices.Sort(parts)
	return inside, string(*c.MatchAttribute) + "\x02" + strings.Join(parts, "\x02"), len(inside) > 0
}

// together is how many constraints over requests like these can be met at once, at most: for each value, as many as
// its scarcest request has devices for.
func together(attribute string, inside []view) (n int) {
	need := map[string]int64{} // requests of one constraint may choose from the same devices
	found := map[string][]candidate{}
	for _, v := range inside {
		need[signature(v)] += v.count
		found[signature(v)] = v.found
	}
	most := map[string]int{}
	first := true
	for sig, count := range need {
		values, _ := valuesOn(found[sig], attribute)
		next := map[string]int{}
		for value, devices := range values {
			k := devices / int(count)
			if !first {
				k = min(k, most[value])
			}
			next[value] = k
		}
		most, first = next, false
	}
	for _, k := range most {
		n += k
	}
	return n
}
