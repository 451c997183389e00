package apply

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// What configures interfaces: the two ways of a lab host, and nothing where an activation was not begun or was taken back.
const (
	ByNetworkd = "netplan + systemd-networkd"
	ByNetlink  = "netlink"
	ByNothing  = "nothing"
)

const networkd = "/lib/systemd/systemd-networkd"

// bringUp does on a lab host what the next boot of a real one would do: sysctls first, as
// systemd-sysctl does, then the interfaces.
func bringUp(ctx context.Context, b Bundle) (Activation, error) {
	sysctls, err := sysctlsOf(b.Artifacts)
	if err != nil {
		return Activation{}, err
	}
	a := Activation{Network: ByNetworkd}
	if a.Pending, a.Skipped, err = setSysctls(sysctls); err != nil {
		return a, err
	}
	var late []string
	if a.Reason = notByNetworkd(b.Artifacts); a.Reason != "" {
		a.Network = ByNetlink
		err = byNetlink(b)
	} else {
		late, err = byNetworkd(ctx, b)
	}
	if err != nil {
		return a, err
	}
	differs, err := notInEffect(b)
	a.Pending = slices.Concat(a.Pending, late, differs)
	if err != nil {
		return a, err
	}
	var refused []string
	a.Proofs, refused = proveAll(ctx, b, a)
	a.Pending = append(a.Pending, refused...)
	return a, nil
}

// byNetworkd lets netplan write networkd's configuration from the rendered file, and starts networkd on it.
func byNetworkd(ctx context.Context, b Bundle) (late []string, err error) {
	if _, err := host.Output(ctx, host.Local{}, host.Command{Argv: []string{"netplan", "generate"}}); err != nil {
		return nil, err
	}
	const log = "/run/railwright/networkd.log"
	pid, err := restartNetworkd(log)
	if err != nil {
		return nil, err
	}
	if late, err = awaitNetworkd(ctx, pid, b); err != nil {
		said, readErr := os.ReadFile(log)
		return nil, errors.Join(fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said))), readErr)
	}
	return late, nil
}

// restartNetworkd starts networkd, and stops the one that an earlier apply started.
func restartNetworkd(log string) (pid int, err error) {
	running, err := processesOf(networkd)
	if err != nil {
		return 0, err
	}
	for _, old := range running {
		if err := host.Signal(old, syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return 0, fmt.Errorf("systemd-networkd, process %d: %w", old, err)
		}
		for i := 0; host.Alive(old); i++ {
			if i == 250 {
				return 0, fmt.Errorf("systemd-networkd, process %d, does not end", old)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return host.Local{}.Daemon(host.Command{Argv: []string{networkd}}, log)
}

// processesOf returns the processes that run a program in this network namespace: the hosts of a lab see each other's. No file
// names them, which an apply that was killed would not have written.
func processesOf(program string) (pids []int, err error) {
	want, err := os.Stat(program)
	if err != nil {
		return nil, err
	}
	here, err := os.Stat("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not a process
		}
		// Of one that has ended, and of a thread of the kernel, there is neither.
		runs, err := os.Stat(filepath.Join("/proc", e.Name(), "exe"))
		in, inErr := os.Stat(filepath.Join("/proc", e.Name(), "ns/net"))
		if err == nil && inErr == nil && os.SameFile(runs, want) && os.SameFile(in, here) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// notByNetworkd returns why the interfaces cannot be configured from the rendered files here; empty: they can.
func notByNetworkd(artifacts []fabric.Artifact) string {
	if slices.ContainsFunc(artifacts, func(a fabric.Artifact) bool { return filepath.Dir(a.Path) == keyfileFolder }) {
		return "a lab host runs no NetworkManager: its keyfiles were written and not tried"
	}
	return noNetworkd()
}

// noNetworkd returns why the real netplan and systemd-networkd cannot run here; empty when they can.
func noNetworkd() string {
	if _, err := os.Stat(networkd); err != nil {
		return fmt.Sprintf("systemd-networkd is not installed: %v", err)
	}
	if !onPath("netplan") {
		return "netplan is not installed (package netplan.io)"
	}
	u, err := user.Lookup("systemd-network")
	if err != nil {
		return fmt.Sprintf("systemd-networkd has no user to run as: %v", err)
	}
	// networkd switches to its own user, which a user namespace of one ordinary user does not have.
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return fmt.Sprintf("systemd-networkd may have no user to run as: %v", err)
	}
	mapped, err := isMapped(u.Uid, string(text))
	if err != nil {
		return fmt.Sprintf("systemd-networkd may have no user to run as: %v", err)
	}
	if !mapped {
		return "systemd-networkd cannot switch to its own user in this user namespace: run the lab as root"
	}
	return ""
}

func onPath(name string) bool {
	for folder := range strings.SplitSeq(os.Getenv("PATH"), ":") {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// isMapped reports whether a user id exists in a user namespace, by its /proc/self/uid_map
// (user_namespaces(7): lines of first id inside, first id outside, count).
func isMapped(uid, uidMap string) (bool, error) {
	id, err := strconv.ParseUint(uid, 10, 64)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(uidMap) {
		var inside, outside, count uint64
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return false, fmt.Errorf("line %q of a user id map: %w", line, err)
		}
		if id >= inside && id < inside+count {
			return true, nil
		}
	}
	return false, nil
}

// networkdPatience is how long networkd may take for all NICs of a lab host. It takes about a second; one
// that is without carrier never gets there, and is reported as pending.
const networkdPatience = 15 * time.Second

// awaitNetworkd waits until networkd reports every NIC as configured.
func awaitNetworkd(ctx context.Context, pid int, b Bundle) (pending []string, err error) {
	deadline := time.Now().Add(networkdPatience)
	for {
		if !host.Alive(pid) {
			return nil, errors.New("systemd-networkd exited")
		}
		pending = pending[:0]
		for _, nic := range b.nics() {
			if state := networkdState(nic); state != "configured" {
				pending = append(pending, fmt.Sprintf("%s: networkd reports %s", nic, state))
			}
		}
		if len(pending) == 0 || time.Now().After(deadline) {
			return pending, nil
		}
		select {
		case <-ctx.Done():
			return pending, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// nics are those with an address, then those without.
func (b Bundle) nics() (nics []string) {
	for _, a := range b.Addresses {
		nics = append(nics, a.NIC)
	}
	return append(nics, b.Bare...)
}

// networkdState reads networkd's state file of an interface (/run/systemd/netif/links, as networkctl does).
func networkdState(nic string) string {
	i, err := net.InterfaceByName(nic)
	if err != nil {
		return "nothing: " + err.Error()
	}
	text, err := os.ReadFile(fmt.Sprintf("/run/systemd/netif/links/%d", i.Index))
	if err != nil {
		return "nothing yet"
	}
	return adminState(string(text))
}

// adminState returns the administrative state in a state file of networkd.
func adminState(text string) string {
	for line := range strings.Lines(text) {
		if state, ok := strings.CutPrefix(strings.TrimSpace(line), "ADMIN_STATE="); ok {
			return state
		}
	}
	return "nothing yet"
}

// byNetlink configures the interfaces from the plan without netplan: the rendered files are not
// tested by that, and the report says so.
func byNetlink(b Bundle) (err error) {
	n, err := host.OpenNetwork("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, a := range b.Addresses {
		if err := configure(n, a, b.MTU); err != nil {
			return err
		}
	}
	for _, nic := range b.Bare {
		if err := configureBare(n, nic, b.MTU); err != nil {
			return err
		}
	}
	return nil
}

// configureBare gives a NIC a link-local address that follows from its MAC, as RFC 3927 section 2.1 begins to look for one.
func configureBare(n *host.Network, nic string, mtu int) error {
	i, err := net.InterfaceByName(nic)
	if err != nil {
		return err
	}
	if err := errors.Join(n.SetMTU(nic, mtu), n.SetUp(nic, true)); err != nil || len(i.HardwareAddr) < 2 {
		return err
	}
	mac := i.HardwareAddr[len(i.HardwareAddr)-2:]
	a := linkLocal().Addr().As4()
	a[2], a[3] = 1+mac[0]%254, mac[1] // the first and the last 256 are reserved
	return n.AddAddress(nic, netip.PrefixFrom(netip.AddrFrom4(a), linkLocal().Bits()))
}

func configure(n *host.Network, a fabric.NICAddress, mtu int) error {
	if err := errors.Join(n.SetMTU(a.NIC, mtu), n.SetUp(a.NIC, true), n.AddAddress(a.NIC, a.Address)); err != nil {
		return err
	}
	for _, r := range routesOf(a) {
		if err := n.AddRoute(a.Table, r.to, r.via, a.NIC); err != nil {
			return err
		}
	}
	if a.Table == 0 {
		return nil
	}
	return n.AddRule(a.RulePriority(), netip.PrefixFrom(a.Address.Addr(), 32), a.Table)
}

// route is a route in the table of a NIC; without a gateway its destination is on the link.
type route struct {
	to  netip.Prefix
	via netip.Addr
}

// routesOf returns the routes of a NIC's table, as the rendered netplan file has them: a subnet of more than the two ends of a
// cable directly, and everything by the gateway.
// Without a table there is none but the one that the kernel makes of the address.
func routesOf(a fabric.NICAddress) (routes []route) {
	if a.Table == 0 {
		return nil
	}
	if a.Address.Bits() < 31 || !a.Gateway.IsValid() {
		routes = append(routes, route{to: a.Address.Masked()})
	}
	if a.Gateway.IsValid() {
		routes = append(routes, route{netip.PrefixFrom(netip.IPv4Unspecified(), 0), a.Gateway})
	}
	return routes
}
