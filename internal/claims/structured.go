package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// scheduler allocates claims as kube-scheduler does: with its allocator, on one node after another, keeping what is in
// use. Only this file calls the allocator, whose signatures change between minor versions of Kubernetes.
type scheduler struct {
	features structured.Features
	state    structured.AllocatedState
	classes  classList
	index    *sliceIndex
	cache    *cel.Cache
	memory   *memory
}

// outcome is what an attempt on one node came to.
type outcome struct {
	results []resourceapi.AllocationResult // one per claim; nil: the claims do not fit on the node
	late    bool                           // the search took longer than its budget: not decided
	err     error                          // the scheduler gives up on the pod, not only on the node
	aborted string                         // what it gives the pod up for, where other nodes are tried here nevertheless
}

// classList is the lister that the allocator asks for classes.
type classList []*resourceapi.DeviceClass

// List returns all classes.
func (c classList) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

// Get returns a class, or the error that the API server would give.
func (c classList) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: resourceGroup, Resource: "deviceclasses"}, name)
}

// newScheduler begins with the devices that allocated claims have.
func newScheduler(o *Objects, gates gates) *scheduler {
	s := &scheduler{
		features: structured.Features{
			AdminAccess: gates.adminAccess, ConsumableCapacity: gates.consumable, DeviceBindingAndStatus: gates.binding,
			DeviceTaints: gates.taints, ListTypeAttributes: gates.lists, PartitionableDevices: gates.partitionable,
			PrioritizedList: gates.prioritized,
		},
		state: structured.AllocatedState{
			AllocatedDevices:         sets.New[structured.DeviceID](),
			AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
			AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
		},
		classes: o.classes,
		index:   newSliceIndex(o),
		cache:   cel.NewCache(1000, compilerFeatures()), // expressions: of classes and requests, few in one cluster
		memory:  newMemory(),
	}
	for _, c := range o.claims {
		if c.Status.Allocation != nil {
			s.use(c.Status.Allocation)
		}
	}
	return s
}

// use marks the devices of an allocation as taken.
func (s *scheduler) use(a *resourceapi.AllocationResult) {
	for _, r := range a.Devices.Results {
		if r.AdminAccess != nil && *r.AdminAccess {
			continue // looks on, and leaves the device to others
		}
		s.memory.use(r)
		id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
		if r.ShareID == nil {
			s.state.AllocatedDevices.Insert(id)
			continue
		}
		s.state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
		s.state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
	}
}

// inUse tells whether a device is taken as a whole.
func (s *scheduler) inUse(driver, pool, device string) bool {
	return s.state.AllocatedDevices.Has(structured.MakeDeviceID(driver, pool, device))
}

// try allocates the claims of one pod on a node, within a budget of time.
func (s *scheduler) try(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim, budget time.Duration) (out outcome) {
	defer func() {
		if r := recover(); r != nil { // the allocator's own fault must not end the command
			out = outcome{err: fmt.Errorf("the scheduler's allocator failed: %v", r)}
		}
	}()
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	allocator, err := structured.NewAllocator(limited, s.features, s.state, s.classes, s.index.forNode(node), s.cache)
	if err != nil {
		return outcome{err: err}
	}
	results, err := allocator.Allocate(limited, node, claims)
	switch {
	case err == nil:
		return outcome{results: results}
	case limited.Err() != nil:
		return outcome{late: true}
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return outcome{}
	case onThisNodeOnly(err):
		return outcome{aborted: err.Error()}
	}
	return outcome{err: err}
}

// onThisNodeOnly tells an error of a request for all devices that a constraint or an incomplete pool of the node
// refuses. kube-scheduler gives such a pod up; other nodes are tried here to say what they have, and the reason is
// computed from the slices.
func onThisNodeOnly(err error) bool {
	text := err.Error()
	return strings.Contains(text, "because a claim constraint would not be satisfied") ||
		strings.Contains(text, "asks for all devices, but resource pool")
}

// commit keeps the devices of a pod's claims as taken.
func (s *scheduler) commit(results []resourceapi.AllocationResult) {
	for i := range results {
		s.use(&results[i])
	}
}

// matches evaluates selectors on a device as the allocator does. It gives the index of the first that does not hold,
// or the error of one that cannot be evaluated on this device.
func (s *scheduler) matches(ctx context.Context, driver string, d *resourceapi.Device, selectors []resourceapi.DeviceSelector) (failed int, err error) {
	for i, selector := range selectors {
		compiled := s.cache.GetOrCompile(selector.CEL.Expression)
		if compiled.Error != nil {
			return i, compiled.Error
		}
		ok, _, err := compiled.DeviceMatches(ctx, cel.Device{
			Driver: driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity,
		})
		if err != nil || !ok {
			return i, err
		}
	}
	return -1, nil
}

// reaches tells whether a node reaches what names it, or a selector, or all nodes.
func (s *scheduler) reaches(node *corev1.Node, name *string, all *bool, selector *corev1.NodeSelector) bool {
	n, a := "", false
	if name != nil {
		n = *name
	}
	if all != nil {
		a = *all
	}
	ok, err := structured.NodeMatches(s.features, node, n, a, selector)
	return err == nil && ok
}

// sliceIndex finds the slices that decide about a node: its own, those of several nodes, and all others of the same
// pools, without which a pool would seem incomplete.
type sliceIndex struct {
	own    map[string][]*resourceapi.ResourceSlice // by node
	shared []*resourceapi.ResourceSlice            // of several nodes, with the rest of their pools
	pools  map[poolName][]*resourceapi.ResourceSlice
}

type poolName struct{ driver, pool string }

func poolOf(s *resourceapi.ResourceSlice) poolName { return poolName{s.Spec.Driver, s.Spec.Pool.Name} }

func newSliceIndex(o *Objects) *sliceIndex {
	x := &sliceIndex{own: map[string][]*resourceapi.ResourceSlice{}, pools: map[poolName][]*resourceapi.ResourceSlice{}}
	wide := map[poolName]bool{}
	for _, s := range o.slices {
		x.pools[poolOf(s)] = append(x.pools[poolOf(s)], s)
		if s.Spec.NodeName == nil || len(s.Spec.SharedCounters) > 0 {
			wide[poolOf(s)] = true
		}
	}
	for _, s := range o.slices {
		switch {
		case wide[poolOf(s)]:
			x.shared = append(x.shared, s)
		default:
			x.own[*s.Spec.NodeName] = append(x.own[*s.Spec.NodeName], s)
		}
	}
	return x
}

// forNode are the slices for an attempt on a node.
func (x *sliceIndex) forNode(node *corev1.Node) []*resourceapi.ResourceSlice {
	own := x.own[node.Name]
	seen := map[poolName]bool{}
	all := slices.Clone(x.shared)
	for _, s := range own {
		if p := poolOf(s); !seen[p] {
			seen[p] = true
			all = append(all, x.pools[p]...)
		}
	}
	return all
}

// nodeList are the nodes of objects, in natural order, with what is known of their labels. Objects whose slices name no
// node have one that stands for any.
func nodeList(o *Objects) (list []*corev1.Node) {
	known := map[string]*corev1.Node{}
	for _, n := range o.nodes {
		known[n.Name] = n
	}
	for _, name := range o.Nodes() {
		n := known[name]
		if n == nil {
			n = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
		if !n.Spec.Unschedulable {
			list = append(list, n)
		}
	}
	if len(list) == 0 && len(o.slices) > 0 && len(o.nodes) == 0 {
		list = append(list, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "any node"}})
	}
	return list
}
