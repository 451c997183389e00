package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/cables"
	"railwright.dev/railwright/internal/fabric"
)

func portCabling() Rule {
	return Rule{
		ID:    "port-cabling",
		Title: "Each port is cabled as planned",
		Doc: "compares where each port of a machine with twins leads, by the LLDP neighbours of either end, or by the MAC addresses in its neighbour table, with the plan: plugs in each other's ports, two cables " +
			"between the same two machines, a machine that is not in the cluster file. On a switch any of its ports will do",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMiscabled,
		Reference: "the plan; DGX Spark playbooks, ring of three: port 0 of each machine to port 1 of the next; IEEE 802.1AB, system name and port id",
		Facts:     []string{fabric.FactLLDP, fabric.FactNeighbours, fabric.FactNICMAC},
		Scope:     []Condition{withPlan(), withCables(), withTwins(), onRoCE()},
		DependsOn: []string{"link-up"},
		Cluster:   judgePortCabling,
	}
}

// farEnd is an LLDP neighbour: a system, and its port by id and by description.
type farEnd struct{ System, Port, Text string }

// heard lists the LLDP neighbours of an interface of a port with twins.
func (in NodeInput) heard(nic string) []farEnd {
	if !in.twinned(nic) {
		return nil
	}
	var all []farEnd
	for _, n := range in.Facts.LLDP {
		if n.NIC == nic {
			all = append(all, farEnd{strings.Clone(firstLabel(n.System)), strings.Clone(n.Port), strings.Clone(n.PortText)})
		}
	}
	return all
}

// portsSeen is where ports lead by what their interfaces heard. A port whose interfaces heard different things is torn.
type portsSeen struct {
	cables.Seen
	torn   map[cables.Place]bool
	source map[cables.Place]fabric.Evidence
}

func (in ClusterInput) portsSeen(plan cables.Harness) portsSeen {
	s := portsSeen{cables.Seen{}, map[cables.Place]bool{}, map[cables.Place]fabric.Evidence{}}
	for _, d := range in.Nodes {
		for _, nic := range d.NICs {
			port, ok := plan.At(fabric.Endpoint{Node: d.Node, NIC: nic.Name})
			if !ok || d.Nominal {
				continue
			}
			for _, h := range nic.Heard {
				far := plan.FarEnd(h.System, h.Port, h.Text)
				if far.Port == port {
					continue // a twin hears the other one
				}
				if had, again := s.Seen[port]; again {
					s.torn[port] = s.torn[port] || !had.Same(far)
					continue
				}
				s.Seen[port] = far
				s.source[port] = saw("LLDP on "+d.Node+":"+nic.Name, h.System+":"+h.Port)
			}
		}
	}
	in.byNeighbours(plan, s)
	for port, torn := range s.torn {
		if torn {
			delete(s.Seen, port)
		}
	}
	return s
}

// byNeighbours adds where ports lead by the MAC addresses in neighbour tables, for those on which no LLDP neighbour was heard. On
// a switch they show that the port is on the layer 2 of the others.
func (in ClusterInput) byNeighbours(plan cables.Harness, s portsSeen) {
	owner := make(map[mac]fabric.Endpoint)
	for _, d := range in.Nodes {
		for _, nic := range d.NICs {
			if nic.MAC != (mac{}) {
				owner[nic.MAC] = fabric.Endpoint{Node: d.Node, NIC: nic.Name}
			}
		}
	}
	heard := make(map[cables.Place]bool, len(s.Seen))
	for port := range s.Seen {
		heard[port] = true
	}
	for _, d := range in.Nodes {
		for _, nic := range d.NICs {
			port, ok := plan.At(fabric.Endpoint{Node: d.Node, NIC: nic.Name})
			if !ok || d.Nominal || heard[port] {
				continue
			}
			for _, n := range nic.Neighbours {
				at, known := owner[n.mac]
				place, planned := plan.At(at)
				if !known || !planned || at.Node == d.Node {
					continue
				}
				far := cables.Far{Port: place}
				if onSwitch := plan.Planned(port); onSwitch.Switch != "" {
					far = onSwitch
				}
				if had, again := s.Seen[port]; again && had != far {
					s.torn[port] = true
				}
				s.Seen[port] = far
				s.source[port] = saw("ip neighbour show dev "+nic.Name+" on "+d.Node, netip.AddrFrom4(n.address).String()+" at "+n.mac.String()+" of "+at.String())
			}
		}
	}
}

func judgePortCabling(in ClusterInput) []Verdict {
	plan := in.index.cables
	seen := in.portsSeen(plan)
	both := seen.Both()
	done := make(map[cables.Place]bool)
	var out []Verdict
	for _, f := range plan.Faults(seen.Seen) {
		v := Verdict{Status: fabric.Fail, Subject: f.At.Subject(), Expected: f.Expected, Why: f.Why, Fix: f.Fix}
		for _, port := range f.Ports {
			if e, ok := seen.source[port]; ok {
				v.Evidence = append(v.Evidence, e)
			}
			if far, ok := both[port]; !ok || far != plan.Planned(port) {
				v.With = append(v.With, interfacesOf(plan, port)...)
			}
			done[port] = done[port] || both[port] != (cables.Far{})
		}
		out = append(out, v)
	}
	for _, port := range plan.Ports() {
		far := plan.Planned(port)
		if done[port] || far == (cables.Far{}) {
			continue
		}
		done[port], done[far.Port] = true, true
		out = append(out, seen.asPlanned(plan, port, far))
	}
	return out
}

// asPlanned passes a cable that either of its ends saw.
func (s portsSeen) asPlanned(plan cables.Harness, port cables.Place, far cables.Far) Verdict {
	v := Verdict{Subject: port.Subject(), Expected: far.String(), On: slices.Concat(interfacesOf(plan, port), interfacesOf(plan, far.Port))}
	for _, end := range []cables.Place{port, far.Port} {
		if e, ok := s.source[end]; ok {
			v.Evidence = append(v.Evidence, e)
		}
	}
	switch {
	case s.torn[port] || s.torn[far.Port]:
		v.Why = fmt.Sprintf("the interfaces of %s or of %s have several neighbours: a cable was moved recently, or a device in between joins several", port, far)
	case len(v.Evidence) > 0:
		v.Status = fabric.Pass
	default:
		v.Why = fmt.Sprintf("where %s leads was not seen: no LLDP neighbour on it, nor at the far end planned for it (%s), and neither has the other in its neighbour table: ping between them, then check again", port, far)
	}
	return v
}

func interfacesOf(plan cables.Harness, port cables.Place) (all []fabric.Subject) {
	for _, nic := range plan.NICs(port) {
		all = append(all, fabric.NICSubject(nic.Node, nic.NIC))
	}
	return all
}
