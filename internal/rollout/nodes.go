package rollout

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Node is what a scheduler knows of one before it looks at its pods.
type Node = core.Node

// ReadNode reads one.
func ReadNode(text []byte) (Node, error) {
	n, err := read[core.Node](text)
	n.Status.Images, n.ManagedFields = nil, nil // most of it, and nothing that is asked for
	return n, err
}

// Requests are what a pod asks of its node, as the scheduler adds it up; a limit without a request is one.
func (s PodSet) Requests() core.ResourceList {
	p := s.Pod.DeepCopy()
	for _, list := range [][]core.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for name, limit := range list[i].Resources.Limits {
				if _, said := list[i].Resources.Requests[name]; said {
					continue
				}
				if list[i].Resources.Requests == nil {
					list[i].Resources.Requests = core.ResourceList{}
				}
				list[i].Resources.Requests[name] = limit
			}
		}
	}
	all := podresource.PodRequests(p, podresource.PodResourcesOptions{})
	for name, q := range all {
		if q.IsZero() {
			delete(all, name)
		}
	}
	return all
}

// Room is how many pods of a set nodes have room for, whether or not others use it now.
type Room struct {
	Pods    int                 // at most
	Nodes   int                 // that take such a pod, and are large enough for one
	Taking  int                 // that take such a pod
	Lacking []core.ResourceName // that a node which takes such a pod lacks, in order
}

// RoomFor says how much room nodes have for a set. A node takes a pod if it is not cordoned, and by the pod's selectors and tolerations:
// the scheduler's own rules. What other pods use is left out, so that the answer bounds what is possible.
func RoomFor(nodes []Node, s PodSet) (r Room, err error) {
	asks := s.Requests()
	affinity := nodeaffinity.GetRequiredNodeAffinity(&s.Pod)
	for i := range nodes {
		n := &nodes[i]
		match, err := affinity.Match(n)
		if err != nil {
			return Room{}, fmt.Errorf("node affinity: %w", err)
		}
		if !match || !s.EachNode && (n.Spec.Unschedulable || repelled(n, s.Pod)) {
			continue
		}
		r.Taking++
		fit, lacking := fitting(n.Status.Allocatable, asks)
		for _, name := range lacking {
			if !slices.Contains(r.Lacking, name) {
				r.Lacking = append(r.Lacking, name)
			}
		}
		if fit > 0 {
			r.Nodes, r.Pods = r.Nodes+1, r.Pods+fit
		}
	}
	slices.Sort(r.Lacking)
	return r, nil
}

// repelled: taints of a node that is not ready are left out; it may be ready when the pod comes.
func repelled(n *core.Node, p core.Pod) bool {
	_, untolerated := corev1.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, p.Spec.Tolerations, func(t *core.Taint) bool {
		return (t.Effect == core.TaintEffectNoSchedule || t.Effect == core.TaintEffectNoExecute) && !strings.HasPrefix(t.Key, "node.kubernetes.io/")
	}, true)
	return untolerated
}

// fitting is how many times a node has what is asked for, and what it has too little of for once.
func fitting(has, asks core.ResourceList) (times int, lacking []core.ResourceName) {
	most := int64(math.MaxInt32)
	if pods, said := has[core.ResourcePods]; said {
		most = pods.Value()
	}
	for name, ask := range asks {
		have := has[name]
		n := have.MilliValue() / max(ask.MilliValue(), 1)
		if n < 1 {
			lacking = append(lacking, name)
		}
		most = min(most, n)
	}
	return int(most), lacking
}

// AsksText is what a pod asks of its node: 8 nvidia.com/gpu, 1 rdma/rail0.
func (s PodSet) AsksText() string {
	asks := s.Requests()
	names := make([]string, 0, len(asks))
	for name := range asks {
		names = append(names, string(name))
	}
	slices.SortFunc(names, func(a, b string) int { // devices first
		if d := strings.Count(b, "/") - strings.Count(a, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		q := asks[core.ResourceName(name)]
		names[i] = q.String() + " " + name
	}
	return strings.Join(names, ", ")
}

// Device is how many of a device pods ask for together, and how many the nodes have that take one of them.
type Device struct {
	Name         core.ResourceName
	Asked, There int64
}

// Devices adds up the extended resources, which are counted in whole devices, of pods that run at the same time.
func Devices(nodes []Node, sets []PodSet) (all []Device) {
	asked := make(map[core.ResourceName]int64)
	for _, s := range sets {
		for name, q := range s.Requests() {
			if strings.Contains(string(name), "/") && !s.EachNode {
				asked[name] += q.Value() * int64(s.Count)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		d := Device{Name: name, Asked: asked[name]}
		for i := range nodes {
			if slices.ContainsFunc(sets, func(s PodSet) bool {
				r, err := RoomFor(nodes[i:i+1], s)
				return err == nil && r.Taking > 0
			}) {
				has := nodes[i].Status.Allocatable[name]
				d.There += has.Value()
			}
		}
		all = append(all, d)
	}
	return all
}
