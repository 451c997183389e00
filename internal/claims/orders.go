package claims

import (
	"context"
	"math/rand/v2"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// otherOrders allocates with the devices of each slice in other orders, as another node or the next start of a driver
// may publish them. Where the number of aligned pairs then differs, no constraint keeps GPUs and NICs together, and
// those that are aligned are so by chance. Constraints that hold in every order give one number. The published order counts.
func otherOrders(ctx context.Context, o *Objects, req Request, published fabric.CountRange) (*fabric.CountRange, error) {
	tries := req.Orders
	req.Orders = 0
	r := &published
	for i := range tries {
		if ctx.Err() != nil {
			break
		}
		a, err := Allocate(ctx, o.reordered(i), req)
		if err != nil {
			return nil, err
		}
		if len(a.Pods) == 0 {
			continue
		}
		r.Min, r.Max = min(r.Min, a.AlignedPairs.Min), max(r.Max, a.AlignedPairs.Max)
	}
	return r, nil
}

// reordered are the objects with the devices of slices in the order of a number: NICs backwards, GPUs backwards, then
// shuffled. The same number gives the same order.
func (o *Objects) reordered(order int) *Objects {
	other := *o
	other.slices = make([]*resourceapi.ResourceSlice, len(o.slices))
	random := rand.New(rand.NewPCG(uint64(order), 0))
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
