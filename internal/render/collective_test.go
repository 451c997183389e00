package render

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// wired is a machine of a wiring with some of its ports cabled.
func wired(wiring fabric.Wiring, nodes int, ports ...int) Wired {
	w := Wired{Node: "spark1", Nodes: nodes, Wiring: wiring, Management: "enP7s7", Addresses: fabric.NodeAddresses{Node: "spark1"}}
	for _, n := range ports {
		port := fabric.NodePort{Node: "spark1", Number: n}
		for k, domain := range []string{"p", "P2p"} {
			t := fabric.Twin{PCI: fmt.Sprintf("%04d:01:00.%d", 2*k, n), NIC: fmt.Sprintf("en%s1s0f%dnp%d", domain, n, n), HCA: fmt.Sprintf("roce%s1s0f%d", domain, n)}
			port.Twins = append(port.Twins, t)
			w.Addresses.NICs = append(w.Addresses.NICs, fabric.NICAddress{NIC: t.NIC, Address: netip.MustParsePrefix(fmt.Sprintf("10.64.%d.1/24", 2*n+k))})
		}
		w.Ports = append(w.Ports, port)
	}
	return w
}

// sourced is the environment that a shell has after it read a file.
func sourced(t *testing.T, content []byte) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nccl.env")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("env", "-i", "sh", "-c", `set -a; . "$0"; set +a; /usr/bin/env -0`, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for v := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		if name != "PWD" && name != "_" && name != "SHLVL" && name != "OLDPWD" {
			found[name] = value
		}
	}
	return found
}

// A shell, and a reader of NAME=VALUE lines as docker and systemd are, see the same.
func TestCollectiveEnvironment(t *testing.T) {
	const all = "=rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1"
	crossed := map[string]string{"NCCL_IB_MERGE_NICS": "0", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_NET_PLUGIN": "none"}
	for _, c := range []struct {
		name      string
		w         Wired
		hca       string
		bootstrap string
		more      map[string]string
	}{
		{"pair", wired(fabric.WiredPair, 2, 1), "=rocep1s0f1,roceP2p1s0f1", "enp1s0f1np1", nil},
		{"pair by port 0", wired(fabric.WiredPair, 2, 0), "=rocep1s0f0,roceP2p1s0f0", "enp1s0f0np0", nil},
		{"pair by two cables", wired(fabric.WiredPair, 2, 0, 1), all, "enp1s0f0np0", crossed},
		{"switch", wired(fabric.WiredSwitch, 8, 1), "=rocep1s0f1,roceP2p1s0f1", "enp1s0f1np1", nil},
		{"mesh", wired(fabric.WiredRing, 3, 0, 1), all, "enP7s7", crossed},
		{"ring of six", wired(fabric.WiredRing, 6, 0, 1), all, "enP7s7", map[string]string{"NCCL_IB_MERGE_NICS": "0", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_NET_PLUGIN": "none", "NCCL_ALGO": "Ring"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := CollectiveEnvironment(c.w)
			want := map[string]string{"NCCL_NET": "IB", "NCCL_IB_HCA": c.hca, "NCCL_SOCKET_IFNAME": "=" + c.bootstrap}
			for _, name := range []string{"UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"} {
				want[name] = c.bootstrap
			}
			for name, value := range c.more {
				want[name] = value
			}
			lines := make(map[string]string)
			for line := range strings.Lines(string(a.Content)) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, "#") {
					if strings.Contains(line, "=") {
						t.Errorf("a comment with '=': %q", line)
					}
					continue
				}
				name, value, _ := strings.Cut(line, "=")
				lines[name] = value
			}
			if fmt.Sprint(lines) != fmt.Sprint(want) || fmt.Sprint(sourced(t, a.Content)) != fmt.Sprint(want) {
				t.Errorf("lines %v\nshell %v\nwant  %v", lines, sourced(t, a.Content), want)
			}
			if a.Path != "/etc/railwright/nccl.env" || a.Mode != 0o644 || len(a.Omits) > 0 {
				t.Errorf("%s %o, omits %q", a.Path, a.Mode, a.Omits)
			}
			for name, value := range lines {
				if strings.ContainsAny(value, " \t\"'") || name == "NCCL_IB_GID_INDEX" {
					t.Errorf("%s=%s", name, value)
				}
			}
		})
	}
}

// What the plan does not know is left out and said.
func TestCollectiveEnvironmentMissing(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Wired)
		omits  string
		absent string
	}{
		{"no ordinary network in a ring", func(w *Wired) { w.Management = "" }, "ordinary network", "NCCL_SOCKET_IFNAME"},
		{"no ports", func(w *Wired) { w.Ports = nil }, "NCCL_IB_HCA", "NCCL_IB_HCA"},
		{"no addresses on a switch", func(w *Wired) { w.Wiring, w.Addresses.NICs = fabric.WiredSwitch, nil }, "has an address", "GLOO_SOCKET_IFNAME"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := wired(fabric.WiredRing, 3, 0, 1)
			c.change(&w)
			a := CollectiveEnvironment(w)
			if have := strings.Join(a.Omits, "\n"); !strings.Contains(have, c.omits) {
				t.Errorf("omits %q, want %q", have, c.omits)
			}
			if _, ok := sourced(t, a.Content)[c.absent]; ok {
				t.Errorf("%s is set:\n%s", c.absent, a.Content)
			}
		})
	}
	w := wired(fabric.WiredSwitch, 4, 1)
	w.Traffic = &fabric.Traffic{Classes: []fabric.TrafficClass{{Name: "cnp", DSCP: 48}, {Name: "roce", DSCP: 26}}}
	if env := sourced(t, CollectiveEnvironment(w).Content); env["NCCL_IB_TC"] != "104" {
		t.Errorf("%v", env)
	}
	bare := wired(fabric.WiredPair, 2, 1)
	bare.Addresses.NICs = bare.Addresses.NICs[1:] // the first twin has no address
	if env := sourced(t, CollectiveEnvironment(bare).Content); env["NCCL_SOCKET_IFNAME"] != "=enP2p1s0f1np1" {
		t.Errorf("%v", env)
	}
}
