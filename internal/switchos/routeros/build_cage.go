package routeros

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// cages names interfaces that want the same lanes of a cage. Each lane has an interface, and the first of a link takes those
// that follow: a cage that is not split is one link of all lanes.
func (b *build) cages() {
	inCage := map[string][]*portSaid{}
	var order []string
	for _, p := range b.ports {
		if c, ok := cageOf(p.name); ok {
			if inCage[c.name] == nil {
				order = append(order, c.name)
			}
			inCage[c.name] = append(inCage[c.name], p)
		}
	}
	for _, name := range order {
		ports := inCage[name]
		for _, p := range ports {
			from, to, at, ok := b.claims(p)
			if !ok {
				continue
			}
			i := slices.IndexFunc(ports, func(q *portSaid) bool {
				c, _ := cageOf(q.name)
				return c.lane > from && c.lane <= to && q.config.RateGbps != nil && q.monitor.is("rate") == "" && !q.off()
			})
			if i >= 0 {
				q := ports[i]
				b.problem(fabric.TextConflict, q.name, q.config.RateGbps.At, fmt.Sprintf("has a speed of its own on a lane that %s takes (lanes %d to %d of its cage) by \"%s\"", p.name, from, to, at.Text),
					"The cage is not split so. Force both speeds, or restrict what is advertised.")
			}
		}
	}
}

// claims are the lanes that an interface takes: those of its forced speed, or else of the widest one that it may negotiate.
func (b *build) claims(p *portSaid) (from, to int, at fabric.Line, ok bool) {
	c, _ := cageOf(p.name)
	speed, said := p.link.get("speed")
	auto, told := p.link.get("auto-negotiation")
	negotiates, _ := yes(auto.Is)
	switch {
	case p.off():
		return 0, 0, at, false
	case said && told && !negotiates:
		l, good := linkOf(speed.Is)
		return c.lane, c.lane + l.lanes - 1, speed.At, good && l.lanes > 0
	case c.lane != 1 || told && !negotiates || !told && !b.known(p.link):
		return 0, 0, at, false
	}
	if !told {
		auto.At = says("default of RouterOS: auto-negotiation is on (manual, Ethernet, auto-negotiation)")
	}
	advertised, restricted := p.link.get("advertise")
	if !restricted {
		return 1, c.lanes, auto.At, true
	}
	widest := 0
	for w := range strings.SplitSeq(advertised.Is, ",") {
		if l, good := linkOf(w); good {
			widest = max(widest, l.lanes)
		}
	}
	return 1, widest, advertised.At, widest > 0
}

// rates names a fast port that is forced to another rate than most of its switch, and limits below the rate of a port.
func (b *build) rates() {
	count := map[float64]int{}
	usual := 0.0
	of := func(p *portSaid) (*fabric.Said[float64], bool) {
		r := p.config.RateGbps
		return r, r != nil && strings.HasPrefix(p.name, "qsfp") && !p.off()
	}
	for _, p := range b.ports {
		if r, ok := of(p); ok {
			if count[r.Is]++; count[r.Is] > count[usual] {
				usual = r.Is
			}
		}
	}
	for _, p := range b.ports {
		r, ok := of(p)
		if ok && r.Is != usual && count[usual] > count[r.Is] {
			b.problem(fabric.TextConflict, p.name, r.At, fmt.Sprintf("runs at %g Gb/s, and most QSFP ports of this switch at %g", r.Is, usual),
				"Speeds are mixed: the slowest host sets the pace, and queues towards it fill.")
		}
		if p.config.RateGbps != nil {
			b.limits(p)
		}
	}
}

// limits names a limit of what leaves or comes in that is below the rate of the port.
func (b *build) limits(p *portSaid) {
	rate := p.config.RateGbps.Is
	told := func(r *record, key, of string) {
		v, ok := r.get(key)
		if gbps, good := gigabits(v.Is); ok && good && gbps > 0 && gbps < rate {
			b.problem(fabric.TextConflict, p.name, v.At, fmt.Sprintf("limits %s to %g Gb/s, and the port runs at %g", of, gbps, rate), "It gets no more, however idle the port is.")
		}
	}
	told(p.limit, "egress-rate", "all that leaves")
	told(p.limit, "ingress-rate", "all that comes in")
	for q := range 8 {
		told(p.qos, fmt.Sprintf("egress-rate-queue%d", q), fmt.Sprintf("queue %d", q))
	}
}
