package apply

import (
	"runtime"
	"strings"
	"syscall"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// ownNetwork gives this test a network of its own for the rest of it. Its thread ends with it.
func ownNetwork(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		t.Skipf("no network of its own: %v", err)
	}
	s := sysctl{name: "net.ipv4.conf.lo.arp_ignore", value: "0"}
	if d := s.differs(); d != "" {
		t.Skipf("%s: %s", s.name, d)
	}
	if _, _, err := setSysctls([]sysctl{s}); err != nil {
		t.Skipf("sysctls cannot be written here: %v", err)
	}
}

// What answers ARP is tried with the addresses, and goes back with them. Settings that concern no network are left alone.
func TestTrialSysctls(t *testing.T) {
	ownNetwork(t)
	const text = "kernel.numa_balancing = 7\nnet.ipv4.conf.lo.arp_ignore = 2\nnet.ipv4.conf.lo.arp_announce = 1\nnet.ipv4.conf.no-such-nic.arp_ignore = 2\n"
	b := Bundle{Artifacts: []fabric.Artifact{artifact("/etc/sysctl.d/60-railwright.conf", text, 0o644)}}
	value := func(name, want string) {
		t.Helper()
		if d := (sysctl{name: name, value: want}).differs(); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	was, err := lookAtSysctls(b)
	if err != nil || len(was) != 2 || was[0] != (sysctlBefore{"net.ipv4.conf.lo.arp_ignore", "0"}) {
		t.Fatalf("%v, %v", was, err)
	}
	pending, err := trySysctls(b)
	if err != nil || len(pending) != 1 || !strings.HasPrefix(pending[0], "net.ipv4.conf.no-such-nic.arp_ignore: ") {
		t.Errorf("pending %q, %v", pending, err)
	}
	value("net.ipv4.conf.lo.arp_ignore", "2")
	value("net.ipv4.conf.lo.arp_announce", "1")
	was = append(was, sysctlBefore{"net.ipv4.conf.no-such-nic.arp_ignore", "0"})
	if err := (before{Sysctls: was}).restoreSysctls(); err != nil {
		t.Error(err)
	}
	value("net.ipv4.conf.lo.arp_ignore", "0")
	value("net.ipv4.conf.lo.arp_announce", "0")
}

// A whole trial sets them, and its end sets them back.
func TestTrialSetsSysctlsBack(t *testing.T) {
	ownNetwork(t)
	root := t.TempDir()
	trialHost(t, root)
	p, n := trialPlaces(root), fileNetwork{root: root}
	b := trialBundle(root, newNet, 60)
	b.Artifacts = append(b.Artifacts, artifact("/etc/sysctl.d/99-railwright-test.conf", "net.ipv4.conf.lo.arp_ignore = 2\n", 0o644))
	if a, err := p.try(t.Context(), b, n, notArmed); err != nil || a.Waits == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	if d := (sysctl{name: "net.ipv4.conf.lo.arp_ignore", value: "2"}).differs(); d != "" {
		t.Errorf("tried: %s", d)
	}
	if err := p.takeBack(t.Context(), "T1", n, "by a test"); err != nil {
		t.Fatal(err)
	}
	if d := (sysctl{name: "net.ipv4.conf.lo.arp_ignore", value: "0"}).differs(); d != "" {
		t.Errorf("taken back: %s", d)
	}
}
