//go:build linux

package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jsimonetti/rtnetlink/v2"
	"golang.org/x/sys/unix"
)

// newNamespace makes the namespaces of a host that ends with the test. Where the kernel or the user does
// not allow it, the test is skipped with the reason.
func newNamespace(t *testing.T, name string) Namespace {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root")
	}
	if _, err := exec.LookPath("nsenter"); err != nil {
		t.Skipf("commands enter a namespace by nsenter (package util-linux): %v", err)
	}
	log := filepath.Join(t.TempDir(), "log")
	script := fmt.Sprintf("mount -t proc proc /proc && hostname %s && echo ready && exec sleep 600", name)
	p, err := Local{}.Detach(sh(script), Isolation{PID: true, Net: true, Mount: true, UTS: true}, log)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("the kernel refuses new namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		_ = p.Wait() // it was killed
	})
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil || line != "ready\n" {
		said, _ := os.ReadFile(log)
		t.Fatalf("namespace: %q, %v: %s", line, err, said)
	}
	return Namespace{Host: name, PID: p.PID()}
}

func openNetwork(t *testing.T, n Namespace) *Network {
	t.Helper()
	network, err := OpenNetwork(fmt.Sprintf("/proc/%d/ns/net", n.PID))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	return network
}

func TestNamespaceIsAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "inside")
	out, err := Output(context.Background(), n, sh("hostname; pwd; ls /sys/class/net /proc/self/net/ >/dev/null; cat /proc/net/dev | grep -c :; echo $$"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 4 || lines[0] != "inside" || lines[1] != "/" || lines[2] != "1" {
		t.Errorf("inside: %q, want its own name, the root folder, and lo alone", lines)
	}
	if len(lines) == 4 && len(lines[3]) > 3 {
		t.Errorf("process id %s inside: want a small one, of its own namespace", lines[3])
	}
	var exit *ExitError
	if _, err := Output(context.Background(), n, sh("echo no >&2; exit 5")); !errors.As(err, &exit) || exit.Status != 5 || exit.Stderr != "no" {
		t.Errorf("a command that fails: %v", err)
	}
	children, err := Children(n.PID)
	if err != nil || len(children) != 0 {
		t.Errorf("children %v, %v, want none", children, err)
	}
	status, err := n.Attach(context.Background(), []string{"sh", "-c", "exit 6"})
	if err != nil || status != 6 {
		t.Errorf("Attach: %d, %v, want 6", status, err)
	}
}

// nsenter stands between: to end it alone would leave the command running inside.
func TestCancelReachesIntoANamespace(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "inside")
	ctx, cancel := context.WithCancel(context.Background())
	p, err := n.Start(ctx, sh("echo ready; exec sleep 601"))
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	within(t, 10*time.Second, func() {
		if err := p.Wait(); err == nil {
			t.Error("a cancelled command ended well")
		}
	})
	eventually(t, "the command inside to end", func() bool {
		out, err := Output(context.Background(), n, sh("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"))
		return err == nil && !strings.Contains(string(out), "sleep 601")
	})
}

func TestNamespaceThatIsGone(t *testing.T) {
	n := Namespace{Host: "host1", PID: 1 << 30}
	_, err := n.Start(context.Background(), sh("true"))
	if want := `host "host1": process 1073741824, which holds its namespaces, is gone`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := OpenNetwork("/proc/1073741824/ns/net"); !IsAbsent(err) {
		t.Errorf("OpenNetwork: %v, want absent", err)
	}
}

// dump asks the kernel of a network namespace for a table, and decodes each message. The thread that has
// entered the namespace ends with its goroutine.
func dump[M any](t *testing.T, n Namespace, kind uint16, decode func(*M, []byte) error) []M {
	t.Helper()
	var all []M
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		failed = func() error {
			f, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", n.PID))
			if err != nil {
				return err
			}
			defer f.Close()
			if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			raw, err := Local{}.Dump(context.Background(), kind, unix.AF_INET)
			if err != nil {
				return err
			}
			messages, err := Messages(raw)
			if err != nil {
				return err
			}
			for _, m := range messages {
				var one M
				if err := decode(&one, m.Data); err != nil {
					return err
				}
				all = append(all, one)
			}
			return nil
		}()
	}()
	<-done
	if failed != nil {
		t.Fatal(failed)
	}
	return all
}

// links are "name index-of-master mtu up" of a namespace, without lo, sorted.
func links(t *testing.T, n Namespace) []string {
	t.Helper()
	var out []string
	for _, l := range dump(t, n, unix.RTM_GETLINK, (*rtnetlink.LinkMessage).UnmarshalBinary) {
		if l.Attributes.Name == "lo" {
			continue
		}
		text := fmt.Sprintf("%s mtu %d up %v", l.Attributes.Name, l.Attributes.MTU, l.Flags&unix.IFF_UP != 0)
		if l.Attributes.Master != nil {
			text += fmt.Sprintf(" master %d", *l.Attributes.Master)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func addresses(t *testing.T, n Namespace) []string {
	t.Helper()
	var out []string
	for _, a := range dump(t, n, unix.RTM_GETADDR, (*rtnetlink.AddressMessage).UnmarshalBinary) {
		out = append(out, fmt.Sprintf("%s/%d on %s", a.Attributes.Local, a.PrefixLength, a.Attributes.Label))
	}
	return out
}

// routes are those of one table.
func routes(t *testing.T, n Namespace, table uint32) []string {
	t.Helper()
	var out []string
	for _, r := range dump(t, n, unix.RTM_GETROUTE, (*rtnetlink.RouteMessage).UnmarshalBinary) {
		if r.Attributes.Table == table {
			out = append(out, fmt.Sprintf("%v/%d via %v dev %d scope %d", r.Attributes.Dst, r.DstLength, r.Attributes.Gateway, r.Attributes.OutIface, r.Scope))
		}
	}
	return out
}

// rules are those that have a source or a destination.
func rules(t *testing.T, n Namespace) []string {
	t.Helper()
	var out []string
	for _, r := range dump(t, n, unix.RTM_GETRULE, (*rtnetlink.RuleMessage).UnmarshalBinary) {
		if r.Attributes.Src != nil {
			out = append(out, fmt.Sprintf("%d: from %s/%d lookup %d", *r.Attributes.Priority, r.Attributes.Src, r.SrcLength, *r.Attributes.Table))
		}
		if r.Attributes.Dst != nil {
			out = append(out, fmt.Sprintf("%d: to %s/%d lookup %d", *r.Attributes.Priority, r.Attributes.Dst, r.DstLength, *r.Attributes.Table))
		}
	}
	return out
}

func equal(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestNetworkLinks(t *testing.T) {
	t.Parallel()
	hostNS, leafNS := newNamespace(t, "host1"), newNamespace(t, "leaf1")
	host, leaf := openNetwork(t, hostNS), openNetwork(t, leafNS)
	must(t, leaf.AddCable("port1", host, "eth1"), leaf.AddBridge("rail1"), leaf.SetMTU("port1", 9216), host.SetMTU("eth1", 9000))
	bridge, err := leaf.Index("rail1")
	must(t, err, leaf.SetMaster("port1", "rail1"), leaf.SetUp("port1", true))
	equal(t, "host", []string{"eth1 mtu 9000 up false"}, links(t, hostNS))
	equal(t, "leaf", []string{fmt.Sprintf("port1 mtu 9216 up true master %d", bridge), "rail1 mtu 9216 up false"}, links(t, leafNS))
	must(t, host.SetUp("eth1", true), host.SetUp("eth1", false), host.Rename("eth1", "rdma0"), host.SetUp("rdma0", true))
	equal(t, "host", []string{"rdma0 mtu 9000 up true"}, links(t, hostNS))
}

func TestNetworkAddressesRoutesRules(t *testing.T) {
	t.Parallel()
	hostNS, leafNS := newNamespace(t, "host1"), newNamespace(t, "leaf1")
	host, leaf := openNetwork(t, hostNS), openNetwork(t, leafNS)
	must(t, leaf.AddCable("port1", host, "eth1"), leaf.SetUp("port1", true), host.SetUp("eth1", true))
	index, err := host.Index("eth1")
	must(t, err)
	address, gateway := netip.MustParsePrefix("10.64.0.1/31"), netip.MustParseAddr("10.64.0.0")
	everywhere := netip.MustParsePrefix("0.0.0.0/0")
	// Twice, since what is there already is no error.
	for range 2 {
		must(t, host.AddAddress("eth1", address), host.AddRoute(101, everywhere, gateway, "eth1"),
			host.AddRoute(101, address.Masked(), netip.Addr{}, "eth1"), host.AddRule(10101, netip.MustParsePrefix("10.64.0.1/32"), 101))
	}
	equal(t, "addresses", []string{"10.64.0.1/31 on eth1"}, addresses(t, hostNS))
	equal(t, "routes", []string{
		fmt.Sprintf("<nil>/0 via 10.64.0.0 dev %d scope 0", index),
		fmt.Sprintf("10.64.0.0/31 via <nil> dev %d scope 253", index),
	}, routes(t, hostNS, 101))
	equal(t, "rules", []string{"10101: from 10.64.0.1/32 lookup 101"}, rules(t, hostNS))

	must(t, host.DeleteRoute(101, everywhere, gateway, "eth1"))
	equal(t, "routes", []string{fmt.Sprintf("10.64.0.0/31 via <nil> dev %d scope 253", index)}, routes(t, hostNS, 101))
	must(t, host.DeleteAddress("eth1", address))
	equal(t, "addresses", nil, addresses(t, hostNS))

	// Of one priority the rule that was added first stays first, and the kernel keeps the destination as it was given.
	one, two := netip.MustParsePrefix("10.64.0.1/16"), netip.MustParsePrefix("10.64.0.3/16")
	for range 2 {
		must(t, host.AddRuleTo(1, two, 102), host.AddRuleTo(1, one, 101))
	}
	must(t, host.DeleteRule(10101, netip.MustParsePrefix("10.64.0.1/32"), 101))
	equal(t, "rules", []string{"1: to 10.64.0.3/16 lookup 102", "1: to 10.64.0.1/16 lookup 101"}, rules(t, hostNS))
	if err := host.DeleteRule(10101, netip.MustParsePrefix("10.64.0.1/32"), 101); err == nil {
		t.Error("a rule that is gone was deleted")
	}
	equal(t, "of the leaf, which nobody touched", nil, addresses(t, leafNS))
}

// A route and a rule are there if all that was asked for is: the table, the ends, the interface, the priority.
func TestNetworkHas(t *testing.T) {
	t.Parallel()
	hostNS, leafNS := newNamespace(t, "host1"), newNamespace(t, "leaf1")
	host, leaf := openNetwork(t, hostNS), openNetwork(t, leafNS)
	must(t, leaf.AddCable("port1", host, "eth1"), leaf.SetUp("port1", true), host.SetUp("eth1", true),
		leaf.AddCable("port2", host, "eth2"), leaf.SetUp("port2", true), host.SetUp("eth2", true))
	address, gateway, none := netip.MustParsePrefix("10.64.0.1/31"), netip.MustParseAddr("10.64.0.0"), netip.Addr{}
	everywhere, source := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("10.64.0.1/32")
	must(t, host.AddAddress("eth1", address), host.AddRoute(101, everywhere, gateway, "eth1"), host.AddRoute(102, address.Masked(), none, "eth1"), host.AddRule(10101, source, 101))
	for _, tt := range []struct {
		name string
		has  func() (bool, error)
		want bool
	}{
		{"route by a gateway", func() (bool, error) { return host.HasRoute(101, everywhere, gateway, "eth1") }, true},
		{"route on the link", func() (bool, error) { return host.HasRoute(102, address.Masked(), none, "eth1") }, true},
		{"route of another table", func() (bool, error) { return host.HasRoute(102, everywhere, gateway, "eth1") }, false},
		{"route by another gateway", func() (bool, error) { return host.HasRoute(101, everywhere, netip.MustParseAddr("10.64.0.2"), "eth1") }, false},
		{"route without the gateway", func() (bool, error) { return host.HasRoute(101, everywhere, none, "eth1") }, false},
		{"route by another interface", func() (bool, error) { return host.HasRoute(101, everywhere, gateway, "eth2") }, false},
		{"route to another network", func() (bool, error) {
			return host.HasRoute(102, netip.MustParsePrefix("10.64.0.2/31"), none, "eth1")
		}, false},
		{"route to a larger network", func() (bool, error) {
			return host.HasRoute(102, netip.MustParsePrefix("10.64.0.0/30"), none, "eth1")
		}, false},
		{"rule", func() (bool, error) { return host.HasRule(10101, source, 101) }, true},
		{"rule to another table", func() (bool, error) { return host.HasRule(10101, source, 102) }, false},
		{"rule of another priority", func() (bool, error) { return host.HasRule(10102, source, 101) }, false},
		{"rule from another address", func() (bool, error) { return host.HasRule(10101, netip.MustParsePrefix("10.64.0.0/32"), 101) }, false},
		{"rule from a network", func() (bool, error) { return host.HasRule(10101, address, 101) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if has, err := tt.has(); err != nil || has != tt.want {
				t.Errorf("%v, %v, want %v", has, err, tt.want)
			}
		})
	}
	if _, err := host.HasRoute(101, everywhere, gateway, "eth9"); err == nil || !strings.Contains(err.Error(), `interface "eth9"`) {
		t.Errorf("route of no interface: %v", err)
	}
}

func TestNetworkSysctl(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "host1")
	network := openNetwork(t, n)
	before, err := os.ReadFile("/proc/sys/net/ipv4/conf/lo/arp_ignore")
	must(t, err)
	must(t, network.SetSysctl("ipv4/conf/lo/arp_ignore", "2"))
	inside, err := Output(context.Background(), n, Command{Argv: []string{"cat", "/proc/sys/net/ipv4/conf/lo/arp_ignore"}})
	if err != nil || string(inside) != "2\n" {
		t.Errorf("inside: %q, %v, want 2", inside, err)
	}
	after, err := os.ReadFile("/proc/sys/net/ipv4/conf/lo/arp_ignore")
	if err != nil || string(after) != string(before) {
		t.Errorf("here: %q became %q, %v: it is set in the other namespace only", before, after, err)
	}
	if err := network.SetSysctl("ipv4/conf/eth99/arp_ignore", "2"); !IsAbsent(err) {
		t.Errorf("of an interface that is not there: %v, want absent", err)
	}
}

// Errors name the object and what was asked of it.
func TestNetworkErrors(t *testing.T) {
	t.Parallel()
	hostNS, leafNS := newNamespace(t, "host1"), newNamespace(t, "leaf1")
	host, leaf := openNetwork(t, hostNS), openNetwork(t, leafNS)
	must(t, leaf.AddCable("port1", host, "eth1"))
	address := netip.MustParsePrefix("10.64.0.1/31")
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"no interface", host.SetMTU("eth9", 9000), `interface "eth9": file does not exist`},
		{"no bridge", leaf.SetMaster("port1", "rail9"), `interface "rail9": file does not exist`},
		{"name taken", leaf.AddCable("port1", host, "eth2"), "cable port1 to eth2: "},
		{"far name taken", leaf.AddCable("port2", host, "eth1"), "cable port2 to eth1: "},
		{"name too long", leaf.AddBridge("a-name-of-16-byte"), "bridge a-name-of-16-byte: "},
		{"MTU beyond the device", host.SetMTU("eth1", 1<<20), "interface eth1: mtu: "},
		{"no such address", host.DeleteAddress("eth1", address), "interface eth1: remove address 10.64.0.1/31: "},
		{"gateway not on the link", host.AddRoute(101, netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("192.0.2.1"), "eth1"), "route 0.0.0.0/0 table 101: "},
		{"no such route", host.DeleteRoute(101, address.Masked(), netip.Addr{}, "eth1"), "route 10.64.0.0/31 table 101: remove: "},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.HasPrefix(tt.err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s...", tt.name, tt.err, tt.want)
		}
	}
	equal(t, "leaf", []string{"port1 mtu 1500 up false"}, links(t, leafNS))
}

// The first process of a process id namespace takes every other with it.
func TestEndOfANamespace(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "inside")
	p, err := n.Start(context.Background(), sh("setsid sleep 602 >/dev/null 2>&1 & echo $!; wait"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var daemon int
	eventually(t, "the daemon inside", func() bool {
		found, err := filepath.Glob("/proc/[0-9]*/cmdline")
		must(t, err)
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err == nil && string(text) == "sleep\x00602\x00" {
				daemon, err = innermostOf(name)
				return err == nil
			}
		}
		return false
	})
	must(t, Signal(n.PID, unix.SIGKILL))
	eventually(t, "the daemon to end", func() bool { return !Alive(daemon) })
	_ = p.Wait() // it was killed
}

// innermostOf takes the process id out of /proc/PID/cmdline.
func innermostOf(name string) (pid int, err error) {
	_, err = fmt.Sscanf(name, "/proc/%d/cmdline", &pid)
	return pid, err
}
