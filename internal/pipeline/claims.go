package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// ClaimOrders is how many other orders of devices are tried: an order in twenty that gives less is found nearly always.
const ClaimOrders = 64

// ClaimTest is claims, and what they are tried on.
type ClaimTest struct {
	Objects    *claims.Objects
	Request    claims.Request
	Source     string // where the slices come from, for people
	Nominal    bool   // no driver published them
	Notes      []string
	Unread     []fabric.ObjectProblem              // kinds that a cluster would not list: what is in use may be more
	Cluster    func() (*collective.Cluster, error) // machines of the pods; nil where they are unknown
	Collective fabric.Collective
	Orders     int // other orders of devices to try; 0: none
}

// TryClaims allocates the claims, gives each pod its pairs, tries other orders of the devices, and predicts a collective
// over the pods. It fails closed: an alignment that only one order gives, and objects that were not understood, are unknown.
func TryClaims(ctx context.Context, in ClaimTest) (*fabric.Allocation, error) {
	a, err := claims.Allocate(ctx, in.Objects, in.Request)
	if err != nil {
		return nil, err
	}
	a.Source, a.Nominal = in.Source, in.Nominal
	a.Notes, a.Problems = append(slices.Clone(in.Notes), a.Notes...), append(a.Problems, in.Unread...)
	completePods(a)
	if in.Orders > 0 {
		if a.Orders, err = otherOrders(ctx, in, a); err != nil {
			return nil, err
		}
	}
	a.Status = allocationStatus(a)
	if len(a.Pods) == 0 {
		return a, nil
	}
	if in.Cluster == nil {
		a.Notes = append(a.Notes, "no bandwidth is predicted: the machine is unknown; --machine ID says what it is")
		return a, nil
	}
	c, err := in.Cluster()
	if err == nil {
		a.Collective, err = podCollective(c, in.Collective, a.Pods)
	}
	if err != nil {
		a.Notes = append(a.Notes, "no bandwidth is predicted: "+err.Error())
	}
	return a, nil
}

// allocationStatus is the allocator's, no better than what other orders and objects that were not understood allow.
func allocationStatus(a *fabric.Allocation) fabric.Status {
	unknown := slices.ContainsFunc(a.Pods, func(p fabric.PodAlignment) bool { return p.Status == fabric.Unknown })
	if a.Status == fabric.Pass && (a.Orders.ByChance() || len(a.Problems) > 0 || unknown) {
		return fabric.Unknown
	}
	return a.Status
}

// orderBudget is how long other orders may be tried, all together: the answer is there already.
const orderBudget = 5 * time.Second

// otherOrders allocates the same claims again on one node with its devices in other orders: that of the first pod
// that gets devices now, which stands for all nodes with such slices. Nil where there is no such pod, or nothing was chosen.
func otherOrders(ctx context.Context, in ClaimTest, a *fabric.Allocation) (*fabric.DeviceOrders, error) {
	fresh := slices.IndexFunc(a.Claims, func(c fabric.AllocatedClaim) bool { return !c.Existing })
	if fresh < 0 {
		return nil, nil
	}
	node := a.Claims[fresh].Node
	there := 0
	for _, pod := range a.Pods {
		if pod.Node == node {
			there++
		}
	}
	ctx, cancel := context.WithTimeout(ctx, orderBudget)
	defer cancel()
	one, request := in.Objects.On(node), in.Request
	if request.Pods > there {
		request.Pods = there
	}
	request.Total = orderBudget
	try := func(o *claims.Objects) (*fabric.Allocation, error) {
		b, err := claims.Allocate(ctx, o, request)
		if err == nil {
			completePods(b)
		}
		return b, err
	}
	first, err := try(one)
	if err != nil {
		return nil, err
	}
	all := []*fabric.Allocation{first}
	for i := 0; i < in.Orders && ctx.Err() == nil; i++ {
		b, err := try(one.Reordered(i))
		if err != nil {
			return nil, err
		}
		if ctx.Err() == nil { // one that was cut short says nothing
			all = append(all, b)
		}
	}
	return compared(all), nil
}

// compared says in how many orders pods got less than in the best one.
func compared(all []*fabric.Allocation) *fabric.DeviceOrders {
	x := &fabric.DeviceOrders{Tried: len(all), Nodes: 1, Pods: len(all[0].Pods), Aligned: all[0].AlignedPairs, Total: all[0].TotalPairs}
	pods, aligned, numas := 0, 0, 0
	for i, a := range all {
		pods, aligned = max(pods, len(a.Pods)), max(aligned, a.AlignedPairs.Min)
		if n := mostNUMAs(a); i == 0 || n < numas {
			numas = n
		}
		x.Aligned.Min, x.Aligned.Max = min(x.Aligned.Min, a.AlignedPairs.Min), max(x.Aligned.Max, a.AlignedPairs.Max)
		x.Total = max(x.Total, a.TotalPairs)
	}
	for _, a := range all {
		less, mixed := len(a.Pods) < pods || a.AlignedPairs.Min < aligned, mostNUMAs(a) > numas
		if less {
			x.Worse++
		}
		if mixed {
			x.Mixed++
		}
		if mixed && x.Mixed == 1 || less && x.Example == "" { // a mixture takes the place of less
			x.Example = example(a)
		}
	}
	return x
}

// mostNUMAs is the NUMA nodes of the NICs of the pod that has most.
func mostNUMAs(a *fabric.Allocation) (n int) {
	for _, pod := range a.Pods {
		n = max(n, len(pod.NUMAs))
	}
	return n
}

// example is the pod with NICs of most NUMA nodes, else the one with fewest aligned pairs.
func example(a *fabric.Allocation) string {
	if len(a.Pods) == 0 {
		return ""
	}
	pod := slices.MinFunc(a.Pods, func(x, y fabric.PodAlignment) int {
		return cmp.Or(len(y.NUMAs)-len(x.NUMAs), x.Aligned.Min-y.Aligned.Min)
	})
	of := map[int]int{}
	for _, pair := range pod.Pairs {
		if pair.NIC != nil && pair.NIC.NUMA != nil {
			of[*pair.NIC.NUMA]++
		}
	}
	if len(of) < 2 {
		return fmt.Sprintf("pod %s with %d of %d pairs certainly aligned", pod.Pod, pod.Aligned.Min, pod.Total)
	}
	var parts []string
	for _, node := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s of NUMA node %d", fabric.Count(of[node], "NIC"), node))
	}
	return fmt.Sprintf("pod %s with %s", pod.Pod, strings.Join(parts, " and "))
}
