package check

import (
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func firmwareEqual() Rule {
	return Rule{
		ID:        "firmware-equal",
		Title:     "NICs of the same kind have the same firmware",
		Doc:       "compares the firmware of all fabric NICs of the same board: versions differ in congestion control, RoCE defaults and known faults",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "Broadcom RoCE guide 2.6; imbue and ROCm CVS, firmware uniform",
		Facts:     []string{fabric.FactHCAFirmware, fabric.FactNICFirmware},
		Scope:     []Condition{withOwnHardware(), withRDMA()},
		DependsOn: []string{"port-state"},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "firmware", of: "ports", source: "/sys/class/infiniband/*/fw_ver, ethtool -i", cost: skewCost,
				members: in.portMembers(func(p *PortDigest) (string, trait, bool) { return p.Kind, p.Firmware, true }),
				fix: func(s fabric.Subject, want string) string {
					return onNode("bring the NIC's firmware to "+want+" (mlxfwmanager, niccli install, nicctl), then reboot", s.Node)
				},
			}.judge()
		},
	}
}

func pkeyEqual() Rule {
	return Rule{
		ID:        "pkey-equal",
		Title:     "All InfiniBand ports are in the same partitions",
		Doc:       "compares the P_Key tables of all InfiniBand ports of the fabric: ports without a common partition cannot connect",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CausePKeyMismatch,
		Reference: "InfiniBand Architecture 1.4, 10.9; Verda and mori, same P_Key on all ports",
		Facts:     []string{fabric.FactPortPKeys},
		Scope:     []Condition{onInfiniBand(), withOwnHardware(), withRDMA()},
		DependsOn: []string{"port-state", "sm-lid", "pkey-member"},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "P_Keys", of: "ports", source: "/sys/class/infiniband/*/ports/*/pkeys", cost: "no connection between some ports",
				members: in.portMembers(func(p *PortDigest) (string, trait, bool) {
					return "", p.PKeys, p.Layer != "Ethernet"
				}),
				fix: func(s fabric.Subject, want string) string {
					return "put the port's GUID into the partitions of its peers (" + want + ") in the subnet manager's partitions.conf   # for " + s.Node
				},
			}.judge()
		},
	}
}

func gidIndexEqual() Rule {
	return Rule{
		ID:        "gid-index-equal",
		Title:     "The RoCE v2 address has the same GID index everywhere",
		Doc:       "compares the index of each fabric NIC's address as RoCE v2 GID: NCCL_IB_GID_INDEX is one number for all NICs of all nodes",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseGIDIndex,
		Reference: "NCCL documentation, NCCL_IB_GID_INDEX; Broadcom RoCE guide 2.6 no. 9; ROCm CVS, same GID index on every node",
		Facts:     []string{fabric.FactPortGIDs, fabric.FactPortGIDAttributes, fabric.FactNICAddresses},
		Scope:     []Condition{withAddresses(), onRoCE(), withOwnHardware(), withRDMA()},
		DependsOn: []string{"gid-roce-v2", "nic-rdma", "address", "link-layer"},
		Cluster: func(in ClusterInput) []Verdict {
			q := equality{
				what: "GID index", of: "NICs", source: "/sys/class/infiniband/*/ports/*/gids",
				cost: "with a fixed NCCL_IB_GID_INDEX these NICs use another address family or RoCE version, and connections fail",
				fix: func(s fabric.Subject, _ string) string {
					return onNode("take needless addresses off the NIC (ip address show), then ip link set dev NIC down and up; or leave NCCL_IB_GID_INDEX unset (NCCL 2.21 and later find it)", s.Node)
				},
			}
			nics := 0
			in.fabricNICs(func(*Digest, *NICDigest) { nics++ })
			q.members = make([]member, 0, nics)
			in.fabricNICs(func(d *Digest, n *NICDigest) {
				if d.Lab {
					return
				}
				q.members = append(q.members, member{subject: fabric.NICSubject(d.Node, n.Name), trait: n.GID})
			})
			return q.judge()
		},
	}
}

func portRate() Rule {
	return Rule{
		ID:        "port-rate",
		Title:     "Ports of the same kind run at the same rate",
		Doc:       "compares the rate of all fabric ports of one board with the fastest of them: a slower one trained down because of a bad cable, or its far end is configured for less",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CausePortRateLow,
		Reference: "Broadcom RoCE guide 2.6 no. 8; InfiniBand Architecture 1.4, 14.2.5.6 LinkSpeedActive and LinkWidthActive",
		Facts:     []string{fabric.FactPortRate},
		Scope:     []Condition{withOwnHardware(), withRDMA()},
		DependsOn: []string{"link-up", "port-state", "rate-planned", "spark-rate"},
		Cluster:   judgePortRate,
	}
}

func judgePortRate(in ClusterInput) []Verdict {
	best, count := map[string]float64{}, map[string]int{}
	in.eachNode(func(d *Digest) {
		for _, p := range d.Ports {
			if p.Rate > 0 {
				best[p.Kind] = max(best[p.Kind], p.Rate)
				count[p.Kind]++
			}
		}
	})
	var out []Verdict
	compared := 0
	in.eachNode(func(d *Digest) {
		for i := range d.Ports {
			p := &d.Ports[i]
			switch want := best[p.Kind]; {
			case p.Rate < want || p.Rate <= 0:
				out = append(out, judgeRate(d.Node, p, want, count[p.Kind]))
			case count[p.Kind] > 1:
				compared++
			}
		}
	})
	switch {
	case len(out) > 0:
		return out
	case compared == 0:
		return []Verdict{unknown(fabric.ClusterSubject(), "nothing to compare: no two RDMA ports of the same kind were seen")}
	}
	v := pass("one rate", saw("/sys/class/infiniband/*/ports/*/rate", strconv.Itoa(compared)+" ports"))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}

// judgeRate returns the verdict of a port that is slower than the fastest of its kind, or of unknown rate.
func judgeRate(node string, p *PortDigest, want float64, ports int) Verdict {
	v := Verdict{Subject: portSubject(node, p.Name), On: interfaceOf(node, p.NIC)}
	if p.Rate <= 0 {
		v.Why = "rate of " + v.Subject.String() + " was not read"
		return v
	}
	v.Status, v.Expected = fabric.Fail, gbits(want)
	v.Evidence = []fabric.Evidence{saw("/sys/class/infiniband/"+hcaName(p.Name)+"/ports/*/rate", gbits(p.Rate))}
	v.Why = fmt.Sprintf("%s runs at %s, the fastest of the %d ports%s at %s.", v.Subject, gbits(p.Rate), ports, ofKind(p.Kind), gbits(want))
	v.Cost = fmt.Sprintf("%.1f instead of %.1f GB/s (Gb/s / 8), %.1f GB/s less; a ring runs at the rate of its slowest link", p.Rate/8, want/8, (want-p.Rate)/8)
	v.Fix = onNode("ethtool "+fabric.ShellWord(orWord(p.NIC, "NIC"))+"; ibstat; reseat or change the cable, and compare the speed set on the switch port", node)
	return v
}

func duplicateGUID() Rule {
	return Rule{
		ID:        "duplicate-guid",
		Title:     "No two RDMA devices have the same GUID",
		Doc:       "compares the node GUIDs of all RDMA devices of the fabric: a subnet manager treats two devices with the same GUID as one, and connections reach either",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseAddressConflict,
		Reference: "InfiniBand Architecture 1.4, 4.1.1; opensm(8), duplicate GUID",
		Facts:     []string{fabric.FactHCAs, fabric.FactHCANodeGUID},
		Scope:     []Condition{withOwnHardware(), withRDMA()},
		Cluster:   judgeDuplicateGUID,
	}
}

func judgeDuplicateGUID(in ClusterInput) []Verdict {
	first, shared := map[uint64]fabric.Subject{}, map[uint64][]fabric.Subject{}
	var out []Verdict
	in.eachGUID(func(s fabric.Subject, guid uint64) {
		one, used := first[guid]
		switch {
		case guid == 0:
			out = append(out, unknown(s, "node GUID of "+s.String()+" was not read, or is all zeros: it was never set"))
		case !used:
			first[guid] = s
		default:
			if shared[guid] == nil {
				shared[guid] = []fabric.Subject{one}
			}
			shared[guid] = append(shared[guid], s)
		}
	})
	in.eachGUID(func(s fabric.Subject, guid uint64) {
		for _, other := range shared[guid] {
			if other == s {
				continue
			}
			text := guidText(guid)
			out = append(out, Verdict{
				Status: fabric.Fail, Subject: s, Expected: "each GUID on one device",
				Evidence: []fabric.Evidence{saw("/sys/class/infiniband/*/node_guid", text+", also on "+other.String())},
				Why:      fmt.Sprintf("%s shares the node GUID %s with %s, the first %s.", s, text, fabric.Count(len(shared[guid])-1, "other device"), other),
				Cost:     "traffic for one of them reaches another, or none",
				Fix:      onNode("flint -d DEVICE sg guid=... uid=... (from the card's label), or, for a virtual function, a unique GUID; then reboot", s.Node),
			})
			return
		}
	})
	switch {
	case len(out) > 0:
		return out
	case len(first) == 0:
		return []Verdict{unknown(fabric.ClusterSubject(), "no RDMA device of the fabric was seen")}
	}
	v := pass("each GUID on one device", saw("/sys/class/infiniband/*/node_guid", strconv.Itoa(len(first))+" devices"))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}

// eachGUID visits every RDMA device of the fabric once, by its first port.
func (in ClusterInput) eachGUID(visit func(fabric.Subject, uint64)) {
	in.eachNode(func(d *Digest) {
		last := ""
		for i := range d.Ports {
			if hca := hcaName(d.Ports[i].Name); hca != last {
				last = hca
				visit(portSubject(d.Node, d.Ports[i].Name), d.Ports[i].GUID)
			}
		}
	})
}

func hcaName(port string) string {
	for i := range port {
		if port[i] == '/' {
			return port[:i]
		}
	}
	return port
}

// guidText writes a GUID as the kernel does.
func guidText(guid uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", guid>>48, guid>>32&0xffff, guid>>16&0xffff, guid&0xffff)
}
