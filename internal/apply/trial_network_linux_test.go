package apply

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// programs puts programs that only say how they were called before those of this machine. Each is a shell script, to which
// the text of answers is appended.
func programs(t *testing.T, answers map[string]string) (called func() []string) {
	t.Helper()
	if InLab() {
		t.Skip("a lab host has a network of its own")
	}
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	for _, name := range []string{"netplan", "networkctl", "systemctl", "nmcli"} {
		text := "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>" + log + "\n" + answers[name] + "\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	return func() []string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// Programs are asked for the NICs of the plan alone, and never to apply all that netplan has.
func TestRealNetwork(t *testing.T) {
	netplan := Bundle{Artifacts: []fabric.Artifact{artifact("/etc/netplan/60-railwright.yaml",
		"network: {version: 2, ethernets: {lo: {mtu: 9000}, no-such-nic: {mtu: 9000}}}\n", 0o600)}}
	keyfile := Bundle{Artifacts: []fabric.Artifact{artifact(keyfileFolder+"/railwright-eth1.nmconnection", "[connection]\n", 0o600)}}
	const (
		bothRun   = "" // systemctl is-active: yes
		onlyNM    = `case "$*" in is-active*systemd-networkd) exit 3;; esac`
		lists     = `case "$*" in *DEVICE*) printf 'lo:connected\nwlP9s9:connected\nenP7s7:unmanaged\n';; esac`
		unmanaged = `case "$*" in *DEVICE*) printf 'lo:unmanaged\nwlP9s9:connected\n';; esac`
	)
	for _, c := range []struct {
		name           string
		bundle         Bundle
		systemctl, nms string
		want           []string
	}{
		{"networkd runs", netplan, bothRun, unmanaged, []string{
			"netplan generate", "systemctl is-active --quiet NetworkManager", "nmcli --terse --fields DEVICE,STATE device",
			"systemctl is-active --quiet systemd-networkd", "networkctl reload", "networkctl reconfigure lo"}},
		{"NetworkManager has them", netplan, onlyNM, lists, []string{
			"netplan generate", "systemctl is-active --quiet NetworkManager", "nmcli --terse --fields DEVICE,STATE device",
			"nmcli device set lo managed no", "systemctl is-active --quiet systemd-networkd", "systemctl start systemd-networkd",
			"networkctl reload", "networkctl reconfigure lo"}},
		{"keyfiles", keyfile, bothRun, lists, []string{"nmcli connection reload", "nmcli --wait 15 connection up railwright-eth1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			called := programs(t, map[string]string{"systemctl": c.systemctl, "nmcli": c.nms})
			if _, err := (realNetwork{}).up(t.Context(), c.bundle); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, called()); d != "" {
				t.Error(d)
			}
		})
	}
}

// What fails is said with the program's own words, and ends it there.
func TestRealNetworkFails(t *testing.T) {
	b := Bundle{Artifacts: []fabric.Artifact{artifact("/etc/netplan/60-railwright.yaml", "network: {version: 2, ethernets: {lo: {mtu: 9000}}}\n", 0o600)}}
	called := programs(t, map[string]string{"networkctl": "echo no bus >&2; exit 1"})
	_, err := realNetwork{}.up(t.Context(), b)
	if err == nil || !strings.Contains(err.Error(), "no bus") {
		t.Errorf("%v", err)
	}
	if last := called()[len(called())-1]; last != "networkctl reload" {
		t.Errorf("went on with %q", last)
	}
}

// The way back gives NetworkManager what it had, and stops a networkd that did not run before.
func TestRealNetworkBack(t *testing.T) {
	b := Bundle{Artifacts: []fabric.Artifact{artifact("/etc/netplan/60-railwright.yaml", "network: {version: 2, ethernets: {lo: {mtu: 9000}}}\n", 0o600)}}
	called := programs(t, map[string]string{"nmcli": `case "$*" in *DEVICE*) echo lo:unmanaged;; esac`})
	if err := (realNetwork{}).back(t.Context(), b, before{Managed: []string{"lo"}}); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(called(), "\n")
	for _, want := range []string{"netplan generate", "networkctl reload", "networkctl reconfigure lo", "systemctl stop systemd-networkd.socket systemd-networkd.service", "nmcli device set lo managed yes"} {
		if !strings.Contains(all, want) {
			t.Errorf("without %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "netplan apply") {
		t.Errorf("netplan apply:\n%s", all)
	}
}

// netplan reads the new file together with those that are there; its refusal names the file that will be, and nothing is
// written outside a folder of its own.
func TestGenerates(t *testing.T) {
	if !onPath("netplan") {
		t.Skip("netplan is not installed (package netplan.io)")
	}
	good := []fabric.Artifact{artifact("/etc/netplan/60-railwright.yaml", "network: {version: 2, ethernets: {no-such-nic: {mtu: 9000}}}\n", 0o600)}
	if err := generates(t.Context(), good); err != nil {
		t.Error(err)
	}
	bad := []fabric.Artifact{artifact("/etc/netplan/60-railwright.yaml", "network: {version: 2, ethernets: {no-such-nic: {mtuu: 9000}}}\n", 0o600)}
	if err := generates(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "/etc/netplan/60-railwright.yaml:1:") || !strings.Contains(err.Error(), "mtuu") {
		t.Errorf("%v", err)
	}
}

func TestTrialBounds(t *testing.T) {
	for _, c := range []struct {
		id     string
		within int
		ok     bool
	}{{"A1", 90, true}, {"A1", MinTrial, true}, {"A1", MaxTrial, true}, {"A1", MinTrial - 1, false}, {"A1", MaxTrial + 1, false}, {"", 90, false},
		{"../x", 90, false}, {"a b", 90, false}, {strings.Repeat("A", 65), 90, false}} {
		if err := (&Trial{ID: c.id, Within: c.within}).validate(); (err == nil) != c.ok {
			t.Errorf("%q, %d: %v", c.id, c.within, err)
		}
	}
}

// A NIC without a table has the route of its subnet from the kernel alone, and no rule.
func TestNoTable(t *testing.T) {
	twin := fabric.NICAddress{NIC: "lo", Address: netip.MustParsePrefix("10.7.7.1/24")}
	if routes := routesOf(twin); len(routes) > 0 {
		t.Errorf("%v", routes)
	}
	differs, err := nicsDiffer(Bundle{MTU: 9000, Addresses: []fabric.NICAddress{twin}, Bare: []string{"lo", "no-such-nic"}})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(differs, "\n")
	for _, want := range []string{"lo: address 10.7.7.1/24 is missing", "lo: has no link-local IPv4 address", "no-such-nic: no such interface"} {
		if !strings.Contains(all, want) {
			t.Errorf("without %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "rule") || strings.Contains(all, "route") {
		t.Errorf("asks for routes of no table:\n%s", all)
	}
}
