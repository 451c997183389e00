package check

import "net/netip"

// Digest is what the cluster rules keep of a node: about 100 bytes a NIC.
type Digest struct {
	Node    string
	NICs    []NICDigest
	Repeats int    // further facts of the same node, not judged
	Nominal bool   // from the catalog: nobody looked at the node
	Unread  string // why NICs or addresses may be missing here; empty: all were read
}

// NICDigest is what the cluster rules keep of a NIC.
type NICDigest struct {
	Name      string
	MTU       int  // bytes
	Fabric    bool // planned, or with an RDMA device
	Addresses []netip.Addr
}

// digest keeps the NICs of the fabric; where nothing tells which those are, every NIC that could be.
func digest(in NodeInput) Digest {
	d := Digest{Node: in.Facts.Node, Nominal: in.Facts.Source == "catalog"}
	if _, cut := in.missing("nics", "nics.addresses"); cut {
		d.Unread = in.why("addresses of "+in.Facts.Node+" were not all read", "nics", "nics.addresses")
	}
	names := in.fabricNICs()
	known := len(names) > 0
	if !known {
		names = in.candidates()
	}
	d.NICs = make([]NICDigest, 0, len(names))
	for _, name := range names {
		nic, ok := in.nic(name)
		if !ok {
			continue
		}
		n := NICDigest{Name: name, MTU: nic.MTU, Fabric: known}
		for _, p := range nic.Addresses {
			if p.Addr().IsGlobalUnicast() {
				n.Addresses = append(n.Addresses, p.Addr())
			}
		}
		d.NICs = append(d.NICs, n)
	}
	return d
}

// candidates names the interfaces that could belong to a fabric: hardware, and the veth pairs of a lab.
func (in NodeInput) candidates() []string {
	var names []string
	for _, nic := range in.Facts.NICs {
		if nic.PCI != "" || nic.Kind == "veth" {
			names = append(names, nic.Name)
		}
	}
	return names
}
