package spark

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// Spark is what the facts of a machine say of it as a DGX Spark.
type Spark struct {
	Name  string
	Known Certainty
	By    string // what shows it
	Ports [Ports]QSFP

	NoNIC   bool // all PCI functions were listed, or the RDMA devices were, and the NIC is not among them
	HotPlug *fabric.HotPlug
	Seen    []Neighbour // who was heard on the QSFP ports
	NCCL    map[string]string
}

// QSFP is a QSFP port.
type QSFP struct {
	Number int
	Twins  [Twins]Half // of PCI domain 0000, then 0002
}

// Half is one of the two PCI functions of a port. What was not read is nil, zero or empty.
type Half struct {
	PCI         string // where it is
	Present     bool   // the facts name it: as a PCI function, an interface or an RDMA device
	NIC, HCA    string // its names
	Up          *bool  // it has a carrier
	MTU         int    // bytes
	MTUFrom     string // what gives it
	Addresses   []Address
	Unaddressed bool    // its addresses were read, and there is none of IPv4 but link-local ones
	LinkLocal   bool    // it has an address of 169.254.0.0/16
	SpeedMbps   int     // of the port
	Speed       float64 // of its PCIe link, GT/s
	Width       int     // lanes
	GIDIndex    int     // of its IPv4 address as RoCE v2; -1: not seen
	Firmware    string
	MAC         string
	Profile     string // NetworkManager's connection
	InFile      bool   // a file of netplan configures it
}

// Address is an IPv4 address of a twin.
type Address struct {
	Prefix     netip.Prefix
	Masked     bool // its length is known; else 24 bits are the usual
	Configured bool // a file says so; whether the interface has it was not read
}

// Subnet is the network of an address, of 24 bits where its length is unknown.
func (a Address) Subnet() netip.Prefix {
	if !a.Masked {
		return netip.PrefixFrom(a.Prefix.Addr(), 24).Masked()
	}
	return a.Prefix.Masked()
}

// String writes the length where it is known.
func (a Address) String() string {
	if !a.Masked {
		return a.Prefix.Addr().String()
	}
	return a.Prefix.String()
}

// Neighbour is a machine that was heard on a port: by LLDP, or its MAC address in the neighbour table.
type Neighbour struct {
	Port, Twin int
	System     string // as LLDP announces it; empty: only its MAC address is known
	FarPort    string
	MAC        string
	By         string
}

// Is reports whether the machine is a DGX Spark, as far as anything shows it.
func (n *Spark) Is() bool { return n.Known == Named || n.Known == Proven }

// Cabled reports whether a cable is in a port: a twin of it has a carrier. Nil: no carrier was read.
func (p *QSFP) Cabled() *bool {
	down := false
	for i := range p.Twins {
		switch up := p.Twins[i].Up; {
		case up == nil:
		case *up:
			return new(true)
		default:
			down = true
		}
	}
	if down {
		return new(false)
	}
	return nil
}

// Used reports whether a port is meant to carry traffic: it has a cable, or, where no carrier was read, an address or a
// file that configures it.
func (p *QSFP) Used() bool {
	if c := p.Cabled(); c != nil {
		return *c
	}
	for i := range p.Twins {
		if t := &p.Twins[i]; t.InFile || len(t.Addresses) > 0 {
			return true
		}
	}
	return false
}

// Addressed reports whether a twin of the port has an address.
func (p *QSFP) Addressed() bool {
	return len(p.Twins[0].Addresses)+len(p.Twins[1].Addresses) > 0
}

// Title is how people call a port here: p0, p1.
func (p *QSFP) Title() string { return PortName(p.Number) }

// PortName is p0 or p1.
func PortName(number int) string { return "p" + string(rune('0'+number)) }

// Label is the interface of a twin, else its RDMA device, else its PCI address.
func (t *Half) Label() string {
	switch {
	case t.NIC != "":
		return t.NIC
	case t.HCA != "":
		return t.HCA
	}
	return t.PCI
}
