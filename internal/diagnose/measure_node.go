package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// Bus bandwidth of one machine of which RCCL did not recognise the topology: it then rings over single XGMI
// links, 64 GB/s raw and 45 to 52 GB/s measured (collectives.md, sections 2 and 3).
const oneXGMIFrom, oneXGMITo = 44, 53

// measureNode asks what a slow result of one machine shows, where no NIC is used.
func (s *observed) measureNode(machines Machines) {
	p := s.slowInside()
	linked, known := s.joined(machines)
	switch {
	case p == nil:
	case s.isSet("NCCL_P2P_DISABLE", "1"), s.isSet("NCCL_P2P_LEVEL", "LOC"), s.isSet("NCCL_P2P_LEVEL", "0"):
		s.show("one node slow through host memory", *p)
	case p.within("PCIe and host memory between"): // without a setting: the driver of the GPUs has no other way
		s.show("one node without peer-to-peer slow", *p)
	case amd(s.hw) && oneXGMIFrom <= p.busbw && p.busbw <= oneXGMITo:
		s.show("the rate of one XGMI link", *p)
	case amd(s.hw):
		s.show("one AMD node slow", *p)
	case known && !linked, p.within("PCIe between"):
		s.show("one PCIe node slow", *p)
	default: // also of GPUs that are not known: those that people run collectives on mostly have NVLink
		s.show("one NVLink node slow", *p)
	}
}

// isSet reports whether a setting of NCCL or RCCL has a value, as settings write it.
func (s *observed) isSet(name, value string) bool {
	return slices.ContainsFunc(s.settings, func(v setting) bool {
		return strings.Replace(v.name, "RCCL_", "NCCL_", 1) == name && isValue(value, v.value)
	})
}

// joined says what joins the GPUs of a machine, by what is stated of it, else by what the catalog has of its GPUs: links of
// their own, or PCIe alone; known is false where neither tells.
func (s *observed) joined(machines Machines) (linked, known bool) {
	switch {
	case s.hw.NVLink != nil:
		return *s.hw.NVLink, true
	case machines == nil || s.hw.GPU == "":
		return false, false
	}
	return machines.Linked(s.hw.GPU)
}

// within reports whether a part limits a result of one machine by its prediction.
func (p *point) within(part string) bool {
	return p.bound != nil && strings.HasPrefix(p.bound.Element, part)
}

func amd(hw fabric.Hardware) bool { return strings.HasPrefix(strings.ToLower(hw.GPU), "mi") }

// pairLow is how far under the median of the others a cell or a row must lie: pairs of one fabric agree within
// a tenth.
const pairLow = 0.8

// measurePairs reads a pair matrix: a node whose every pair is low is slow, one low cell is a link.
func (s *observed) measurePairs() {
	cells := s.filter(func(p point) bool { return len(p.pair) == 2 && p.busbw+p.gbps > 0 })
	if len(cells) < 3 {
		return
	}
	var hosts []string
	all := make([]float64, 0, len(cells))
	for _, c := range cells {
		hosts = append(hosts, c.pair...)
		all = append(all, c.busbw+c.gbps)
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	blamed := map[string]bool{}
	for _, h := range hosts[:min(len(hosts), 512)] {
		mine, others := divide(cells, h)
		if len(mine) >= 2 && len(others) >= 1 && slices.Max(mine) < pairLow*median(others) {
			blamed[h] = true
			s.lowPairs()
			s.showText("one row of pairs low", "pair matrix", fmt.Sprintf("every pair with %s is low: at most %s, the others %s", h, number(slices.Max(mine)), number(median(others))), fabric.NodeSubject(h))
		}
	}
	for _, c := range cells {
		if v := c.busbw + c.gbps; v < pairLow*median(all) && !blamed[c.pair[0]] && !blamed[c.pair[1]] && fineElsewhere(cells, c, median(all)) {
			s.lowPairs()
			s.showText("one pair low", "pair matrix", fmt.Sprintf("%s with %s gives %s, the median is %s, and both are fine with others", c.pair[0], c.pair[1], number(v), number(median(all))), fabric.Subject{})
		}
	}
}

// fineElsewhere reports whether both hosts of a pair reach the others' rate with another host.
func fineElsewhere(cells []point, low point, usual float64) bool {
	return !slices.ContainsFunc(low.pair, func(host string) bool {
		return !slices.ContainsFunc(cells, func(c point) bool {
			return slices.Contains(c.pair, host) && !slices.Equal(c.pair, low.pair) && c.busbw+c.gbps >= pairLow*usual
		})
	})
}

func (s *observed) lowPairs() {
	s.slowPairs = true
	s.seen = append(s.seen, evidence.Outcome{How: evidence.Slow, Seen: evidence.Seen{Source: "pair matrix", Own: true}})
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
