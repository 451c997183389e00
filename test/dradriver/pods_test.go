package dradriver

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resource "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// Two pods get the NICs of their claims, and no other: with MTU and address, as railwright collects them there too. The
// node keeps the rest, which is none; a third pod is refused, by the allocator and by the driver. What comes back is as
// before.
func TestPodsGetTheNICsOfTheirClaims(t *testing.T) {
	if !apart(t) {
		return
	}
	c := planned(t)
	n := newNode(t, c, "whole", asInCloud)
	before := n.links(nodeName)
	if len(before) != 8 {
		t.Fatalf("the node has %d NICs: %v", len(before), before)
	}
	a := c.allocate(t, 3)
	if len(a.Claims) != 2 || a.AlignedPairs.Min != 8 || len(a.Unsatisfied) != 1 {
		t.Fatalf("%d claims, %v aligned pairs, %d unsatisfied; the node has room for 2 pods of 4 pairs", len(a.Claims), a.AlignedPairs, len(a.Unsatisfied))
	}
	given := map[string]bool{}
	for _, claim := range a.Claims {
		pod := claim.Pod
		names := c.interfacesOf(t, claim)
		devices, err := n.run(pod, allocated(claim, ""))
		if err != nil || len(devices) != 4 {
			t.Fatalf("pod %s: %v, devices %v", pod, err, devices)
		}
		want := map[string]link{}
		for _, name := range names {
			if want[name] = before[name]; given[name] {
				t.Errorf("%s is in two pods", name)
			}
			given[name] = true
		}
		if diff := cmp.Diff(want, n.links(pod)); diff != "" {
			t.Errorf("pod %s (-on the node before, +in the pod):\n%s", pod, diff)
		}
		n.sameFacts(pod, want)
		n.sameStatus(pod, want)
		n.checked(pod, names, fabric.Pass)
	}
	if left := n.links(nodeName); len(left) != 0 {
		t.Errorf("the node still has %v", left)
	}
	if _, err := n.run("third", allocated(a.Claims[0], "")); err == nil || !strings.Contains(err.Error(), "FailedPrepareDynamicResources") {
		t.Errorf("a third pod with the devices of the first: %v", err)
	}
	for _, claim := range a.Claims {
		n.stop(claim.Pod)
	}
	if diff := cmp.Diff(before, n.links(nodeName)); diff != "" {
		t.Errorf("the node, when its pods have ended (-before, +after):\n%s", diff)
	}
}

// sameFacts holds what railwright collects in a pod against what the kernel has there.
func (n *node) sameFacts(pod string, want map[string]link) {
	n.Helper()
	seen := map[string]link{}
	f := n.facts(pod, pod)
	for _, nic := range f.NICs {
		if nic.Name == "lo" {
			continue
		}
		l := link{MTU: nic.MTU, Up: nic.OperState == "up"}
		for _, p := range nic.Addresses {
			if !p.Addr().IsLinkLocalUnicast() {
				l.Addresses = append(l.Addresses, p.String())
			}
		}
		seen[nic.Name] = l
	}
	if diff := cmp.Diff(want, seen); diff != "" || f.Node != pod {
		n.Errorf("facts of pod %s, collected as %s (-wanted, +collected):\n%s", pod, f.Node, diff)
	}
}

// sameStatus holds what the driver reports in the claim, as railwright reads it, against what the pod has.
func (n *node) sameStatus(pod string, want map[string]link) {
	n.Helper()
	var names []string
	for _, c := range n.claimsRead(pod) {
		if c.State != "allocated,reserved" || !slices.Equal(c.For, []string{pod}) {
			n.Errorf("claim %s: %s for %v", c.Name, c.State, c.For)
		}
		for _, d := range c.Devices {
			if d.Driver != fabric.DriverDraNet {
				continue
			}
			names = append(names, d.Interface)
			if !slices.Equal(d.IPs, want[d.Interface].Addresses) || !d.Reported || len(d.NotReady) > 0 {
				n.Errorf("claim of pod %s: %+v, wanted %+v", pod, d, want[d.Interface])
			}
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), names); diff != "" {
		n.Errorf("claim of pod %s: interfaces of its devices\n%s", pod, diff)
	}
}

// checked holds what check says in a pod of its NICs.
func (n *node) checked(pod string, names []string, want fabric.Status) {
	n.Helper()
	said := n.verdicts(pod, pod)
	if said["pod-nics"][""] != fabric.Pass {
		n.Errorf("pod %s: pod-nics is %s, wanted pass", pod, said["pod-nics"][""])
	}
	for _, name := range names {
		if have := said["pod-nic-ready"][name]; have != want {
			n.Errorf("pod %s: pod-nic-ready of %s is %s, wanted %s", pod, name, have, want)
		}
	}
}

// A claim may give its interface another MTU in the pod. What each way to return it leaves on the node is what check names,
// for these NICs and no others; so it does in the next pod, which gets what the node has. What follows from a fault that is
// named already is unknown, and never passes.
func TestCheckNamesNICsThatCameBackBare(t *testing.T) {
	if !apart(t) {
		return
	}
	c := planned(t)
	const pass, fail, unknown = fabric.Pass, fabric.Fail, fabric.Unknown
	for _, way := range []struct {
		returns                       string
		linkUp, mtu, address, railway fabric.Status // of the NICs of the pod, afterwards, on the node
		next                          fabric.Status // of the same NICs in the next pod
	}{
		{"whole", pass, pass, pass, pass, pass},
		{"named", pass, fail, fail, unknown, fail},
		{"bare", fail, fail, unknown, unknown, fail},
	} {
		t.Run(way.returns, func(t *testing.T) {
			n := newNode(t, c, way.returns, asPlanned)
			links := n.links(nodeName)
			claim := c.allocate(t, 1).Claims[0]
			names := c.interfacesOf(t, claim)
			want := map[string]map[string]fabric.Status{"link-up": {}, "mtu": {}, "address": {}, "rail-route": {}, "source-rule": {}}
			for name := range links {
				for rule := range want {
					want[rule][name] = pass
				}
			}
			n.judged("before any pod", want)
			if _, err := n.run("worker", allocated(claim, `{"interface":{"mtu":4000}}`)); err != nil {
				t.Fatal(err)
			}
			for name, l := range n.links("worker") {
				is := links[name]
				is.MTU = 4000
				if diff := cmp.Diff(is, l); diff != "" {
					t.Errorf("%s in the pod (-wanted, +has):\n%s", name, diff)
				}
			}
			n.stop("worker")
			if back := n.links(nodeName); len(back) != len(links) {
				t.Fatalf("the node has %d NICs: %v", len(back), back)
			}
			for _, name := range names {
				want["link-up"][name], want["mtu"][name], want["address"][name], want["rail-route"][name] = way.linkUp, way.mtu, way.address, way.railway
				delete(want["source-rule"], name) // of the node, not of the interface: it stays
			}
			n.judged("when the pod has ended", want)
			if _, err := n.run("next", allocated(claim, "")); err != nil {
				t.Fatal(err)
			}
			n.checked("next", names, way.next)
		})
	}
}

// judged holds what check says of the node against what it is to say.
func (n *node) judged(when string, want map[string]map[string]fabric.Status) {
	n.Helper()
	said := n.verdicts(nodeName, nodeName)
	for rule, nics := range want {
		for name, status := range nics {
			if have := said[rule][name]; have != status {
				n.Errorf("%s: %s of %s is %s, wanted %s", when, rule, name, have, status)
			}
		}
	}
}

// A driver that is killed and starts again, over the sockets that it left, gives back what pods have.
func TestKilledDriverGivesBack(t *testing.T) {
	if !apart(t) {
		return
	}
	c := planned(t)
	n := newNode(t, c, "whole", asInCloud)
	before := n.links(nodeName)
	claim := c.allocate(t, 1).Claims[0]
	if _, err := n.run("worker", allocated(claim, "")); err != nil {
		t.Fatal(err)
	}
	if err := n.driver.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = n.driver.Wait() // it was killed
	if _, err := n.run("other", allocated(c.allocate(t, 2).Claims[1], "")); err == nil {
		t.Error("a pod gets NICs without a driver")
	}
	n.startDriver()
	n.stop("worker")
	if diff := cmp.Diff(before, n.links(nodeName)); diff != "" {
		t.Errorf("the node (-before, +after):\n%s", diff)
	}
}

// What cannot be carried out is an error of the pod, with its reason, and the NICs stay where they are.
func TestImpossibleClaimsAreRefused(t *testing.T) {
	if !apart(t) {
		return
	}
	c := planned(t)
	n := newNode(t, c, "whole", asInCloud)
	before := n.links(nodeName)
	claim := c.allocate(t, 1).Claims[0]
	devices := func(change func(*resource.DeviceRequestAllocationResult)) resource.ResourceClaim {
		r := allocated(claim, "")
		for i := range r.Status.Allocation.Devices.Results {
			if d := &r.Status.Allocation.Devices.Results[i]; d.Driver == "dra.net" {
				change(d)
				break
			}
		}
		return r
	}
	for _, bad := range []struct {
		name, why string
		claim     resource.ResourceClaim
	}{
		{"unknown", "is none of node", devices(func(d *resource.DeviceRequestAllocationResult) { d.Device = "pci-0000-00-00-0" })},
		{"elsewhere", "is none of node", devices(func(d *resource.DeviceRequestAllocationResult) { d.Pool = "node2" })},
		{"mistyped", "unknown field", allocated(claim, `{"interface":{"mut":4000}}`)},
	} {
		if _, err := n.run(bad.name, bad.claim); err == nil || !strings.Contains(err.Error(), bad.why) {
			t.Errorf("%s: %v, wanted %q", bad.name, err, bad.why)
		}
	}
	name := c.interfacesOf(t, claim)[0]
	n.sh("ip -n " + nodeName + " link set " + name + " netns switch") // another program took it
	if _, err := n.run("gone", allocated(claim, "")); err == nil || !strings.Contains(err.Error(), "Link not found") {
		t.Errorf("an interface that is gone: %v", err)
	}
	delete(before, name)
	if diff := cmp.Diff(before, n.links(nodeName)); diff != "" {
		t.Errorf("the node (-before, +after):\n%s", diff)
	}
}

// An allocation must be of addresses that differ, or the comparisons above say little.
func TestAddressesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i, nic := range planned(t).nics() {
		for _, of := range []addressing{asPlanned, asInCloud} {
			address := of(i, nic)
			if _, err := netip.ParsePrefix(address); err != nil || seen[address] {
				t.Errorf("%s: %q, %v", nic.NIC, address, err)
			}
			seen[address] = true
		}
	}
}
