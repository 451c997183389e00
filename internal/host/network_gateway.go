package host

import (
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/linux"
)

// Gateway is a default route of the main table.
type Gateway struct {
	NIC string     `json:"nic"`
	Via netip.Addr `json:"via"` // IPv4
}

// mainTable is RT_TABLE_MAIN of rtnetlink(7).
const mainTable = 254

// Gateways returns the default routes of the main table for IPv4, without those to interfaces themselves.
func (n *Network) Gateways() (list []Gateway, err error) {
	links, err := n.conn.Link.List()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	names := make(map[uint32]string, len(links))
	for _, l := range links {
		if l.Attributes != nil {
			names[l.Index] = l.Attributes.Name
		}
	}
	routes, err := n.conn.Route.List()
	if err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	for _, r := range routes {
		via, ok := netip.AddrFromSlice(r.Attributes.Gateway)
		if r.Family != linux.AF_INET || r.DstLength != 0 || r.Attributes.Table != mainTable || !ok {
			continue
		}
		list = append(list, Gateway{NIC: names[r.Attributes.OutIface], Via: via.Unmap()})
	}
	return list, nil
}
