package lab

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"railwright.dev/railwright/internal/fabric"
)

// testPlan has hosts with NICs on one leaf, with a /31 a cable.
func testPlan(hosts, nics int) *fabric.Plan {
	p := &fabric.Plan{
		Name: "test", Transport: fabric.RoCE, MTU: 9000,
		Switches: []fabric.Switch{{Name: "leaf1", Role: fabric.Leaf}},
	}
	p.Addressing.Scheme = fabric.P2P31
	gateway := netip.MustParseAddr("10.64.0.0")
	for h := range hosts {
		node := fabric.Node{Name: "host" + string(rune('1'+h))}
		addresses := fabric.NodeAddresses{Node: node.Name}
		for n := range nics {
			nic := "eth" + string(rune('1'+n))
			node.NICs = append(node.NICs, nic)
			addresses.NICs = append(addresses.NICs, fabric.NICAddress{
				NIC: nic, Rail: n + 1, Address: netip.PrefixFrom(gateway.Next(), 31), Gateway: gateway, Table: 101 + n,
			})
			p.Cabling.Links = append(p.Cabling.Links, fabric.Link{
				A: fabric.Endpoint{Node: node.Name, NIC: nic}, B: fabric.Endpoint{Node: "leaf1", NIC: "port" + string(rune('a'+h*nics+n))}, Rail: n + 1,
			})
			gateway = gateway.Next().Next()
		}
		p.Nodes = append(p.Nodes, node)
		p.Addressing.Nodes = append(p.Addressing.Nodes, addresses)
	}
	return p
}

// shared puts all NICs of a plan into one subnet with a gateway.
func shared(p *fabric.Plan) *fabric.Plan {
	p.Addressing.Scheme = fabric.Flat
	subnet := netip.MustParsePrefix("10.64.0.0/24")
	p.Addressing.Subnets = []fabric.Subnet{{Prefix: subnet, Gateway: netip.MustParseAddr("10.64.0.254"), Switch: "leaf1"}}
	for _, n := range p.Addressing.Nodes {
		for i := range n.NICs {
			n.NICs[i].Address = netip.PrefixFrom(n.NICs[i].Address.Addr(), subnet.Bits())
		}
	}
	return p
}

func spec(t *testing.T, p *fabric.Plan) Spec {
	t.Helper()
	s, err := NewSpec(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSpec(t *testing.T) {
	p := testPlan(1, 2)
	want := Spec{
		Hosts: []hostSpec{{Name: "host1", NICs: []string{"eth1", "eth2"}}},
		Leaf:  "leaf1", MTU: 9000,
		Ports: []portSpec{
			{Name: "porta", Cable: fabric.Endpoint{Node: "host1", NIC: "eth1"}, Address: netip.MustParsePrefix("10.64.0.0/31")},
			{Name: "portb", Cable: fabric.Endpoint{Node: "host1", NIC: "eth2"}, Address: netip.MustParsePrefix("10.64.0.2/31")},
		},
		Addresses: p.Addressing.Nodes,
	}
	if diff := cmp.Diff(want, spec(t, p), cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
		t.Errorf("/31 (-want +got):\n%s", diff)
	}
	p = shared(testPlan(1, 2))
	want.Ports[0].Address, want.Ports[0].Bridge = netip.Prefix{}, "rail1"
	want.Ports[1].Address, want.Ports[1].Bridge = netip.Prefix{}, "rail1"
	want.Bridges = []bridgeSpec{{Name: "rail1", Address: netip.MustParsePrefix("10.64.0.254/24")}}
	want.Addresses = p.Addressing.Nodes
	if diff := cmp.Diff(want, spec(t, p), cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
		t.Errorf("shared subnet (-want +got):\n%s", diff)
	}
	p.Addressing.Subnets[0].Gateway = netip.Addr{}
	if b := spec(t, p).Bridges[0]; b.Address.IsValid() {
		t.Errorf("a subnet without a gateway gives the leaf the address %s", b.Address)
	}
}

func TestNewSpecRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fabric.Plan)
		want   string
	}{
		{"InfiniBand", func(p *fabric.Plan) { p.Transport = fabric.InfiniBand }, `lab: fabric "infiniband" cannot be built from network namespaces: only "roce" can`},
		{"no transport", func(p *fabric.Plan) { p.Transport = "" }, `lab: fabric "" cannot be built`},
		{"two leaves", func(p *fabric.Plan) { p.Switches = append(p.Switches, p.Switches[0]) }, "lab: the plan has 2 leaves: the lab builds one"},
		{"no leaf", func(p *fabric.Plan) { p.Switches = nil }, "lab: the plan has 0 leaves"},
		{"long port name", func(p *fabric.Plan) { p.Cabling.Links[1].B.NIC = "Ethernet0123456_" }, "lab: cable host1:eth2 to leaf1:Ethernet0123456_: an interface name has at most 15 bytes"},
		{"long NIC name", func(p *fabric.Plan) { p.Cabling.Links[0].A.NIC = "enp0123456789np0" }, "lab: cable host1:enp0123456789np0 to leaf1:porta: an interface name"},
		{"no address", func(p *fabric.Plan) { p.Addressing.Nodes[1].NICs = nil }, "lab: cable host2:eth1 has no address in the plan"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(2, 2)
			tt.change(p)
			s, err := NewSpec(p)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if diff := cmp.Diff(Spec{}, s); diff != "" {
				t.Errorf("a spec comes with the error: %s", diff)
			}
		})
	}
	p := testPlan(1, 1)
	p.Cabling.Links[0].B.NIC = "Ethernet0123456"
	if _, err := NewSpec(p); err != nil {
		t.Errorf("a name of 15 bytes: %v", err)
	}
}

func TestNeighbours(t *testing.T) {
	tests := []struct {
		name string
		plan *fabric.Plan
		want int
	}{
		{"/31: each side of a cable knows the other", testPlan(2, 8), 32},
		{"one subnet: each of 16 NICs knows 15 others and the leaf, which knows 16", shared(testPlan(2, 8)), 16*15 + 16 + 16},
		{"one NIC and the leaf", shared(testPlan(1, 1)), 2},
		{"nothing", &fabric.Plan{Transport: fabric.RoCE, Switches: make([]fabric.Switch, 1)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := spec(t, tt.plan).neighbours(); got != tt.want {
				t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
			}
		})
	}
}
