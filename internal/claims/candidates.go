package claims

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// candidate is a device that a node reaches, in a pool that is complete.
type candidate struct {
	driver, pool string
	device       *resourceapi.Device
}

// view is what one way to meet a request finds on a node, step by step.
type view struct {
	alternative
	found []candidate // that match, and are free
	taken int         // that match, and are not
	steps string      // how many were left after each step, and why the others did not match
	err   error       // of an expression that cannot be evaluated on a device
}

// reachable are the devices that a node reaches, as the allocator sees them, and what keeps pools out.
func (s *scheduler) reachable(node *corev1.Node) (found []candidate, out []string) {
	seen := map[poolName]bool{}
	for _, slice := range s.index.forNode(node) {
		p := poolOf(slice)
		if seen[p] {
			continue
		}
		seen[p] = true
		devices, why := s.poolDevices(node, p)
		if why != "" {
			out = append(out, fmt.Sprintf("pool %s of driver %s %s", p.pool, p.driver, why))
		}
		found = append(found, devices...)
	}
	return found, out
}

// poolDevices are the devices of a pool that a node reaches: those of the newest generation among the slices for the
// node, if that is complete, by the same rules as the allocator's GatherPools.
func (s *scheduler) poolDevices(node *corev1.Node, p poolName) (found []candidate, why string) {
	var mine []*resourceapi.ResourceSlice
	for _, slice := range s.index.pools[p] {
		if !s.concernsNode(node, slice) || len(mine) > 0 && slice.Spec.Pool.Generation < mine[0].Spec.Pool.Generation {
			continue
		}
		if len(mine) > 0 && slice.Spec.Pool.Generation > mine[0].Spec.Pool.Generation {
			mine = nil
		}
		mine = append(mine, slice)
	}
	if len(mine) == 0 {
		return nil, ""
	}
	generation, want := mine[0].Spec.Pool.Generation, mine[0].Spec.Pool.ResourceSliceCount
	if int64(len(mine)) != want {
		n := int64(0)
		for _, slice := range s.index.pools[p] {
			if slice.Spec.Pool.Generation > generation {
				return nil, "is being replaced: its newest generation has no slice for the node"
			}
			if slice.Spec.Pool.Generation == generation {
				n++
			}
		}
		if n != want {
			return nil, fmt.Sprintf("has %d of %d slices of its newest generation: none of its devices is allocated until it is complete", n, want)
		}
	}
	return s.devicesOf(node, p, mine)
}

// missingSlices says of which pools slices are missing that a node reaches, or any node: those of the newest generation
// are fewer than each of them says. Empty where none is.
func (s *scheduler) missingSlices(nodes []*corev1.Node, only string) (text string) {
	var missing []string
	for p, all := range s.index.pools {
		newest := slices.MaxFunc(all, func(a, b *resourceapi.ResourceSlice) int {
			return cmp.Compare(a.Spec.Pool.Generation, b.Spec.Pool.Generation)
		}).Spec.Pool
		n := int64(0)
		for _, slice := range all {
			if slice.Spec.Pool.Generation == newest.Generation {
				n++
			}
		}
		near := only == "" || slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
			return node.Name == only && slices.ContainsFunc(all, func(slice *resourceapi.ResourceSlice) bool { return s.concernsNode(node, slice) })
		})
		if n < newest.ResourceSliceCount && near {
			missing = append(missing, fmt.Sprintf("slices of pool %s of driver %s are missing: %d of %d read", p.pool, p.driver, n, newest.ResourceSliceCount))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	slices.SortFunc(missing, natural)
	text = missing[0]
	if more := len(missing) - 1; more > 0 {
		text += fmt.Sprintf(", and of %s", number(int64(more), "other pool"))
	}
	return text
}

// concernsNode tells a slice that the allocator looks at for a node.
func (s *scheduler) concernsNode(node *corev1.Node, slice *resourceapi.ResourceSlice) bool {
	if len(slice.Spec.SharedCounters) > 0 {
		return true
	}
	if slice.Spec.PerDeviceNodeSelection == nil || !*slice.Spec.PerDeviceNodeSelection {
		return s.reaches(node, slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector)
	}
	return slices.ContainsFunc(slice.Spec.Devices, func(d resourceapi.Device) bool {
		return s.reaches(node, d.NodeName, d.AllNodes, d.NodeSelector)
	})
}

// devicesOf are the devices of slices that a node reaches; none where a name is given twice.
func (s *scheduler) devicesOf(node *corev1.Node, p poolName, mine []*resourceapi.ResourceSlice) (found []candidate, why string) {
	names := map[string]bool{}
	for _, slice := range mine {
		perDevice := slice.Spec.PerDeviceNodeSelection != nil && *slice.Spec.PerDeviceNodeSelection
		for i := range slice.Spec.Devices {
			d := &slice.Spec.Devices[i]
			if names[d.Name] {
				return nil, fmt.Sprintf("has device %s twice: none of its devices is allocated", d.Name)
			}
			names[d.Name] = true
			if !perDevice || s.reaches(node, d.NodeName, d.AllNodes, d.NodeSelector) {
				found = append(found, candidate{driver: p.driver, pool: p.pool, device: d})
			}
		}
	}
	return found, ""
}

// look follows one way to meet a request through a node's devices.
func (r *run) look(a alternative, devices []candidate) view {
	v := view{alternative: a}
	steps := []string{number(int64(len(devices)), "device")}
	class, err := r.scheduler.classes.Get(a.class)
	if err != nil {
		v.steps = fmt.Sprintf("DeviceClass %s was not given", a.class)
		v.err = err
		return v
	}
	left, reason, err := r.filter(devices, class.Spec.Selectors)
	steps = append(steps, fmt.Sprintf("%d of class %s%s", len(left), a.class, onlyIf(len(left) == 0, reason)))
	for i := 0; i < len(a.selectors) && err == nil && len(left) > 0; i++ {
		left, reason, err = r.filter(left, a.selectors[i:i+1])
		steps = append(steps, fmt.Sprintf("selector %d leaves %d%s", i+1, len(left), reason))
	}
	if err != nil {
		v.err = err
		v.steps = strings.Join(append(steps, "an expression cannot be evaluated: "+err.Error()), "; ")
		return v
	}
	v.found = slices.Clone(left)
	if r.scheduler.features.ConsumableCapacity {
		var lacks string
		if v.found, lacks = capable(v.found, a.capacity); lacks != "" {
			steps = append(steps, lacks)
		}
	}
	left = v.found
	if !a.admin {
		v.found = slices.DeleteFunc(slices.Clone(left), func(c candidate) bool { return r.scheduler.inUse(c.driver, c.pool, c.device.Name) })
		if v.taken = len(left) - len(v.found); v.taken > 0 {
			steps = append(steps, fmt.Sprintf("%d free: %d are taken by other claims", len(v.found), v.taken))
		}
	}
	if n := len(v.found); r.scheduler.features.DeviceTaints {
		v.found = slices.DeleteFunc(v.found, func(c candidate) bool { return tainted(c.device, a.tolerates) })
		if len(v.found) < n {
			steps = append(steps, fmt.Sprintf("%d without taints that the request does not tolerate", len(v.found)))
		}
	}
	v.steps = strings.Join(steps, "; ")
	return v
}

// number is a count with its noun.
func number(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func onlyIf(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// tainted tells a device that a request may not get for its taints.
func tainted(d *resourceapi.Device, tolerations []resourceapi.DeviceToleration) bool {
	for _, taint := range d.Taints {
		if taint.Effect != resourceapi.DeviceTaintEffectNoSchedule && taint.Effect != resourceapi.DeviceTaintEffectNoExecute {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t resourceapi.DeviceToleration) bool { return resourceclaim.ToleratesTaint(t, taint) }) {
			return true
		}
	}
	return false
}

// filter keeps the devices that selectors match, and says what the others have.
func (r *run) filter(devices []candidate, selectors []resourceapi.DeviceSelector) (left []candidate, why string, err error) {
	var dropped []candidate
	expressions := ""
	for _, s := range selectors {
		expressions += s.CEL.Expression + "\n"
	}
	for _, c := range devices {
		failed, matchErr := r.scheduler.matches(r.ctx, c.driver, c.device, selectors)
		switch {
		case matchErr != nil:
			err = cmp.Or(err, fmt.Errorf("on device %s of driver %s: %w", c.device.Name, c.driver, matchErr))
		case failed < 0:
			left = append(left, c)
		default:
			dropped = append(dropped, c)
		}
	}
	if err == nil && len(dropped) > 0 {
		why = whyDropped(expressions, dropped)
	}
	return left, why, err
}

// whyDropped says what the attributes that an expression names are on devices that it does not match.
func whyDropped(expression string, dropped []candidate) string {
	var parts []string
	names := referenced(expression)
	var close []candidate // of a driver that has one of the attributes: the others are another matter
	for _, c := range dropped {
		if slices.ContainsFunc(names, func(name string) bool { _, ok := fullAttribute(c.driver, c.device, name); return ok }) {
			close = append(close, c)
		}
	}
	strangers := len(close) == 0
	if strangers {
		close = dropped
	}
	for _, name := range names {
		values := map[string]int{}
		for _, c := range close {
			text := "not published"
			if a, ok := fullAttribute(c.driver, c.device, name); ok {
				text = attributeText(a)
			}
			values[text]++
		}
		parts = append(parts, name+" is "+counted(values))
	}
	if len(names) == 0 || strangers {
		drivers := map[string]int{}
		for _, c := range dropped {
			drivers[c.driver]++
		}
		parts = append(parts, "their driver is "+counted(drivers))
	}
	return ": " + strings.Join(parts, ", ")
}

// counted lists values with their numbers, the most frequent first, at most four.
func counted(values map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, k := range keys {
		if i == 4 {
			parts = append(parts, fmt.Sprintf("%d other values", len(keys)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s on %d", k, values[k]))
	}
	return strings.Join(parts, ", ")
}
