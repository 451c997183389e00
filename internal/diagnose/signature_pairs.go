package diagnose

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// pairLow is how far under the median of the others a cell or a row must lie: pairs of one fabric agree within
// a tenth.
const pairLow = 0.8

// pairVotes reads a pair matrix: a node whose every pair is low is slow, one low cell is a link.
func pairVotes(s *observed) []vote {
	cells := s.filter(func(p point) bool { return len(p.pair) == 2 && p.busbw+p.gbps > 0 })
	if len(cells) < 3 {
		return nil
	}
	var hosts []string
	for _, c := range cells {
		for _, h := range c.pair {
			if !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
	}
	slices.Sort(hosts)
	var votes []vote
	blamed := map[string]bool{}
	for _, h := range hosts[:min(len(hosts), 512)] {
		mine, others := divide(cells, h)
		if len(mine) >= 2 && len(others) >= 1 && slices.Max(mine) < pairLow*median(others) {
			blamed[h] = true
			votes = append(votes, vote{cause: fabric.CauseSlowNode, weight: 0.85, about: fabric.NodeSubject(h), own: true, explicit: true, seen: fabric.Evidence{Source: "pair matrix",
				Value: fmt.Sprintf("every pair with %s is low: at most %s, the others %s", h, number(slices.Max(mine)), number(median(others)))}})
		}
	}
	all := make([]float64, 0, len(cells))
	for _, c := range cells {
		all = append(all, c.busbw+c.gbps)
	}
	for _, c := range cells {
		if v := c.busbw + c.gbps; v < pairLow*median(all) && !blamed[c.pair[0]] && !blamed[c.pair[1]] {
			votes = append(votes, vote{cause: fabric.CauseSlowLink, weight: plain, own: true, explicit: true, seen: fabric.Evidence{Source: "pair matrix",
				Value: fmt.Sprintf("%s with %s gives %s, the median is %s, and both are fine with others", c.pair[0], c.pair[1], number(v), number(median(all)))}})
		}
	}
	return votes
}

// divide returns the numbers of the pairs with a host and of those without it.
func divide(cells []point, host string) (mine, others []float64) {
	for _, c := range cells {
		if slices.Contains(c.pair, host) {
			mine = append(mine, c.busbw+c.gbps)
		} else {
			others = append(others, c.busbw+c.gbps)
		}
	}
	return mine, others
}
