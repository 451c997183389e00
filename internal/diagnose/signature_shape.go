package diagnose

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// shapeVotes is of the curve of a table, and of two sizes of an observation.
func shapeVotes(s *observed) []vote {
	var votes []vote
	if s.shape.cliff != "" {
		votes = append(votes, cliff(s, s.shape.cliff)...)
	} else if text := s.fall(); text != "" {
		votes = append(votes, cliff(s, text)...)
	}
	if s.shape.flat && s.slowAcross() != nil && s.slowAcross().ratio < 0.3 {
		e := fabric.Evidence{Source: "table", Value: "the same low bandwidth at every size from 1 MiB up"}
		votes = append(votes, vote{cause: fabric.CauseLibraryBuild, weight: 0.2, own: true, seen: e}, vote{cause: fabric.CauseSocketFallback, weight: 0.2, own: true, seen: e})
	}
	if n := len(s.shape.slow); n > 0 {
		e := fabric.Evidence{Source: "table", Value: fmt.Sprintf("%d isolated slow sizes: %s", n, s.shape.slowSizes())}
		weight := likely
		if n == 1 {
			weight = 0.3 // one row may be anything
		}
		votes = append(votes, vote{cause: fabric.CauseFirstUse, weight: weight, own: true, seen: e})
		if n >= 3 {
			votes = append(votes, vote{cause: fabric.CauseNumaBalancing, weight: 0.12, own: true, seen: e})
		}
	}
	return votes
}

func (s *shape) slowSizes() string {
	text := ""
	for i, n := range s.slow[:min(len(s.slow), 12)] {
		if i > 0 {
			text += ", "
		}
		text += bytesText(n)
	}
	return text
}

func cliff(s *observed, text string) []vote {
	e := fabric.Evidence{Source: "curve", Value: text}
	votes := []vote{
		{cause: fabric.CauseRoCELossy, weight: 0.6, own: true, seen: e},
		{cause: fabric.CauseQoSClassMismatch, weight: 0.25, own: true, seen: e},
		{cause: fabric.CauseSlowLink, weight: 0.12, own: true, seen: e},
	}
	if s.hw.Nodes == 1 {
		return nil // no network, no loss
	}
	return votes
}

// fall finds a larger size with a quarter of the bandwidth of a smaller one among the numbers of an observation.
func (s *observed) fall() string {
	points := s.filter(func(p point) bool { return acrossNodes(p) && p.size > 0 && p.busbw > 0 && p.steady() && p.pair == nil })
	slices.SortStableFunc(points, func(a, b point) int { return int(max(-1, min(1, a.size-b.size))) })
	for i, p := range points {
		for _, q := range points[i+1:] {
			if q.collective == p.collective && q.nodes == p.nodes && q.size > p.size && q.busbw <= p.busbw/cliffDrop {
				return fmt.Sprintf("%s GB/s at %s, %s GB/s at %s", number(p.busbw), bytesText(p.size), number(q.busbw), bytesText(q.size))
			}
		}
	}
	return ""
}

// Ratios of measured to expected latency of small sizes from which it is named, and from which it is a fault
// (collectives.md, section 7: twice the table).
const latencyNamed, latencyFault = 2.0, 2.5

// latencyVotes is of small sizes that take much longer than they should.
func latencyVotes(s *observed) []vote {
	r := s.shape.latency
	if r < latencyNamed {
		for _, p := range s.points {
			if p.us > 0 && p.quality == bad && p.test == "perftest" {
				e := p.evidence()
				return []vote{{cause: fabric.CauseCPUAffinity, weight: 0.4, own: p.own, seen: e}, {cause: fabric.CauseNumaBalancing, weight: 0.15, own: p.own, seen: e}}
			}
		}
		return nil
	}
	e := fabric.Evidence{Source: "table", Value: fmt.Sprintf("sizes up to %s take %.1f times what is expected", bytesText(smallest), r)}
	votes := []vote{
		{cause: fabric.CauseCPUAffinity, weight: 0.4, own: true, seen: e},
		{cause: fabric.CauseNumaBalancing, weight: 0.1, own: true, seen: e},
	}
	if s.hw.Nodes != 1 {
		votes = append(votes, vote{cause: fabric.CauseNetPlugin, weight: hint, own: true, seen: e},
			vote{cause: fabric.CauseSocketFallback, weight: 0.1, own: true, seen: e})
	}
	return votes
}
