package diagnose

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// pcieRates are what PCIe links carry of payload, Gb/s: raw rates of 8 GT/s x8 (63), 8 GT/s x16 or 16 GT/s x8
// (126) and 16 GT/s x16 or 32 GT/s x8 (252), less headers and flow control, which leave 0.80 to 0.94.
var pcieRates = []float64{31.5, 63, 126, 252}

const pcieLow, pcieHigh = 0.80, 0.94

// perftestVotes compares host with GPU memory, and each with the rates of slower ports and PCIe links.
func perftestVotes(s *observed) []vote {
	host, gpu := s.badHost(), s.badGPU()
	var votes []vote
	add := func(p *point, c fabric.CauseID, w float64, why string) {
		e := p.evidence()
		e.Value += ": " + why
		votes = append(votes, vote{cause: c, weight: w, own: p.own, seen: e})
	}
	switch {
	case host != nil && host.gbps > 0 && s.faster(*host):
		add(host, fabric.CauseHostMemoryInterleaving, plain, "GPU memory on the same NIC is faster, so what is slow is host memory")
		votes = append(votes, against(host.own, "GPU memory is faster than host memory", fabric.CauseACSRedirect, fabric.CauseATSDisabled, fabric.CauseGDRDisabled, fabric.CausePCIeDowngraded, fabric.CausePortRateLow)...)
	case gpu != nil && s.goodHost():
		s.slowGPU(gpu, add)
	case host != nil && gpu == nil && host.memory == "" && host.gbps > 0, host != nil && host.gbps > 0:
		s.slowNIC(host, add)
	case gpu != nil:
		s.slowNIC(gpu, add)
		add(gpu, virtualOr(s, fabric.CauseATSDisabled, fabric.CauseACSRedirect), 0.3, "host memory was not measured: the path between GPU and NIC may be at fault")
	}
	return votes
}

// faster reports whether GPU memory carried a tenth more than this host memory.
func (s *observed) faster(host point) bool {
	return s.any(func(p point) bool { return onGPU(p) && p.gbps > 1.1*host.gbps })
}

func virtualOr(s *observed, yes, no fabric.CauseID) fabric.CauseID {
	if s.virtual() {
		return yes
	}
	return no
}

func (s *observed) slowGPU(p *point, add func(*point, fabric.CauseID, float64, string)) {
	why := "host memory on the same NICs is fine: the path between GPU and NIC is at fault"
	if s.virtual() {
		add(p, fabric.CauseATSDisabled, 0.65, why)
		add(p, fabric.CauseACSRedirect, 0.2, why)
	} else {
		add(p, fabric.CauseACSRedirect, 0.6, why)
		add(p, fabric.CauseATSDisabled, 0.1, why+", if this is a virtual machine")
	}
	add(p, fabric.CauseGPUNICMisaligned, 0.25, why)
	add(p, fabric.CauseGDRDisabled, 0.2, why)
	add(p, fabric.CauseIOMMUTranslated, 0.15, why)
}

// slowNIC is of a NIC that is slow by itself: its port, its PCIe link, its settings.
func (s *observed) slowNIC(p *point, add func(*point, fabric.CauseID, float64, string)) {
	if p.text {
		return
	}
	rate := s.hw.NICGbps
	for _, lower := range []float64{25, 40, 50, 56, 100, 200, 400} {
		if lower < 0.9*rate && p.gbps <= lower && p.gbps >= perftestLow*lower {
			add(p, fabric.CausePortRateLow, 0.5, fmt.Sprintf("what a port of %.0f Gb/s carries", lower))
		}
	}
	for _, raw := range pcieRates {
		if raw < rate && p.gbps >= pcieLow*raw && p.gbps <= pcieHigh*raw {
			add(p, fabric.CausePCIeDowngraded, 0.45, fmt.Sprintf("what a PCIe link of %s Gb/s carries", number(raw)))
			add(p, fabric.CausePCIeDowngradedUpstream, 0.25, fmt.Sprintf("what a PCIe link of %s Gb/s above the NIC carries", number(raw)))
		}
	}
	if spark(s.hw) && p.gbps >= degradedFrom-1 && p.gbps <= degradedTo {
		add(p, fabric.CauseNICDegradedInit, plain, "what an adapter that came up degraded carries, although its link reads full")
	}
	if p.ratio >= 0.7 {
		add(p, fabric.CauseNICProfile, 0.4, "below line rate with nothing else wrong")
		if s.roce() {
			add(p, fabric.CauseMTUMismatch, 0.25, "a small path MTU costs this much")
			add(p, fabric.CauseRoCELossy, 0.15, "so does moderate packet loss")
		}
	} else {
		add(p, fabric.CauseNICProfile, 0.15, "far below line rate")
		add(p, fabric.CauseSlowLink, 0.15, "one port may be at fault: measure another")
		add(p, fabric.CauseLibraryBuild, 0.1, "a wrongly built perftest is slow as well")
	}
	if p.memory == "host" {
		add(p, fabric.CauseHostMemoryInterleaving, 0.15, "host memory itself may be slow: measure with GPU memory")
	}
}
