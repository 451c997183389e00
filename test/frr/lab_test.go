package frr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// inside is a machine of the lab: a network namespace by its name.
type inside string

// Start runs a command in it.
func (n inside) Start(ctx context.Context, c host.Command) (*host.Process, error) {
	c.Argv = append([]string{"ip", "netns", "exec", string(n)}, c.Argv...)
	return host.Local{}.Start(ctx, c)
}

func (n inside) run(ctx context.Context, argv ...string) (string, error) {
	out, err := host.Output(ctx, n, host.Command{Argv: argv})
	return string(out), err
}

// build makes a namespace for each host and switch of a plan and a veth pair for each of its cables, and gives the hosts
// what their files would: addresses, tables and rules. This process is alone in its namespaces.
func build(ctx context.Context, p *fabric.Plan) error {
	script := []string{"mount -t tmpfs none /run", "mount -t tmpfs none /etc/frr", "mkdir -p /run/frr /run/netns",
		": > /etc/frr/vtysh.conf", "chown -R frr:frr /run/frr /etc/frr"}
	for _, name := range machines(p) {
		script = append(script, "ip netns add "+name, fmt.Sprintf(
			"ip netns exec %s sh -c 'cd /proc/sys/net/ipv4; echo 0 > conf/all/rp_filter; echo 0 > conf/default/rp_filter; echo %d > ip_forward'", name, forwards(p, name)))
	}
	if _, err := host.Output(ctx, host.Local{}, host.Command{Argv: []string{"sh", "-ec", strings.Join(script, "\n")}}); err != nil {
		return err
	}
	if err := batch(ctx, nil, cables(p)...); err != nil {
		return err
	}
	for _, s := range p.Switches {
		if err := batch(ctx, []string{"-n", s.Name}, switchLinks(s)...); err != nil {
			return err
		}
	}
	for i, n := range p.Nodes {
		if err := batch(ctx, []string{"-n", n.Name}, hostLinks(p.Addressing.Nodes[i])...); err != nil {
			return err
		}
	}
	return nil
}

func machines(p *fabric.Plan) (names []string) {
	for _, s := range p.Switches {
		names = append(names, s.Name)
	}
	for _, n := range p.Nodes {
		names = append(names, n.Name)
	}
	return names
}

func forwards(p *fabric.Plan, name string) int {
	for _, s := range p.Switches {
		if s.Name == name {
			return 1
		}
	}
	return 0
}

// batch lets ip run several commands.
func batch(ctx context.Context, options []string, lines ...string) error {
	_, err := host.Output(ctx, host.Local{}, host.Command{
		Argv: append(append([]string{"ip"}, options...), "-batch", "-"), Stdin: strings.NewReader(strings.Join(lines, "\n") + "\n"),
	})
	return err
}

// cables are the veth pairs, made from the ports of the switches.
func cables(p *fabric.Plan) (lines []string) {
	index := make(map[fabric.Endpoint]int)
	for _, s := range p.Switches {
		for i, port := range s.Ports {
			index[fabric.Endpoint{Node: s.Name, NIC: port.Name}] = i
		}
	}
	add := func(at fabric.Endpoint, mtu int, peer, node string, peerMTU int) {
		lines = append(lines, fmt.Sprintf("link add name %s netns %s mtu %d type veth peer name %s netns %s mtu %d", portName(index[at]), at.Node, mtu, peer, node, peerMTU))
	}
	mtu := p.Switches[0].MTU
	for _, l := range p.Cabling.Links {
		add(l.B, mtu, l.A.NIC, l.A.Node, p.MTU)
	}
	for _, l := range p.Cabling.Uplinks {
		add(l.A, mtu, portName(index[l.B]), l.B.Node, mtu)
	}
	return lines
}

// switchLinks puts the ports up, those of a VLAN into its bridge. Addresses are FRR's.
func switchLinks(s fabric.Switch) []string {
	lines := []string{"link set lo up"}
	name := make(map[int]string)
	for _, v := range s.VLANs {
		name[v.ID] = vlanName(v)
		lines = append(lines, fmt.Sprintf("link add name %s mtu %d type bridge", vlanName(v), s.MTU), "link set "+vlanName(v)+" up")
	}
	for i, p := range s.Ports {
		if p.VLAN != 0 {
			lines = append(lines, fmt.Sprintf("link set %s master %s", portName(i), name[p.VLAN]))
		}
		lines = append(lines, "link set "+portName(i)+" up")
	}
	return lines
}

func hostLinks(n fabric.NodeAddresses) []string {
	lines := []string{"link set lo up"}
	for _, nic := range n.NICs {
		lines = append(lines, fmt.Sprintf("address add %s dev %s", nic.Address, nic.NIC), "link set "+nic.NIC+" up",
			fmt.Sprintf("route add default via %s dev %s table %d", nic.Gateway, nic.NIC, nic.Table),
			fmt.Sprintf("rule add from %s table %d priority %d", nic.Address.Addr(), nic.Table, nic.RulePriority()))
	}
	return lines
}

func startAll(ctx context.Context, p *fabric.Plan, daemon string) error {
	for _, s := range p.Switches {
		if err := start(ctx, s, daemon); err != nil {
			return err
		}
	}
	return nil
}

// start runs a daemon on a switch; vtysh then gives all of them the same file.
func start(ctx context.Context, s fabric.Switch, daemon string) error {
	folder := filepath.Join("/etc/frr", s.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "frr.conf"), []byte(config(s)), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "vtysh.conf"), nil, 0o644); err != nil {
		return err
	}
	if _, err := inside(s.Name).run(ctx, "sh", "-ec", "mkdir -p /run/frr/$0 && chown frr:frr /run/frr/$0 && /usr/lib/frr/"+daemon+" -d -N $0 >/dev/null 2>&1", s.Name); err != nil {
		return fmt.Errorf("%s of %s: %w", daemon, s.Name, err)
	}
	out, err := inside(s.Name).run(ctx, "vtysh", "-N", s.Name, "-b")
	if err != nil {
		return fmt.Errorf("configuration of %s: %w\n%s", s.Name, err, out)
	}
	return nil
}

// established reports how many sessions of a switch work.
func established(ctx context.Context, s fabric.Switch) (int, error) {
	out, err := inside(s.Name).run(ctx, "vtysh", "-N", s.Name, "-c", "show bgp ipv4 unicast summary json")
	if err != nil {
		return 0, err
	}
	var summary struct {
		Peers map[string]struct{ State string }
	}
	if err := json.Unmarshal([]byte(out), &summary); err != nil {
		return 0, fmt.Errorf("%s: %w in %q", s.Name, err, out)
	}
	n := 0
	for _, p := range summary.Peers {
		if p.State == "Established" {
			n++
		}
	}
	return n, nil
}

// until repeats a check until it has nothing to complain of, or the time is over; then it returns the last complaint.
func until(ctx context.Context, limit time.Duration, check func() error) error {
	end := time.Now().Add(limit)
	for {
		err := check()
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		time.Sleep(200 * time.Millisecond)
	}
}
