package dell

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// policies writes how queues mark packets and share a port.
func policies(b *strings.Builder, t fabric.Traffic) {
	queues := switchtext.Queues(t)
	for _, q := range queues {
		if q.ECN != nil {
			fmt.Fprintf(b, "qos wred-policy %s\n green minimum-threshold %d maximum-threshold %d drop-probability %d\n ecn green\nexit\n!\n",
				wredName(q), kb(q.ECN.MinBytes), kb(q.ECN.MaxBytes), q.ECN.Percent)
		}
	}
	fmt.Fprintf(b, "qos scheduler-policy %s\n", switchtext.QoSName)
	for _, q := range queues {
		fmt.Fprintf(b, " queue %d\n", q.Number)
		if q.Percent == 0 {
			b.WriteString("  type strict\n  exit\n")
		} else {
			fmt.Fprintf(b, "  type dwrr\n  weight %d\n  exit\n", q.Percent)
		}
	}
	b.WriteString("exit\n!\n")
}

// wredName is a policy for each class that is marked: classes may have thresholds of their own.
func wredName(q switchtext.Queue) string { return switchtext.QoSName + "_" + q.Name }

// dellMaps writes the maps. A traffic class has the number of its priority, its queue and, where it is lossless, its
// priority group; what is lossy is in group 7, the only one that keeps a lossy buffer once buffers are lossless
// (Broadcom SONiC 4.1 RoCEv2 HLD, 2.2.2.5), or in 0 where RoCE itself has 7.
func dellMaps(b *strings.Builder, t fabric.Traffic) {
	rest := switchtext.UnusedPriority(t)
	lossy := 7
	if slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.Lossless && c.Priority == 7 }) {
		lossy = 0
	}
	dscp, dot1p, groups, same := make([]int, 64), make([]int, 8), make([]int, 8), make([]int, 8)
	for i := range dscp {
		dscp[i] = rest
	}
	for i := range 8 {
		dot1p[i], groups[i], same[i] = rest, lossy, i
	}
	for _, c := range t.Classes {
		dscp[c.DSCP], dot1p[c.Priority] = c.Priority, c.Priority
		if c.Lossless {
			groups[c.Priority] = c.Priority
		}
	}
	mapLines(b, "dscp-tc", "dscp", "traffic-class", dscp)
	mapLines(b, "dot1p-tc", "dot1p", "traffic-class", dot1p)
	mapLines(b, "tc-queue", "traffic-class", "queue", same)
	if dellLossless(t) >= 0 {
		mapLines(b, "tc-pg", "traffic-class", "priority-group", groups)
		mapLines(b, "pfc-priority-queue", "pfc-priority", "queue", same)
		mapLines(b, "pfc-priority-pg", "pfc-priority", "pg", same)
	}
}

// mapLines writes a line for each value that a map leads to, as the switch prints it.
func mapLines(b *strings.Builder, kind, from, to string, values []int) {
	fmt.Fprintf(b, "qos map %s %s\n", kind, switchtext.QoSName)
	for v := range 8 {
		var list []int
		for i, value := range values {
			if value == v {
				list = append(list, i)
			}
		}
		if len(list) > 0 {
			fmt.Fprintf(b, " %s %s %s %d\n", from, ranges(list), to, v)
		}
	}
	b.WriteString("exit\n!\n")
}

// ranges writes ascending numbers as 0-3,5.
func ranges(list []int) string { return strings.ReplaceAll(fabric.Ranges(list, ""), ", ", ",") }

// portQoS returns the lines that attach everything to a port, in the order in which the switch prints them.
func portQoS(t fabric.Traffic) string {
	var b strings.Builder
	for _, q := range switchtext.Queues(t) {
		if q.ECN != nil {
			fmt.Fprintf(&b, " queue %d wred-policy %s\n", q.Number, wredName(q))
		}
	}
	fmt.Fprintf(&b, " scheduler-policy %s\n", switchtext.QoSName)
	lossless := dellLossless(t) >= 0
	if m := cable(t.CableM); lossless && m > 0 {
		fmt.Fprintf(&b, " cable-length %dm\n", m)
	}
	for _, kind := range []string{"dscp-tc", "dot1p-tc", "tc-queue"} {
		fmt.Fprintf(&b, " qos-map %s %s\n", kind, switchtext.QoSName)
	}
	if !lossless {
		return b.String()
	}
	for _, kind := range []string{"tc-pg", "pfc-priority-queue", "pfc-priority-pg"} {
		fmt.Fprintf(&b, " qos-map %s %s\n", kind, switchtext.QoSName)
	}
	for _, c := range t.Classes {
		if c.Lossless {
			fmt.Fprintf(&b, " priority-flow-control priority %d\n", c.Priority)
		}
	}
	if w := t.Watchdog; w != nil {
		fmt.Fprintf(&b, " priority-flow-control watchdog action drop\n priority-flow-control watchdog on detect-time %d\n priority-flow-control watchdog restore-time %d\n",
			w.DetectMs, w.RestoreMs)
	}
	return b.String()
}
