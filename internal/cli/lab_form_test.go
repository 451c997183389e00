//go:build linux

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// exampleIn writes the example with this many hosts in an addressing scheme, or an example of DGX Spark of that name with as many
// as it has, and returns its path.
func exampleIn(t *testing.T, scheme string, hosts int) string {
	t.Helper()
	r := call("", "init", "--example", "roce-mi300x", "--nodes", strconv.Itoa(hosts))
	if strings.HasPrefix(scheme, "spark-") {
		r = call("", "init", "--example", scheme)
		scheme = "twin24"
	}
	text := strings.Replace(r.stdout, "scheme: p2p31 ", "scheme: "+scheme+" ", 1)
	if r.status != 0 || !strings.Contains(text, "scheme: "+scheme+" ") {
		t.Fatal(r)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// output runs a shell script on a machine of the lab, and returns what it prints.
func (l *testLab) output(machine, script string) string {
	l.t.Helper()
	r := l.run("lab", "exec", machine, "--", "bash", "-c", script)
	l.want(r, 0)
	return r.stdout
}

// eachNIC is a loop of a shell over the NICs of a host.
func eachNIC(body string) string { return "for n in 1 2 3 4 5 6 7 8; do " + body + "; done" }

// sent counts the packets that each NIC of a host has sent.
func (l *testLab) sent(node string) (packets [8]int) {
	l.t.Helper()
	for i, word := range strings.Fields(l.output(node, eachNIC("cat /sys/class/net/eth$n/statistics/tx_packets"))) {
		n, err := strconv.Atoi(word)
		if err != nil {
			l.t.Fatal(err)
		}
		packets[i] = n
	}
	return packets
}

// unbound sends datagrams from no address and no device of host1 to every NIC of host2, and returns by which NICs
// of host1 they left: those of which each sent more than LLDP, ARP and the kernel's own packets do.
func (l *testLab) unbound() string {
	l.t.Helper()
	const each = 100
	before := l.sent("host1")
	l.output("host1", eachNIC(fmt.Sprintf("for i in {1..%d}; do echo x >/dev/udp/10.64.0.$((15 + 2 * n))/9; done 2>/dev/null", each))+"; true")
	var by []string
	for i, now := range l.sent("host1") {
		if now-before[i] >= each {
			by = append(by, fmt.Sprintf("eth%d", i+1))
		}
	}
	return strings.Join(by, " ")
}

// printedNetplan is host1 as the RoCE guide prints its /31 scheme (2.4.2.1), with the addresses of the example.
func printedNetplan() string {
	var b strings.Builder
	b.WriteString("network:\n  version: 2\n  renderer: networkd\n  ethernets:\n")
	for n := range 8 {
		gateway, table := fmt.Sprintf("10.64.0.%d", 2*n), 101+n
		fmt.Fprintf(&b, "    eth%d: {mtu: 9000, addresses: [10.64.0.%d/31], routes: [{to: default, via: %s, table: %d, scope: global}], "+
			"routing-policy: [{from: %s/31, table: %d, priority: 0}, {to: %s/16, table: %d, priority: 1}]}\n",
			n+1, 2*n+1, gateway, table, gateway, table, gateway, table)
	}
	return b.String()
}

// A host that was set up as printed, under the real netplan and systemd-networkd: all traffic that is bound to no address leaves by one
// NIC, the first whose link came up. The check names it, and which one it is now.
func TestLabAsPrinted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ first, rest, want string }{
		{"1", "2 3 4 5 6 7 8", "eth1"},
		{"6", "1 2 3 4 5 7 8", "eth6"},
	} {
		t.Run(tt.want+" first", func(t *testing.T) {
			t.Parallel()
			l := newTestLab(t)
			l.up()
			if r := l.run("lab", "exec", "host1", "--", "netplan", "info"); r.status != 0 {
				t.Skipf("netplan is not installed (package netplan.io): %s", r)
			}
			file := filepath.Join(t.TempDir(), "printed.yaml")
			if err := os.WriteFile(file, []byte(printedNetplan()), 0o600); err != nil {
				t.Fatal(err)
			}
			plug := func(ports, state string) {
				l.output("leaf1", "for n in "+ports+"; do ip link set Ethernet$((4 * n - 4)) "+state+"; done")
			}
			plug(tt.first+" "+tt.rest, "down")
			// The networkd of this host is the one in its network namespace: the hosts of a lab see each other's processes.
			l.output("host1", `for p in $(pidof systemd-networkd); do [ $(readlink /proc/$p/ns/net) = $(readlink /proc/self/ns/net) ] && kill $p; done
				for n in 1 2 3 4 5 6 7 8; do ip address flush dev eth$n; ip rule del priority $((10100 + n)); done
				install -m 600 `+file+` /etc/netplan/60-railwright.yaml && netplan generate
				/lib/systemd/systemd-networkd </dev/null >/run/networkd.log 2>&1 &
				sleep 0.5`)
			rules := func(n int) string {
				return fmt.Sprintf(`for i in {1..300}; do [ $(ip rule show priority 1 | wc -l) = %d ] && exit; sleep 0.05; done; exit 1`, n)
			}
			plug(tt.first, "up")
			l.output("host1", rules(1))
			plug(tt.rest, "up")
			l.output("host1", rules(8))
			l.shadowedBy(tt.want)
		})
	}
}

// shadowedBy wants all unbound traffic of host1 to leave by a NIC, and the check to say so.
func (l *testLab) shadowedBy(nic string) {
	l.t.Helper()
	if got := l.unbound(); got != nic {
		l.t.Errorf("unbound traffic to all NICs of host2 leaves by %q, want %s\n%s", got, nic, l.output("host1", "ip rule"))
	}
	for _, f := range l.findings(1).Findings {
		if f.ID != "rule-shadow" || f.Subject.Node != "host1" {
			continue
		}
		if f.Status != fabric.Fail || !strings.Contains(f.Why, "("+nic+"). Which one that is changes with the order") {
			l.t.Errorf("%s: %s, want %s", f.Status, f.Why, nic)
		}
		return
	}
	l.t.Error("rule-shadow gave no verdict on host1")
}

// The same as a fault: rules of one selector and priority, in the order in which the fault names the NICs; and what installing
// them again in another order changes. Nothing but the rules is touched, and the mesh, which binds each echo to its NIC, passes.
func TestLabPrintedRules(t *testing.T) {
	t.Parallel()
	l := newTestLab(t)
	l.up("--fault", "printed-rules=host1:eth4,host1:eth1,host1:eth2,host1:eth3,host1:eth5,host1:eth6,host1:eth7,host1:eth8")
	l.shadowedBy("eth4")
	if mesh, _ := l.bench(); mesh.Summary().Pass != 128 {
		t.Errorf("%+v", mesh.Summary())
	}
	l.output("host1", "ip rule del priority 1 table 104 && ip rule add priority 1 to 10.64.0.6/16 table 104")
	l.shadowedBy("eth1")
	// The fix of the finding removes them. Without them unbound traffic has no route: nothing of ours sends it.
	for _, f := range l.findings(1).Findings {
		if f.Status == fabric.Fail {
			l.output("host1", f.Fix)
		}
	}
	l.findings(0)
	if got := l.unbound(); got != "" {
		t.Errorf("without the rules it leaves by %q", got)
	}
}

// wrongMACs lists the entries of a machine's neighbour table that hold, for an address of host1, another NIC's MAC.
func (l *testLab) wrongMACs(machine string, address func(n int) string) (wrong, right []string) {
	l.t.Helper()
	macs := strings.Fields(l.output("host1", eachNIC("cat /sys/class/net/eth$n/address")))
	for line := range strings.Lines(l.output(machine, "ip -4 neigh show")) {
		words := strings.Fields(line) // 10.64.1.1 dev eth2 lladdr 02:00:00:00:00:01 REACHABLE
		for n, mac := range macs {
			switch {
			case len(words) < 6 || words[0] != address(n):
			case words[4] == mac:
				right = append(right, words[0])
			default:
				wrong = append(wrong, words[0])
			}
		}
	}
	return wrong, right
}

// Several subnets on one layer 2: with the kernel's defaults the wrong NIC answers ARP, and the sysctls that are rendered for a scheme
// with shared subnets cure it.
func TestLabOneLayer2(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scheme, asks string
		address      func(int) string
	}{
		{"rail24", "host2", func(n int) string { return fmt.Sprintf("10.64.%d.1", n) }},
		{"p2p31", "leaf1", func(n int) string { return fmt.Sprintf("10.64.0.%d", 2*n+1) }},
	} {
		t.Run(tt.scheme, func(t *testing.T) {
			t.Parallel()
			l := newTestLab(t)
			l.up("-f", exampleIn(t, tt.scheme, 2), "--fault", "one-layer2=host1")
			forget := func() {
				for _, machine := range []string{"host1", "host2", "leaf1"} {
					l.output(machine, "ip neigh flush all")
				}
			}
			var mesh fabric.Mesh
			var wrong []string
			status := 0
			for range 20 { // the first answer wins, and the right one may
				forget()
				mesh, status = l.bench()
				if wrong, _ = l.wrongMACs(tt.asks, tt.address); len(wrong) > 0 && status == 1 {
					break
				}
			}
			if len(wrong) == 0 || status != 1 || mesh.Summary().Fail == 0 {
				t.Errorf("no NIC of host1 answers for another; bench exits with %d, %+v\n%s", status, mesh.Summary(), l.output(tt.asks, "ip neigh"))
			}
			// The rule that compares neighbour tables names each NIC for which another one answered; those of the leaf are not collected.
			if tt.scheme == "rail24" && l.run("rule", "arp-owner").status == 0 {
				var want []string
				for n := range 8 {
					if slices.Contains(wrong, tt.address(n)) {
						want = append(want, fmt.Sprintf("%s host1:eth%d", fabric.CauseARPFlux, n+1))
					}
				}
				if got := blamed(l.findings(1)); !slices.Equal(want, got) {
					t.Errorf("blamed %q, want %q", got, want)
				}
			}
			if tt.scheme == "rail24" {
				l.want(l.run("apply", "--lab"), 0) // the rendered files
			} else { // the same settings by hand, for a scheme whose files leave them out
				l.output("host1", eachNIC("cd /proc/sys/net/ipv4/conf/eth$n && echo 2 >arp_ignore && echo 1 >arp_announce"))
			}
			forget()
			mesh, _ = l.bench()
			wrong, right := l.wrongMACs(tt.asks, tt.address)
			if len(wrong) > 0 || len(right) != 8 || mesh.Summary().Pass != 128 {
				t.Errorf("after the fix the tables hold wrong %v, right %v; %+v", wrong, right, mesh.Summary())
			}
		})
	}
}
