package check

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func rdmaDevice() Rule {
	return Rule{
		ID:        "rdma-device",
		Title:     "The node has RDMA devices",
		Doc:       "looks for RDMA devices: a node without one may be the wrong node, or its driver is not loaded, so RDMA checks are unknown",
		Severity:  fabric.SeverityWarning,
		Reference: "kernel documentation, ABI/stable/sysfs-class-infiniband; Broadcom RoCE guide 2.6 no. 1 and 6",
		Facts:     []string{fabric.FactHCAs},
		Scope:     []Condition{withHardware()},
		Node:      judgeRDMADevice,
	}
}

func judgeRDMADevice(in NodeInput) []Verdict {
	node := fabric.NodeSubject(in.Facts.Node)
	seen := saw("/sys/class/infiniband", strconv.Itoa(len(in.Facts.HCAs))+" devices")
	if len(in.Facts.HCAs) == 0 {
		v := unknown(node, in.why("no RDMA device was seen on "+in.Facts.Node, fabric.FactHCAs), seen)
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
		Doc:       "reads the logical and physical state of every RDMA port of the fabric: a port that is not active carries no traffic",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLinkDown,
		Reference: "InfiniBand Architecture 1.4, 14.2.5.6 PortInfo; Broadcom RoCE guide 2.6 no. 8",
		Facts:     []string{fabric.FactHCAs, fabric.FactPorts, fabric.FactPortState, fabric.FactPortPhysState},
		Scope:     []Condition{withHardware(), withRDMA()},
		DependsOn: []string{"link-up"},
		Node:      judgePortState,
	}
}

func judgePortState(in NodeInput) []Verdict {
	return in.eachPort("", in.judgePort)
}

func (in NodeInput) judgePort(at portAt) Verdict {
	name, p := in.Facts.Node+":"+at.name, at.port
	seen := []fabric.Evidence{saw(at.sysfs("state"), p.State), saw(at.sysfs("phys_state"), p.PhysState)}
	const want = "ACTIVE and LinkUp"
	switch {
	case p.State == "" || p.PhysState == "":
		return Verdict{Evidence: seen, Why: in.why("state of "+name+" was not read", fabric.FactPortState+" "+at.name, fabric.FactPortPhysState+" "+at.name)}
	case p.State == "ACTIVE" && p.PhysState == "LinkUp":
		return pass(want, seen...)
	}
	if why := in.uncabled(at.nic, at.hca.Name); why != "" {
		return Verdict{Status: fabric.NotApplicable, Why: why}
	}
	if why := in.halfPort(at.nic, at.hca.Name); why != "" {
		return Verdict{Evidence: seen, Why: why}
	}
	v := Verdict{
		Status: fabric.Fail, Expected: want, Evidence: seen,
		Why: name + " is " + p.State + " and " + p.PhysState + ", not ACTIVE and LinkUp.",
		Fix: onNode("ibstat "+fabric.ShellWord(at.hca.Name)+" "+strconv.Itoa(p.Number), in.Facts.Node),
	}
	if at.nic != "" {
		v.Fix = onNode("ip link set dev "+fabric.ShellWord(at.nic)+" up && ethtool "+fabric.ShellWord(at.nic)+" && rdma link show "+fabric.ShellWord(at.name), in.Facts.Node)
	}
	if p.State == "DOWN" && p.PhysState == "LinkUp" && p.LinkLayer == "InfiniBand" { // of a physical port the link training itself leads to INIT
		v.Cause = fabric.CauseSubnetManager
		v.Why += " The cable is up; the port of a virtual function stays down until the subnet manager serves virtual ports and the function has a GUID."
		v.Fix = "at the subnet manager: `ib sm virt enable`, or virt_enabled 2 in opensm.conf; on the host of the physical function: ip link set dev DEV vf N node_guid GUID, port_guid GUID, state auto"
	}
	if strings.HasPrefix(p.State, "INIT") && p.LinkLayer == "InfiniBand" {
		v.Cause = fabric.CauseSubnetManager
		v.Why += " A port stays in INIT until a subnet manager configures it."
		v.Fix = onNode("sminfo -C "+fabric.ShellWord(at.hca.Name)+" -P "+strconv.Itoa(p.Number), in.Facts.Node)
	}
	return v
}
