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

// Reordered returns the objects with the devices of each slice, and the slices, in another order. The same seed gives the
// same order. The allocator takes the first devices that fit, in this order, and drivers promise none.
func (o *Objects) Reordered(seed uint64) *Objects {
	random := rand.New(rand.NewPCG(seed, uint64(len(o.slices)))) //nolint:gosec // an order, not a secret
	other := *o
	other.slices = make([]*resourceapi.ResourceSlice, len(o.slices))
	for i, s := range o.slices {
		shuffled := *s
		shuffled.Spec.Devices = slices.Clone(s.Spec.Devices)
		random.Shuffle(len(shuffled.Spec.Devices), func(i, j int) {
			shuffled.Spec.Devices[i], shuffled.Spec.Devices[j] = shuffled.Spec.Devices[j], shuffled.Spec.Devices[i]
		})
		other.slices[i] = &shuffled
	}
	random.Shuffle(len(other.slices), func(i, j int) { other.slices[i], other.slices[j] = other.slices[j], other.slices[i] })
	return &other
}
