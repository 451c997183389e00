package claims

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// memory keeps what the allocator said of a node, for other nodes of its kind: those with the same devices in pools and
// slices of other names. The allocator sees the names of a node, its pools and slices only to compare and to order them
// (k8s.io/dynamic-resource-allocation, structured: GatherPools), and the devices of other nodes not at all, so that its
// answer is the same but for the names. Where a slice is for several nodes, nothing is kept.
type memory struct {
	kinds   map[string]*nodeKind // by node; nil: of no kind
	numbers map[string]int       // by signature
	devices map[*resourceapi.Device]string
	lists   map[[sha256.Size]byte]int // by devices as JSON
	taken   map[poolName][]string
	parts   map[poolName]bool // a device of the pool is given in shares: their amounts are not kept
	asked   map[claimSpec]int
	known   map[question][]remembered
}

// nodeKind is the kind of a node, and what the pools of this kind are on it.
type nodeKind struct {
	number int
	pools  []poolName
}

// claimSpec is what a claim asks for: claims of one template have it in common.
type claimSpec struct {
	requests    *resourceapi.DeviceRequest
	constraints *resourceapi.DeviceConstraint
	config      *resourceapi.DeviceClaimConfiguration
	counts      [3]int
}

// question is what the allocator is asked: of a kind of node with devices that are taken, and claims.
type question struct {
	kind          int
	taken, claims string
}

// remembered is a result with the number of the pool of each of its devices.
type remembered struct {
	result resourceapi.AllocationResult
	pools  []int
}

func newMemory() *memory {
	return &memory{
		kinds: map[string]*nodeKind{}, numbers: map[string]int{}, devices: map[*resourceapi.Device]string{}, lists: map[[sha256.Size]byte]int{},
		taken: map[poolName][]string{}, parts: map[poolName]bool{}, asked: map[claimSpec]int{}, known: map[question][]remembered{},
	}
}

// use keeps that a device is taken.
func (m *memory) use(res resourceapi.DeviceRequestAllocationResult) {
	p := poolName{res.Driver, res.Pool}
	if res.ShareID != nil {
		m.parts[p] = true
		return
	}
	if at, found := slices.BinarySearch(m.taken[p], res.Device); !found {
		m.taken[p] = slices.Insert(m.taken[p], at, res.Device)
	}
}

// kindOf is the kind of a node, nil where its devices are not its alone.
func (m *memory) kindOf(x *sliceIndex, node string) *nodeKind {
	if k, known := m.kinds[node]; known {
		return k
	}
	m.kinds[node] = nil
	own := x.own[node]
	if len(x.shared) > 0 || len(own) == 0 {
		return nil
	}
	var pools []poolName
	var names []string
	for _, s := range own {
		if p := poolOf(s); !slices.Contains(pools, p) {
			pools = append(pools, p)
		}
		names = append(names, s.Name)
	}
	slices.SortFunc(pools, func(a, b poolName) int { return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.pool, b.pool)) })
	slices.Sort(names)
	var signature strings.Builder
	for _, s := range own {
		if len(x.pools[poolOf(s)]) > len(own) || slices.ContainsFunc(x.pools[poolOf(s)], func(o *resourceapi.ResourceSlice) bool { return *o.Spec.NodeName != node }) {
			return nil
		}
		order := 0 // of its pool's name, whatever the drivers
		for _, p := range pools {
			if p.pool < s.Spec.Pool.Name {
				order++
			}
		}
		list := m.list(s.Spec.Devices)
		if list == "" {
			return nil
		}
		rank, _ := slices.BinarySearch(names, s.Name)
		signature.WriteString(strings.Join([]string{
			strconv.Itoa(slices.Index(pools, poolOf(s))), strconv.Itoa(order), strconv.Itoa(rank), s.Spec.Driver,
			strconv.FormatInt(s.Spec.Pool.Generation, 10), strconv.FormatInt(s.Spec.Pool.ResourceSliceCount, 10), list,
		}, " ") + "\n")
	}
	number, known := m.numbers[signature.String()]
	if !known {
		number = len(m.numbers)
		m.numbers[signature.String()] = number
	}
	m.kinds[node] = &nodeKind{number: number, pools: pools}
	return m.kinds[node]
}

// list is a number for each list of devices, equal for equal ones; empty where they cannot be compared.
func (m *memory) list(devices []resourceapi.Device) string {
	if len(devices) == 0 {
		return "none"
	}
	text, known := m.devices[&devices[0]]
	if known {
		return text
	}
	all, err := json.Marshal(devices)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(all)
	number, known := m.lists[sum]
	if !known {
		number = len(m.lists)
		m.lists[sum] = number
	}
	text = strconv.Itoa(number)
	m.devices[&devices[0]] = text
	return text
}

// question is what is asked of a node of a kind; ok is false where the answer is not to be kept.
func (m *memory) question(k *nodeKind, claims []*resourceapi.ResourceClaim) (q question, ok bool) {
	if k == nil {
		return q, false
	}
	var taken, asked strings.Builder
	for i, p := range k.pools {
		if m.parts[p] {
			return q, false
		}
		for _, device := range m.taken[p] {
			taken.WriteString(strconv.Itoa(i) + " " + device + "\n")
		}
	}
	for _, c := range claims {
		d := &c.Spec.Devices
		spec := claimSpec{counts: [3]int{len(d.Requests), len(d.Constraints), len(d.Config)}}
		if len(d.Requests) > 0 {
			spec.requests = &d.Requests[0]
		}
		if len(d.Constraints) > 0 {
			spec.constraints = &d.Constraints[0]
		}
		if len(d.Config) > 0 {
			spec.config = &d.Config[0]
		}
		number, known := m.asked[spec]
		if !known {
			number = len(m.asked)
			m.asked[spec] = number
		}
		asked.WriteString(strconv.Itoa(number) + " ")
	}
	return question{kind: k.number, taken: taken.String(), claims: asked.String()}, true
}

// recall is try for claims whose specifications nobody changes: what a node of the same kind answered is not asked again.
func (s *scheduler) recall(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim, budget time.Duration) outcome {
	if ctx.Err() != nil {
		return outcome{late: true}
	}
	k := s.memory.kindOf(s.index, node.Name)
	q, ok := s.memory.question(k, claims)
	if !ok {
		return s.try(ctx, node, claims, budget)
	}
	if all, known := s.memory.known[q]; known {
		return outcome{results: named(all, k)}
	}
	out := s.try(ctx, node, claims, budget)
	if out.late || out.err != nil || out.aborted != "" {
		return out
	}
	if all, ok := numbered(out.results, k); ok {
		s.memory.known[q] = all
	}
	return out
}

// numbered is results with pools by number; ok is false where a device is given in shares, which have names of their own.
func numbered(results []resourceapi.AllocationResult, k *nodeKind) (all []remembered, ok bool) {
	for _, r := range results {
		one := remembered{result: r}
		for _, d := range r.Devices.Results {
			at := slices.Index(k.pools, poolName{d.Driver, d.Pool})
			if d.ShareID != nil || at < 0 {
				return nil, false
			}
			one.pools = append(one.pools, at)
		}
		all = append(all, one)
	}
	return all, true
}

// named is remembered results with the pools of a node. They say nothing of the node itself, which the caller knows.
func named(all []remembered, k *nodeKind) (results []resourceapi.AllocationResult) {
	for _, one := range all {
		r := one.result
		r.NodeSelector = nil
		r.Devices.Results = slices.Clone(r.Devices.Results)
		for i := range r.Devices.Results {
			r.Devices.Results[i].Pool = k.pools[one.pools[i]].pool
		}
		results = append(results, r)
	}
	return results
}
