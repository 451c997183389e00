package diagnose

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Bus bandwidth of one machine of which RCCL did not recognise the topology: it then rings over single XGMI
// links, 64 GB/s raw and 45 to 52 GB/s measured (collectives.md, sections 2 and 3).
const oneXGMIFrom, oneXGMITo = 44, 53

// nodeVotes is of slow results of one machine, where no NIC is used.
func nodeVotes(s *observed) []vote {
	p := s.slowInside()
	var votes []vote
	for _, q := range s.quantities {
		if gbs := q.gbps / 8; q.own && amd(s.hw) && s.hw.Nodes == 1 && p == nil && oneXGMIFrom <= gbs && gbs <= oneXGMITo {
			return []vote{{cause: fabric.CauseXGMIModelUnmatched, weight: 0.5, own: true, explicit: true, seen: fabric.Evidence{Source: q.where, Value: fmt.Sprintf("%s GB/s is what one XGMI link carries", number(gbs))}}}
		}
	}
	if p == nil {
		return nil
	}
	add := func(c fabric.CauseID, w float64, why string) {
		e := p.evidence()
		e.Value += ": " + why
		votes = append(votes, vote{cause: c, weight: w, own: p.own, seen: e})
	}
	switch {
	case amd(s.hw) && oneXGMIFrom <= p.busbw && p.busbw <= oneXGMITo:
		add(fabric.CauseXGMIModelUnmatched, plain, "what one XGMI link carries")
	case amd(s.hw):
		add(fabric.CauseNVLinkDegraded, 0.25, "a single machine is slow on its own")
		add(fabric.CauseGPUThrottled, 0.2, "a single machine is slow on its own")
		add(fabric.CauseXGMIModelUnmatched, 0.2, "a single machine is slow on its own")
		add(fabric.CauseNumaBalancing, 0.1, "a single machine is slow on its own")
	case s.hw.NVLink != nil && !*s.hw.NVLink || p.platformBound(s.hw):
		add(fabric.CauseACSRedirect, hint, "GPUs without NVLink communicate over PCIe, and ACS sends that through the root complex")
		add(fabric.CausePCIeDowngradedUpstream, 0.2, "GPUs without NVLink share the links of their PCIe switches")
		add(fabric.CauseNCCLSettings, 0.15, "with P2P off, data goes through host memory")
	default:
		add(fabric.CauseNVLinkDegraded, 0.4, "a single machine is slow on its own")
		add(fabric.CauseFabricManager, 0.2, "without NVLink multicast the NVSwitches deliver less")
		add(fabric.CauseNCCLSettings, 0.2, "with NVLS or P2P off a single machine delivers less")
		add(fabric.CauseGPUThrottled, 0.15, "a single machine is slow on its own")
		if p.ratio < 0.3 {
			add(fabric.CauseTopoXMLWrong, 0.15, "a topology file can hide NVLink")
		}
	}
	return votes
}

// platformBound reports whether the GPUs are of a kind that has no NVLink.
func (p point) platformBound(hw fabric.Hardware) bool {
	gpu := strings.ToLower(hw.GPU)
	return strings.Contains(gpu, "rtx") || strings.HasPrefix(gpu, "l40") || strings.HasPrefix(gpu, "a10") && !strings.HasPrefix(gpu, "a100")
}

func amd(hw fabric.Hardware) bool { return strings.HasPrefix(strings.ToLower(hw.GPU), "mi") }
