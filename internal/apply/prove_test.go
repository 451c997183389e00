package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func TestUnitOf(t *testing.T) {
	for path, want := range map[string]string{
		"/etc/systemd/system/acs.service":                                               "acs.service",
		"/etc/systemd/system/systemd-networkd-wait-online.service.d/60-railwright.conf": "systemd-networkd-wait-online.service",
		"/etc/systemd/system/a.service.d/notes.txt":                                     "",
		"/etc/systemd/system/multi-user.target.wants/acs.service":                       "",
		"/etc/systemd/system/a.service.d/deeper/x.conf":                                 "",
		"/etc/systemd/system/readme":                                                    "",
		"/etc/systemd/system.conf.d/60-railwright.conf":                                 "",
		"/usr/lib/systemd/system/acs.service":                                           "",
		"/etc/NetworkManager/system-connections/eth1.nmconnection":                      "",
		"/etc/systemd/system/":                                                          "",
	} {
		if got := unitOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// What no prover knows is rendered, and says so; so is each file of which nothing can be seen.
func TestProveAll(t *testing.T) {
	b := Bundle{Node: "host1", Addresses: []fabric.NICAddress{{NIC: "eth1"}, {NIC: "eth10"}}}
	for _, path := range []string{"/etc/netplan/60-railwright.yaml", "/etc/default/grub.d/60-railwright.cfg", "/etc/sysctl.d/60-railwright.conf", "/etc/systemd/system/no-such-unit.service.d/x.conf"} {
		b.Artifacts = append(b.Artifacts, artifact(path, "kernel.numa_balancing = 0\n", 0o644))
	}
	const written = "it was written, and nothing on a lab host reads it"
	machine := "kernel.numa_balancing: belongs to the whole machine, not to a lab host; no value of it is in effect"
	networkd := []string{"netplan generate", "systemd-networkd, by which the kernel has MTU, address, routes and rule of 2 NICs"}
	for _, c := range []struct {
		name    string
		in      Activation
		netplan fabric.Proof
	}{
		{"networkd", Activation{Network: ByNetworkd}, fabric.Proof{Level: fabric.Run, By: networkd}},
		{"a NIC that did not follow", Activation{Network: ByNetworkd, Pending: []string{"eth10: networkd reports configuring", "net.x: is 1"}},
			fabric.Proof{Level: fabric.Parsed, By: networkd[:1], Reason: "not in effect: eth10: networkd reports configuring"}},
		{"without networkd", Activation{Network: ByNetlink, Reason: "netplan is not installed"},
			fabric.Proof{Level: fabric.Rendered, Reason: "the NICs were configured by netlink: netplan is not installed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, refused := proveAll(t.Context(), b, c.in)
			c.netplan.Path = b.Artifacts[0].Path
			want := []fabric.Proof{c.netplan, {Level: fabric.Rendered, Reason: written}, {Level: fabric.Rendered, Reason: machine}, got[3]}
			for i := range want {
				want[i].Path = b.Artifacts[i].Path
			}
			if diff := cmp.Diff(want, got); diff != "" || len(refused) > 0 {
				t.Errorf("refused %q\n%s", refused, diff)
			}
			// systemd-analyze is not on every machine; without it, and without the unit, nothing was parsed.
			if got[3].Level != fabric.Rendered || !strings.Contains(got[3].Reason, "not installed") {
				t.Errorf("%+v", got[3])
			}
			if err := b.proofsFit(&Activation{Proofs: got}); err != nil {
				t.Error(err)
			}
		})
	}
}

// An answer must say of each file how far it was proved, and by what.
func TestProofsFit(t *testing.T) {
	b := Bundle{Artifacts: []fabric.Artifact{artifact("/etc/a", "x", 0o600), artifact("/etc/b", "y", 0o600)}}
	right := []fabric.Proof{{Path: "/etc/a", Level: fabric.Parsed, By: []string{"a parser"}}, {Path: "/etc/b", Level: fabric.Rendered, Reason: "nothing reads it"}}
	for _, c := range []struct {
		name string
		edit func([]fabric.Proof) []fabric.Proof
		err  string
	}{
		{"right", func(p []fabric.Proof) []fabric.Proof { return p }, ""},
		{"one is missing", func(p []fabric.Proof) []fabric.Proof { return p[:1] }, "the answer has 1 proof of 2"},
		{"in another order", func(p []fabric.Proof) []fabric.Proof { slices.Reverse(p); return p }, `the answer has "rendered" for "/etc/b" instead of a proof of "/etc/a"`},
		{"run by nothing", func(p []fabric.Proof) []fabric.Proof { p[1].Level = fabric.Run; return p }, `the answer has "run" for "/etc/b" instead of a proof of "/etc/b"`},
		{"rendered for no reason", func(p []fabric.Proof) []fabric.Proof { p[1].Reason = ""; return p }, `the answer has "rendered" for "/etc/b" instead of a proof of "/etc/b"`},
		{"no level", func(p []fabric.Proof) []fabric.Proof { p[0].Level = ""; return p }, `the answer has "" for "/etc/a" instead of a proof of "/etc/a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := b.proofsFit(&Activation{Proofs: c.edit(slices.Clone(right))})
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
	if err := b.proofsFit(nil); err != nil {
		t.Errorf("of a real host, on which nothing is activated: %v", err)
	}
}
