package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rates by which a slow DGX Spark is read, Gb/s.
const (
	// twinX2From and twinX2To bound what a twin carries whose link has two lanes of PCIe 5 instead of four: 63 Gb/s raw, of
	// which headers leave 0.76 to 0.94.
	twinX2From, twinX2To = 48, 59.5
	// ofPort100 is the most that a port of 100 Gb/s carries with a path MTU of 4096; a small path MTU leaves about as much.
	ofPort100From, ofPort100To = 80, 98.5
)

// twinRun reads a run of perftest on one twin: alone, or at once with the other twin of its port, where the port is shared.
func (o *observer) twinRun(p *point, t *fabric.Perftest) {
	p.mtu = t.MTU
	if !spark(o.s.hw) || p.us > 0 || p.gbps == 0 {
		return
	}
	other := o.otherTwin(t)
	if other == nil {
		return
	}
	sum := p.gbps + largestRate(other)
	limit := portRate(0)
	o.assume(fmt.Sprintf("%s and %s ran at once on one port, and share its 200 Gb/s", t.Device, other.Device), "the text")
	p.together, p.parts = true, []float64{p.gbps, sum - p.gbps}
	share := fmt.Sprintf("its share of a port of 200 Gb/s, %s Gb/s together", number(sum))
	p.expected = fabric.Expected{Gbps: limit / 2, Low: portLow(t.MTU) / 2, High: limit / 2}
	p.bound = &fabric.Bound{BusBW: twinRate() / 8, Element: share}
	p.ratio, p.quality = sum/limit, good
	if sum < portLow(t.MTU) {
		p.quality = bad
	}
}

// otherTwin is the run on the other twin of the port at the same time; nil: none. Runs without an end overlap, and so do those
// of which the text says it.
func (o *observer) otherTwin(t *fabric.Perftest) *fabric.Perftest {
	port, twin, ok := twinOf(t.Device)
	for _, other := range o.by.others {
		p, w, is := twinOf(other.Device)
		if ok && is && p == port && w != twin && largestRate(other) > 0 && endless(t) && endless(other) {
			return other
		}
	}
	return nil
}

// endless reports whether a run printed one row an interval: of one size, again and again.
func endless(t *fabric.Perftest) bool {
	return len(t.Rows) > 1 && !slices.ContainsFunc(t.Rows, func(r fabric.PerftestRow) bool { return r.Bytes != t.Rows[0].Bytes })
}

func largestRate(t *fabric.Perftest) float64 {
	best := 0.0
	for _, r := range t.Rows {
		if r.AverageGbps != nil && r.Bytes >= perftestLarge {
			best = max(best, *r.AverageGbps)
		}
	}
	return best
}

// slowTwin reads a twin, or both at once, below what their links carry.
func (s *observed) slowTwin(p *point) {
	switch low := slices.Contains(p.parts, 0); {
	case low:
	case p.gbps >= degradedFrom-1 && p.gbps <= degradedTo:
		s.show("the rate of a degraded adapter", *p)
		s.tellApart()
	case p.together && oneNarrow(p.parts), !p.together && p.gbps >= twinX2From && p.gbps <= twinX2To:
		s.show("the rate of a twin with two lanes", *p)
	case p.together && p.gbps >= ofPort100From && p.gbps <= twinRate():
		s.show("both twins carry what one does", *p)
	case p.gbps >= ofPort100From && p.gbps <= ofPort100To && p.mtu > 0 && p.mtu < 4096:
		s.show("a twin at a small path MTU", *p)
	case p.gbps >= ofPort100From:
		s.show("a twin a little slow", *p)
	default:
		s.show("a NIC far too slow", *p)
	}
}

// oneNarrow reports whether one of two twins carries what two lanes do, and the other more.
func oneNarrow(parts []float64) bool {
	return len(parts) == 2 && slices.Min(parts) >= twinX2From && slices.Min(parts) <= twinX2To && slices.Max(parts) > 1.3*slices.Min(parts)
}

// measureSpark reads a slow collective of DGX Sparks: a port is two PCIe functions, and an adapter may come up slow.
func (s *observed) measureSpark(p *point) {
	gbps := 8 * p.busbw
	switch {
	case p.ratio < 0.2 && degradedFrom <= gbps && gbps <= degradedTo:
		s.show("a collective at the rate of a degraded adapter", *p)
		s.tellApart()
	case p.ratio < 0.4:
		s.show("a collective far below its cable", *p)
		s.tellApart()
	case gbps <= twinRate():
		s.show("the rate of one twin", *p)
	default:
		s.show("a collective a little below its cable", *p)
	}
}

// tellApart says which test divides what is slow in the adapter from what is slow above it.
func (s *observed) tellApart() {
	if s.any(func(p point) bool { return p.test == "perftest" }) {
		return
	}
	s.notes = append(s.notes, fabric.Evidence{Source: "to tell apart", Value: fmt.Sprintf(
		"ib_write_bw -d DEV -q 4 --report_gbits PEER on each twin: %.0f to %.0f Gb/s clears the adapter and leaves the build of NCCL or its fall back to TCP (NCCL_DEBUG=INFO); 8 to 25 Gb/s is the adapter (reboot, or power off both machines)",
		twinLow(), twinRate())})
}

// measureTwins asks what good twins and settings say of a DGX Spark.
func (s *observed) measureTwins() {
	if !spark(s.hw) {
		return
	}
	if s.slowAcross() != nil && s.goodHost() && s.badHost() == nil {
		s.showText("twins at full rate", "measured", "RDMA carries its full rate, the collective does not", fabric.Subject{})
	}
	for i, v := range s.settings {
		if v.name == "NCCL_IB_HCA" && !slices.ContainsFunc(s.settings[:i], func(o setting) bool { return o.name == v.name }) {
			s.listedTwins(v)
		}
	}
}

// listedTwins finds ports of which NCCL_IB_HCA names one twin only.
func (s *observed) listedTwins(v setting) {
	if strings.HasPrefix(v.value, "^") || strings.ContainsAny(v.value, " ") {
		return
	}
	exact := strings.HasPrefix(v.value, "=")
	twins := map[int]map[int]bool{}
	for _, name := range strings.Split(strings.TrimPrefix(v.value, "="), ",") {
		port, twin, ok := twinOf(name)
		if !ok {
			return // a prefix, which takes several
		}
		if twins[port] == nil {
			twins[port] = map[int]bool{}
		}
		twins[port][twin] = true
	}
	for port := range 2 {
		if len(twins[port]) == 1 {
			why := fmt.Sprintf("NCCL_IB_HCA=%s: one twin of port %d, which is half of it for large messages", v.value, port)
			if exact {
				why += "; = allows no other name"
			}
			s.showText("one twin of a port", v.source, why, fabric.Subject{})
			if s.missetBy == "" {
				s.missetBy = why
			}
			return
		}
	}
}

// usualOnSpark are settings that the guides of this machine ask for, and that are seldom right elsewhere: it has no plugin of
// its network, and one GPU to which all cores are near.
func usualOnSpark(v setting) bool {
	return v.name == "NCCL_NET_PLUGIN" && v.value == "none" || v.name == "NCCL_IGNORE_CPU_AFFINITY" || v.name == "NCCL_NET" && strings.EqualFold(v.value, "ib")
}
