package check

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func rdmaDevice() Rule {
	return Rule{
		ID:        "rdma-device",
		Title:     "The node has RDMA devices",
		Doc:       "looks for RDMA devices: a node without one may be the wrong node, or its driver is not loaded, so nothing about RDMA is known",
		Severity:  fabric.SeverityWarning,
		Reference: "kernel documentation, ABI/stable/sysfs-class-infiniband; Broadcom RoCE guide 2.6 no. 1 and 6",
		Scope:     Scope{Hardware: true},
		Node:      judgeRDMADevice,
	}
}

func judgeRDMADevice(in NodeInput) []Verdict {
	node := fabric.NodeSubject(in.Facts.Node)
	seen := saw("/sys/class/infiniband", strconv.Itoa(len(in.Facts.HCAs))+" devices")
	if len(in.Facts.HCAs) == 0 {
		v := unknown(node, in.why("no RDMA device was seen on "+in.Facts.Node, "hcas"), seen)
		v.Fix = onNode("lsmod | grep -e mlx5_ib -e bnxt_re -e ionic_rdma; rdma link show", in.Facts.Node)
		return []Verdict{v}
	}
	v := pass("at least one RDMA device", seen)
	v.Subject = node
	return []Verdict{v}
}

func portState() Rule {
	return Rule{
		ID:        "port-state",
		Title:     "RDMA ports are active",
		Doc:       "looks at logical and physical state of every RDMA port of the fabric: a port that is not active carries nothing",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLinkDown,
		Reference: "InfiniBand Architecture 1.4, 14.2.5.6 PortInfo; Broadcom RoCE guide 2.6 no. 8",
		Scope:     Scope{Hardware: true},
		DependsOn: []string{"link-up"},
		Node:      judgePortState,
	}
}

func judgePortState(in NodeInput) []Verdict {
	var out []Verdict
	for i := range in.Facts.HCAs {
		h := &in.Facts.HCAs[i]
		nic, ours := in.nicOf(h)
		if !ours {
			continue
		}
		for _, p := range h.Ports {
			v := in.judgePort(h.Name, nic, p)
			v.Subject = fabric.Subject{Kind: "port", Node: in.Facts.Node, Port: h.Name + "/" + strconv.Itoa(p.Number)}
			if nic != "" {
				v.On = fabric.NICSubject(in.Facts.Node, nic)
			}
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		why := "no RDMA port of " + in.Facts.Node + " was seen"
		if in.Plan != nil && len(in.Facts.HCAs) > 0 {
			why = "none of the " + strconv.Itoa(len(in.Facts.HCAs)) + " RDMA devices of " + in.Facts.Node + " belongs to a planned NIC"
		}
		return []Verdict{unknown(fabric.NodeSubject(in.Facts.Node), in.why(why, "hcas"))}
	}
	return out
}

// nicOf finds the interface of an RDMA device. With a plan only the devices of planned NICs are ours; a plan
// for InfiniBand may name the devices themselves.
func (in NodeInput) nicOf(h *fabric.HCA) (nic string, ours bool) {
	for i := range in.Facts.NICs {
		n := &in.Facts.NICs[i]
		if serves(h, n) && (in.Plan == nil || slices.Contains(in.Plan.NICs, n.Name)) {
			return n.Name, true
		}
	}
	return "", in.Plan == nil || slices.Contains(in.Plan.NICs, h.Name)
}

func (in NodeInput) judgePort(hca, nic string, p fabric.Port) Verdict {
	port := hca + "/" + strconv.Itoa(p.Number)
	name := in.Facts.Node + ":" + port
	path := "/sys/class/infiniband/" + hca + "/ports/" + strconv.Itoa(p.Number)
	seen := []fabric.Evidence{saw(path+"/state", p.State), saw(path+"/phys_state", p.PhysState)}
	const want = "ACTIVE and LinkUp"
	switch {
	case p.State == "" || p.PhysState == "":
		return Verdict{Evidence: seen, Why: in.why("state of "+name+" was not read", "hcas.ports.state "+port, "hcas.ports.phys_state "+port)}
	case p.State == "ACTIVE" && p.PhysState == "LinkUp":
		return pass(want, seen...)
	}
	v := Verdict{
		Status: fabric.Fail, Expected: want, Evidence: seen,
		Why: name + " is " + p.State + " and " + p.PhysState + ", not ACTIVE and LinkUp.",
		Fix: onNode("ibstat "+hca+" "+strconv.Itoa(p.Number), in.Facts.Node),
	}
	if nic != "" {
		v.Fix = onNode("ip link set dev "+nic+" up && ethtool "+nic+" && rdma link show "+port, in.Facts.Node)
	}
	if strings.HasPrefix(p.State, "INIT") && p.LinkLayer == "InfiniBand" {
		v.Why += " A port stays in INIT while no subnet manager has set it up."
		v.Fix = onNode("sminfo -C "+hca+" -P "+strconv.Itoa(p.Number), in.Facts.Node)
	}
	return v
}
