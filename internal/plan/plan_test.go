package plan

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parts is a small catalog of switches.
func parts() *catalog.Catalog {
	port := map[string]catalog.PortName{"sonic": {Format: "Ethernet%d", First: 0, Step: 4}}
	return &catalog.Catalog{
		Switches: map[string]catalog.SwitchModel{
			"e64":  {Fabric: "ethernet", Ports: catalog.Figure{Value: 64}, PortRate: catalog.Figure{Value: 400}, OS: port},
			"e512": {Fabric: "ethernet", Ports: catalog.Figure{Value: 512}, OS: port},
			"e8":   {Fabric: "ethernet", Ports: catalog.Figure{Value: 8}, PortRate: catalog.Figure{Value: 400}, OS: port},
			"i64":  {Fabric: "infiniband", Ports: catalog.Figure{Value: 64}, OS: map[string]catalog.PortName{"a": {Format: "%d", Step: 1}, "b": {Format: "%d", Step: 1}}},
			"one":  {Fabric: "ethernet", Ports: catalog.Figure{Value: 1}, OS: port},
		},
	}
}

func cluster(hosts int, nics string, scheme fabric.Scheme, pool string) *intent.Cluster {
	return &intent.Cluster{
		Metadata: intent.Metadata{Name: "pod1"}, Platform: intent.Baremetal, Launcher: intent.SSH,
		Nodes: []intent.NodeGroup{{Names: fmt.Sprintf("host[1-%d]", hosts), NICs: nics}},
		Fabric: intent.Fabric{
			Kind: fabric.RoCE, MTU: 9000, Leaf: &intent.Leaf{Model: "e64", OS: "sonic"},
			Addressing: &intent.Addressing{Scheme: scheme, Pool: netip.MustParsePrefix(pool)},
		},
	}
}

func mustPlan(t *testing.T, c *intent.Cluster) *fabric.Plan {
	t.Helper()
	p, err := New(c, parts())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGolden(t *testing.T) {
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24, fabric.Flat} {
		t.Run(string(scheme), func(t *testing.T) {
			got, err := json.MarshalIndent(mustPlan(t, cluster(2, "eth[1-8]", scheme, "10.64.0.0/16")), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", string(scheme)+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Single addresses, calculated by hand.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		scheme           fabric.Scheme
		hosts            int
		nics             string
		host, rail       int // from 0
		address, gateway string
		table            int
	}{
		{fabric.P2P31, 2, "eth[1-8]", 0, 0, "10.64.0.1/31", "10.64.0.0", 101},
		{fabric.P2P31, 2, "eth[1-8]", 1, 7, "10.64.0.31/31", "10.64.0.30", 108},
		{fabric.P2P31, 2, "eth[1-5]", 1, 4, "10.64.0.25/31", "10.64.0.24", 105}, // blocks of 16
		{fabric.P2P31, 2, "eth1", 1, 0, "10.64.0.3/31", "10.64.0.2", 101},       // blocks of 2
		{fabric.P2P31, 4096, "eth[1-8]", 4095, 7, "10.64.255.255/31", "10.64.255.254", 108},
		{fabric.Rail24, 8, "eth[1-8]", 0, 0, "10.64.0.1/24", "10.64.0.254", 101},
		{fabric.Rail24, 8, "eth[1-8]", 7, 7, "10.64.7.8/24", "10.64.7.254", 108},
		{fabric.Rail24, 33, "eth[1-8]", 32, 2, "10.64.10.1/24", "10.64.10.254", 103}, // second group, 8 + 2
		{fabric.Flat, 2, "eth[1-8]", 0, 0, "10.64.0.1/16", "", 101},
		{fabric.Flat, 2, "eth[1-8]", 1, 7, "10.64.0.16/16", "", 108},
	} {
		t.Run(fmt.Sprintf("%s %d hosts of %s, host %d rail %d", c.scheme, c.hosts, c.nics, c.host, c.rail), func(t *testing.T) {
			p := mustPlan(t, cluster(c.hosts, c.nics, c.scheme, "10.64.0.0/16"))
			n := p.Addressing.Nodes[c.host].NICs[c.rail]
			gateway := ""
			if n.Gateway.IsValid() {
				gateway = n.Gateway.String()
			}
			if n.Address.String() != c.address || gateway != c.gateway || n.Table != c.table || n.Rail != c.rail+1 {
				t.Errorf("%s, %d hosts of %s: host %d rail %d has %s via %q table %d, want %s via %q table %d",
					c.scheme, c.hosts, c.nics, c.host, c.rail, n.Address, gateway, n.Table, c.address, c.gateway, c.table)
			}
		})
	}
}

// Whatever the scheme, no two NICs and no gateway share an address, all lie in the pool, and each subnet's
// NICs hang on its switch.
func TestAddressesUnique(t *testing.T) {
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24, fabric.Flat} {
		for _, hosts := range []int{1, 2, 8, 9, 33, 100} {
			c := cluster(hosts, "eth[1-8]", scheme, "10.64.0.0/16")
			c.Nodes = append(c.Nodes, intent.NodeGroup{Names: "small[1-3]", NICs: "rail[0-2]"})
			p := mustPlan(t, c)
			owner := make(map[netip.Addr]string)
			claim := func(a netip.Addr, who string) {
				if other, ok := owner[a]; ok && other != who {
					t.Errorf("%s, %d hosts: %s is both %s and %s", scheme, hosts, a, other, who)
				}
				owner[a] = who
				if !p.Addressing.Pool.Contains(a) {
					t.Errorf("%s, %d hosts: %s lies outside %s", scheme, hosts, a, p.Addressing.Pool)
				}
			}
			wire, link := make(map[string]string), 0
			for i, n := range p.Addressing.Nodes {
				if n.Node != p.Nodes[i].Name {
					t.Fatalf("node %d is %s and %s", i, n.Node, p.Nodes[i].Name)
				}
				for _, nic := range n.NICs {
					l := p.Cabling.Links[link]
					link++
					if l.A.Node != n.Node || l.A.NIC != nic.NIC || l.Rail != nic.Rail {
						t.Fatalf("link %v is not that of %s:%s", l, n.Node, nic.NIC)
					}
					if l.B.NIC == "" || wire[l.B.String()] != "" {
						t.Errorf("%d hosts: port %s carries %s and %s", hosts, l.B, wire[l.B.String()], l.A)
					}
					wire[l.B.String()] = l.A.String()
					claim(nic.Address.Addr(), n.Node+":"+nic.NIC)
					if nic.Gateway.IsValid() {
						if !nic.Address.Contains(nic.Gateway) {
							t.Errorf("gateway %s lies outside %s", nic.Gateway, nic.Address)
						}
						claim(nic.Gateway, "gateway of "+nic.Address.Masked().String())
					}
					checkSubnet(t, p, nic, l.B.Node)
				}
			}
			used := 0
			for _, s := range p.Switches {
				used += len(s.Ports)
			}
			if link != len(p.Cabling.Links) || used != link {
				t.Errorf("%d NICs, %d cables, %d switch ports", link, len(p.Cabling.Links), used)
			}
		}
	}
}

func checkSubnet(t *testing.T, p *fabric.Plan, nic fabric.NICAddress, leaf string) {
	t.Helper()
	if p.Addressing.Scheme == fabric.P2P31 {
		return
	}
	for _, s := range p.Addressing.Subnets {
		if s.Prefix == nic.Address.Masked() {
			if s.Gateway != nic.Gateway || s.Switch != leaf && s.Switch != "" || s.Rail != nic.Rail && s.Rail != 0 {
				t.Errorf("%s is on %s rail %d via %s, its subnet says %+v", nic.Address, leaf, nic.Rail, nic.Gateway, s)
			}
			return
		}
	}
	t.Errorf("%s belongs to no subnet of the plan", nic.Address)
}

func TestAppendingHostsKeepsAddresses(t *testing.T) {
	for _, c := range []struct {
		scheme fabric.Scheme
		more   []int
	}{
		{fabric.P2P31, []int{3, 8, 9, 64, 600}},
		{fabric.Rail24, []int{3, 8}},
		{fabric.Flat, []int{3, 8, 9, 64}},
	} {
		t.Run(string(c.scheme), func(t *testing.T) {
			before := mustPlan(t, cluster(2, "eth[1-8]", c.scheme, "10.64.0.0/16")).Addressing.Nodes
			for _, hosts := range c.more {
				after := mustPlan(t, cluster(hosts, "eth[1-8]", c.scheme, "10.64.0.0/16")).Addressing.Nodes
				if diff := cmp.Diff(before, after[:2], cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
					cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
					t.Errorf("%s: %d hosts change the first two:\n%s", c.scheme, hosts, diff)
				}
			}
		})
	}
}

func TestCabling(t *testing.T) {
	p := mustPlan(t, cluster(8, "eth[1-8]", fabric.P2P31, "10.64.0.0/16"))
	if len(p.Switches) != 1 || p.Switches[0].Name != "leaf1" || len(p.Switches[0].Ports) != 64 {
		t.Errorf("switches %+v, want one leaf with 64 ports used", p.Switches)
	}
	last := p.Cabling.Links[63]
	if last.A.String() != "host8:eth8" || last.B.String() != "leaf1:Ethernet252" {
		t.Errorf("last cable %v to %v", last.A, last.B)
	}
	p = mustPlan(t, cluster(33, "eth[1-8]", fabric.P2P31, "10.64.0.0/16"))
	if len(p.Switches) != 16 || len(p.Switches[0].Ports) != 32 || len(p.Switches[8].Ports) != 1 {
		t.Errorf("switches %+v, want 8 with 32 ports and 8 with 1", p.Switches)
	}
	for i, want := range map[int]string{0: "g001-rail1:Ethernet0", 9: "g001-rail2:Ethernet4", 255: "g001-rail8:Ethernet124", 256: "g002-rail1:Ethernet0"} {
		if got := p.Cabling.Links[i].B.String(); got != want {
			t.Errorf("cable %d ends at %s, want %s", i, got, want)
		}
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "32 of its 64 ports free") {
		t.Errorf("notes %q do not say how many uplinks stay free", p.Notes)
	}
}

func TestInfiniBand(t *testing.T) {
	c := cluster(2, "eth[1-8]", "", "10.64.0.0/16")
	c.Fabric = intent.Fabric{Kind: fabric.InfiniBand, MTU: 4092, Leaf: &intent.Leaf{Model: "i64", OS: "b"}}
	p := mustPlan(t, c)
	if a := p.Addressing; a.Scheme != fabric.None || a.Nodes != nil || a.Subnets != nil {
		t.Errorf("addressing %+v, want none", a)
	}
	if len(p.Cabling.Links) != 16 || p.Nodes[1].NICs[7] != "eth8" {
		t.Errorf("%d cables, NICs %v", len(p.Cabling.Links), p.Nodes[1].NICs)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		want string
		make func(c *intent.Cluster)
	}{
		{"fabric.leaf: is not set, and this version plans only machines that are cabled to a leaf switch: direct cabling", func(c *intent.Cluster) { c.Fabric.Leaf = nil }},
		{`fabric.leaf.model: switch "z" is not in the catalog`, func(c *intent.Cluster) { c.Fabric.Leaf.Model = "z" }},
		{`fabric.leaf.os: "e64" has no port names for "eos"; known: sonic`, func(c *intent.Cluster) { c.Fabric.Leaf.OS = "eos" }},
		{`fabric.leaf.os: "i64" has no port names for ""; known: a, b`, func(c *intent.Cluster) {
			c.Fabric.Kind, c.Fabric.Leaf = fabric.InfiniBand, &intent.Leaf{Model: "i64"}
		}},
		{"fabric.leaf.model: leaves of 1 ports cannot carry 2 hosts of 8 NICs", func(c *intent.Cluster) { c.Fabric.Leaf.Model = "one" }},
		{"fabric.mtu", func(c *intent.Cluster) { c.Fabric.MTU = 0 }},
		{"fabric.addressing: is not set", func(c *intent.Cluster) { c.Fabric.Addressing = nil }},
		{`fabric.addressing.scheme: "ring" is not one of [p2p31 rail24 flat]`, func(c *intent.Cluster) { c.Fabric.Addressing.Scheme = "ring" }},
		{"fabric.addressing.pool: is not set", func(c *intent.Cluster) { c.Fabric.Addressing.Pool = netip.Prefix{} }},
		{"fabric.addressing.pool: 10.64.0.1/16 is not an IPv4 network", func(c *intent.Cluster) { c.Fabric.Addressing.Pool = netip.MustParsePrefix("10.64.0.1/16") }},
		{"fabric.addressing.pool: fd00::/64 is not an IPv4 network", func(c *intent.Cluster) { c.Fabric.Addressing.Pool = netip.MustParsePrefix("fd00::/64") }},
		{"fabric.addressing.pool: 10.64.0.0/27 is too small for 3 hosts of 8 NICs with p2p31: it needs a /26 or larger", func(c *intent.Cluster) {
			c.Fabric.Addressing.Pool, c.Nodes[0].Names = netip.MustParsePrefix("10.64.0.0/27"), "host[1-3]"
		}},
		{"with flat: it needs a /27 or larger", func(c *intent.Cluster) {
			c.Fabric.Addressing = &intent.Addressing{Scheme: fabric.Flat, Pool: netip.MustParsePrefix("10.64.0.0/28")}
		}},
		{"with rail24: it needs a /21 or larger", func(c *intent.Cluster) {
			c.Fabric.Addressing = &intent.Addressing{Scheme: fabric.Rail24, Pool: netip.MustParsePrefix("10.64.0.0/22")}
		}},
		{"fabric.addressing.scheme: scheme rail24 holds at most 253 hosts per leaf, not 254", func(c *intent.Cluster) {
			c.Fabric.Addressing.Scheme, c.Fabric.Leaf.Model = fabric.Rail24, "e512"
			c.Nodes[0].Names, c.Nodes[0].NICs = "host[1-254]", "eth1"
		}},
		{"nodes: no machine", func(c *intent.Cluster) { c.Nodes = nil }},
		{"nodes[0].names: ", func(c *intent.Cluster) { c.Nodes[0].Names = "host[1-" }},
		{"nodes[0].nics: ", func(c *intent.Cluster) { c.Nodes[0].NICs = "" }},
	} {
		t.Run(c.want, func(t *testing.T) {
			in := cluster(2, "eth[1-8]", fabric.P2P31, "10.64.0.0/16")
			c.make(in)
			p, err := New(in, parts())
			if err == nil || !strings.Contains(err.Error(), c.want) || p != nil {
				t.Errorf("plan %v and error %v, want %q", p != nil, err, c.want)
			}
		})
	}
}

// The largest cluster that is planned for, in a time that is acceptable to its user.
func TestLargest(t *testing.T) {
	took := func(hosts int) time.Duration {
		c := cluster(hosts, "eth[1-8]", fabric.P2P31, "10.64.0.0/10")
		start := time.Now()
		p := mustPlan(t, c)
		if len(p.Cabling.Links) != hosts*8 || len(p.Addressing.Nodes) != hosts {
			t.Fatalf("%d cables of %d hosts", len(p.Cabling.Links), hosts)
		}
		return time.Since(start)
	}
	const limit = 20 * time.Second // a fifth of a second, and much more under -race on a busy machine
	if d := took(16384); d > limit {
		t.Errorf("16,384 hosts took %v, want at most %v", d, limit)
	}
}

func BenchmarkNew(b *testing.B) {
	for _, hosts := range []int{16, 256, 4096, 16384} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			c := cluster(hosts, "eth[1-8]", fabric.P2P31, "10.64.0.0/10")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(c, parts()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A host with the name of a switch would get the switch's files.
func TestHostNamedLikeASwitch(t *testing.T) {
	for name, c := range map[string]*intent.Cluster{
		"Leaf1":      cluster(2, "eth[1-8]", fabric.P2P31, "10.64.0.0/16"),
		"g002-rail3": cluster(33, "eth[1-8]", fabric.P2P31, "10.64.0.0/16"),
	} {
		c.Nodes = append(c.Nodes, intent.NodeGroup{Names: name, NICs: "eth[1-8]"})
		if _, err := New(c, parts()); err == nil || !strings.Contains(err.Error(), strconv.Quote(name)+" has the name of a switch") {
			t.Errorf("%s: %v", name, err)
		}
		c.Nodes[len(c.Nodes)-1].Names = name + "a"
		if _, err := New(c, parts()); err != nil {
			t.Errorf("%sa: %v", name, err)
		}
	}
}
