package claims

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// mostExplained is on how many nodes the nearest miss is looked for, and how long.
const (
	mostExplained = 100
	explainBudget = 2 * time.Second
)

// explain says why no node has devices for a pod: on the node that comes nearest.
func (r *run) explain(p *pod, claims []*resourceapi.ResourceClaim, only string) (m miss) {
	defer func() { r.doubt(&m, only) }()
	if r.late[p.key] || r.ctx.Err() != nil {
		budget := cmp.Or(r.req.Budget, defaultBudget)
		if r.ctx.Err() != nil {
			budget = cmp.Or(r.req.Total, defaultTotal)
		}
		return miss{reason: fmt.Sprintf("undecided after %s: the search for devices that meet all constraints together takes longer; claims with fewer requests and constraints are decided sooner", budget), unsure: true}
	}
	var nodes []*corev1.Node
	for _, n := range r.nodes {
		if only == "" || n.Name == only {
			nodes = append(nodes, n)
		}
	}
	switch {
	case len(nodes) == 0 && only != "":
		return miss{reason: "its node " + only + " has no slices that were read", unsure: true}
	case len(nodes) == 0:
		return miss{reason: "there are no nodes: no ResourceSlice was read", unsure: true}
	}
	node, b, steps, alike := r.nearest(nodes, claims)
	m.steps = append([]string{"on node " + node.Name + ", which comes nearest"}, steps...)
	switch {
	case b == nil && !r.room(node.Name, p.plugin):
		m.reason = fmt.Sprintf("the device plugin of node %s has no %d GPUs left", node.Name, p.plugin)
	case b == nil:
		m.reason = "each request and each constraint can be met on node " + node.Name + ", but not all together"
		devices, _ := r.scheduler.reachable(node)
		if text := sharing(claims, devices); text != "" {
			m.reason += ": " + text
		}
	default:
		m.reason = b.reason
		if alike && len(nodes) > 1 {
			m.reason += ": cannot be met on any node"
		}
		m.works = r.works(node, claims, b)
	}
	return m
}

// doubt marks a miss that objects which were not read could undo, on one node or on any.
func (r *run) doubt(m *miss, only string) {
	if missing := r.scheduler.missingSlices(r.nodes, only); missing != "" && !m.unsure {
		m.unsure = true
		m.reason = missing + ". The scheduler itself takes no device of such a pool until it is complete. Without its devices: " + m.reason
	}
	n := 0
	for _, p := range r.objects.problems {
		if p.Refused && (p.Object == "" || strings.HasPrefix(p.Object, "ResourceSlice")) {
			n++
		}
	}
	if n > 0 && !m.unsure {
		m.unsure = true
		m.reason += fmt.Sprintf(" (%s of what was read left slices out)", fabric.Count(n, "problem"))
	}
}

// nearest is the node on which the fewest conditions are broken, and whether all nodes break the same one.
func (r *run) nearest(nodes []*corev1.Node, claims []*resourceapi.ResourceClaim) (best *corev1.Node, b *broken, steps []string, alike bool) {
	ctx, cancel := context.WithTimeout(r.ctx, explainBudget)
	defer cancel()
	alike, most := true, -1
	kind := ""
	for i, n := range nodes {
		if i >= mostExplained || ctx.Err() != nil && best != nil {
			break
		}
		broken, text := r.conditions(n, claims)
		this, score := "", 1<<30
		if broken != nil {
			this = fmt.Sprint(broken.claim, broken.constraint, requestNames(broken.requests))
			score = broken.constraint + 1
			for _, v := range broken.requests {
				score += 1000 * min(len(v.found), 1000)
			}
			if broken.constraint >= 0 {
				score += 1 << 28 // all requests have devices
			}
		}
		alike = alike && broken != nil && (i == 0 || this == kind)
		kind = this
		if score > most {
			best, b, steps, most = n, broken, text, score
		}
	}
	return best, b, steps, alike && len(nodes) <= mostExplained
}

// works says what would be met instead of a constraint that cannot be.
func (r *run) works(node *corev1.Node, claims []*resourceapi.ResourceClaim, b *broken) string {
	if b.constraint < 0 {
		return ""
	}
	changed := claims[b.claim].DeepCopy()
	constraint := changed.Spec.Devices.Constraints[b.constraint]
	without := slices.Clone(claims)
	without[b.claim] = changed
	var alike []int // constraints on the same attribute: what keeps one from being met keeps them all
	for i, c := range changed.Spec.Devices.Constraints {
		if c.MatchAttribute != nil && *c.MatchAttribute == *constraint.MatchAttribute {
			alike = append(alike, i)
		}
	}
	for _, name := range r.otherAttributes(b) {
		for _, i := range alike {
			attribute := resourceapi.FullyQualifiedName(name)
			changed.Spec.Devices.Constraints[i].MatchAttribute = &attribute
		}
		if out := r.scheduler.try(r.ctx, node, without, shortBudget); out.results != nil {
			return "matchAttribute " + name + " instead of " + string(*constraint.MatchAttribute)
		}
	}
	for _, i := range slices.Backward(alike) {
		changed.Spec.Devices.Constraints = slices.Delete(changed.Spec.Devices.Constraints, i, i+1)
	}
	if out := r.scheduler.try(r.ctx, node, without, shortBudget); out.results != nil {
		return "without the constraint the claim is met, and the devices come as they come; to choose which lie together, select them by name: " +
			"one template for each block of devices" + namesOf(b.requests) + numaText(b.requests)
	}
	return ""
}

// numaText says why the NUMA node cannot take the place of the constraint, where some devices publish it.
func numaText(views []view) string {
	var have, lack []string
	for _, v := range views {
		name := ""
		for _, c := range v.found {
			for n := range c.device.Attributes {
				if plainID(string(n)) == "numanode" {
					name = max(name, qualified(string(n), c.driver))
				}
			}
		}
		if name == "" {
			lack = append(lack, v.request)
		} else {
			have = append(have, v.request+" has "+name)
		}
	}
	switch {
	case len(have) == 0:
		return ""
	case len(lack) > 0:
		return "; the NUMA node does not help a constraint: " + listed(have) + ", and " + listed(lack) + " has none"
	}
	return "; the NUMA nodes do not help a constraint: " + listed(have)
}

// otherAttributes are attributes of place, other than the constraint's, that devices of every request have.
func (r *run) otherAttributes(b *broken) []string {
	names := map[string]int{}
	for i, v := range b.requests {
		for _, c := range v.found {
			for name := range c.device.Attributes {
				full := qualified(string(name), c.driver)
				if id := plainID(full); (id == "numanode" || id == "pcieroot") && names[full] == i {
					names[full] = i + 1
				}
			}
		}
	}
	for name, n := range names {
		if n < len(b.requests) || !matchable(name, b.requests) {
			delete(names, name)
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// namesOf says by which attribute the devices of each request are told apart.
func namesOf(views []view) string {
	var parts []string
	seen := map[string]bool{}
	for _, v := range views {
		for _, id := range []string{"rdmadevice", "ifname", "pcibusid", "pciaddress", "pciaddr", "pciebusid", "uuid"} {
			name := ""
			for _, c := range v.found {
				for n := range c.device.Attributes {
					if plainID(string(n)) == id {
						name = qualified(string(n), c.driver)
					}
				}
			}
			if name != "" {
				if !seen[name] {
					parts = append(parts, name)
				}
				seen[name] = true
				break
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
