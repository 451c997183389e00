package claims

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// existing gives the claims that are allocated already, where nothing is to be placed.
func (r *run) existing() {
	byPod := map[string]*pod{}
	var order []*pod
	for _, c := range r.objects.claims {
		if c.Status.Allocation == nil {
			continue
		}
		name := cmp.Or(c.Annotations[ownerPod], c.Name)
		key := inNamespace(c.Namespace, name)
		p := byPod[key]
		if p == nil {
			p = &pod{name: name, namespace: c.Namespace, plugin: r.req.PluginGPUs}
			byPod[key] = p
			order = append(order, p)
		}
		p.claims = append(p.claims, podClaim{claim: c})
	}
	distinct(order)
	for _, p := range order {
		node := ""
		for _, c := range p.claims {
			if node == "" {
				node = r.nodeOf(c.claim.Status.Allocation)
			}
		}
		r.commit(p, node, nil, nil)
	}
}

// commit keeps what a pod got, and says how its devices lie to each other.
func (r *run) commit(p *pod, node string, claims []*resourceapi.ResourceClaim, results []resourceapi.AllocationResult) {
	r.scheduler.commit(results)
	r.plugin[node] += p.plugin
	var gpus, nics []fabric.AllocatedDevice
	nodes := map[string]bool{}
	strange := 0
	for _, c := range p.claims {
		result, existing := c.claim.Status.Allocation, true
		for i, fresh := range claims {
			if fresh == c.claim {
				result, existing = &results[i], false
			}
		}
		if !c.fresh && result == nil { // a pod before this one got it
			result = r.shared(c.claim)
		}
		if !c.fresh && !existing { // several pods may share it
			r.settled[inNamespace(c.claim.Namespace, c.claim.Name)] = node
			c.claim = c.claim.DeepCopy()
			c.claim.Status.Allocation = result
			r.remember(c.claim)
		}
		got := fabric.AllocatedClaim{Name: c.claim.Name, Pod: p.name, Node: node, Existing: existing, Devices: []fabric.AllocatedDevice{}}
		if result != nil {
			var more int
			got.Devices, more = r.devices(result, node)
			strange += more
			maps.Copy(nodes, r.nodesOf(result))
		}
		for _, d := range got.Devices {
			switch d.Kind {
			case kindGPU:
				gpus = append(gpus, d)
			case kindNIC:
				nics = append(nics, d)
			}
		}
		r.result.Claims = append(r.result.Claims, got)
	}
	if len(nodes) > 1 { // roots are names within one machine: those of two are not compared
		r.mistrust("pod with devices of several nodes, while a pod runs on one: what was read is not of one cluster, or not of one moment")
		for i := range gpus {
			gpus[i].PCIeRoot, gpus[i].PCIeRoots = "", nil
		}
	}
	if g := len(gpus) + p.plugin; strange > 0 && (g != len(nics) || g == 0) {
		r.mistrust("pod with devices that may be GPUs or NICs: what their drivers publish does not say, so that the number of pairs is unknown")
	}
	r.align(p, node, gpus, nics)
}

// mistrust counts a note without which the answer could be a pass.
func (r *run) mistrust(note string) {
	r.unknown[note]++
	r.doubtful = true
}

// overlaps doubts allocations that have one device more than once, which a scheduler never gives: a device that may be
// shared comes with the id of its share.
func (r *run) overlaps() {
	taken := map[[3]string]bool{}
	for _, c := range r.objects.claims {
		if c.Status.Allocation == nil {
			continue
		}
		for _, res := range c.Status.Allocation.Devices.Results {
			if res.AdminAccess != nil && *res.AdminAccess || res.ShareID != nil {
				continue
			}
			key := [3]string{res.Driver, res.Pool, res.Device}
			if taken[key] {
				r.mistrust("device allocated more than once, which a scheduler does only where it may be shared: what was read is not of one cluster, or not of one moment")
			}
			taken[key] = true
		}
	}
}

// shared is what a claim of several pods got for the first of them; nil before.
func (r *run) shared(c *resourceapi.ResourceClaim) *resourceapi.AllocationResult {
	for _, now := range r.objects.claims {
		if now.Name == c.Name && inNamespace(now.Namespace, "") == inNamespace(c.Namespace, "") {
			return now.Status.Allocation
		}
	}
	return nil
}

// remember keeps the allocation of a claim that other pods may share.
func (r *run) remember(c *resourceapi.ResourceClaim) {
	for i, old := range r.objects.claims {
		if old.Name == c.Name && old.Namespace == c.Namespace {
			kept := *r.objects
			kept.claims = slices.Clone(kept.claims)
			kept.claims[i] = c
			r.objects = &kept
			return
		}
	}
}

// devices are those of an allocation. Strange ones are neither known as GPU or NIC nor known to be none.
func (r *run) devices(a *resourceapi.AllocationResult, node string) (ds []fabric.AllocatedDevice, strange int) {
	ds = []fabric.AllocatedDevice{}
	for _, res := range a.Devices.Results {
		d := fabric.AllocatedDevice{Request: res.Request, Driver: res.Driver, Pool: res.Pool, Device: res.Device}
		published, in := r.published(res, node)
		if published == nil {
			r.mistrust("device of allocated claims in no slice that was read, so that its place is unknown")
			ds = append(ds, d)
			continue
		}
		p := place(res.Driver, published)
		if len(p.roots) > 0 && r.roams(in, published) {
			r.unknown["device published for several nodes, while a PCIe root is a name within one: with what it shares its root is unknown"]++
			p.roots, d.Roams = nil, true
		}
		d.Kind, d.PCI, d.NUMA = p.kind, p.pci, p.numa
		switch {
		case p.list:
			d.PCIeRoots = p.roots
		case len(p.roots) == 1:
			d.PCIeRoot = p.roots[0]
		}
		if p.kind == "" && !p.other {
			strange++
		}
		if p.kind == kindPartition {
			r.unknown["device made of a part of a GPU (MIG or the like), not counted as a GPU of a pair"]++
		}
		ds = append(ds, d)
	}
	return ds, strange
}

// roams tells a device that is not of one machine: every node reaches it, or several that are known do.
func (r *run) roams(s *resourceapi.ResourceSlice, d *resourceapi.Device) bool {
	name, all, selector := s.Spec.NodeName, s.Spec.AllNodes, s.Spec.NodeSelector
	if s.Spec.PerDeviceNodeSelection != nil && *s.Spec.PerDeviceNodeSelection {
		name, all, selector = d.NodeName, d.AllNodes, d.NodeSelector
	}
	if name != nil && *name != "" {
		return false
	}
	if all != nil && *all {
		return true
	}
	key := fmt.Sprintf("%s %s", s.Name, d.Name)
	if known, ok := r.several[key]; ok {
		return known
	}
	reached := 0
	for _, n := range r.nodes {
		if reached < 2 && r.scheduler.reaches(n, nil, nil, selector) {
			reached++
		}
	}
	r.several[key] = reached > 1
	return reached > 1
}

// published is the device of a result and its slice: one of the node where there is one, in the newest generation; nil
// where no slice has it.
func (r *run) published(res resourceapi.DeviceRequestAllocationResult, node string) (d *resourceapi.Device, in *resourceapi.ResourceSlice) {
	best := int64(-1)
	for _, s := range r.scheduler.index.pools[poolName{res.Driver, res.Pool}] {
		rank := 2 * s.Spec.Pool.Generation
		if s.Spec.NodeName != nil && *s.Spec.NodeName == node {
			rank++
		}
		if rank <= best {
			continue
		}
		for i := range s.Spec.Devices {
			if s.Spec.Devices[i].Name == res.Device {
				d, in, best = &s.Spec.Devices[i], s, rank
			}
		}
	}
	return d, in
}

func rootsOf(ds []fabric.AllocatedDevice) (roots [][]string) {
	for _, d := range ds {
		switch {
		case len(d.PCIeRoots) > 0:
			roots = append(roots, d.PCIeRoots)
		case d.PCIeRoot != "":
			roots = append(roots, []string{d.PCIeRoot})
		default:
			roots = append(roots, nil)
		}
	}
	return roots
}

// align counts the aligned pairs of a pod, and the rate of its NICs.
func (r *run) align(p *pod, node string, gpus, nics []fabric.AllocatedDevice) {
	a := fabric.PodAlignment{Pod: p.name, Node: node, GPUs: len(gpus) + p.plugin, PluginGPUs: p.plugin, NICs: len(nics)}
	own, ofNICs := rootsOf(gpus), rootsOf(nics)
	a.Aligned = r.aligned(node, own, ofNICs, p.plugin)
	r.result.Pods = append(r.result.Pods, a)
	r.result.AlignedPairs.Min += a.Aligned.Min
	r.result.AlignedPairs.Max += a.Aligned.Max
	r.result.TotalPairs += min(a.GPUs, a.NICs)
	rate := 0.0
	for _, nic := range nics {
		gbps := 0.0
		if r.req.NICGbps != nil {
			gbps = r.req.NICGbps(node, nic)
		}
		if gbps <= 0 {
			r.unknown["NIC without a known rate, so that the bandwidth of the pod is unknown"]++
			rate = -1
			break
		}
		rate += gbps / 8 // bits to bytes
	}
	if rate >= 0 {
		r.result.NICGBs = append(r.result.NICGBs, fabric.RateRange{Min: rate, Max: rate})
	}
}

func (r *run) aligned(node string, own, nics [][]string, plugin int) fabric.CountRange {
	if plugin == 0 {
		return pairs(own, nics)
	}
	there := r.nodeGPUs(node)
	if len(there) < plugin { // not known where they are
		for range plugin {
			own = append(slices.Clone(own), nil)
		}
		return pairs(own, nics)
	}
	key := fmt.Sprint(own, there, nics, plugin)
	if known, ok := r.ranges[key]; ok {
		return known
	}
	r.ranges[key] = pluginPairs(own, there, plugin, nics)
	return r.ranges[key]
}

// nodeGPUs are the roots of the GPUs of a node among which a device plugin chooses.
func (r *run) nodeGPUs(node string) [][]string {
	if known, ok := r.gpus[node]; ok {
		return known
	}
	var roots [][]string
	if r.req.NodeGPUs != nil {
		for _, p := range r.req.NodeGPUs(node) {
			roots = append(roots, p.Roots)
		}
	}
	if len(roots) == 0 {
		for _, n := range r.nodes {
			if n.Name != node {
				continue
			}
			devices, _ := r.scheduler.reachable(n)
			for _, c := range devices {
				if p := place(c.driver, c.device); p.kind == kindGPU {
					roots = append(roots, p.roots)
				}
			}
		}
	}
	r.gpus[node] = roots
	return roots
}

// room tells whether the device plugin of a node still has GPUs for a pod. Where their number is unknown, it has.
func (r *run) room(node string, plugin int) bool {
	if plugin == 0 {
		return true
	}
	there := len(r.nodeGPUs(node))
	return there == 0 || r.plugin[node]+plugin <= there
}

// judge sets the verdict: fail only for what is certain, pass only if all is known and aligned.
func (r *run) judge() {
	a := r.result
	lone := false
	for _, p := range a.Pods {
		lone = lone || p.NICs > 0 && p.GPUs == 0
	}
	if lone {
		a.Notes = append(a.Notes, "pods have NICs and no GPU: where their GPUs come from, and how many, is not said, so that alignment is unknown")
	}
	if r.abort != "" && len(a.Pods) > 0 {
		a.Notes = append(a.Notes, r.abort)
	} else {
		r.abort = "" // said of the pod that has no node
	}
	if len(a.NICGBs) != len(a.Pods) {
		a.NICGBs = []fabric.RateRange{}
	}
	for _, text := range slices.Sorted(maps.Keys(r.unknown)) {
		noun, rest, _ := strings.Cut(text, " ")
		a.Notes = append(a.Notes, number(int64(r.unknown[text]), noun)+" "+rest)
	}
	if note := r.objects.asideNote(); note != "" {
		a.Notes = append(a.Notes, note)
	}
	if len(r.objects.twice) > 0 {
		a.Notes = append(a.Notes, "given twice with the same contents, read once: "+strings.Join(slices.Compact(slices.Sorted(slices.Values(r.objects.twice))), ", "))
	}
	certain := false
	for _, u := range a.Unsatisfied {
		certain = certain || !u.Unsure
	}
	switch {
	case certain, a.AlignedPairs.Max < a.TotalPairs:
		a.Status = fabric.Fail
	case len(a.Unsatisfied) > 0, lone, r.doubtful, r.abort != "", a.AlignedPairs.Min < a.TotalPairs, len(a.Problems) > 0, len(a.Pods) == 0:
		a.Status = fabric.Unknown
	default:
		a.Status = fabric.Pass
	}
}
