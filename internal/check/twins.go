package check

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/cables"
	"railwright.dev/railwright/internal/fabric"
)

// portOf finds the port of an interface of a machine whose ports have twins.
func (p *NodePlan) portOf(nic string) (fabric.NodePort, bool) {
	if p == nil {
		return fabric.NodePort{}, false
	}
	i := slices.IndexFunc(p.Ports, func(port fabric.NodePort) bool { return slices.Contains(nicsOfPort(port), nic) })
	if i < 0 {
		return fabric.NodePort{}, false
	}
	return p.Ports[i], true
}

func nicsOfPort(p fabric.NodePort) []string {
	names := make([]string, 0, len(p.Twins))
	for _, t := range p.Twins {
		names = append(names, t.NIC)
	}
	return names
}

// namePort names a port as a person does.
func namePort(p fabric.NodePort) string { return cables.Place{Node: p.Node, Number: p.Number}.String() }

func (in NodeInput) twinned(nic string) bool {
	_, ok := in.Plan.portOf(nic)
	return ok
}

// darkPort returns the first interface of the port of a NIC, where every interface of that port has no link: what is wrong with
// the port is said of that one.
func (in NodeInput) darkPort(nic *fabric.NIC) (fabric.Subject, bool) {
	port, ok := in.Plan.portOf(nic.Name)
	if !ok || !isDown(nic) {
		return fabric.Subject{}, false
	}
	first := ""
	for _, name := range nicsOfPort(port) {
		other, ok := in.nic(name)
		if !ok || !isDown(other) {
			return fabric.Subject{}, false
		}
		if first == "" && slices.Contains(in.Plan.NICs, name) {
			first = name
		}
	}
	return fabric.NICSubject(in.Facts.Node, first), first != "" && first != nic.Name
}

// judgeTwinDown judges an interface without a link by the others of its port: where none has one it is the cable.
func (in NodeInput) judgeTwinDown(nic *fabric.NIC, state fabric.Evidence) Verdict {
	port, _ := in.Plan.portOf(nic.Name)
	name := namePort(port)
	v := Verdict{Status: fabric.Fail, Expected: "operstate up, carrier true", Evidence: []fabric.Evidence{state}}
	if first, ok := in.darkPort(nic); ok {
		return Verdict{Expected: v.Expected, Evidence: v.Evidence, Why: "not evaluated while link-up fails on " + first.String() + ", its twin on " + name}
	}
	var dark, lit []string
	for _, twin := range nicsOfPort(port) {
		if other, ok := in.nic(twin); ok && isDown(other) {
			dark = append(dark, twin)
		} else {
			lit = append(lit, twin)
		}
	}
	if len(lit) > 0 {
		v.Why = fmt.Sprintf("Of %s the twin %s has no link (%s), and %s has one: the cable is good, and this interface is not up, or the one at its far end.", name, nic.Name, state.Value, strings.Join(lit, ", "))
		v.Cost = "half of the port: each twin is a PCIe Gen5 x4 link of its own"
		v.Fix = onNode("ip link set dev "+fabric.ShellWord(nic.Name)+" up && ethtool "+fabric.ShellWord(nic.Name), in.Facts.Node)
		return v
	}
	for _, twin := range dark {
		if twin != nic.Name {
			v.With = append(v.With, fabric.NICSubject(in.Facts.Node, twin))
		}
	}
	at := cables.Place{Node: port.Node, Number: port.Number}
	far := in.Plan.index.cables.Planned(at)
	v.Why = fmt.Sprintf("P%s has no link on any of its interfaces (%s): no cable is in it, a plug is not home, or the far end is off. Planned is a cable to %s.",
		name[1:], strings.Join(dark, ", "), far)
	v.Cost = "no traffic on this port"
	v.Fix = in.Plan.index.cables.Join(at)
	return v
}

// twinsOf reports whether two interfaces are of one port, and of which.
func (in NodeInput) twinsOf(a, b string) (port string, ok bool) {
	of, ok := in.Plan.portOf(a)
	if !ok || !slices.Contains(nicsOfPort(of), b) {
		return "", false
	}
	return namePort(of), true
}

// ofPort names the port of an interface before its name; empty where ports have no twins.
func (in NodeInput) ofPort(nic string) string {
	port, ok := in.Plan.portOf(nic)
	if !ok {
		return ""
	}
	return "Of " + namePort(port) + " "
}

// judgeCrossed judges an interface that has the address of its twin, where the twin has that of the interface: both are one
// fault, which stands with the first.
func (in NodeInput) judgeCrossed(a fabric.NICAddress, nic *fabric.NIC) (v Verdict, crossed bool) {
	port, ok := in.Plan.portOf(nic.Name)
	if !ok {
		return v, false
	}
	for _, twin := range nicsOfPort(port) {
		other, seen := in.nic(twin)
		its, planned := in.Plan.address(twin)
		if twin == nic.Name || !seen || !planned || !slices.Contains(nic.Addresses, its.Address) || !slices.Contains(other.Addresses, a.Address) {
			continue
		}
		if slices.Index(in.Plan.NICs, twin) < slices.Index(in.Plan.NICs, nic.Name) {
			return Verdict{Why: "not evaluated while address fails on " + in.Facts.Node + ":" + twin + ": the two have each other's address"}, true
		}
		return Verdict{
			Status: fabric.Fail, With: []fabric.Subject{fabric.NICSubject(in.Facts.Node, twin)},
			Evidence: []fabric.Evidence{saw("ip address show dev "+twin, prefixes(other.Addresses))},
			Why: fmt.Sprintf("The two twins of %s have each other's address: %s has %s, which is planned for %s, and that one has %s.",
				namePort(port), nic.Name, its.Address, twin, a.Address),
			Cost: "nothing passes over this port: each twin speaks in the subnet of the other",
			Fix:  in.untilBoot(replaceAddresses(nic, a.Address) + " && " + replaceAddresses(other, its.Address)),
		}, true
	}
	return v, false
}
