package platform

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// neighbourCount is how many NICs of the cluster are in each shared subnet. It is nil where every
// subnet is a cable.
type neighbourCount map[netip.Prefix]int

func countNeighbours(a fabric.Addressing) neighbourCount {
	if a.Scheme == fabric.P2P31 {
		return nil
	}
	count := make(neighbourCount, len(a.Subnets))
	for _, n := range a.Nodes {
		for _, nic := range n.NICs {
			count[nic.Address.Masked()]++
		}
	}
	return count
}

// of returns the largest number of entries of a node's neighbour table: for each of its NICs the gateway and
// every NIC of other nodes in the same subnet. The kernel keeps a separate entry for each NIC.
func (c neighbourCount) of(n fabric.NodeAddresses) int {
	total := 0
	for _, nic := range n.NICs {
		if nic.Gateway.IsValid() {
			total++
		}
		if c == nil {
			continue
		}
		subnet := nic.Address.Masked()
		total += c[subnet]
		for _, own := range n.NICs {
			if own.Address.Masked() == subnet {
				total--
			}
		}
	}
	return total
}
