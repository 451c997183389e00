package apply

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// notInEffect returns what this machine's kernel does not have of the bundle, although the files may be as planned: NICs,
// their MTU, addresses, routes and rules, sysctls, and the words of its command line.
func notInEffect(b Bundle) (differs []string, err error) {
	if differs, err = nicsDiffer(b); err != nil {
		return nil, err
	}
	sysctls, err := sysctlsOf(b.Artifacts)
	if err != nil {
		return nil, err
	}
	inLab := InLab()
	if !inLab {
		words, err := commandLineDiffers(b.Artifacts)
		if err != nil {
			return nil, err
		}
		differs = append(differs, words...)
	}
	for _, s := range sysctls {
		if d := s.differs(); d != "" && (!inLab || s.notHere() == "") {
			differs = append(differs, s.name+": "+d)
		}
	}
	return differs, nil
}

// nicsDiffer is notInEffect for the NICs alone.
func nicsDiffer(b Bundle) (differs []string, err error) {
	n, err := host.OpenNetwork("")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, a := range b.Addresses {
		of, err := nicDiffers(n, a, b.MTU)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.NIC, err)
		}
		for _, d := range of {
			differs = append(differs, a.NIC+": "+d)
		}
	}
	for _, nic := range b.Bare {
		for _, d := range bareDiffers(nic, b.MTU) {
			differs = append(differs, nic+": "+d)
		}
	}
	return differs, nil
}

// linkLocal are the addresses that an interface gives itself (RFC 3927).
func linkLocal() netip.Prefix { return netip.MustParsePrefix("169.254.0.0/16") }

// bareDiffers is what a twin without an address of the plan lacks. Without a link-local address its RDMA device has no GID
// of RoCE v2 over IPv4.
func bareDiffers(nic string, mtu int) (differs []string) {
	i, err := net.InterfaceByName(nic)
	if err != nil {
		return []string{"no such interface"}
	}
	if i.MTU != mtu {
		differs = append(differs, fmt.Sprintf("MTU is %d, planned %d", i.MTU, mtu))
	}
	if i.Flags&net.FlagUp == 0 {
		return append(differs, "is down")
	}
	has, err := addressesOf(nic)
	if err != nil {
		return append(differs, err.Error())
	}
	if !slices.ContainsFunc(has, func(p netip.Prefix) bool { return linkLocal().Contains(p.Addr()) }) {
		differs = append(differs, "has no link-local IPv4 address")
	}
	return differs
}

func nicDiffers(n *host.Network, a fabric.NICAddress, mtu int) (differs []string, err error) {
	nic, err := net.InterfaceByName(a.NIC)
	if err != nil {
		return []string{"no such interface"}, nil //nolint:nilerr // what is asked is whether it is there
	}
	if nic.MTU != mtu {
		differs = append(differs, fmt.Sprintf("MTU is %d, planned %d", nic.MTU, mtu))
	}
	if nic.Flags&net.FlagUp == 0 {
		return append(differs, "is down"), nil // without its routes, which the kernel removed
	}
	addresses, err := nic.Addrs()
	if err != nil {
		return nil, err
	}
	var has []string
	for _, address := range addresses {
		has = append(has, address.String())
	}
	if want := a.Address.String(); !slices.Contains(has, want) {
		differs = append(differs, fmt.Sprintf("address %s is missing (it has %s)", want, orNone(has)))
	}
	for _, r := range routesOf(a) {
		has, err := n.HasRoute(a.Table, r.to, r.via, a.NIC)
		if err != nil {
			return nil, err
		}
		if !has {
			differs = append(differs, fmt.Sprintf("table %d has no route %s", a.Table, r.to))
		}
	}
	if a.Table == 0 {
		return differs, nil
	}
	ruled, err := n.HasRule(a.RulePriority(), netip.PrefixFrom(a.Address.Addr(), 32), a.Table)
	if err == nil && !ruled {
		differs = append(differs, fmt.Sprintf("no rule from %s to table %d", a.Address.Addr(), a.Table))
	}
	return differs, err
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
