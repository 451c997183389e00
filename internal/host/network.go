package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/jsimonetti/rtnetlink/v2/driver"
	"github.com/mdlayher/netlink"

	"railwright.dev/railwright/internal/linux"
)

// Network changes the links, addresses, routes and rules of a network namespace. Errors name the object
// and what was asked of it.
type Network struct {
	conn  *rtnetlink.Conn
	netns *os.File
}

// OpenNetwork opens this process's network namespace, or with a path (/proc/PID/ns/net) another one.
func OpenNetwork(path string) (*Network, error) {
	config := &netlink.Config{}
	n := &Network{}
	if path != "" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		n.netns, config.NetNS = f, int(f.Fd())
	}
	conn, err := rtnetlink.Dial(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("network namespace %q: %w", path, err), n.closeFile())
	}
	n.conn = conn
	return n, nil
}

// Close closes the namespace.
func (n *Network) Close() error { return errors.Join(n.conn.Close(), n.closeFile()) }

func (n *Network) closeFile() error {
	if n.netns == nil {
		return nil
	}
	return n.netns.Close()
}

// Index is the kernel's number of an interface.
func (n *Network) Index(name string) (uint32, error) {
	links, err := n.conn.Link.List()
	if err != nil {
		return 0, fmt.Errorf("interface %q: %w", name, err)
	}
	for _, l := range links {
		if l.Attributes != nil && l.Attributes.Name == name {
			return l.Index, nil
		}
	}
	return 0, fmt.Errorf("interface %q: %w", name, os.ErrNotExist)
}

// AddCable makes a veth pair: one end here, the other in the namespace peer, both down.
func (n *Network) AddCable(name string, peer *Network, peerName string) error {
	err := n.conn.Link.New(&rtnetlink.LinkMessage{Attributes: &rtnetlink.LinkAttributes{
		Name: name,
		Info: &rtnetlink.LinkInfo{Kind: "veth", Data: &driver.Veth{PeerInfo: &rtnetlink.LinkMessage{
			Attributes: &rtnetlink.LinkAttributes{
				Name: peerName, NetNS: rtnetlink.NetNSForFD(uint32(peer.netns.Fd())),
			},
		}}},
	}})
	return wrap(err, "cable %s to %s", name, peerName)
}

// DeleteLink removes an interface, and the other end of its cable.
func (n *Network) DeleteLink(name string) error {
	index, err := n.Index(name)
	if err != nil {
		return err
	}
	return wrap(n.conn.Link.Delete(index), "interface %s: remove", name)
}

// AddBridge makes an Ethernet bridge, down.
func (n *Network) AddBridge(name string) error {
	err := n.conn.Link.New(&rtnetlink.LinkMessage{Attributes: &rtnetlink.LinkAttributes{
		Name: name, Info: &rtnetlink.LinkInfo{Kind: "bridge"},
	}})
	return wrap(err, "bridge %s", name)
}

// SetUp sets an interface administratively up or down.
func (n *Network) SetUp(name string, up bool) error {
	var flags uint32
	if up {
		flags = linux.IFF_UP
	}
	return n.set(name, "up", func(m *rtnetlink.LinkMessage) { m.Flags, m.Change = flags, linux.IFF_UP })
}

// SetMTU sets the MTU of an interface, in bytes.
func (n *Network) SetMTU(name string, mtu int) error {
	return n.set(name, "mtu", func(m *rtnetlink.LinkMessage) { m.Attributes.MTU = uint32(mtu) })
}

// Rename renames an interface, which must be down.
func (n *Network) Rename(name, to string) error {
	return n.set(name, "rename to "+to, func(m *rtnetlink.LinkMessage) { m.Attributes.Name = to })
}

// SetMaster makes an interface a port of a bridge.
func (n *Network) SetMaster(name, bridge string) error {
	master, err := n.Index(bridge)
	if err != nil {
		return err
	}
	return n.set(name, "master "+bridge, func(m *rtnetlink.LinkMessage) { m.Attributes.Master = &master })
}

func (n *Network) set(name, what string, change func(*rtnetlink.LinkMessage)) error {
	index, err := n.Index(name)
	if err != nil {
		return err
	}
	m := &rtnetlink.LinkMessage{Index: index, Attributes: &rtnetlink.LinkAttributes{}}
	change(m)
	return wrap(n.conn.Link.Set(m), "interface %s: %s", name, what)
}

// AddAddress adds an address to an interface; an address that it already has is left as it is.
func (n *Network) AddAddress(name string, address netip.Prefix) error {
	m, err := n.addressMessage(name, address)
	if err != nil {
		return err
	}
	err = n.conn.Address.New(m)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return wrap(err, "interface %s: address %s", name, address)
}

// DeleteAddress takes an address from an interface.
func (n *Network) DeleteAddress(name string, address netip.Prefix) error {
	m, err := n.addressMessage(name, address)
	if err != nil {
		return err
	}
	return wrap(n.conn.Address.Delete(m), "interface %s: remove address %s", name, address)
}

func (n *Network) addressMessage(name string, address netip.Prefix) (*rtnetlink.AddressMessage, error) {
	index, err := n.Index(name)
	if err != nil {
		return nil, err
	}
	ip := net.IP(address.Addr().AsSlice())
	return &rtnetlink.AddressMessage{
		Family: linux.AF_INET, PrefixLength: uint8(address.Bits()), Index: index,
		Attributes: &rtnetlink.AddressAttributes{Address: ip, Local: ip},
	}, nil
}

// AddRoute adds or replaces a route of a table; without a gateway the destination is on the link.
func (n *Network) AddRoute(table int, destination netip.Prefix, gateway netip.Addr, name string) error {
	m, err := n.routeMessage(table, destination, gateway, name)
	if err != nil {
		return err
	}
	return wrap(n.conn.Route.Replace(m), "route %s table %d", destination, table)
}

// DeleteRoute removes a route of a table.
func (n *Network) DeleteRoute(table int, destination netip.Prefix, gateway netip.Addr, name string) error {
	m, err := n.routeMessage(table, destination, gateway, name)
	if err != nil {
		return err
	}
	return wrap(n.conn.Route.Delete(m), "route %s table %d: remove", destination, table)
}

func (n *Network) routeMessage(table int, destination netip.Prefix, gateway netip.Addr, name string) (*rtnetlink.RouteMessage, error) {
	index, err := n.Index(name)
	if err != nil {
		return nil, err
	}
	m := &rtnetlink.RouteMessage{
		Family: linux.AF_INET, Protocol: linux.RTPROT_STATIC, Type: linux.RTN_UNICAST,
		Scope: linux.RT_SCOPE_LINK, DstLength: uint8(destination.Bits()),
		Attributes: rtnetlink.RouteAttributes{OutIface: index, Table: uint32(table)},
	}
	if destination.Bits() > 0 {
		m.Attributes.Dst = destination.Addr().AsSlice()
	}
	if gateway.IsValid() {
		m.Scope, m.Attributes.Gateway = linux.RT_SCOPE_UNIVERSE, gateway.AsSlice()
	}
	return m, nil
}

// HasRoute reports whether a table has the route that AddRoute adds with the same arguments.
func (n *Network) HasRoute(table int, destination netip.Prefix, gateway netip.Addr, name string) (bool, error) {
	want, err := n.routeMessage(table, destination, gateway, name)
	if err != nil {
		return false, err
	}
	routes, err := n.conn.Route.List()
	if err != nil {
		return false, fmt.Errorf("routes: %w", err)
	}
	return slices.ContainsFunc(routes, func(r rtnetlink.RouteMessage) bool {
		a, w := r.Attributes, want.Attributes
		return r.Family == want.Family && r.Type == want.Type && r.DstLength == want.DstLength && a.Table == w.Table &&
			a.OutIface == w.OutIface && a.Gateway.Equal(w.Gateway) && a.Dst.Equal(w.Dst)
	}), nil
}

// HasRule reports whether there is the policy rule that AddRule adds with the same arguments.
func (n *Network) HasRule(priority int, source netip.Prefix, table int) (bool, error) {
	rules, err := n.conn.Rule.List()
	if err != nil {
		return false, fmt.Errorf("rules: %w", err)
	}
	return slices.ContainsFunc(rules, func(r rtnetlink.RuleMessage) bool {
		a := r.Attributes
		return r.Family == linux.AF_INET && int(r.SrcLength) == source.Bits() && a != nil && a.Src != nil && a.Priority != nil && a.Table != nil &&
			a.Src.Equal(source.Addr().AsSlice()) && int(*a.Priority) == priority && int(*a.Table) == table
	}), nil
}

// AddRule adds a policy rule `from SOURCE lookup TABLE`; one that is there already is left as it is.
func (n *Network) AddRule(priority int, source netip.Prefix, table int) error {
	rule := ruleMessage(priority, table)
	from := net.IP(source.Addr().AsSlice())
	rule.SrcLength, rule.Attributes.Src = uint8(source.Bits()), &from
	return n.addRule(rule, "rule from %s lookup %d", source, table)
}

// AddRuleTo adds a policy rule `to DESTINATION lookup TABLE`; one that is there already is left as it is.
func (n *Network) AddRuleTo(priority int, destination netip.Prefix, table int) error {
	rule := ruleMessage(priority, table)
	to := net.IP(destination.Addr().AsSlice())
	rule.DstLength, rule.Attributes.Dst = uint8(destination.Bits()), &to
	return n.addRule(rule, "rule to %s lookup %d", destination, table)
}

func (n *Network) addRule(rule *rtnetlink.RuleMessage, format string, args ...any) error {
	err := n.conn.Rule.Add(rule)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return wrap(err, format, args...)
}

// DeleteRule removes the policy rule that AddRule adds with the same arguments.
func (n *Network) DeleteRule(priority int, source netip.Prefix, table int) error {
	rule := ruleMessage(priority, table)
	from := net.IP(source.Addr().AsSlice())
	rule.SrcLength, rule.Attributes.Src = uint8(source.Bits()), &from
	return wrap(n.conn.Rule.Delete(rule), "rule from %s lookup %d", source, table)
}

// ruleMessage is a policy rule that selects everything.
func ruleMessage(priority, table int) *rtnetlink.RuleMessage {
	p, t, protocol := uint32(priority), uint32(table), uint8(linux.RTPROT_STATIC)
	return &rtnetlink.RuleMessage{
		Family: linux.AF_INET, Action: linux.FR_ACT_TO_TBL,
		Attributes: &rtnetlink.RuleAttributes{Priority: &p, Table: &t, Protocol: &protocol},
	}
}

// SetSysctl writes a variable below net. of the namespace, such as ipv4/conf/eth1/arp_ignore.
func (n *Network) SetSysctl(name, value string) error {
	if n.netns == nil {
		return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
	}
	written := make(chan error, 1)
	// The thread that entered the namespace is not unlocked, so that it ends with its goroutine.
	Go(func() {
		runtime.LockOSThread()
		if err := enterNetwork(n.netns); err != nil {
			written <- fmt.Errorf("network namespace: %w", err)
			return
		}
		written <- os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
	})
	return <-written
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
