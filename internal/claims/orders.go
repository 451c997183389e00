package claims

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// On returns the objects with the slices of one node, and those that no single node has.
func (o *Objects) On(node string) *Objects {
	one := *o
	one.slices = nil
	for _, s := range o.slices {
		if s.Spec.NodeName == nil || *s.Spec.NodeName == node {
			one.slices = append(one.slices, s)
		}
	}
	one.nodes = slices.DeleteFunc(slices.Clone(o.nodes), func(n *corev1.Node) bool { return n.Name != node })
	return &one
}

// Reordered returns the objects with the devices of slices in the order of a number: NICs backwards, GPUs backwards, then
// shuffled, as another node or the next start of a driver may publish them. The same number gives the same order.
func (o *Objects) Reordered(order int) *Objects {
	other := *o
	other.slices = make([]*resourceapi.ResourceSlice, len(o.slices))
	random := rand.New(rand.NewPCG(uint64(order), 0)) //nolint:gosec // an order, not a secret
	for i, s := range o.slices {
		copied := *s
		copied.Spec.Devices = slices.Clone(s.Spec.Devices)
		other.slices[i] = &copied
		devices := copied.Spec.Devices
		kind := ""
		if len(devices) > 0 {
			kind = place(s.Spec.Driver, &devices[0]).kind
		}
		switch {
		case order == 0 && kind == kindGPU, order == 1 && kind != kindGPU:
		case order < 2:
			slices.Reverse(devices)
		default:
			random.Shuffle(len(devices), func(a, b int) { devices[a], devices[b] = devices[b], devices[a] })
		}
	}
	return &other
}
