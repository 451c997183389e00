package diagnose

// pcieRates are what PCIe links carry of payload, Gb/s: raw rates of 8 GT/s x8 (63), 8 GT/s x16 or 16 GT/s x8
// (126) and 16 GT/s x16 or 32 GT/s x8 (252), less headers and flow control, which leave 0.80 to 0.94.
var pcieRates = []float64{31.5, 63, 126, 252}

const pcieLow, pcieHigh = 0.80, 0.94

// measurePerftest compares host with GPU memory, and each with the rates of slower ports and PCIe links.
func (s *observed) measurePerftest() {
	host, gpu := s.badHost(), s.badGPU()
	switch {
	case host != nil && host.gbps > 0 && s.faster(*host):
		s.show("host memory slower than GPU memory", *host)
	case gpu != nil && s.goodHost():
		s.show(s.inVM("GPU memory slower than host memory"), *gpu)
	case host != nil && host.gbps > 0:
		s.slowNIC(host)
	case gpu != nil:
		s.slowNIC(gpu)
	}
}

// faster reports whether GPU memory carried a tenth more than this host memory.
func (s *observed) faster(host point) bool {
	return s.any(func(p point) bool { return onGPU(p) && p.gbps > 1.1*host.gbps })
}

// slowNIC reads a NIC that is slow by itself: its port, its PCIe link, its settings.
func (s *observed) slowNIC(p *point) {
	if spark(s.hw) {
		s.slowTwin(p)
		return
	}
	rate := s.hw.NICGbps
	for _, lower := range []float64{25, 40, 50, 56, 100, 200, 400} {
		if lower < 0.9*rate && p.gbps <= lower && p.gbps >= perftestLow*lower {
			s.show("a NIC at the rate of a slower port", *p)
		}
	}
	for _, raw := range pcieRates {
		if raw < rate && p.gbps >= pcieLow*raw && p.gbps <= pcieHigh*raw {
			s.show("a NIC at the rate of a slower PCIe link", *p)
		}
	}
	if p.ratio >= 0.7 {
		s.show("a NIC a little slow", *p)
	} else {
		s.show("a NIC far too slow", *p)
	}
}
