package lab

import (
	"errors"
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// plantAddress replaces the planned address of a NIC with one that no plan has: of 198.18.0.0/15, which RFC 2544
// keeps for tests, with the last two bytes of the planned one, so that no two NICs of a lab get the same.
func plantAddress(s Spec, open networks, nic fabric.Endpoint) error {
	planned, ok := s.address(nic)
	if !ok {
		return fmt.Errorf("%s has no address in the plan", nic)
	}
	last := planned.Address.Addr().As4()
	wrong := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, last[2], last[3]}), 32)
	n := open[nic.Node]
	return errors.Join(n.AddAddress(nic.NIC, wrong), n.DeleteAddress(nic.NIC, planned.Address))
}
