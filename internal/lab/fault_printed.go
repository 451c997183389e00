package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// The policy rules that Broadcom's RoCE guide prints for its /31 scheme (2.4.2.1): two for each NIC, with these priorities,
// and the second with this length of prefix in bits. The second selects the same packets on each NIC.
const (
	printedFromPriority = 0
	printedToPriority   = 1
	printedToBits       = 16
)

// plantPrintedRules replaces the source rules of NICs with the rules as printed. They are added in the order in which the
// fault names the NICs, as systemd-networkd adds them in the order in which the links come up: the first one wins.
func plantPrintedRules(s Spec, open networks, f Fault) error {
	for _, nic := range f.NICs {
		a, ok := s.address(nic)
		if !ok {
			return fmt.Errorf("%s has no address in the plan", nic)
		}
		host, own := open[nic.Node].Network, netip.PrefixFrom(a.Address.Addr(), a.Address.Addr().BitLen())
		err := errors.Join(
			host.DeleteRule(a.RulePriority(), own, a.Table),
			host.AddRule(printedFromPriority, a.Address.Masked(), a.Table),
			host.AddRuleTo(printedToPriority, netip.PrefixFrom(a.Gateway, printedToBits), a.Table))
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeHosts is an error unless a fault names at least two NICs of each of its hosts.
func wholeHosts(f Fault) error {
	for _, nic := range f.NICs {
		other := func(o fabric.Endpoint) bool { return o.Node == nic.Node && o.NIC != nic.NIC }
		if !slices.ContainsFunc(f.NICs, other) {
			return fmt.Errorf("%s needs two NICs or more of a host: %s is the only one of %s", f.Kind, nic, nic.Node)
		}
	}
	return nil
}

// pointToPoint is an error unless every NIC of a fault has a /31 with its port of the leaf.
func (s Spec) pointToPoint(f Fault) error {
	for _, nic := range f.NICs {
		if a, ok := s.address(nic); !ok || !a.Gateway.IsValid() || a.Address.Bits() != 31 {
			return fmt.Errorf("%s are rules of the scheme %s: %s has %s", f.Kind, fabric.P2P31, nic, a.Address)
		}
	}
	return nil
}
