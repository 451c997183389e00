package plan

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// wellFormed checks what holds for every plan: each cable has two ends, no port has two cables, no address has two owners.
func wellFormed(t *testing.T, p *fabric.Plan) {
	t.Helper()
	ports := make(map[fabric.Endpoint]fabric.SwitchPort)
	owner := make(map[netip.Addr]string)
	claim := func(a netip.Addr, who string) {
		if other, ok := owner[a]; ok {
			t.Errorf("%s is both %s and %s", a, other, who)
		}
		owner[a] = who
		if !p.Addressing.Pool.Contains(a) {
			t.Errorf("%s of %s lies outside %s", a, who, p.Addressing.Pool)
		}
	}
	for _, s := range p.Switches {
		for _, port := range s.Ports {
			at := fabric.Endpoint{Node: s.Name, NIC: port.Name}
			if _, ok := ports[at]; ok {
				t.Errorf("%s is listed twice", at)
			}
			ports[at] = port
			if port.Address.IsValid() {
				claim(port.Address.Addr(), at.String())
			}
		}
		for _, v := range s.VLANs {
			if v.ID < 2 || v.ID > 4094 {
				t.Errorf("%s has VLAN %d", s.Name, v.ID)
			}
			if v.Gateway.IsValid() {
				claim(v.Gateway.Addr(), s.Name+" "+v.Name)
			}
		}
	}
	for _, n := range p.Addressing.Nodes {
		for _, nic := range n.NICs {
			claim(nic.Address.Addr(), n.Node+":"+nic.NIC)
		}
	}
	used := make(map[fabric.Endpoint]bool)
	end := func(at, far fabric.Endpoint, uplink bool) {
		port, ok := ports[at]
		if !ok || used[at] || port.Peer != far || port.Uplink != uplink {
			t.Errorf("%s: %+v, used %v, at the end of the cable from %s", at, port, used[at], far)
		}
		used[at] = true
	}
	for _, l := range p.Cabling.Links {
		end(l.B, l.A, false)
	}
	for _, l := range p.Cabling.Uplinks {
		end(l.A, l.B, true)
		end(l.B, l.A, true)
		a, b := ports[l.A], ports[l.B]
		if a.RateGbps != b.RateGbps || p.Transport == fabric.RoCE && (a.Address.Masked() != b.Address.Masked() || a.Address.Bits() != 31) {
			t.Errorf("%s %+v and %s %+v", l.A, a, l.B, b)
		}
	}
	if len(used) != len(ports) {
		t.Errorf("%d ports in use, %d of them with a cable", len(ports), len(used))
	}
}

// routes checks that every leaf announces the subnets of its own NICs, and that neighbours are so from both sides.
func routes(t *testing.T, p *fabric.Plan) {
	t.Helper()
	type session struct {
		address netip.Addr
		asn     uint32
	}
	owner, ids, leafNumbers := make(map[session]string), make(map[netip.Addr]string), make(map[uint32]string)
	announced := make(map[netip.Prefix]string)
	for _, s := range p.Switches {
		if s.BGP == nil {
			t.Fatalf("%s has no BGP", s.Name)
		}
		if other := ids[s.BGP.RouterID]; other != "" || !s.BGP.RouterID.IsValid() {
			t.Errorf("%s and %s have router id %s", s.Name, other, s.BGP.RouterID)
		}
		ids[s.BGP.RouterID] = s.Name
		if s.BGP.ASN < 4200000000 || s.BGP.ASN > 4294967294 || (s.Role == fabric.Spine) != (s.BGP.ASN == spineASN) || leafNumbers[s.BGP.ASN] != "" {
			t.Errorf("%s and %s have ASN %d", s.Name, leafNumbers[s.BGP.ASN], s.BGP.ASN)
		}
		if s.Role == fabric.Leaf {
			leafNumbers[s.BGP.ASN] = s.Name
		}
		for _, n := range s.BGP.Networks {
			if announced[n] != "" || s.Role == fabric.Spine {
				t.Errorf("%s is announced by %s and %s", n, announced[n], s.Name)
			}
			announced[n] = s.Name
		}
		for _, port := range s.Ports {
			if port.Uplink {
				owner[session{port.Address.Addr(), s.BGP.ASN}] = s.Name
			}
		}
	}
	far, i := make(map[fabric.Endpoint]string), 0
	for _, l := range p.Cabling.Links {
		far[l.A] = l.B.Node
	}
	for _, n := range p.Addressing.Nodes {
		for _, nic := range n.NICs {
			if leaf := far[fabric.Endpoint{Node: n.Node, NIC: nic.NIC}]; announced[nic.Address.Masked()] != leaf {
				t.Errorf("%s of %s is announced by %q, not by %s", nic.Address.Masked(), n.Node, announced[nic.Address.Masked()], leaf)
			}
			i++
		}
	}
	for _, s := range p.Switches {
		var want []string
		for _, port := range s.Ports {
			if port.Uplink {
				want = append(want, port.Peer.Node)
			}
		}
		var got []string
		for _, n := range s.BGP.Neighbours {
			got = append(got, owner[session{n.Address, n.ASN}])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: neighbours %v, cables to %v", s.Name, got, want)
		}
	}
}

// withSpines is a cluster on so many leaves and spines; 0 leaves a number open.
func withSpines(hosts int, nics string, scheme fabric.Scheme, leaf string, leaves int, spine string, spines int) *intent.Cluster {
	c := cluster(hosts, nics, scheme, "10.64.0.0/10")
	c.Fabric.Leaf = &intent.Leaf{Model: leaf, OS: "sonic", Count: leaves}
	c.Fabric.Spine = &intent.Spine{Model: spine, OS: "sonic", Count: spines}
	return c
}

func TestSpines(t *testing.T) {
	for _, c := range []struct {
		name                  string
		hosts                 int
		nics                  string
		leaf, spine           string
		leaves, spines        int // as the cluster file has them
		planned, each, pair   int // leaves; spines; cables between a leaf and a spine
		first, last           string
		oversubscribed, total int
	}{
		{"two leaves, hosts split", 2, "eth[1-3]", "e64", "e64", 2, 1, 2, 1, 3, "leaf1:Ethernet244 to spine1:Ethernet0", "leaf2:Ethernet252 to spine1:Ethernet20", 0, 3},
		{"odd hosts", 5, "eth[1-3]", "e64", "e64", 2, 2, 2, 2, 5, "leaf1:Ethernet216 to spine1:Ethernet0", "leaf2:Ethernet252 to spine2:Ethernet36", 0, 9},
		{"eight leaves by rail, four spines", 32, "eth[1-8]", "e64", "e64", 8, 4, 8, 4, 8, "g001-rail1:Ethernet128 to spine1:Ethernet0", "g001-rail8:Ethernet252 to spine4:Ethernet252", 0, 32},
		{"four leaves of two groups by rail", 5, "eth[1-2]", "e64", "e64", 4, 1, 4, 1, 3, "g001-rail1:Ethernet244 to spine1:Ethernet0", "g002-rail2:Ethernet252 to spine1:Ethernet44", 0, 3},
		{"as many leaves as are needed", 33, "eth[1-8]", "e64", "e64", 0, 0, 16, 8, 4, "g001-rail1:Ethernet128 to spine1:Ethernet0", "g002-rail8:Ethernet252 to spine8:Ethernet252", 0, 32},
		{"a leaf with few ports left", 14, "eth[1-8]", "e64", "e64", 2, 2, 2, 2, 4, "leaf1:Ethernet224 to spine1:Ethernet0", "leaf2:Ethernet252 to spine2:Ethernet28", 2, 56},
		{"a spine with few ports", 8, "eth[1-3]", "e64", "e8", 2, 2, 2, 2, 4, "leaf1:Ethernet224 to spine1:Ethernet0", "leaf2:Ethernet252 to spine2:Ethernet28", 2, 12},
	} {
		for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24} {
			t.Run(c.name+" "+string(scheme), func(t *testing.T) {
				file := withSpines(c.hosts, c.nics, scheme, c.leaf, c.leaves, c.spine, c.spines)
				p := mustPlan(t, file)
				if !reflect.DeepEqual(p, mustPlan(t, file)) {
					t.Error("two plans of one file differ")
				}
				wellFormed(t, p)
				routes(t, p)
				if len(p.Switches) != c.planned+c.each || len(p.Cabling.Uplinks) != c.planned*c.each*c.pair {
					t.Fatalf("%d switches, %d uplinks", len(p.Switches), len(p.Cabling.Uplinks))
				}
				up := p.Cabling.Uplinks
				if first := up[0].A.String() + " to " + up[0].B.String(); first != c.first {
					t.Errorf("first cable %s, want %s", first, c.first)
				}
				if last := up[len(up)-1].A.String() + " to " + up[len(up)-1].B.String(); last != c.last {
					t.Errorf("last cable %s, want %s", last, c.last)
				}
				if s := p.Switches[0]; len(s.Ports) != c.total+c.each*c.pair {
					t.Errorf("%s uses %d ports", s.Name, len(s.Ports))
				}
				if c.oversubscribed == 0 && len(p.Notes) != 0 || c.oversubscribed > 0 && (len(p.Notes) != 1 || !strings.Contains(p.Notes[0], fmt.Sprintf("%d leaves are oversubscribed", c.oversubscribed))) {
					t.Errorf("notes %q", p.Notes)
				}
			})
		}
	}
}

// The first cable takes the last two addresses of the pool, the even one on the spine, as a host's cable has it on the leaf.
func TestUplinkAddresses(t *testing.T) {
	p := mustPlan(t, withSpines(2, "eth[1-3]", fabric.Rail24, "e64", 2, "e64", 1))
	leaf, spine := p.Switches[0], p.Switches[2]
	if up, down := leaf.Ports[3], spine.Ports[0]; up.Address.String() != "10.127.255.255/31" || down.Address.String() != "10.127.255.254/31" {
		t.Errorf("%+v, %+v", up, down)
	}
	if up, down := p.Switches[1].Ports[5], spine.Ports[5]; up.Address.String() != "10.127.255.245/31" || down.Address.String() != "10.127.255.244/31" {
		t.Errorf("%+v, %+v", up, down)
	}
	if v := p.Switches[1].VLANs; len(v) != 3 || v[2].ID != 103 || v[2].Gateway.String() != "10.64.5.254/24" || v[2].Name != "rail3" || v[2].Rail != 3 {
		t.Errorf("%+v", v)
	}
	if port := p.Switches[1].Ports[2]; port.VLAN != 103 || port.Peer.String() != "host2:eth3" {
		t.Errorf("%+v", port)
	}
	if spine.Role != fabric.Spine || spine.MTU != 9100 || len(spine.VLANs) != 0 {
		t.Errorf("%+v", spine)
	}
}

// A pool without an address to spare holds hosts and uplinks, and the next smaller one is refused.
func TestTightPool(t *testing.T) {
	for scheme, bits := range map[fabric.Scheme]int{fabric.P2P31: 27, fabric.Rail24: 21} { // 2*8 and 6*256 of hosts, 12 of uplinks
		c := withSpines(2, "eth[1-3]", scheme, "e64", 2, "e64", 1)
		c.Fabric.Addressing.Pool = netip.PrefixFrom(netip.MustParseAddr("10.64.0.0"), bits)
		p := mustPlan(t, c)
		wellFormed(t, p)
		routes(t, p)
		c.Fabric.Addressing.Pool = netip.PrefixFrom(netip.MustParseAddr("10.64.0.0"), bits+1)
		if _, err := New(c, parts()); err == nil || !strings.Contains(err.Error(), "is too small") {
			t.Errorf("%s in a /%d: %v", scheme, bits+1, err)
		}
	}
}

// Hosts with fewer NICs stand between others, on leaves by rail and on leaves for all rails.
func TestMixedHostsBehindSpines(t *testing.T) {
	for _, leaves := range []int{0, 3, 5, 8, 16} {
		for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24} {
			c := withSpines(9, "eth[1-8]", scheme, "e64", leaves, "e64", 2)
			c.Nodes = append(c.Nodes, intent.NodeGroup{Names: "small[1-3]", NICs: "rail[0-2]"}, intent.NodeGroup{Names: "last", NICs: "eth[1-8]"})
			p := mustPlan(t, c)
			wellFormed(t, p)
			routes(t, p)
		}
	}
}

// Spines change no address and no cable of a host, and one leaf needs none.
func TestSpinesMoveNoHost(t *testing.T) {
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24} {
		with := withSpines(33, "eth[1-8]", scheme, "e64", 0, "e64", 0)
		a := mustPlan(t, with)
		with.Fabric.Spine = nil
		b := mustPlan(t, with)
		for i, n := range a.Addressing.Nodes {
			if !slices.Equal(n.NICs, b.Addressing.Nodes[i].NICs) {
				t.Fatalf("%s: %+v, without spines %+v", n.Node, n, b.Addressing.Nodes[i])
			}
		}
		if !slices.Equal(a.Cabling.Links, b.Cabling.Links) || len(b.Cabling.Uplinks) != 0 || b.Switches[0].BGP != nil {
			t.Errorf("%s: spines move cables", scheme)
		}
		one := mustPlan(t, withSpines(8, "eth[1-8]", scheme, "e64", 0, "e64", 2))
		if len(one.Switches) != 1 || one.Switches[0].BGP != nil || len(one.Notes) != 1 || !strings.HasPrefix(one.Notes[0], "One leaf connects every host") {
			t.Errorf("%s: %d switches, notes %q", scheme, len(one.Switches), one.Notes)
		}
	}
}

// With p2p31 a host keeps its addresses whatever comes after it, also where the hosts are divided anew among the leaves.
func TestAppendingHostsBehindSpines(t *testing.T) {
	before := mustPlan(t, withSpines(4, "eth[1-3]", fabric.P2P31, "e64", 2, "e64", 1)).Addressing.Nodes
	for _, hosts := range []int{5, 9, 20} {
		p := mustPlan(t, withSpines(hosts, "eth[1-3]", fabric.P2P31, "e64", 2, "e64", 1))
		wellFormed(t, p)
		for i, n := range before {
			if !slices.Equal(n.NICs, p.Addressing.Nodes[i].NICs) {
				t.Errorf("%d hosts: %s has %+v, had %+v", hosts, n.Node, p.Addressing.Nodes[i].NICs, n.NICs)
			}
		}
	}
}

// InfiniBand has spines too: cables, and neither addresses nor BGP.
func TestInfiniBandSpines(t *testing.T) {
	c := cluster(33, "eth[1-8]", "", "10.64.0.0/16")
	c.Fabric = intent.Fabric{Kind: fabric.InfiniBand, MTU: 4092, Leaf: &intent.Leaf{Model: "i64", OS: "b"}, Spine: &intent.Spine{Model: "i64", OS: "b"}}
	p := mustPlan(t, c)
	if len(p.Cabling.Uplinks) != 512 || p.Switches[0].BGP != nil || p.Switches[16].Ports[0].Address.IsValid() || p.Switches[16].MTU != 0 {
		t.Errorf("%d uplinks, %+v", len(p.Cabling.Uplinks), p.Switches[16].Ports[0])
	}
	wellFormed(t, p)
}

// Whatever the number of ports, hosts and rails, a plan that is made is well formed, and every port can be in use.
func TestAnyPortCount(t *testing.T) {
	cat := parts()
	plans := 0
	for _, ports := range []int{1, 2, 3, 7, 8, 31, 32, 64, 65, 100, 128, 255, 512} {
		m := cat.Switches["e64"]
		m.Ports.Value = float64(ports)
		cat.Switches["any"] = m
		for _, nics := range []int{1, 2, 3, 8} {
			for _, hosts := range []int{1, 2, ports / nics, ports, 2*ports + 1} {
				for _, leaves := range []int{0, 1, 2, 3, 8} {
					if hosts < 1 {
						continue
					}
					c := withSpines(hosts, fmt.Sprintf("eth[1-%d]", nics), fabric.P2P31, "any", leaves, "any", 0)
					p, err := New(c, cat)
					if err != nil {
						if text := err.Error(); !strings.HasPrefix(text, "fabric.leaf.") && !strings.HasPrefix(text, "fabric.spine.") {
							t.Errorf("%d ports, %d hosts of %d NICs on %d leaves: %v", ports, hosts, nics, leaves, err)
						}
						continue
					}
					plans++
					wellFormed(t, p)
					if hosts*nics == ports && leaves < 2 && (len(p.Switches) != 1 || len(p.Switches[0].Ports) != ports) {
						t.Errorf("%d ports, %d hosts of %d NICs: %d switches, %d ports", ports, hosts, nics, len(p.Switches), len(p.Switches[0].Ports))
					}
				}
			}
		}
	}
	if plans < 200 {
		t.Errorf("only %d plans were made", plans)
	}
}

// Every way to split a cage that the catalog knows, with all ports of a leaf in use.
func TestBreakouts(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model, os        string
		into             int
		ports            int
		gbps             float64
		second, third    string
		cage, cageOfLast string
	}{
		{"z9664f", "dell-sonic", 1, 64, 400, "Eth1/2", "Eth1/3", "2", "64"},
		{"z9664f", "dell-sonic", 2, 128, 200, "Eth1/1/2", "Eth1/2/1", "1", "64"},
		{"z9664f", "dell-sonic", 4, 256, 100, "Eth1/1/2", "Eth1/1/3", "1", "64"},
		{"z9664f", "sonic", 2, 128, 200, "Ethernet2", "Ethernet4", "0", "252"},
		{"z9664f", "sonic", 4, 256, 100, "Ethernet1", "Ethernet2", "0", "252"},
		{"sse-t8032", "dell-sonic", 2, 64, 200, "Eth1/1/2", "Eth1/2/1", "1", "32"},
		{"7060dx4-32", "eos", 2, 64, 200, "Ethernet1/5", "Ethernet2/1", "1", "32"},
		{"7060dx4-32", "eos", 4, 128, 100, "Ethernet1/3", "Ethernet1/5", "1", "32"},
		{"qfx5240", "junos", 1, 64, 800, "et-0/0/1", "et-0/0/2", "1", "63"},
		{"qfx5240", "junos", 2, 128, 400, "et-0/0/0:1", "et-0/0/1:0", "0", "63"},
		{"qfx5240", "junos", 4, 256, 200, "et-0/0/0:1", "et-0/0/0:2", "0", "63"},
		{"qfx5240", "junos", 8, 512, 100, "et-0/0/0:1", "et-0/0/0:2", "0", "63"},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.model, c.os, c.into), func(t *testing.T) {
			file := cluster(c.ports/8, "eth[1-8]", fabric.P2P31, "10.64.0.0/16")
			file.Fabric.Leaf = &intent.Leaf{Model: c.model, OS: c.os, Breakout: c.into}
			p, err := New(file, cat)
			if err != nil {
				t.Fatal(err)
			}
			wellFormed(t, p)
			ports := p.Switches[0].Ports
			if len(ports) != c.ports || ports[1].Name != c.second || ports[2].Name != c.third || ports[1].RateGbps != c.gbps ||
				ports[1].Cage != c.cage || ports[c.ports-1].Cage != c.cageOfLast || ports[1].Breakout != c.into {
				t.Errorf("%d ports, %+v, %+v, last %+v", len(ports), ports[1], ports[2], ports[len(ports)-1])
			}
		})
	}
}

// A cage towards spines stays whole, and no cage has both kinds.
func TestBreakoutOfALeafWithSpines(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	file := withSpines(3, "eth[1-3]", fabric.P2P31, "z9664f", 2, "z9664f", 2)
	file.Fabric.Leaf.Breakout = 2
	p, err := New(file, cat)
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, p)
	// The larger leaf has 6 ports of 200 Gb/s: 3 uplinks of 400, which two spines share as 2 and 2.
	leaf := p.Switches[0]
	if up := leaf.Ports[6]; len(leaf.Ports) != 10 || up.Name != "Ethernet240" || up.RateGbps != 400 || leaf.Ports[5].Name != "Ethernet10" {
		t.Errorf("%+v", leaf.Ports)
	}
	if leaf.BufferBytes != 113e6 || leaf.BufferSource == "" || p.Switches[3].BufferBytes != 113e6 {
		t.Errorf("buffer %d of %q", leaf.BufferBytes, leaf.BufferSource)
	}
	if p.Switches[0].BufferSource != cat.Switches["z9664f"].Buffer.Source {
		t.Error("the source of the buffer is lost")
	}
}

func TestSpineErrors(t *testing.T) {
	for _, c := range []struct {
		want string
		make func(c *intent.Cluster)
	}{
		{`fabric.spine.model: switch "z" is not in the catalog`, func(c *intent.Cluster) { c.Fabric.Spine.Model = "z" }},
		{`fabric.spine.os: "e64" has no port names for "eos"; known: sonic`, func(c *intent.Cluster) { c.Fabric.Spine.OS = "eos" }},
		{"fabric.leaf.breakout: ", func(c *intent.Cluster) { c.Fabric.Leaf.Breakout = 2 }},
		{"fabric.leaf.count: one leaf for everything: for 33 of the 33 hosts of 8 NICs a leaf needs 264 ports, and it has 64", func(c *intent.Cluster) { c.Fabric.Leaf.Count = 1 }},
		{"fabric.spine: scheme flat is one subnet", func(c *intent.Cluster) { c.Fabric.Addressing.Scheme = fabric.Flat }},
		{"fabric.spine.model: a spine of 1 ports takes 1 leaves, and the hosts need 16", func(c *intent.Cluster) { c.Fabric.Spine.Model = "one" }},
		{"fabric.addressing.pool: 10.64.0.0/22 is too small", func(c *intent.Cluster) { c.Fabric.Addressing.Pool = netip.MustParsePrefix("10.64.0.0/22") }},
		{"fabric.spine.count: each leaf has 32 ports left for spines, and needs one for each of the 33", func(c *intent.Cluster) { c.Fabric.Spine.Count = 33 }},
		{`nodes: host "Spine2" has the name of a switch`, func(c *intent.Cluster) { c.Nodes = append(c.Nodes, intent.NodeGroup{Names: "Spine2", NICs: "eth1"}) }},
	} {
		t.Run(c.want, func(t *testing.T) {
			in := withSpines(33, "eth[1-8]", fabric.P2P31, "e64", 0, "e64", 0)
			c.make(in)
			p, err := New(in, parts())
			if err == nil || !strings.Contains(err.Error(), c.want) || p != nil {
				t.Errorf("plan %v and error %v, want %q", p != nil, err, c.want)
			}
		})
	}
}

// The largest cluster behind spines: 16,384 hosts of 8 NICs on 512 leaves.
func TestLargestWithSpines(t *testing.T) {
	c := withSpines(16384, "eth[1-8]", fabric.P2P31, "e512", 0, "e512", 0)
	start := time.Now()
	p := mustPlan(t, c)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
	if len(p.Cabling.Uplinks) != 512*256 || len(p.Switches) != 512+256 {
		t.Errorf("%d uplinks, %d switches", len(p.Cabling.Uplinks), len(p.Switches))
	}
	wellFormed(t, p)
	routes(t, p)
}
