package pipeline

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// Hardware is what a plan states about its machines, for a prediction. A collective over different machines runs at the pace of the
// slowest, which a prediction for equal machines does not show, so it is an error.
func Hardware(p *fabric.Plan) (fabric.Hardware, error) {
	hw := fabric.Hardware{Nodes: len(p.Nodes), Net: "roce"}
	if p.Transport == fabric.InfiniBand {
		hw.Net = "ib"
	} else {
		hw.MTU = p.MTU
	}
	hw.Wiring = p.Wiring()
	for _, n := range p.Nodes {
		nics := len(n.NICs)
		if ports := p.PortsOf(n.Name); len(ports) > 0 {
			nics = 0
			for _, port := range ports {
				nics += len(port.Twins) // one without an address carries RDMA too
			}
		}
		if hw.Machine != "" && (n.Machine != hw.Machine || nics != hw.NICsPerNode) {
			return hw, fmt.Errorf("cluster file: its machines differ (%s with %s, %s with %s): predict for one kind with --machine and --nodes",
				hw.Machine, fabric.Count(hw.NICsPerNode, "NIC"), n.Machine, fabric.Count(nics, "NIC"))
		}
		hw.Machine, hw.NICsPerNode = n.Machine, nics
	}
	if v := p.VSphere; v != nil && len(v.Classes) > 0 && v.Classes[0].GPUs > 0 { // a virtual machine has what its class gives it
		hw.GPUsPerNode, hw.VM = v.Classes[0].GPUs, true
	}
	for _, m := range p.Machines {
		if m.ID == hw.Machine && m.GPUs == 0 { // nothing but its NICs can be measured
			hw.NICGbps = m.NICGbps
		}
	}
	return hw, nil
}
