package lab

import (
	"errors"
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// twin returns the other interface of a NIC's port.
func (s Spec) twin(nic fabric.Endpoint) (fabric.Endpoint, error) {
	port, ok := s.portOf(nic)
	if !ok || len(port.Twins) != 2 {
		return fabric.Endpoint{}, fmt.Errorf("%s has no twin", nic)
	}
	all := ends(port)
	if all[0] == nic {
		return all[1], nil
	}
	return all[0], nil
}

// fitsOneSubnet is an error where two NICs are of different hosts, or of different ports where these have twins.
func (s Spec) fitsOneSubnet(f Fault) error {
	if err := oneHost(f); err != nil || len(s.Twins) == 0 {
		return err
	}
	if len(s.portsOf(f.NICs)) != 1 {
		return errors.New("both NICs must be of one port")
	}
	for _, nic := range s.affected(f) {
		if _, ok := s.address(nic); !ok {
			return fmt.Errorf("%s has no address in the plan", nic)
		}
	}
	return nil
}

// fitsCrossTwins is an error where an interface of a port has no address to exchange.
func (s Spec) fitsCrossTwins(f Fault) error {
	if err := s.fitsTwins(f); err != nil {
		return err
	}
	for _, nic := range f.NICs {
		if _, ok := s.address(nic); !ok {
			return fmt.Errorf("%s has no address in the plan", nic)
		}
	}
	return nil
}

// apartInSubnet is added to the last number of an address to get one that no plan gives to a host of the same /24: hosts of
// platform spark are few, and numbered from 1.
const apartInSubnet = 128

// plantTwinSubnet gives the named NIC an address in the subnet of its twin.
func plantTwinSubnet(s Spec, open networks, f Fault) error {
	nic := f.NICs[len(f.NICs)-1]
	twin, err := s.twin(nic)
	if err != nil {
		return err
	}
	own, ok := s.address(nic)
	its, both := s.address(twin)
	if !ok || !both {
		return fmt.Errorf("%s or %s has no address in the plan", nic, twin)
	}
	bytes := its.Address.Addr().As4()
	bytes[3] += apartInSubnet
	n := open[nic.Node]
	return errors.Join(n.AddAddress(nic.NIC, netip.PrefixFrom(netip.AddrFrom4(bytes), its.Address.Bits())), n.DeleteAddress(nic.NIC, own.Address))
}

// plantCrossTwins exchanges the addresses of the interfaces of each port.
func plantCrossTwins(s Spec, open networks, f Fault) error {
	for _, port := range s.portsOf(f.NICs) {
		all := ends(port)
		for i, nic := range all {
			a, ok := s.address(nic)
			if !ok {
				return fmt.Errorf("%s has no address in the plan", nic)
			}
			n, twin := open[nic.Node], all[len(all)-1-i]
			if err := errors.Join(n.DeleteAddress(nic.NIC, a.Address), n.AddAddress(twin.NIC, a.Address)); err != nil {
				return err
			}
		}
	}
	return nil
}
