package switchtext

import (
	"cmp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Queue is an egress queue of a port. It has the number of its class's priority.
type Queue struct {
	Name    string // of its class, or rest
	Number  int
	Percent int // of the bandwidth that the weighted queues share; 0: strict priority
	ECN     *fabric.ECN
}

// Queues returns the queues that have packets, by number: RoCE and all other packets share the bandwidth, and CNPs,
// which are few and lose their use with every microsecond, go before both.
func Queues(t fabric.Traffic) []Queue {
	all := []Queue{{Name: "rest", Number: UnusedPriority(t), Percent: 100 - t.Share}}
	for _, c := range t.Classes {
		q := Queue{Name: c.Name, Number: c.Priority, ECN: c.ECN}
		if c.Name == "roce" {
			q.Percent = t.Share
		}
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b Queue) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// UnusedPriority returns the lowest priority that no class has: the one for all other packets.
func UnusedPriority(t fabric.Traffic) int {
	p := 0
	for slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.Priority == p }) {
		p++
	}
	return p
}
