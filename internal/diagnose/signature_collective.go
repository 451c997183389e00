package diagnose

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// collectiveVotes compares one collective across nodes with another: what they share is at fault, or what only one
// of them uses.
func collectiveVotes(s *observed) []vote {
	slow := func(c ...fabric.Collective) *point {
		return s.worst(func(p point) bool { return acrossNodes(p) && p.steady() && oneOf(p.collective, c) })
	}
	fine := func(c ...fabric.Collective) bool {
		return s.any(func(p point) bool {
			return acrossNodes(p) && p.quality == good && !p.text && oneOf(p.collective, c)
		})
	}
	var votes []vote
	pairs, rings := slow(fabric.AllToAll, fabric.SendRecv), slow(fabric.AllReduce, fabric.AllGather, fabric.ReduceScatter)
	if pairs != nil && rings == nil && fine(fabric.AllReduce, fabric.AllGather, fabric.ReduceScatter) {
		e := pairs.evidence()
		e.Value += ": all_reduce and similar collectives are fine"
		votes = append(votes, vote{cause: fabric.CauseP2PChannels, weight: likely, own: pairs.own, seen: e},
			vote{cause: fabric.CauseOversubscription, weight: 0.2, own: pairs.own, seen: e},
			vote{cause: fabric.CauseHCASubset, weight: -0.5, own: pairs.own, seen: e})
	}
	if pairs != nil && rings != nil && (s.goodHost() || s.goodGPU()) {
		if a, b := s.perNIC(*pairs), s.perNIC(*rings); a > 0 && b > 0 && math.Abs(a-b) <= 0.35*max(a, b) {
			e := fabric.Evidence{Source: "measured", Value: fmt.Sprintf("different collectives move about the same per NIC, %.0f and %.0f %% of its line rate, and perftest reaches it: each connection is capped", 100*a, 100*b)}
			votes = append(votes, vote{cause: fabric.CauseNetPlugin, weight: 0.5, own: pairs.own, seen: e})
		}
	}
	return votes
}

func oneOf(c fabric.Collective, list []fabric.Collective) bool {
	for _, l := range list {
		if c == l {
			return true
		}
	}
	return false
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

// artefactVotes is of results above the wire: two-node trees send less over it than bus bandwidth says.
func artefactVotes(s *observed) []vote {
	var votes []vote
	for _, p := range s.points {
		if !acrossNodes(p) || p.collective != fabric.AllReduce || p.busbw == 0 || !p.own {
			continue
		}
		line := float64(s.hw.NICsPerNode) * s.hw.NICGbps / 8
		tree := strings.Contains(strings.ToLower(p.algorithm), "tree") || p.algorithm == ""
		if p.nodes == 2 && line > 0 && p.busbw > line && tree {
			e := p.evidence()
			e.Value += fmt.Sprintf(": more than the %s GB/s of the NICs of a node, because a tree over two nodes sends each byte once; each NIC carried %.0f %% of its line rate", number(line), 100*max(p.share, 0))
			votes = append(votes, vote{cause: fabric.CauseTreeArtefact, weight: hint, own: true, seen: e})
		}
		if ring := s.otherRing(p); ring > 0 && p.busbw > 1.15*ring && p.busbw > line && strings.Contains(strings.ToLower(p.algorithm), "tree") {
			votes = append(votes, vote{cause: fabric.CauseTreeArtefact, weight: plain, own: true, explicit: true,
				seen: fabric.Evidence{Source: "measured", Value: fmt.Sprintf("%s GB/s with the tree and %s GB/s with the ring, which is what the wire carries", number(p.busbw), number(ring))}})
		}
	}
	return votes
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

// hostOnlyVotes is of a bus bandwidth of 0: each rank measured itself.
func hostOnlyVotes(s *observed) []vote {
	if !s.shape.alone {
		return nil
	}
	return []vote{{cause: fabric.CauseMPINotBuilt, weight: 0.9, own: true, explicit: true,
		seen: fabric.Evidence{Source: "table", Value: "bus bandwidth 0 in every row while algorithm bandwidth is not: a single rank, without a peer"}}}
}
