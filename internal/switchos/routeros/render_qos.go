package routeros

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// qos writes profiles, queues and PFC: MikroTik manual, Quality of Service, RDMA over Converged Ethernet. A class has the number
// of its priority; all other packets are in that of profile default.
func qos(b *strings.Builder, s fabric.Switch, t fabric.Traffic) (omits []string) {
	rest := restClass
	b.WriteString("/interface ethernet switch\nset switch1 qos-hw-offloading=yes\n/interface ethernet switch qos profile\n")
	if slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.Priority == rest }) {
		rest = switchtext.UnusedPriority(t)
		fmt.Fprintf(b, "set [ find name=default ] traffic-class=%d\n", rest)
		omits = append(omits, fmt.Sprintf("whether RouterOS lets profile default move to traffic class %d: no document says it", rest))
	}
	for _, c := range t.Classes {
		fmt.Fprintf(b, "remove [ find name=%s ]\nadd name=%[1]s dscp=%d traffic-class=%d automap=yes\n", profileName(c), c.DSCP, c.Priority)
	}
	queues(b, t, rest)
	omits = append(omits, pfc(b, t)...)
	b.WriteString("/interface ethernet switch qos port\n")
	for _, p := range s.Ports {
		fmt.Fprintf(b, "set [ find name=%s ] trust-l2=ignore trust-l3=keep profile=default map=default tx-manager=default pfc=%s\n", p.Name, pfcName(t))
	}
	return append(omits, omitsOfQoS(t, rest)...)
}

func profileName(c fabric.TrafficClass) string { return switchtext.QoSName + "-" + c.Name }

// pfcName is the PFC profile of the ports; the built-in one where no class is lossless.
func pfcName(t fabric.Traffic) string {
	if len(lossless(t)) == 0 {
		return "disabled"
	}
	return switchtext.QoSName
}

func lossless(t fabric.Traffic) (out []string) {
	for _, c := range t.Classes {
		if c.Lossless {
			out = append(out, fmt.Sprint(c.Priority))
		}
	}
	return out
}

// queues writes the queues that have packets: RoCE and all other packets share by weight in one group, CNPs go before both.
// Pauses and marks are counted by shared buffers.
func queues(b *strings.Builder, t fabric.Traffic, rest int) {
	b.WriteString("/interface ethernet switch qos tx-manager queue\n")
	all := switchtext.Queues(t)
	for i := range all {
		if all[i].Name == "rest" {
			all[i].Number = rest
		}
	}
	slices.SortFunc(all, func(x, y switchtext.Queue) int { return x.Number - y.Number })
	part := common(t.Share, 100-t.Share)
	for _, q := range all {
		fmt.Fprintf(b, "set [ find tx-manager=default traffic-class=%d ]", q.Number)
		if q.Percent == 0 {
			b.WriteString(" schedule=strict-priority")
		} else {
			fmt.Fprintf(b, " schedule=high-priority-group weight=%d", q.Percent/part)
		}
		ecn := "no"
		if q.ECN != nil {
			ecn = "yes"
		}
		fmt.Fprintf(b, " use-shared-buffers=yes wred=no ecn=%s\n", ecn)
	}
}

// common is the greatest common divisor of two shares: RouterOS counts packets a round, and small rounds are smoother.
func common(x, y int) int {
	for y != 0 {
		x, y = y, x%y
	}
	return max(x, 1)
}

// pfc writes the PFC profile and the lossless classes.
func pfc(b *strings.Builder, t fabric.Traffic) []string {
	list := strings.Join(lossless(t), ",")
	if list == "" {
		return nil
	}
	fmt.Fprintf(b, "/interface ethernet switch qos settings\nset lossless-traffic-class=%s lossless-buffers=auto\n", list)
	fmt.Fprintf(b, "/interface ethernet switch qos priority-flow-control\nremove [ find name=%s ]\nadd name=%[1]s traffic-class=%s rx=yes tx=yes\n", switchtext.QoSName, list)
	return []string{
		"headroom: RouterOS has no length of cables; its own pause threshold (auto) decides",
		"rates of queues with PFC, which its manual asks for, are the last lines: RouterOS 7.22 takes none above 100 Gb/s",
	}
}

func omitsOfQoS(t fabric.Traffic, rest int) (out []string) {
	if t.Watchdog != nil {
		out = append(out, "PFC watchdog: RouterOS has none")
	}
	for _, c := range t.Classes {
		if c.ECN != nil {
			out = append(out, fmt.Sprintf("thresholds of marking (%d to %d KiB, %d %%): RouterOS has none; a queue marks above its part of the shared buffer", c.ECN.MinBytes>>10, c.ECN.MaxBytes>>10, c.ECN.Percent))
		}
		if c.Name == "cnp" && slices.ContainsFunc(t.Classes, func(o fabric.TrafficClass) bool { return o.Priority > c.Priority }) || c.Name == "cnp" && rest > c.Priority {
			out = append(out, fmt.Sprintf("strict priority of cnp: no document says that a strict queue (%d) goes before a group above it", c.Priority))
		}
	}
	return out
}

// egressRates writes the rate of each queue with PFC, by which the switch counts how long a pause lasts.
func egressRates(b *strings.Builder, s fabric.Switch, t fabric.Traffic) {
	list := lossless(t)
	if len(list) == 0 {
		return
	}
	b.WriteString("/interface ethernet switch qos port\n")
	for _, p := range s.Ports {
		if p.RateGbps <= 0 {
			continue
		}
		fmt.Fprintf(b, "set [ find name=%s ]", p.Name)
		for _, class := range list {
			fmt.Fprintf(b, " egress-rate-queue%s=%.1fGbps", class, p.RateGbps)
		}
		b.WriteString("\n")
	}
}
