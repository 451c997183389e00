package fabric

// Hardware describes the machines of a result or a prediction, as people name them: a table file, an
// observation file and the flags of predict and explain use these fields. What is unspecified is zero.
type Hardware struct {
	Machine     string  `json:"machine,omitempty" yaml:"machine"`             // id in the catalog
	GPU         string  `json:"gpu,omitempty" yaml:"gpu"`                     // id or short name in the catalog: h100-sxm, h100
	Nodes       int     `json:"nodes,omitempty" yaml:"nodes"`                 //
	GPUsPerNode int     `json:"gpus_per_node,omitempty" yaml:"gpus_per_node"` // in use
	NICsPerNode int     `json:"nics_per_node,omitempty" yaml:"nics_per_node"` // of the fabric
	NICGbps     float64 `json:"nic_gbps,omitempty" yaml:"nic_gbps"`           // line rate of one NIC, Gb/s one way
	Net         string  `json:"net,omitempty" yaml:"net"`                     // ib, roce, efa, tcpxo, tcpx, ss11, tcp, none
	NIC         string  `json:"nic,omitempty" yaml:"nic"`                     // id in the catalog
	CPU         string  `json:"cpu,omitempty" yaml:"cpu"`                     // intel, amd, arm
	// Oversubscription is downlinks over uplinks of the leaf switches, of traffic that leaves them; 0 and 1: none.
	Oversubscription float64 `json:"oversubscription,omitempty" yaml:"oversubscription"`
	// Spine reports whether there is a switch between rails; false: a rail ends at its leaf. nil: there is.
	Spine *bool `json:"spine,omitempty" yaml:"spine"`
	// Wiring is how machines are cabled whose ports have twins; empty: as that many usually are.
	Wiring Wiring `json:"wiring,omitempty" yaml:"wiring"`
	MTU    int    `json:"mtu,omitempty" yaml:"mtu"`       // of the interfaces, bytes of IP; 0: what lets RDMA use its largest packets
	VM     bool   `json:"vm,omitempty" yaml:"vm"`         // the GPUs are passed through to a virtual machine
	NVLink *bool  `json:"nvlink,omitempty" yaml:"nvlink"` // false: the GPUs have nothing but PCIe between them
}

// With returns the hardware with the values of another over its own; a machine takes the place of all that describes one.
func (h Hardware) With(over Hardware) Hardware {
	if over.Machine != "" {
		h = Hardware{Nodes: h.Nodes}
	}
	for _, s := range []struct{ to, from *string }{
		{&h.Machine, &over.Machine}, {&h.GPU, &over.GPU}, {&h.Net, &over.Net}, {&h.NIC, &over.NIC}, {&h.CPU, &over.CPU}, {(*string)(&h.Wiring), (*string)(&over.Wiring)},
	} {
		if *s.from != "" {
			*s.to = *s.from
		}
	}
	for _, n := range []struct{ to, from *int }{
		{&h.Nodes, &over.Nodes}, {&h.GPUsPerNode, &over.GPUsPerNode}, {&h.NICsPerNode, &over.NICsPerNode}, {&h.MTU, &over.MTU},
	} {
		if *n.from != 0 {
			*n.to = *n.from
		}
	}
	for _, n := range []struct{ to, from *float64 }{
		{&h.NICGbps, &over.NICGbps}, {&h.Oversubscription, &over.Oversubscription},
	} {
		if *n.from != 0 {
			*n.to = *n.from
		}
	}
	h.VM = h.VM || over.VM
	return h
}
