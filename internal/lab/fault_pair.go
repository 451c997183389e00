package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// partner returns the second NIC of a pair fault with one named NIC: its twin, else the next of the host, or the previous one.
func (s Spec) partner(nic fabric.Endpoint) (fabric.Endpoint, error) {
	if len(s.Twins) > 0 {
		return s.twin(nic)
	}
	i := slices.IndexFunc(s.Hosts, func(h hostSpec) bool { return h.Name == nic.Node })
	all := s.Hosts[i].NICs
	at := slices.Index(all, nic.NIC)
	switch {
	case at+1 < len(all):
		return fabric.Endpoint{Node: nic.Node, NIC: all[at+1]}, nil
	case at > 0:
		return fabric.Endpoint{Node: nic.Node, NIC: all[at-1]}, nil
	default:
		return fabric.Endpoint{}, fmt.Errorf("host %q has one NIC: this fault needs two", nic.Node)
	}
}

func (s Spec) pair(f Fault) (a, b portSpec, err error) {
	nics := s.affected(f)
	if len(nics) != 2 {
		return a, b, errors.New("needs two NICs")
	}
	a, okA := s.port(nics[0])
	b, okB := s.port(nics[1])
	if !okA || !okB {
		return a, b, fmt.Errorf("%s or %s is not cabled", nics[0], nics[1])
	}
	return a, b, nil
}

// swapCables is the specification after two cables are exchanged at the leaf.
func (s Spec) swapCables(f Fault) Spec {
	s.Ports = slices.Clone(s.Ports)
	nics := s.affected(f)
	at := func(nic fabric.Endpoint) int {
		return slices.IndexFunc(s.Ports, func(p portSpec) bool { return p.Cable == nic })
	}
	if a, b := at(nics[0]), at(nics[1]); a >= 0 && b >= 0 {
		s.Ports[a].Cable, s.Ports[b].Cable = s.Ports[b].Cable, s.Ports[a].Cable
	}
	return s
}

// plantSwapCable exchanges two cables at the leaf. A port keeps its name and its configuration; what
// hangs on it changes.
func plantSwapCable(s Spec, open networks, f Fault) error {
	a, b, err := s.pair(f)
	if err != nil {
		return err
	}
	leaf := open[s.Leaf].Network
	if err := errors.Join(leaf.SetUp(a.Name, false), leaf.SetUp(b.Name, false)); err != nil {
		return err
	}
	if err := errors.Join(open.noticeUnplugged(a.Cable), open.noticeUnplugged(b.Cable)); err != nil {
		return err
	}
	const held = "swap"
	err = errors.Join(
		leaf.Rename(a.Name, held), leaf.Rename(b.Name, a.Name), leaf.Rename(held, b.Name))
	if err != nil {
		return err
	}
	return errors.Join(a.replace(leaf, b), b.replace(leaf, a))
}

// unplugged is how long a cable stays unplugged at a host whose network has no daemon to wait for, and
// noticePatience how long a daemon may take to notice.
const (
	unplugged      = time.Second
	noticePatience = 20 * time.Second
)

// noticeUnplugged waits until the systemd-networkd of a NIC's host has seen that the carrier is gone, as it has with a
// real cable. One that does not get to run between unplugging and plugging in sees both at once, adds the address
// while it is still removing it, and gives up on the interface without its route (systemd 252: ADMIN_STATE=failed).
func (n networks) noticeUnplugged(nic fabric.Endpoint) error {
	machine := n[nic.Node]
	index, err := machine.Index(nic.NIC)
	if err != nil {
		return err
	}
	state := fmt.Sprintf("/proc/%d/root/run/systemd/netif/links/%d", machine.pid, index)
	for deadline := time.Now().Add(noticePatience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(state)
		if errors.Is(err, fs.ErrNotExist) {
			time.Sleep(unplugged) // no networkd here
			return nil
		}
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "\nCARRIER_STATE=carrier\n") {
			return nil
		}
	}
	return fmt.Errorf("%s: systemd-networkd did not notice for %v that its cable is unplugged", nic, noticePatience)
}

// replace configures a port on an interface that carries the configuration of another.
func (p portSpec) replace(leaf *host.Network, other portSpec) error {
	if other.Address.IsValid() {
		if err := leaf.DeleteAddress(p.Name, other.Address); err != nil {
			return err
		}
	}
	return p.configure(leaf)
}

// plantOneSubnet widens the prefix of the first NIC until it takes in the second, and puts both on one
// layer 2. With both named, both are widened. Addresses stay as planned, so that what breaks is ARP alone:
// either NIC now answers for the other.
func plantOneSubnet(s Spec, open networks, f Fault) error {
	if len(s.Twins) > 0 {
		return plantTwinSubnet(s, open, f)
	}
	a, b, err := s.pair(f)
	if err != nil {
		return err
	}
	nicA, okA := s.address(a.Cable)
	nicB, okB := s.address(b.Cable)
	if !okA || !okB {
		return fmt.Errorf("%s or %s has no address in the plan", a.Cable, b.Cable)
	}
	bits := cover(nicA.Address.Addr(), nicB.Address.Addr(), s.planned())
	widened := []fabric.NICAddress{nicA}
	if len(f.NICs) == 2 {
		widened = append(widened, nicB)
	}
	for _, nic := range widened {
		if err := widen(open[a.Cable.Node].Network, nic, bits); err != nil {
			return err
		}
	}
	return oneLayer2(open[s.Leaf].Network, a, b)
}

func widen(network *host.Network, nic fabric.NICAddress, bits int) error {
	if err := network.DeleteAddress(nic.NIC, nic.Address); err != nil {
		return err
	}
	if err := network.AddAddress(nic.NIC, netip.PrefixFrom(nic.Address.Addr(), bits)); err != nil {
		return err
	}
	// As the kernel comes: schemes with shared subnets set it.
	if err := network.SetSysctl("ipv4/conf/"+nic.NIC+"/arp_ignore", "0"); err != nil {
		return err
	}
	// The kernel drops a route whose gateway is no longer on a link; the one of the table is as planned.
	if !nic.Gateway.IsValid() {
		return nil
	}
	return network.AddRoute(nic.Table, netip.PrefixFrom(netip.IPv4Unspecified(), 0), nic.Gateway, nic.NIC)
}

// planned returns the planned addresses of all hosts.
func (s Spec) planned() []netip.Addr {
	var all []netip.Addr
	for _, n := range s.Addresses {
		for _, nic := range n.NICs {
			all = append(all, nic.Address.Addr())
		}
	}
	return all
}

// cover is the length of the longest prefix that holds both addresses, neither of them its first or last. Nor is any
// planned address its last: the kernel would take that for a broadcast address, and neither route from it nor reach it.
func cover(a, b netip.Addr, planned []netip.Addr) int {
	for bits := 30; bits > 0; bits-- {
		prefix, err := a.Prefix(bits)
		if err != nil || !prefix.Contains(b) || !inner(prefix, a) || !inner(prefix, b) {
			continue
		}
		if !slices.ContainsFunc(planned, func(o netip.Addr) bool { return prefix.Contains(o) && !prefix.Contains(o.Next()) }) {
			return bits
		}
	}
	return 0
}

func inner(prefix netip.Prefix, a netip.Addr) bool {
	return prefix.Contains(a.Next()) && prefix.Contains(a.Prev())
}

// oneLayer2 puts two ports of the leaf into one bridge, which takes over their addresses.
func oneLayer2(leaf *host.Network, a, b portSpec) error {
	if b.Bridge != "" {
		return leaf.SetMaster(a.Name, b.Bridge)
	}
	bridge := "flux-" + b.Name
	if len(bridge) > maxName {
		bridge = bridge[:maxName]
	}
	if err := errors.Join(leaf.AddBridge(bridge), leaf.SetMTU(bridge, leafMTU), leaf.SetUp(bridge, true)); err != nil {
		return err
	}
	for _, p := range []portSpec{a, b} {
		err := errors.Join(leaf.DeleteAddress(p.Name, p.Address), leaf.SetMaster(p.Name, bridge), leaf.AddAddress(bridge, p.Address))
		if err != nil {
			return err
		}
	}
	return nil
}
