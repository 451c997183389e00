package collective

import "fmt"

// named sets the names of the bounds.
func (c *Cluster) named() {
	c.nicNames, c.linkNames = c.nicsName(), c.linksName()
	c.hopNames = c.nicNames
	if t := c.net.twins; t != nil {
		c.nicNames, c.hopNames = t.element, t.hop.element
	}
}

func (c *Cluster) nicsName() string {
	n := c.net
	name := fmt.Sprintf("%d NICs of %.4g Gb/s per node", n.nics, c.hw.NICGbps)
	if n.nics == 1 {
		name = fmt.Sprintf("one NIC of %.4g Gb/s per node", c.hw.NICGbps)
	}
	if n.over > 1 {
		name += fmt.Sprintf(", %g times oversubscribed", n.over)
	}
	return name
}

func (c *Cluster) linksName() string {
	switch c.gpu.wiring {
	case overSwitch:
		return "NVLink of one GPU"
	case overMesh:
		return "XGMI links of one GPU"
	default:
		if c.local() == 1 {
			return "PCIe of the GPU"
		}
		if c.gpu.hostOnly || c.hosted {
			return "PCIe and host memory between the GPUs"
		}
		return "PCIe between the GPUs"
	}
}
