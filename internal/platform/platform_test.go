package platform

import (
	"flag"
	"fmt"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// plan returns a cluster of hosts with eight NICs on a /31 per cable or in rail subnets.
func plan(hosts int, transport fabric.Transport, scheme fabric.Scheme) *fabric.Plan {
	p := &fabric.Plan{Name: "pod1", Platform: "baremetal", Transport: transport, MTU: 9000,
		Addressing: fabric.Addressing{Scheme: scheme}}
	for h := range hosts {
		node := fabric.Node{Name: fmt.Sprintf("host%05d", h+1)}
		addresses := fabric.NodeAddresses{Node: node.Name}
		for r := range 8 {
			nic := fabric.NICAddress{NIC: fmt.Sprintf("eth%d", r+1), Rail: r + 1, Table: 101 + r}
			switch scheme {
			case fabric.P2P31:
				at := h*16 + 2*r
				nic.Gateway = netip.AddrFrom4([4]byte{10, 64 + byte(at>>16), byte(at >> 8), byte(at)})
				nic.Address = netip.PrefixFrom(nic.Gateway.Next(), 31)
			case fabric.Rail24:
				nic.Address = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(r), byte(h + 1)}), 24)
				nic.Gateway = netip.AddrFrom4([4]byte{10, 64, byte(r), 254})
			case fabric.Flat:
				at := h*8 + r + 1
				nic.Address = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64 + byte(at>>16), byte(at >> 8), byte(at)}), 10)
			}
			node.NICs = append(node.NICs, nic.NIC)
			addresses.NICs = append(addresses.NICs, nic)
		}
		p.Nodes = append(p.Nodes, node)
		if transport == fabric.RoCE {
			p.Addressing.Nodes = append(p.Addressing.Nodes, addresses)
		}
	}
	return p
}

func artifacts(t testing.TB, p *fabric.Plan) iter.Seq[fabric.Artifact] {
	t.Helper()
	seq, err := Artifacts(p)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func TestArtifacts(t *testing.T) {
	for _, c := range []struct {
		transport fabric.Transport
		scheme    fabric.Scheme
		want      []string
	}{
		{fabric.RoCE, fabric.P2P31, []string{
			"/etc/sysctl.d/60-railwright.conf",
			"/etc/systemd/system.conf.d/60-railwright.conf",
			"/etc/security/limits.d/60-railwright.conf",
			"/etc/default/grub.d/60-railwright.cfg",
			"/usr/local/sbin/railwright-acs",
			"/etc/systemd/system/railwright-acs.service",
			"/etc/systemd/system/multi-user.target.d/60-railwright-acs.conf",
			"/etc/systemd/system/systemd-networkd-wait-online.service.d/60-railwright.conf",
			"/etc/netplan/60-railwright.yaml",
			"/etc/NetworkManager/conf.d/60-railwright.conf",
		}},
		{fabric.InfiniBand, fabric.None, []string{
			"/etc/sysctl.d/60-railwright.conf",
			"/etc/systemd/system.conf.d/60-railwright.conf",
			"/etc/security/limits.d/60-railwright.conf",
			"/etc/default/grub.d/60-railwright.cfg",
			"/usr/local/sbin/railwright-acs",
			"/etc/systemd/system/railwright-acs.service",
			"/etc/systemd/system/multi-user.target.d/60-railwright-acs.conf",
		}},
	} {
		t.Run(string(c.transport), func(t *testing.T) {
			var got []string
			for a := range artifacts(t, plan(2, c.transport, c.scheme)) {
				got = append(got, a.Target+a.Path)
				if c.transport == fabric.InfiniBand && strings.Contains(string(a.Content), "net.ipv4") {
					t.Errorf("%s mentions IP on InfiniBand:\n%s", a.Path, a.Content)
				}
			}
			var want []string
			for _, host := range []string{"host00001", "host00002"} {
				for _, file := range c.want {
					want = append(want, host+file)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", c.transport, got, want)
			}
		})
	}
}

// Every file of two hosts with eight NICs, in order.
func TestGolden(t *testing.T) {
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24, fabric.Flat} {
		t.Run(string(scheme), func(t *testing.T) {
			var got strings.Builder
			for a := range artifacts(t, plan(2, fabric.RoCE, scheme)) {
				content := a.Content
				if a.Mode == 0o755 {
					content = []byte("(a script that is the same everywhere)\n")
				}
				fmt.Fprintf(&got, "-- %s%s %04o --\n%s", a.Target, a.Path, a.Mode, content)
			}
			file := filepath.Join("testdata", string(scheme)+".txtar")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", scheme, diff)
			}
		})
	}
}

// A reader may stop early, and start again.
func TestArtifactsStops(t *testing.T) {
	seq, n := artifacts(t, plan(2, fabric.RoCE, fabric.P2P31)), 0
	for range seq {
		if n++; n == 12 {
			break
		}
	}
	if again := len(slices.Collect(seq)); n != 12 || again != 20 {
		t.Errorf("%d artifacts, then %d, want 12 and 20", n, again)
	}
}

func TestSameInputSameBytes(t *testing.T) {
	index := func() string {
		i, err := render.NewIndex(artifacts(t, plan(64, fabric.RoCE, fabric.Rail24)))
		if err != nil {
			t.Fatal(err)
		}
		_, sum, err := render.EncodeIndex(i)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := index()
	for range 3 {
		if again := index(); again != first {
			t.Errorf("index %s, then %s", first, again)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		want string
		make func(p *fabric.Plan)
	}{
		{`platform "spark": no files are rendered for transport "infiniband"`, func(p *fabric.Plan) { p.Platform, p.Transport = "spark", fabric.InfiniBand }},
		{`platform "cray": unknown; known: baremetal, vsphere, gke, spark`, func(p *fabric.Plan) { p.Platform = "cray" }},
		{`platform "baremetal": no files are rendered for transport "efa"`, func(p *fabric.Plan) { p.Transport = "efa" }},
		{`1 of 2 nodes have addresses`, func(p *fabric.Plan) { p.Addressing.Nodes = p.Addressing.Nodes[:1] }},
		{`node "host00001" has the addresses of 8 NICs of "x"`, func(p *fabric.Plan) { p.Addressing.Nodes[0].Node = "x" }},
		{`node "host00002": interface name "a;b"`, func(p *fabric.Plan) { p.Addressing.Nodes[1].NICs[7].NIC = "a;b" }},
		{`node "host00001": interface "eth1" has no address`, func(p *fabric.Plan) { p.Addressing.Nodes[0].NICs[0].Address = netip.Prefix{} }},
	} {
		t.Run(c.want, func(t *testing.T) {
			p := plan(2, fabric.RoCE, fabric.P2P31)
			c.make(p)
			if seq, err := Artifacts(p); err == nil || !strings.Contains(err.Error(), c.want) || seq != nil {
				t.Errorf("sequence %v, error %v, want %q", seq != nil, err, c.want)
			}
		})
	}
}

func TestNeighbours(t *testing.T) {
	for _, c := range []struct {
		scheme      fabric.Scheme
		hosts, want int
	}{
		{fabric.P2P31, 100, 8},           // the switch on each cable
		{fabric.Rail24, 100, 8 * 100},    // 99 hosts and the gateway on each rail
		{fabric.Flat, 100, 8 * (99 * 8)}, // each NIC can meet every NIC of the others
		{fabric.Flat, 1, 0},
	} {
		t.Run(fmt.Sprintf("%s %d hosts", c.scheme, c.hosts), func(t *testing.T) {
			p := plan(c.hosts, fabric.RoCE, c.scheme)
			if got := countNeighbours(p.Addressing).of(p.Addressing.Nodes[0]); got != c.want {
				t.Errorf("%s, %d hosts: %d neighbours, want %d", c.scheme, c.hosts, got, c.want)
			}
			raised := false
			for a := range artifacts(t, p) {
				raised = raised || strings.Contains(string(a.Content), "gc_thresh3")
			}
			if raised != (c.want > 512) {
				t.Errorf("%s, %d hosts: neighbour table raised %v", c.scheme, c.hosts, raised)
			}
		})
	}
}

// A switch of an OS that is rendered gives a file with what it leaves out; every other one is listed as missing.
func TestSwitches(t *testing.T) {
	p := plan(1, fabric.RoCE, fabric.P2P31)
	p.Switches = []fabric.Switch{
		{Name: "leaf1", OS: "sonic", MTU: 9000, Ports: []fabric.SwitchPort{{Name: "Ethernet0", Address: netip.MustParsePrefix("10.64.0.0/31")}}},
		{Name: "leaf2", OS: "no-os"},
		{Name: "leaf3"},
	}
	var got []string
	for a := range artifacts(t, p) {
		if strings.HasPrefix(a.Target, "leaf") {
			got = append(got, a.Target+a.Path)
			if len(a.Omits) == 0 || a.SHA256 == "" || !strings.Contains(string(a.Content), "10.64.0.0/31") {
				t.Errorf("%+v", a)
			}
		}
	}
	if !slices.Equal(got, []string{"leaf1/etc/sonic/railwright.json"}) {
		t.Errorf("%q", got)
	}
	want := []fabric.Missing{
		{What: "leaf2", Source: "switch-config", Reason: `switch OS "no-os": no configuration is rendered for it in this version; known: `},
		{What: "leaf3", Source: "switch-config", Reason: `switch OS "": no configuration is rendered for it in this version; known: `},
	}
	missing := slices.DeleteFunc(Missing(p), func(m fabric.Missing) bool { return m.Source != "switch-config" })
	for i := range missing { // which are known is not this test's
		before, _, _ := strings.Cut(missing[i].Reason, "known: ")
		missing[i].Reason = before + "known: "
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Error(diff)
	}
	p.Platform = "vsphere"
	if m := Missing(p); m != nil {
		t.Errorf("%v of a platform that is not rendered", m)
	}
	for range artifacts(t, func() *fabric.Plan { p.Platform = "baremetal"; return p }()) {
		break // a reader may stop before the switches
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestLists(t *testing.T) {
	for _, p := range platforms() {
		seen := make(map[string]bool)
		for _, a := range p.formats {
			if a.ID == "" || a.Doc == "" || len(a.Transports) == 0 || bit(a.Render != nil)+bit(a.EachNIC != nil)+bit(a.Several != nil) != 1 || seen[a.ID] {
				t.Errorf("%s: artifact %q has no id of its own, no doc line or no transport", p.name, a.ID)
			}
			seen[a.ID] = true
		}
		for _, f := range p.cluster {
			if f.ID == "" || f.Doc == "" || f.Check == nil || bit(f.Render != nil)+bit(f.Several != nil) != 1 || seen[f.ID] {
				t.Errorf("%s: cluster format %q has no id of its own or no doc line", p.name, f.ID)
			}
			seen[f.ID] = true
		}
		for _, f := range p.switches {
			if f.ID == "" || f.Doc == "" || f.Check == nil || f.Render == nil || seen[f.ID] {
				t.Errorf("%s: switch format %q has no id of its own or no doc line", p.name, f.ID)
			}
			seen[f.ID] = true
		}
	}
}

// All artifacts of a cluster with their sums and the index, as railwright render makes them.
func BenchmarkArtifacts(b *testing.B) {
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Flat} {
		for _, hosts := range []int{256, 4096, 16384} {
			p := plan(hosts, fabric.RoCE, scheme)
			b.Run(fmt.Sprintf("%s/%d", scheme, hosts), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					index, err := render.NewIndex(artifacts(b, p))
					if err != nil {
						b.Fatal(err)
					}
					if _, _, err := render.EncodeIndex(index); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
