package collective

import (
	"cmp"
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// twins is what sets the rate of NICs of which several share a port, and others a PCIe link, as in a DGX Spark: what two
// machines exchange goes through the port of their cable, and the PCIe links carry what all ports do.
type twins struct {
	load    topology.RDMALoad // of the functions in use
	perPort int               // functions of a port
	element string            // what limits all ports together
	hop     hop               // from a machine to its neighbour in a ring
	nearest bool              // machines that are no neighbours have no path between them
	both    *hop              // the same with an NCCL that uses both functions of a port for a neighbour; nil: it does already
}

// hop is what a machine sends to one other: shares of what limit and wire say of all its NICs, and how many of these it uses.
type hop struct {
	bound, reached float64
	nics           int
	element        string
}

// hop is that of a ring; all NICs take part in it unless some of their ports lead elsewhere.
func (n network) hop() hop {
	if n.twins == nil {
		return hop{bound: 1, reached: 1, nics: n.nics}
	}
	return n.twins.hop
}

// neighbours reports whether machines reach only the next ones.
func (n network) neighbours() bool { return n.twins != nil && n.twins.nearest }

// hasTwins reports whether functions of a NIC share its port.
func hasTwins(nic catalog.NICModel) bool { return nic.Functions > 1 && nic.PCIeLink.Rate() > 0 }

// cabled is how many functions of such a machine have a cable where the description does not say: in a ring those of both
// ports, otherwise those of one.
func cabled(nic catalog.NICModel, hw fabric.Hardware, all int) int {
	if !hasTwins(nic) || hw.Nodes < 2 || ring(wiringOf(hw)) {
		return all
	}
	return min(nic.Functions, all)
}

// wiringOf is how machines with such ports are cabled: as stated, or as that many usually are.
func wiringOf(hw fabric.Hardware) fabric.Wiring {
	switch {
	case hw.Wiring != "":
		return hw.Wiring
	case hw.Nodes == 2:
		return fabric.WiredPair
	case hw.Nodes == 3 && (hw.NICsPerNode == 0 || hw.NICsPerNode > 2): // both ports
		return fabric.WiredRing
	default:
		return fabric.WiredSwitch
	}
}

// ring reports whether neighbours are behind different ports.
func ring(w fabric.Wiring) bool { return w == fabric.WiredRing || w == fabric.WiredChain }

// Wirings lists the ways in which machines with such ports can be cabled.
func Wirings() []string {
	return []string{string(fabric.WiredPair), string(fabric.WiredSwitch), string(fabric.WiredRing), string(fabric.WiredChain)}
}

// wire completes and checks how the machines are cabled.
func wire(cat *catalog.Catalog, hw *fabric.Hardware) (assumed []fabric.Assumption, err error) {
	nic := cat.NICs[hw.NIC]
	switch known := hw.Wiring; {
	case hw.Nodes < 2 || !hasTwins(nic) && known == "":
		return nil, nil
	case !hasTwins(nic):
		return nil, fmt.Errorf("hardware: wiring %q: only of machines whose ports are two PCI functions each, such as dgx-spark, over roce", known)
	case known == "":
		hw.Wiring = wiringOf(*hw)
		how := map[fabric.Wiring]string{
			fabric.WiredPair: "the two machines are cabled to each other", fabric.WiredRing: "three cables join the three machines in a ring, without a switch",
			fabric.WiredSwitch: "the machines are cabled to a switch",
		}
		assumed = append(assumed, fabric.Assumption{What: how[hw.Wiring], Source: "the wiring is unspecified (--wiring)"})
	case known == fabric.WiredPair && hw.Nodes != 2:
		return nil, fmt.Errorf("hardware: wiring %q: %d machines: a pair has two", known, hw.Nodes)
	case ring(known) && hw.Nodes < 3:
		return nil, fmt.Errorf("hardware: wiring %q: %d machines: it needs three or more; two with two cables are a pair of 4 NICs", known, hw.Nodes)
	case known != fabric.WiredPair && known != fabric.WiredSwitch && !ring(known):
		return nil, fmt.Errorf("hardware: %w", fabric.UnknownName("wiring", string(known), Wirings()))
	}
	if ring(hw.Wiring) && hw.NICsPerNode%2 != 0 {
		return nil, fmt.Errorf("hardware: nics_per_node %d: in a %s each machine uses both ports: 2 (one function of each) or 4", hw.NICsPerNode, hw.Wiring)
	}
	return assumed, nil
}

// functions lists the PCI functions in use: of one port before those of the next, but in a ring as many of both.
func (c *Cluster) functions(nic catalog.NICModel) (all []topology.RDMAFunction) {
	perPort := nic.Functions
	if ring(c.hw.Wiring) {
		perPort = min(perPort, c.hw.NICsPerNode/2)
	}
	for i := range c.hw.NICsPerNode {
		all = append(all, topology.RDMAFunction{
			Port: i / perPort, Link: fmt.Sprint(i % perPort), Sharers: nic.Functions, Speed: nic.PCIeLink.Speed, Width: nic.PCIeLink.Width,
		})
	}
	return all
}

// resolveTwins sets the rates of machines with such NICs from their ports and PCIe links.
func (c *Cluster) resolveTwins(cat *catalog.Catalog, nic catalog.NICModel, f catalog.FabricModel) error {
	load := topology.RDMALoad{Functions: c.functions(nic), PortGbps: nic.PortRate.Value, PathMTU: int(f.MTU.Value)}
	if c.hw.NICGbps < nic.Rate() { // a slower cable
		load.PortGbps = c.hw.NICGbps * float64(nic.Functions)
	}
	if c.hw.MTU > 0 {
		if load.PathMTU = topology.RDMAPayload(c.hw.MTU); load.PathMTU == 0 {
			return fmt.Errorf("hardware: mtu %d: too small for RDMA, which needs at least 352 bytes", c.hw.MTU)
		}
	}
	// kept is what a collective keeps of the payload that perftest reaches with both functions of a port.
	kept := cmp.Or(nic.Payload.Value, f.Payload.Value, otherPayloads(ownFabrics(cat, c.hw.Net))) * (f.MTU.Value + f.Header.Value) / f.MTU.Value
	all, ok := topology.RDMAWrite(load)
	if !ok {
		return fmt.Errorf("hardware: %s: the rate of its port or PCIe link is not in the catalog", nic.Title)
	}
	t := twins{load: load, perPort: nic.Functions, element: all.Total.Element, nearest: ring(c.hw.Wiring) && (c.hw.Nodes > 3 || c.hw.Wiring == fabric.WiredChain)}
	one := all
	if ring(c.hw.Wiring) {
		near := load
		near.Functions = load.Functions[:len(load.Functions)/2]
		if one, ok = topology.RDMAWrite(near); !ok {
			return fmt.Errorf("hardware: %s: what one of its ports reaches is unknown", nic.Title)
		}
	}
	c.net.nics = len(load.Functions)
	c.net.line = all.Total.Bound / 8 / float64(c.net.nics)
	c.net.room, c.net.payload = 1, reached(all, kept)/all.Total.Bound
	if nic.Band != (catalog.Band{}) {
		c.net.band = span{nic.Band.Fast, nic.Band.Slow}
	}
	if c.hw.Wiring == fabric.WiredSwitch && c.nodes() > 2 && f.ManyNodes.Value > 0 {
		c.net.payload *= f.ManyNodes.Value
		c.net.uneven = f.ManyNodes.Value
		c.assume(f.ManyNodes.Source, "rings over more than two machines keep %.2f of what a switch carries", f.ManyNodes.Value)
	}
	c.assume(nic.PortRate.Source, "to another machine a machine sends at most %.4g Gb/s, the rate of %s: %s", one.Total.Bound, one.Total.Element, one.Total.Formula)
	if len(one.Each) > 1 {
		c.assume(nic.Payload.Source, "a collective keeps %.3f of what ib_write_bw reaches with %d functions", kept, len(one.Each))
	}
	t.hop = hop{bound: 1, reached: reached(one, kept) / reached(all, kept), nics: len(one.Each), element: all.Total.Element}
	c.hopsOf(&t, load, all, kept)
	c.net.twins = &t
	c.steps(cat, f)
	return nil
}

// hopsOf is what differs in a ring and in a chain. A ring could carry what both ports do, with channels both ways around; NCCL
// has them all one way.
func (c *Cluster) hopsOf(t *twins, load topology.RDMALoad, all topology.RDMARates, kept float64) {
	if c.hw.Wiring == fabric.WiredRing {
		c.assume("port counters of four DGX Sparks, FujitsuPolycom/sparkring issue 273: 531 GB one way, 4.7 the other",
			"all channels of NCCL go the same way around the ring: a machine sends through one port and receives through the other")
	}
	switch {
	case c.hw.Wiring == fabric.WiredChain: // the one in the middle sends to both neighbours at once
		t.hop.bound, t.hop.reached = 0.5, min(t.hop.reached, 0.5)
		t.hop.element = all.Total.Element + " of a machine that forwards between two others"
		c.assume("DGX Spark Networking: daisy-chained machines sustain 100G between each pair", "a machine with a neighbour on both ports forwards between them")
	case t.nearest && t.hop.nics > 1:
		single := load
		single.Functions = load.Functions[:1]
		rate, _ := topology.RDMAWrite(single) // known, as that of all functions is
		both := t.hop
		t.both = &both
		t.hop.reached, t.hop.nics = min(both.reached, reached(rate, kept)/reached(all, kept)), 1
		c.assume("notes on rings of four DGX Sparks: 13.7 GB/s; their log overrides the second functions with the first (--env NCCL_SWITCHLESS_RING_ONLY=1 for a build that uses both)",
			"NCCL sends to a neighbour through one of the two functions of its port")
	}
}

// reached is what a collective keeps of what perftest reaches, Gb/s. Of one function it is all: NCCL has several queue pairs
// (13.86 GB/s in three notes' ring of one function a port, where ib_write_bw shows 13.66 with one queue pair).
func reached(rates topology.RDMARates, kept float64) float64 {
	if len(rates.Each) == 1 {
		return rates.Total.Expected
	}
	return rates.Total.Expected * kept
}
