package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func linkLayerRule() Rule {
	return Rule{
		ID:        "link-layer",
		Title:     "RDMA ports have the planned link layer",
		Doc:       "compares the link layer of every RDMA port with the plan's transport: a port of a VPI card in the wrong mode finds no peer",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseNICProfile,
		Reference: "the plan; kernel documentation, ABI/stable/sysfs-class-infiniband, link_layer; InfiniBand on vSphere 8, link type IB",
		Facts:     []string{fabric.FactHCAs, fabric.FactPorts, fabric.FactPortLinkLayer},
		Scope:     []Condition{withPlan(), withHardware()},
		DependsOn: []string{"nic-rdma"},
		Node:      judgeLinkLayer,
	}
}

func judgeLinkLayer(in NodeInput) []Verdict {
	want := linkLayer(in.Plan.Transport)
	linkType := map[string]string{"Ethernet": "ETH", "InfiniBand": "IB"}[want]
	return in.eachPort("", func(p portAt) Verdict {
		have, name := p.port.LinkLayer, in.Facts.Node+":"+p.name
		seen := saw(p.sysfs("link_layer"), have)
		switch have {
		case "":
			return Verdict{Why: in.portWhy("link layer of "+name+" was not read", fabric.FactPortLinkLayer, p)}
		case want:
			return pass(want, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
			Why:  name + " is " + have + ", the plan's transport " + string(in.Plan.Transport) + " needs " + want + ".",
			Cost: "no traffic on this port",
			Fix:  onNode(fmt.Sprintf("mlxconfig -d %s set LINK_TYPE_P%d=%s && reboot", fabric.ShellWord(orWord(p.hca.PCI, p.hca.Name)), p.port.Number, linkType), in.Facts.Node),
		}
	})
}

func rdmaMTU() Rule {
	return Rule{
		ID:        "rdma-mtu",
		Title:     "RDMA packets carry 4096 bytes",
		Doc:       "compares the active RDMA MTU of every port with 4096, with the port's own maximum, and with what the planned interface MTU allows: smaller packets spend more of the line rate on headers",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseMTUMismatch,
		Reference: "InfiniBand Architecture 1.4, 14.2.5.6 NeighborMTU; Broadcom RoCE guide 2.6 no. 10",
		Facts:     []string{fabric.FactPorts, fabric.FactPortActiveMTU},
		Scope:     []Condition{withHardware(), withRDMA()},
		DependsOn: []string{"spark-mtu", "mtu", "port-state"},
		Node:      judgeRDMAMTU,
	}
}

// fullPayload is the largest payload of an RDMA packet in bytes (InfiniBand Architecture 1.4, 7.7.6).
const fullPayload = 4096

func judgeRDMAMTU(in NodeInput) []Verdict {
	return in.eachPort("", func(p portAt) Verdict {
		name := in.Facts.Node + ":" + p.name
		if p.port.ActiveMTU == nil {
			return Verdict{Why: in.portWhy("active MTU of "+name+" was not read", fabric.FactPortActiveMTU, p)}
		}
		have, want := *p.port.ActiveMTU, fullPayload
		if p.port.MaxMTU != nil && *p.port.MaxMTU > 0 {
			want = min(want, *p.port.MaxMTU)
		}
		ethernet := p.port.LinkLayer == "Ethernet"
		if in.Plan != nil && ethernet && in.Plan.MTU > 0 {
			want = min(want, rocePayload(in.Plan.MTU))
		}
		expected := strconv.Itoa(want) + " bytes"
		seen := saw("ibv_devinfo -d "+p.hca.Name, "active_mtu "+strconv.Itoa(have))
		if have >= want {
			return pass(expected, seen)
		}
		v := Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("%s sends packets of %d bytes; %d is possible.", name, have, want),
			Cost: payloadCost(have, want, ethernet),
			Fix:  onNode("set the MTU of the partition in the subnet manager's partitions.conf to 4096 (mtu=5), then restart it", "the subnet manager"),
		}
		if ethernet {
			v.Fix = in.untilBoot("ip link set dev " + fabric.ShellWord(orWord(p.nic, "NIC")) + " mtu 9000")
		}
		return v
	})
}

// Bytes of an InfiniBand packet beside its payload on a link within a subnet: LRH 8, BTH 12, ICRC 4, VCRC 2
// (InfiniBand Architecture 1.4, 5.2).
const wireInfiniBand = 8 + 12 + 4 + 2

func payloadCost(have, want int, ethernet bool) string {
	headers := wireInfiniBand
	if ethernet {
		headers = wireHeaders
	}
	share := func(p int) float64 { return 100 * float64(p) / float64(p+headers) }
	return fmt.Sprintf("%.1f instead of %.1f %% of the line rate (payload / (payload + %d bytes of headers)) and %.2g times as many packets",
		share(have), share(want), headers, float64(want)/float64(max(have, 1)))
}

func linkErrors() Rule {
	return Rule{
		ID:    "link-errors",
		Title: "Port error counters are within limits",
		Doc: "reads the error counters that should be zero however long ago they were cleared (buffer overruns, link integrity, corrupted packets), " +
			"and link_downed: a link that went down more than ten times is loose or dying. Counters that need a rate need a second reading",
		Severity: fabric.SeverityWarning,
		Cause:    fabric.CauseSlowLink,
		Reference: "InfiniBand Architecture 1.4, 16.1.3.5 PortCounters; kernel documentation, ABI/stable/sysfs-class-infiniband; " +
			"NVIDIA NVSentinel (fatal at the first) and leptonai gpud (link_downed over 10)",
		Facts:     []string{fabric.FactPorts, fabric.FactPortCounters},
		Scope:     []Condition{withHardware(), withRDMA()},
		DependsOn: []string{"port-state"},
		Node:      judgeLinkErrors,
	}
}

// counterLimit is the highest count that is still healthy.
type counterLimit struct {
	name  string
	limit uint64
	says  string
}

// counterLimits are the counters that a single reading can judge. The first three are in counters/, the
// last in hw_counters/ of mlx5.
func counterLimits() []counterLimit {
	return []counterLimit{
		{"local_link_integrity_errors", 0, "the receiver saw more consecutive errors than allowed"},
		{"excessive_buffer_overrun_errors", 0, "flow control failed"},
		{"link_downed", 10, "the link went down and came back"},
		{"rx_icrc_encapsulated", 0, "RoCE packets arrived corrupted"},
	}
}

func judgeLinkErrors(in NodeInput) []Verdict {
	limits := counterLimits()
	return in.eachPort("", func(p portAt) Verdict {
		name := in.Facts.Node + ":" + p.name
		const want = "link_downed at most 10, the others 0"
		over, read, says := overLimit(p.port, limits)
		if len(over) > 0 {
			text := strings.Join(over, ", ")
			return Verdict{
				Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw(p.counters(), text)},
				Why:  name + " counts " + text + " since its counters were cleared: " + says + ".",
				Cost: "every packet from the lost one on is sent again, and a collective waits for its slowest link",
				Fix:  onNode("read it again under load (rdma statistic show link "+fabric.ShellWord(p.name)+"); if it still grows, clean and reseat the cable, then replace it", in.Facts.Node),
			}
		}
		if unread := in.unreadCounters(p, limits); len(unread) > 0 {
			why := strings.Join(unread, ", ") + " of " + name + " were not read"
			paths := []string{fabric.FactPortCounters + " " + p.name}
			for _, n := range unread {
				paths = append(paths, fabric.FactPortCounters+"."+n+" "+p.name)
			}
			return Verdict{Why: in.why(why, append(paths, fabric.FactPortCounters, fabric.FactHCAs)...)}
		}
		return pass(want, saw(p.counters(), strings.Join(read, ", ")))
	})
}

// counters is where the counters of a port are.
func (p portAt) counters() string { return p.sysfs("{counters,hw_counters}") }

// overLimit lists the counters of a port that are over their limits, what the first of them means, and those that were
// read.
func overLimit(p *fabric.Port, limits []counterLimit) (over, read []string, says string) {
	for _, l := range limits {
		n, counted := p.Counters[l.name]
		if !counted {
			continue
		}
		text := l.name + " " + strconv.FormatUint(n, 10)
		read = append(read, text)
		if n > l.limit {
			over, says = append(over, text), orWord(says, l.says)
		}
	}
	return over, read, says
}

// unreadCounters lists the counters without which a port does not pass: those that every driver has, and those that
// could not be read although they are there.
func (in NodeInput) unreadCounters(p portAt, limits []counterLimit) []string {
	var unread []string
	for _, l := range limits {
		if _, counted := p.port.Counters[l.name]; counted {
			continue
		}
		_, cut := in.missing(fabric.FactPortCounters+" "+p.name, fabric.FactPortCounters, fabric.FactPortCounters+"."+l.name+" "+p.name)
		if cut || slices.Contains(fabric.LinkCounters(), l.name) {
			unread = append(unread, l.name)
		}
	}
	return unread
}

func fec() Rule {
	return Rule{
		ID:        "fec",
		Title:     "NICs of 100 Gb/s and more use Reed-Solomon FEC",
		Doc:       "reads the active forward error correction of fabric NICs of 100 Gb/s and more: their lanes rely on RS-FEC, and the other end must use the same. Slower NICs are not applicable",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseSlowLink,
		Reference: "IEEE 802.3, clauses 91, 119 and 134; Broadcom RoCE guide 2.5 (fec rs on every switch port)",
		Facts:     []string{fabric.FactNICs, fabric.FactNICFEC, fabric.FactNICSpeed},
		Scope:     []Condition{onRoCE(), withHardware(), withRDMA(), onHost()},
		DependsOn: []string{"link-up"},
		Node:      judgeFEC,
	}
}

// fecFrom is the speed in Mb/s from which NICs use several lanes of at least 25 Gb/s.
const fecFrom = 100_000

func judgeFEC(in NodeInput) []Verdict {
	return in.each(in.ethernet(), func(nic *fabric.NIC) Verdict {
		name := in.Facts.Node + ":" + nic.Name
		seen := saw("ethtool --show-fec "+nic.Name, nic.FEC)
		switch {
		case nic.SpeedMbps != nil && *nic.SpeedMbps < fecFrom:
			return Verdict{Status: fabric.NotApplicable, Why: fmt.Sprintf("%s runs at %d Mb/s: below %d it needs no FEC", name, *nic.SpeedMbps, fecFrom)}
		case nic.FEC == "" || nic.SpeedMbps == nil:
			return Verdict{Why: in.why("speed and active FEC of "+name+" were not both read", fabric.FactNICFEC+" "+nic.Name, fabric.FactNICFEC, fabric.FactNICSpeed+" "+nic.Name)}
		case nic.FEC == "RS" || nic.FEC == "LLRS":
			return pass("RS", seen)
		case nic.FEC == "Auto" || strings.Contains(nic.FEC, " "):
			return Verdict{Evidence: []fabric.Evidence{seen}, Why: "the driver of " + name + " does not say which FEC is in use: " + nic.FEC}
		}
		return Verdict{
			Status: fabric.Fail, Expected: "RS", Evidence: []fabric.Evidence{seen},
			Why:  name + " runs at " + strconv.Itoa(*nic.SpeedMbps) + " Mb/s with FEC " + nic.FEC + ", not RS.",
			Cost: "bit errors that RS-FEC would correct become lost packets; after each, RoCE sends everything from the lost packet on again",
			Fix:  onNode("ethtool --set-fec "+fabric.ShellWord(nic.Name)+" encoding rs", in.Facts.Node) + ", and the same on the switch port",
		}
	})
}
