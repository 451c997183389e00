package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// show keeps what a measured number shows. Whatever it shows of a cause, it is one number and counts once.
func (s *observed) show(shows string, p point) {
	e := p.evidence()
	s.seen = append(s.seen, evidence.Measure{Shows: shows, From: "number " + e.Value, Seen: evidence.Seen{Source: e.Source, Text: e.Value, Own: p.own}})
}

// showText keeps what several numbers show, in words.
func (s *observed) showText(shows, source, text string, about fabric.Subject) {
	s.seen = append(s.seen, evidence.Measure{Shows: shows, About: about, Seen: evidence.Seen{Source: source, Text: text, Own: true}})
}

// inVM is the sign of a virtual machine where there is one of its own.
func (s *observed) inVM(shows string) string {
	if s.virtual() {
		return shows + " in a VM"
	}
	return shows
}

// payload is the share of line rate that large collectives reach on a healthy NIC: 0.885 to 0.98 over the
// fabrics of collectives.md, section 2.
const payload = 0.93

// measureNetwork asks what a result across nodes shows: its share of what is expected, the rate on each NIC, and the
// path that it took beside perftest.
func (s *observed) measureNetwork() {
	p := s.slowAcross()
	if p == nil {
		s.measureFullRate()
	}
	if p == nil || p.average {
		return
	}
	s.nicShare(p)
	r := s.rest(p)
	switch {
	case r == 0, spark(s.hw):
	case r < 0.15:
		s.show("below 15 percent", *p)
	case r < 0.3:
		s.show("15 to 30 percent", *p)
	case r < 0.6:
		s.show(s.inVM("30 to 60 percent"), *p)
	case 0.76 <= r && r < 0.9 && s.roce():
		s.show("76 to 90 percent over RoCE", *p)
	default:
		s.show("over 60 percent", *p)
	}
	if spark(s.hw) {
		s.measureSpark(p)
	} else {
		s.portSteps(p)
	}
	s.measureScaling(p)
	if s.any(func(q point) bool {
		return acrossNodes(q) && q.steady() && q.quality == good && q.large && q.nodes == p.nodes && (q.algorithm != p.algorithm || q.collective != p.collective && ringLike(q.collective) && ringLike(p.collective))
	}) {
		s.show("another way at full rate", *p)
	}
}

// measureFullRate keeps that the network carries what is expected of it.
func (s *observed) measureFullRate() {
	full := s.filter(func(p point) bool {
		return p.own && acrossNodes(p) && p.steady() && p.quality == good && p.large && !p.text
	})
	if len(full) > 0 {
		s.show("full rate between nodes", full[0])
	}
}

// ringLike reports whether a collective loads every wire of a ring alike.
func ringLike(c fabric.Collective) bool {
	return c == fabric.AllReduce || c == fabric.AllGather || c == fabric.ReduceScatter
}

// portShare is the share of a stated rate under which a port runs at a lower one: line rates are factors apart.
const portShare = 0.9

// measurePort holds what ports say of themselves against what is stated of the machines, Gb/s.
func (s *observed) measurePort(gbps float64) {
	if gbps > 0 && gbps < portShare*s.hw.NICGbps && !spark(s.hw) {
		s.showText("a port below the stated rate", "tools", fmt.Sprintf("a port runs at %s Gb/s, where %s Gb/s is stated", number(gbps), number(s.hw.NICGbps)), fabric.Subject{})
	}
}

// measurePath asks whether the NICs themselves are fine, and the GPUs within a node.
func (s *observed) measurePath() {
	if s.slowAcross() != nil && s.goodInside() {
		s.showText("one node fine", "measured", "one node reaches what is expected", fabric.Subject{})
	}
	if s.slowAcross() == nil && !s.failing() {
		return
	}
	switch {
	case s.goodGPU():
		s.showText("GPU memory at line rate", "measured", "the NICs reach line rate with GPU memory", fabric.Subject{})
	case s.goodHost() && !spark(s.hw): // of a Spark, GPU and CPU share one memory
		s.showText(s.inVM("host memory at line rate"), "measured", "the NICs reach line rate with host memory", fabric.Subject{})
	}
}

// failing reports whether something says that the run fails.
func (s *observed) failing() bool { return len(s.failed)+len(s.broken) > 0 }

// rest is what is left to explain of a ratio where it is known that only some of the NICs are used: the ratio to
// what those would carry.
func (s *observed) rest(p *point) float64 {
	k, all := s.chosen(), s.hw.NICsPerNode
	if p.ratio <= 0 || k <= 0 || k >= all {
		return p.ratio
	}
	return min(1, p.ratio*float64(all)/float64(k))
}

// chosen is how many NICs the setting or the log leaves to NCCL; 0: unknown.
func (s *observed) chosen() int {
	for _, v := range s.settings {
		if v.name == "NCCL_IB_HCA" {
			if k := namedHCAs(v.value); k > 0 {
				return k
			}
		}
	}
	for _, l := range s.logs {
		if len(l.HCAs) > 0 {
			return len(l.HCAs)
		}
	}
	return 0
}

func (s *observed) roce() bool { return strings.EqualFold(s.hw.Net, "roce") || spark(s.hw) }

// nicShare asks how many NICs would carry what was measured, each at its healthy rate.
func (s *observed) nicShare(p *point) {
	nics := s.hw.NICsPerNode
	share := p.share
	if share == 0 {
		share = ringShare(p.busbw, s.hw)
	}
	if nics < 2 || share <= 0 || spark(s.hw) { // of a Spark, two twins are one port
		return
	}
	used := share * float64(nics) / payload
	k := int(math.Ceil(used - 0.05))
	if fill := used / float64(max(1, k)); k >= nics || k < 1 || fill < 0.85 {
		return
	}
	switch { // most ratios are near some k of K when K is large
	case k <= 2 && nics >= 4:
		s.show("the rate of one or two of many NICs", *p)
	case 2*k == nics || nics <= 4:
		s.show("the rate of some NICs", *p)
	}
}

// degradedFrom and degradedTo bound what a DGX Spark port carries that came up degraded, Gb/s (cause-ids.md).
const degradedFrom, degradedTo = 8, 25.5

// portSteps asks whether the rate on each NIC is that of a slower port.
func (s *observed) portSteps(p *point) {
	if s.hw.NICGbps <= 0 || p.share <= 0 || s.goodHost() {
		return
	}
	gbps := p.share * s.hw.NICGbps
	for _, lower := range []float64{25, 50, 100, 200} {
		if lower < s.hw.NICGbps && gbps <= lower && gbps >= 0.85*lower {
			s.show("the rate of a slower port", *p)
		}
	}
}

// measureScaling compares few nodes with many: what is fine on two and slow on more is between switches, or one node.
func (s *observed) measureScaling(slow *point) {
	if slow.nodes < 3 {
		return
	}
	if s.any(func(p point) bool {
		return acrossNodes(p) && p.steady() && p.quality == good && p.nodes > 1 && p.nodes < slow.nodes && p.collective == slow.collective
	}) {
		s.show("fewer nodes fine", *slow)
	}
}

// measureCollectives compares one collective across nodes with another: what they share is at fault, or what only one
// of them uses.
func (s *observed) measureCollectives() {
	slow := func(c ...fabric.Collective) *point {
		return s.worst(func(p point) bool { return acrossNodes(p) && p.steady() && slices.Contains(c, p.collective) })
	}
	fine := s.any(func(p point) bool {
		return acrossNodes(p) && p.quality == good && ringLike(p.collective)
	})
	pairs, rings := slow(fabric.AllToAll, fabric.SendRecv), slow(fabric.AllReduce, fabric.AllGather, fabric.ReduceScatter)
	if pairs != nil && rings == nil && fine {
		s.show("only pairs slow", *pairs)
	}
	if pairs != nil && rings != nil && (s.goodHost() || s.goodGPU()) {
		if a, b := s.perNIC(*pairs), s.perNIC(*rings); a > 0 && b > 0 && math.Abs(a-b) <= 0.35*max(a, b) {
			s.showText("each connection capped", "measured", fmt.Sprintf("different collectives move about the same per NIC, %.0f and %.0f %% of its line rate, and perftest reaches it", 100*a, 100*b), fabric.Subject{})
		}
	}
}

// perNIC is the share of a NIC's line rate that a point puts on it.
func (s *observed) perNIC(p point) float64 {
	if p.share > 0 {
		return p.share
	}
	if p.collective == fabric.SendRecv && s.hw.NICGbps > 0 {
		return p.busbw / (s.hw.NICGbps / 8)
	}
	return ringShare(p.busbw, s.hw)
}

// measureArtefacts finds results above the wire: two-node trees send less over it than bus bandwidth says.
func (s *observed) measureArtefacts() {
	for _, p := range s.points {
		if !acrossNodes(p) || p.collective != fabric.AllReduce || p.busbw == 0 || !p.own {
			continue
		}
		line := float64(s.hw.NICsPerNode) * s.hw.NICGbps / 8
		tree := strings.Contains(strings.ToLower(p.algorithm), "tree")
		if p.nodes == 2 && line > 0 && p.busbw > line && (tree || p.algorithm == "") {
			s.show("a tree above the wire", p)
		}
		if ring := s.otherRing(p); ring > 0 && p.busbw > 1.15*ring && p.busbw > line && tree {
			s.showText("a tree above the ring", "measured", fmt.Sprintf("%s GB/s with the tree and %s GB/s with the ring, which is what the wire carries", number(p.busbw), number(ring)), fabric.Subject{})
		}
	}
}

// otherRing is the bus bandwidth of the same collective on as many nodes with the ring; 0: none measured.
func (s *observed) otherRing(p point) float64 {
	for _, q := range s.points {
		if q.collective == p.collective && q.nodes == p.nodes && strings.EqualFold(q.algorithm, "ring") {
			return q.busbw
		}
	}
	return 0
}
