package diagnose

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// payload is the share of line rate that large collectives reach on a healthy NIC: 0.885 to 0.98 over the
// fabrics of collectives.md, section 2.
const payload = 0.93

// shareVotes asks which part of the network a slow result across nodes used: its plateau over the bound.
func shareVotes(s *observed) []vote {
	p := s.slowAcross()
	if p == nil || p.average {
		return nil
	}
	var votes []vote
	add := func(c fabric.CauseID, w float64, why string) {
		e := p.evidence()
		e.Value += ": " + why
		votes = append(votes, vote{cause: c, weight: w, own: p.own, seen: e})
	}
	s.subset(p, add)
	r := s.rest(p)
	switch {
	case r == 0:
		return votes
	case r < 0.15:
		add(fabric.CauseSocketFallback, hint, "TCP carries about so little")
		add(fabric.CauseLibraryBuild, 0.3, "a wrongly built library is this slow")
		add(fabric.CauseNetPlugin, 0.15, "so is a missing or capped plugin")
		add(fabric.CauseGDRDisabled, 0.12, "copies through host memory can be this slow")
	case r < 0.3:
		add(fabric.CauseGDRDisabled, 0.2, "copies through host memory cost about this much")
		add(fabric.CauseNetPlugin, 0.15, "a cap on each connection costs about this much")
		add(fabric.CauseSocketFallback, 0.12, "TCP over fast NICs carries that much")
	case r < 0.6:
		// No ratio of its own: the commonest faults of a fabric that works and is slow, none of them likely.
		add(fabric.CauseACSRedirect, 0.14, "GPU traffic that turns around in the root complex costs about this much")
		if s.virtual() {
			add(fabric.CauseATSDisabled, 0.16, "and so it does in a virtual machine without ATS")
		}
		add(fabric.CauseHCASubset, 0.14, "unused NICs cost their share")
		add(fabric.CauseGDRDisabled, 0.13, "copies through host memory cost about this much")
		add(fabric.CausePCIeDowngraded, 0.1, "so does a PCIe link of a lower generation or width")
	case 0.76 <= r && r < 0.9 && s.roce():
		add(fabric.CauseMTUMismatch, hint, "0.83 of healthy is what an MTU of 1500 leaves")
		add(fabric.CauseNICProfile, 0.15, "a NIC outside its RoCE profile loses about this much")
		add(fabric.CauseRoCELossy, 0.12, "so does moderate packet loss")
	case r >= 0.6:
		add(fabric.CauseGPUNICMisaligned, 0.15, "GPUs without a near NIC cost part of the bandwidth")
		add(fabric.CauseNetPlugin, 0.15, "so does a missing plugin or tuner")
		add(fabric.CauseNICProfile, 0.12, "so does a NIC outside its profile")
		if s.roce() {
			add(fabric.CauseRoCELossy, 0.12, "so does moderate packet loss")
		}
	}
	if spark(s.hw) {
		sparkAcross(p, add)
	}
	s.steps(p, add)
	return votes
}

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

// subset asks how many NICs would carry what was measured, each at its healthy rate.
func (s *observed) subset(p *point, add func(fabric.CauseID, float64, string)) {
	nics := s.hw.NICsPerNode
	share := p.share
	if share == 0 {
		share = ringShare(p.busbw, s.hw)
	}
	if nics < 2 || share <= 0 {
		return
	}
	used := share * float64(nics) / payload
	k := int(math.Ceil(used - 0.05))
	fill := used / float64(max(1, k))
	if k >= nics || k < 1 || fill < 0.85 {
		return
	}
	weight := 0.12 // most ratios are near some k of K when K is large
	switch {
	case k <= 2 || 2*k == nics:
		weight = hint
	case nics <= 4:
		weight = 0.25
	}
	if spark(s.hw) {
		return // its two twins are one port: half-port-twin
	}
	add(fabric.CauseHCASubset, weight, fmt.Sprintf("the wire carries what %d of %d NICs would at a healthy rate", k, nics))
}

// sparkAcross is of DGX Spark: a port is two PCIe functions, a fresh adapter may come up slow.
func sparkAcross(p *point, add func(fabric.CauseID, float64, string)) {
	if 0.4 <= p.ratio && p.ratio <= 0.62 {
		add(fabric.CauseHalfPortTwin, likely, "one of the two PCIe twins of a port carries half")
	}
	if gbps := 8 * p.busbw; p.ratio < 0.2 && degradedFrom <= gbps && gbps <= degradedTo {
		add(fabric.CauseNICDegradedInit, 0.28, "8 to 25 Gb/s is what an adapter that came up degraded carries")
	}
}

// degradedFrom and degradedTo bound what a DGX Spark port carries that came up degraded, Gb/s (cause-ids.md).
const degradedFrom, degradedTo = 8, 25.5

// steps asks whether the rate on each NIC is that of a slower port.
func (s *observed) steps(p *point, add func(fabric.CauseID, float64, string)) {
	if s.hw.NICGbps <= 0 || p.share <= 0 || spark(s.hw) || s.goodHost() {
		return
	}
	gbps := p.share * s.hw.NICGbps
	for _, lower := range []float64{25, 50, 100, 200} {
		if lower < s.hw.NICGbps && gbps <= lower && gbps >= 0.85*lower {
			add(fabric.CausePortRateLow, 0.22, fmt.Sprintf("each NIC carries what a port of %.0f Gb/s would", lower))
		}
	}
}

// pathVotes asks whether the path between GPU and NIC is at fault: it is what remains where the network is slow
// for GPU memory and neither the NICs with host memory nor the GPUs within a node are.
func pathVotes(s *observed) []vote {
	p := s.slowAcross()
	if p == nil {
		return nil
	}
	var votes []vote
	add := func(c fabric.CauseID, w float64, why string) {
		e := p.evidence()
		e.Value += ": " + why
		votes = append(votes, vote{cause: c, weight: w, own: p.own, seen: e})
	}
	inside, host, gpu := s.goodInside(), s.goodHost(), s.goodGPU()
	r := s.rest(p)
	half := 0.38 <= r && r <= 0.65 || 0.4 <= p.share && p.share <= 0.62
	weight := 0.0
	var why string
	switch {
	case gpu:
		votes = append(votes, against(p.own, "the NICs reach line rate with GPU memory", fabric.CauseACSRedirect, fabric.CauseATSDisabled, fabric.CauseGDRDisabled, fabric.CausePCIeDowngraded, fabric.CausePortRateLow)...)
		add(fabric.CauseNetPlugin, 0.25, "perftest is fine with GPU memory, so the cause is above it")
		add(fabric.CauseNCCLSettings, 0.2, "perftest is fine with GPU memory, so the cause is above it")
		return votes
	case host && inside:
		weight, why = 0.5, "the NICs are fine with host memory and the GPUs within a node: so the cause is the path between GPU and NIC"
	case host:
		weight, why = 0.45, "the NICs are fine with host memory: so the cause is the path between GPU and NIC"
	case half:
		weight, why = hint, "about half of the bound, as when GPU traffic turns around in the root complex"
	default:
		return nil
	}
	if half && host {
		weight += 0.1
	}
	if host {
		votes = append(votes, against(p.own, "the NICs reach line rate with host memory", fabric.CausePortRateLow, fabric.CauseMTUMismatch, fabric.CauseRoCELossy, fabric.CauseLinkDown, fabric.CauseNICDegradedInit)...)
	}
	if spark(s.hw) {
		return votes // one memory for GPU and CPU: there is no such way
	}
	if s.virtual() {
		add(fabric.CauseATSDisabled, weight+0.05, why+", in a virtual machine")
		add(fabric.CauseACSRedirect, 0.15, why)
		add(fabric.CauseVMTopologyMissing, 0.2, why)
	} else {
		add(fabric.CauseACSRedirect, weight, why)
		add(fabric.CauseATSDisabled, 0.15, why+", if this is a virtual machine")
	}
	add(fabric.CauseGDRDisabled, weight*0.6, why)
	if half && !host {
		add(fabric.CausePCIeDowngraded, 0.25, "a PCIe link of one generation less carries half")
	}
	return votes
}

// distanceVotes is of a GPU and a NIC that share a switch by one account and are apart by NCCL's: GPUDirect
// RDMA is not to be had, so NCCL counts the way through the CPU.
func distanceVotes(s *observed) []vote {
	var near, far *statement
	for i, st := range s.statements {
		switch {
		case st.names("near+") && near == nil:
			near = &s.statements[i]
		case st.names("phb+") && !st.names("near") && far == nil:
			far = &s.statements[i]
		}
	}
	if near == nil || far == nil || s.virtual() {
		return nil
	}
	e := fabric.Evidence{Source: far.source, Value: far.text + " (" + near.source + ": " + near.text + ")"}
	return []vote{
		{cause: fabric.CauseGDRDisabled, weight: 0.6, own: far.own, explicit: true, seen: e},
		{cause: fabric.CauseACSRedirect, weight: faint, own: far.own, seen: e},
		{cause: fabric.CauseGPUNICMisaligned, weight: -0.6, own: far.own, seen: e},
	}
}

func against(own bool, why string, causes ...fabric.CauseID) []vote {
	var out []vote
	for _, c := range causes {
		out = append(out, vote{cause: c, weight: -0.6, own: own, seen: fabric.Evidence{Source: "measured", Value: why}})
	}
	return out
}

// scalingVotes compares few nodes with many: what is fine on two and slow on more is between switches, or one node.
func scalingVotes(s *observed) []vote {
	slow := s.slowAcross()
	if slow == nil || slow.nodes < 3 {
		return nil
	}
	fewer := s.any(func(p point) bool {
		return acrossNodes(p) && p.steady() && p.quality == good && p.nodes > 1 && p.nodes < slow.nodes && p.collective == slow.collective
	})
	if !fewer {
		return nil
	}
	e := slow.evidence()
	e.Value += ": fewer nodes are fine"
	return []vote{
		{cause: fabric.CauseOversubscription, weight: 0.45, own: slow.own, seen: e},
		{cause: fabric.CauseSlowNode, weight: hint, own: slow.own, seen: e},
		{cause: fabric.CauseRoCELossy, weight: 0.15, own: slow.own, seen: e},
	}
}
