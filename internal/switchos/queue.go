package switchos

import (
	"cmp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// queue is an egress queue of a port. It has the number of its class's priority.
type queue struct {
	name    string // of its class, or rest
	number  int
	percent int // of the bandwidth that the weighted queues share; 0: strict priority
	ecn     *fabric.ECN
}

// queuesOf returns the queues that have packets, by number: RoCE and all other packets share the bandwidth, and CNPs,
// which are few and lose their use with every microsecond, go before both.
func queuesOf(t fabric.Traffic) []queue {
	all := []queue{{name: "rest", number: unusedPriority(t), percent: 100 - t.Share}}
	for _, c := range t.Classes {
		q := queue{name: c.Name, number: c.Priority, ecn: c.ECN}
		if c.Name == "roce" {
			q.percent = t.Share
		}
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b queue) int { return cmp.Compare(a.number, b.number) })
	return all
}

// unusedPriority returns the lowest priority that no class has: the one for all other packets.
func unusedPriority(t fabric.Traffic) int {
	p := 0
	for slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.Priority == p }) {
		p++
	}
	return p
}
