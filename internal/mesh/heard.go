package mesh

import (
	"net/netip"
	"slices"

	"railwright.dev/railwright/internal/cables"
	"railwright.dev/railwright/internal/fabric"
)

// byHeard explains pairs of machines that are cabled to each other: an ARP request that comes in on a port shows where its cable
// leads, also where nobody answers. It returns the pairs that are left.
func byHeard(p *fabric.Plan, m *fabric.Mesh, left []fabric.Measurement, failed int) (causes []fabric.Cause, rest []fabric.Measurement) {
	if len(left) == 0 || p.Wiring() == fabric.WiredSwitch || len(p.Ports) == 0 {
		return nil, left
	}
	harness := cables.New(p)
	seen, source := heardCables(harness, p, m.Heard)
	for _, f := range harness.Faults(seen) {
		found := fabric.Finding{}
		cause := fabric.Cause{ID: fabric.CauseMiscabled, Subject: f.At.Subject(), Fix: f.Fix, Confirm: "the LLDP neighbours of both ports, where lldpd runs"}
		cause.Evidence = []fabric.Evidence{{Source: "mesh", Value: f.Why}}
		for _, port := range f.Ports {
			if e, ok := source[port]; ok {
				cause.Evidence = append(cause.Evidence, e)
			}
			if far, ok := seen.Both()[port]; ok && far == harness.Planned(port) {
				continue
			}
			for _, nic := range harness.NICs(port) {
				found.With = append(found.With, fabric.NICSubject(nic.Node, nic.NIC))
			}
		}
		touched := touching(left, found)
		if len(touched) == 0 {
			continue
		}
		cause.Confidence = share(len(touched), failed)
		cause.Evidence = append(cause.Evidence, signs(touched).evidence())
		causes = append(causes, cause)
		left = slices.DeleteFunc(slices.Clone(left), func(pair fabric.Measurement) bool { return touchesAny(pair, []fabric.Finding{found}) })
	}
	return causes, left
}

// heardCables is where ports lead by who asked on them. A port on which several ask shows nothing.
func heardCables(h cables.Harness, p *fabric.Plan, heard []fabric.Heard) (seen cables.Seen, source map[cables.Place]fabric.Evidence) {
	owner := make(map[netip.Addr]fabric.Endpoint)
	for _, n := range p.Addressing.Nodes {
		for _, a := range n.NICs {
			owner[a.Address.Addr()] = fabric.Endpoint{Node: n.Node, NIC: a.NIC}
		}
	}
	seen, source = make(cables.Seen), make(map[cables.Place]fabric.Evidence)
	torn := make(map[cables.Place]bool)
	for _, one := range heard {
		at, ok := h.At(one.On)
		of, planned := owner[one.From]
		far, known := h.At(of)
		if !ok || !planned || !known || far.Node == at.Node {
			continue
		}
		if had, again := seen[at]; again && had.Port != far {
			torn[at] = true
		}
		seen[at] = cables.Far{Port: far}
		source[at] = fabric.Evidence{Source: "ARP requests on " + one.On.String(), Value: "from " + one.From.String() + " of " + of.String()}
	}
	for port := range torn {
		delete(seen, port)
	}
	return seen, source
}
