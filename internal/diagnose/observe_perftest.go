package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Limits of the judgement of perftest.
const (
	// perftestLow is the least healthy share of what the wire can carry: published healthy runs reach 0.969 of
	// line rate on RoCE (Broadcom BCM957608-AN209, 2.8.2) and 0.988 to 0.991 on InfiniBand (VMware, perftest of
	// ConnectX-7); a fault costs a tenth and more.
	perftestLow = 0.92
	// perftestLarge is the message size, in bytes, from which a few queue pairs fill a link.
	perftestLarge = 64 << 10
	// dip is an average this share under its row's own peak.
	dip = 1.0 / 6
	// dipFrom is the size, in bytes, from which bandwidth and not the message rate is measured.
	dipFrom = 1 << 10
	// latencyHigh is what two adapters (about 0.6 us each) and three switches (0.8 us each) take for a few
	// bytes, us. More is a fault of a host, not of a fabric of that depth.
	latencyHigh = 3.6
	// pcie5x4 is the rate of a PCIe 5 link of 4 lanes, Gb/s: 32 GT/s by 4 by 128/130. A twin of a DGX Spark
	// port has such a link and no more.
	pcie5x4 = 126.03
)

// header is what a packet carries beside its payload on the wire, bytes: InfiniBand LRH, BTH, ICRC and VCRC;
// RoCE v2 preamble, Ethernet, IP, UDP, BTH, ICRC, FCS and gap.
func header(linkType string) float64 {
	if strings.EqualFold(linkType, "ib") || strings.EqualFold(linkType, "infiniband") {
		return 26
	}
	return 82
}

// spark reports whether the machines are DGX Spark, whose ports are two PCIe functions each.
func spark(hw fabric.Hardware) bool {
	return strings.Contains(strings.ToLower(hw.GPU), "gb10") || strings.Contains(strings.ToLower(hw.Machine), "spark")
}

// wire is what a device carries one way, Gb/s, and what sets it; 0 where the rate is unknown.
func wire(hw fabric.Hardware, mtu int, linkType string) (float64, string) {
	rate, element := hw.NICGbps, fmt.Sprintf("a NIC of %s Gb/s", number(hw.NICGbps))
	if rate <= 0 {
		return 0, ""
	}
	if spark(hw) && rate < 2*pcie5x4 {
		// The table files call a twin 100 Gb/s, half of its 200 Gb/s port; alone it is as fast as its PCIe link.
		return twinRate(), "PCIe 5 x4 of one twin"
	}
	if mtu >= 256 {
		rate *= float64(mtu) / (float64(mtu) + header(linkType))
	}
	return rate, element
}

// perftest observes a run of ib_write_bw and related tests.
func (o *observer) perftest(t *fabric.Perftest) {
	o.resolve()
	o.onePort()
	for _, e := range t.Errors {
		e.Level = fabric.LineError
		o.message(e, fmt.Sprintf("line %d", e.Line), false)
		o.s.failed = append(o.s.failed, fabric.Evidence{Source: t.Test, Value: e.Text})
	}
	if t.MTU == 4096 && t.IPv4GIDs == 2 && slices.ContainsFunc(t.Errors, func(e fabric.LogLine) bool { return e.Message == "perftest/completion-retry" }) {
		o.s.showText("full packets unanswered between two addresses", t.Test, "both ends sent from a GID with an IPv4 address, with packets of 4096 bytes", fabric.Subject{})
	}
	if t.MTU > 0 && t.MTU < 4096 {
		o.s.showText("a small path MTU", t.Test, fmt.Sprintf("the path MTU is %d of 4096 bytes", t.MTU), fabric.Subject{})
		o.note("mtu", fmt.Sprintf("Mtu : %d[B]: 4096 is possible, with less header per payload", t.MTU))
	}
	for _, u := range t.Unread[:min(len(t.Unread), 20)] {
		o.note(fmt.Sprintf("line %d", u.Line), u.Reason)
	}
	if len(t.Unread) > 0 {
		o.s.unusable = fmt.Sprintf("%d lines of the table cannot be read", len(t.Unread))
	}
	ways := 1.0
	if t.Bidirectional {
		ways = 2
	}
	best, us, crooked := 0.0, 0.0, 0
	for _, r := range t.Rows[:min(len(t.Rows), maxRows)] {
		if why := inconsistentRow(r); why != "" {
			crooked++
			o.note("misprint", why)
			continue
		}
		if r.AverageGbps != nil && r.Bytes >= perftestLarge {
			best = max(best, *r.AverageGbps/ways)
		}
		if r.TypicalUS != nil && us == 0 {
			us = *r.TypicalUS
		}
		o.dips(r)
	}
	switch {
	case o.s.unusable != "":
	case crooked > 0:
		o.s.unusable = fmt.Sprintf("%d rows contradict themselves: size times message rate is not the bandwidth", crooked)
	case len(t.Rows) == 0 && len(t.Errors) == 0:
		o.s.unusable = "the output has no rows"
	}
	p := point{own: true, test: "perftest", scope: scopeNet, memory: memoryOf(t), source: t.Test, gbps: best, us: us}
	if best > 0 || us > 0 {
		if us > 0 {
			p.gbps = 0
		}
		o.rate(&p, t.MTU, t.LinkType)
		o.twinRun(&p, t)
		o.s.points = append(o.s.points, p)
	} else if o.s.unusable == "" && len(t.Errors) == 0 {
		o.need(fmt.Sprintf("messages of %s and more (-a, or -s 65536)", bytesText(perftestLarge)))
	}
}

func memoryOf(t *fabric.Perftest) string {
	switch t.Memory {
	case "cuda", "rocm", "gpu":
		return "gpu"
	case "host":
		return "host"
	default:
		return ""
	}
}

// resolve turns a machine's name into its NICs.
func (o *observer) resolve() {
	if o.s.hw.Machine == "" || o.s.hw.NICGbps > 0 {
		return
	}
	hw := o.s.hw
	hw.Nodes = max(2, hw.Nodes)
	if p := o.predict(hw, Job{Collective: fabric.AllReduce}, []int64{plateau}); p != nil {
		nodes := o.s.hw.Nodes
		o.s.hw = filled(o.s.hw, p.Hardware)
		o.s.hw.Nodes = nodes
	}
}

// inconsistentRow checks a row against itself: bytes by messages a second is the bandwidth. Cells that are printed
// with three digits agree within two parts in a hundred.
func inconsistentRow(r fabric.PerftestRow) string {
	for _, v := range []*float64{r.PeakGbps, r.AverageGbps, r.MsgRateMpps, r.MinUS, r.MaxUS, r.TypicalUS, r.AverageUS, r.P99US} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0) {
			return fmt.Sprintf("%s: %v", bytesText(r.Bytes), *v)
		}
	}
	if r.Bytes < 0 {
		return fmt.Sprintf("a size of %d bytes", r.Bytes)
	}
	if r.AverageGbps == nil || r.MsgRateMpps == nil {
		return ""
	}
	computed := float64(r.Bytes) * 8 * *r.MsgRateMpps / 1000
	if math.Abs(computed-*r.AverageGbps) > 0.006+0.02*computed {
		return fmt.Sprintf("%s: average %s Gb/s, size times message rate is %s Gb/s", bytesText(r.Bytes), number(*r.AverageGbps), number(computed))
	}
	return ""
}

// dips names rows whose average lies far under their own peak: the rate was not steady.
func (o *observer) dips(r fabric.PerftestRow) {
	if r.Bytes >= dipFrom && r.PeakGbps != nil && r.AverageGbps != nil && *r.AverageGbps < (1-dip)**r.PeakGbps {
		o.note("dip", fmt.Sprintf("%s: average %s Gb/s, peak %s Gb/s: the rate was not steady", bytesText(r.Bytes), number(*r.AverageGbps), number(*r.PeakGbps)))
	}
}

// rate judges a perftest number against the wire.
func (o *observer) rate(p *point, mtu int, linkType string) {
	p.large = true
	if p.us > 0 {
		p.expected = fabric.Expected{US: latencyHigh, Low: 0, High: latencyHigh}
		p.quality = good
		if p.us > latencyHigh {
			p.quality, p.ratio = bad, latencyHigh/p.us
		}
		return
	}
	limit, element := wire(o.s.hw, mtu, linkType)
	if limit == 0 {
		o.need("the line rate of the NIC: --rate GBPS" + guess(p.gbps))
		return
	}
	least := perftestLow
	if spark(o.s.hw) {
		least = twinLow() / twinRate()
	}
	p.expected = fabric.Expected{Gbps: limit, Low: least * limit, High: limit}
	p.bound = &fabric.Bound{BusBW: limit / 8, Element: element}
	p.ratio = p.gbps / limit
	p.share = p.gbps / o.s.hw.NICGbps
	switch {
	case p.ratio > artefact && p.share > artefact:
		p.quality = above
	case p.ratio < least:
		p.quality = bad
	default:
		p.quality = good
	}
}

// guess names the port rate at which a bandwidth would be healthy. It cannot decide: a faster port that came up
// slow looks the same.
func guess(gbps float64) string {
	for _, rate := range []float64{25, 40, 50, 100, 200, 400, 800} {
		if gbps <= rate && gbps >= perftestLow*rate {
			return fmt.Sprintf(" (with --rate %.0f this is %.1f %% of it)", rate, 100*gbps/rate)
		}
	}
	return ""
}
