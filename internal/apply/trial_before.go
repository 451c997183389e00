package apply

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"railwright.dev/railwright/internal/host"
)

// before is the network of a machine as the kernel had it before a trial.
type before struct {
	NICs     []nicBefore    `json:"nics"`
	Gateways []host.Gateway `json:"gateways,omitempty"`
	Networkd bool           `json:"networkd,omitempty"` // systemd-networkd was running
	Managed  []string       `json:"managed,omitempty"`  // planned NICs that NetworkManager managed
	Sysctls  []sysctlBefore `json:"sysctls,omitempty"`  // that the trial sets
}

type nicBefore struct {
	Name      string         `json:"name"`
	Planned   bool           `json:"planned,omitempty"` // the trial configures it
	MTU       int            `json:"mtu"`
	Up        bool           `json:"up,omitempty"`
	Addresses []netip.Prefix `json:"addresses,omitempty"` // IPv4
}

// look reads what the kernel has now.
func look(planned []string) (was before, err error) {
	all, err := net.Interfaces()
	if err != nil {
		return was, err
	}
	for _, i := range all {
		nic := nicBefore{Name: i.Name, Planned: slices.Contains(planned, i.Name), MTU: i.MTU, Up: i.Flags&net.FlagUp != 0}
		if nic.Addresses, err = addressesOf(i.Name); err != nil {
			return was, err
		}
		was.NICs = append(was.NICs, nic)
	}
	n, err := host.OpenNetwork("")
	if err != nil {
		return was, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if was.Gateways, err = n.Gateways(); err != nil {
		return was, err
	}
	if !InLab() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		was.Networkd, was.Managed = isActive(ctx, "systemd-networkd"), managed(ctx, planned)
	}
	return was, nil
}

// addressesOf returns the IPv4 addresses of an interface. Those of IPv6 come and go by themselves (RFC 8981).
func addressesOf(nic string) (list []netip.Prefix, err error) {
	i, err := net.InterfaceByName(nic)
	if err != nil {
		return nil, err
	}
	all, err := i.Addrs()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			return nil, fmt.Errorf("%s: address %q: %w", nic, a, err)
		}
		if p.Addr().Is4() {
			list = append(list, p)
		}
	}
	return list, nil
}

// missing returns what a NIC had and does not have any more. One that is gone, as those of a container that ended, lacks
// nothing.
func (b nicBefore) missing() (list []netip.Prefix, err error) {
	if _, err := net.InterfaceByName(b.Name); err != nil {
		return nil, nil //nolint:nilerr // what is asked is whether it is there
	}
	has, err := addressesOf(b.Name)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(b.Addresses), func(p netip.Prefix) bool { return slices.Contains(has, p) }), nil
}

// lost returns what networks that are not of the plan lost: addresses, and ways out.
func (b before) lost() (cut []string, err error) {
	planned := make(map[string]bool)
	for _, nic := range b.NICs {
		if planned[nic.Name] = nic.Planned; nic.Planned {
			continue
		}
		missing, err := nic.missing()
		if err != nil {
			return nil, err
		}
		for _, p := range missing {
			cut = append(cut, fmt.Sprintf("%s has no address %s any more", nic.Name, p))
		}
	}
	gone, err := b.lostGateways()
	for _, g := range gone {
		if !planned[g.NIC] {
			cut = append(cut, fmt.Sprintf("%s no longer leads to gateway %s", g.NIC, g.Via))
		}
	}
	return cut, err
}

func (b before) lostGateways() (gone []host.Gateway, err error) {
	n, err := host.OpenNetwork("")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	now, err := n.Gateways()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(b.Gateways), func(g host.Gateway) bool {
		if _, err := net.InterfaceByName(g.NIC); err != nil {
			return true
		}
		return slices.Contains(now, g)
	}), nil
}

// backPatience is how long programs may take to configure again what they had configured.
const backPatience = 10 * time.Second

// await waits until the kernel has what it had, as long as the programs may take that configure it.
func (b before) await(ctx context.Context) {
	for deadline := time.Now().Add(backPatience); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if b.isBack() {
			return
		}
	}
}

func (b before) isBack() bool {
	for _, nic := range b.NICs {
		if missing, err := nic.missing(); err != nil || len(missing) > 0 {
			return false
		}
	}
	gone, err := b.lostGateways()
	return err == nil && len(gone) == 0
}

// restore takes away what a bundle brought and sets what nothing else did: addresses that a person or a program gave
// without a file, MTU, state, and the way out.
func (b before) restore(bundle Bundle) (err error) {
	n, err := host.OpenNetwork("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	var errs []error
	for _, nic := range b.NICs {
		if _, err := net.InterfaceByName(nic.Name); err == nil {
			errs = append(errs, nic.takeAway(n, bundle), nic.set(n))
		}
	}
	gone, err := b.lostGateways()
	errs = append(errs, err)
	for _, g := range gone {
		errs = append(errs, n.AddRoute(mainTable, netip.PrefixFrom(netip.IPv4Unspecified(), 0), g.Via, g.NIC))
	}
	return errors.Join(errs...)
}

// mainTable is the routing table that is asked last (RT_TABLE_MAIN, rtnetlink(7)).
const mainTable = 254

// takeAway removes the planned addresses of a NIC that it did not have, with their routes and rules.
func (b nicBefore) takeAway(n *host.Network, bundle Bundle) error {
	var errs []error
	for _, a := range bundle.Addresses {
		if a.NIC != b.Name || slices.Contains(b.Addresses, a.Address) {
			continue
		}
		has, err := addressesOf(b.Name)
		if err == nil && slices.Contains(has, a.Address) {
			err = n.DeleteAddress(b.Name, a.Address)
		}
		errs = append(errs, err)
		if a.Table == 0 {
			continue
		}
		source := netip.PrefixFrom(a.Address.Addr(), a.Address.Addr().BitLen())
		if ruled, err := n.HasRule(a.RulePriority(), source, a.Table); err == nil && ruled {
			errs = append(errs, n.DeleteRule(a.RulePriority(), source, a.Table))
		}
	}
	return errors.Join(errs...)
}

// set gives a NIC back what it had.
func (b nicBefore) set(n *host.Network) error {
	i, err := net.InterfaceByName(b.Name)
	if err != nil {
		return err
	}
	var errs []error
	if b.Planned && i.MTU != b.MTU {
		errs = append(errs, n.SetMTU(b.Name, b.MTU))
	}
	if up := i.Flags&net.FlagUp != 0; up != b.Up && (b.Planned || b.Up) {
		errs = append(errs, n.SetUp(b.Name, b.Up))
	}
	missing, err := b.missing()
	errs = append(errs, err)
	for _, p := range missing {
		errs = append(errs, n.AddAddress(b.Name, p))
	}
	return errors.Join(errs...)
}
