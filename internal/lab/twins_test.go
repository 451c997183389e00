package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// twinPlan has hosts in a ring, port 0 of each to port 1 of the next; or with a leaf, port 1 of each to it. A port has two
// interfaces, "a" and "b" with its number. ring says which.
func twinPlan(hosts int, ring bool) *fabric.Plan {
	p := &fabric.Plan{Name: "test", Transport: fabric.RoCE, MTU: 9000}
	p.Addressing.Scheme = fabric.Twin24
	ports := []int{0, 1}
	if !ring {
		ports, p.Switches = ports[1:], []fabric.Switch{{Name: "leaf1", Role: fabric.Leaf}}
	}
	for h := range hosts {
		node := fabric.Node{Name: fmt.Sprintf("host%d", h+1)}
		on := fabric.NodeAddresses{Node: node.Name}
		for _, port := range ports {
			np := fabric.NodePort{Node: node.Name, Number: port}
			for twin, letter := range []string{"a", "b"} {
				nic := fmt.Sprintf("%s%d", letter, port)
				np.Twins = append(np.Twins, fabric.Twin{NIC: nic})
				node.NICs = append(node.NICs, nic)
				subnet := twin
				if ring {
					subnet += 2 * ((h - port + hosts) % hosts)
				}
				on.NICs = append(on.NICs, fabric.NICAddress{NIC: nic, Rail: subnet + 1,
					Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(subnet), byte(h + 1)}), 24)})
				at := fabric.Endpoint{Node: node.Name, NIC: nic}
				switch {
				case !ring:
					p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: at, B: fabric.Endpoint{Node: "leaf1", NIC: fmt.Sprintf("qsfp56-dd-1-%d", h+1)}})
				case port == 0:
					p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: at, B: fabric.Endpoint{Node: fmt.Sprintf("host%d", (h+1)%hosts+1), NIC: letter + "1"}})
				}
			}
			p.Ports = append(p.Ports, np)
		}
		p.Nodes = append(p.Nodes, node)
		p.Addressing.Nodes = append(p.Addressing.Nodes, on)
	}
	return p
}

// written writes cables in order, each with its ends in order.
func written(cables []cableSpec) string {
	var all []string
	for _, c := range cables {
		two := []string{c.A.String(), c.B.String()}
		slices.Sort(two)
		all = append(all, strings.TrimPrefix(two[0]+"-"+two[1], ":-"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestTwinSpec(t *testing.T) {
	s := spec(t, twinPlan(3, true))
	const want = "host1:a0-host2:a1 host1:a1-host3:a0 host1:b0-host2:b1 host1:b1-host3:b0 host2:a0-host3:a1 host2:b0-host3:b1"
	if got := written(s.Cables); got != want || s.Leaf != "" || len(s.Ports) != 0 {
		t.Errorf("cables %s, leaf %q, want %s", got, s.Leaf, want)
	}
	if got := s.Shape(); got != "3 hosts cabled to each other" {
		t.Error(got)
	}
	if n := s.neighbours(); n != 12 {
		t.Errorf("%d neighbours, want 2 for each of 6 cables", n)
	}

	s = spec(t, twinPlan(2, false))
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, fmt.Sprintf("%s %s %s %s", p.Name, p.Says, p.Bridge, p.Cable))
	}
	if diff := cmp.Diff([]string{
		"qsfp56-dd-1-1  bridge1 host1:a1", "qsfp56-dd-1-1+2 qsfp56-dd-1-1 bridge1 host1:b1",
		"qsfp56-dd-1-2  bridge1 host2:a1", "qsfp56-dd-1-2+2 qsfp56-dd-1-2 bridge1 host2:b1",
	}, ports); diff != "" {
		t.Errorf("ports of the leaf (-want +got):\n%s", diff)
	}
	const lldp = "configure ports qsfp56-dd-1-1+2 lldp portidsubtype local qsfp56-dd-1-1\nconfigure ports qsfp56-dd-1-2+2 lldp portidsubtype local qsfp56-dd-1-2\n"
	if f := s.announced(); len(f) != 1 || string(f[0].Content) != lldp {
		t.Errorf("announced: %+v", f)
	}
	if got := s.Shape(); got != "2 hosts, leaf leaf1" {
		t.Error(got)
	}
}

// A bare twin has a cable and no address; a name that leaves no room for a suffix gets another one.
func TestTwinSpecBareAndLong(t *testing.T) {
	p := twinPlan(2, false)
	p.Addressing.Nodes[0].NICs = p.Addressing.Nodes[0].NICs[:1]
	for i := range p.Cabling.Links[:2] {
		p.Cabling.Links[i].B.NIC = "fourteen-bytes"
	}
	s := spec(t, p)
	if _, ok := s.address(fabric.Endpoint{Node: "host1", NIC: "b1"}); ok || len(s.Hosts[0].NICs) != 2 || len(s.Ports) != 4 {
		t.Errorf("%+v", s)
	}
	if got := s.Ports[1]; got.Name != "twin2" || got.Says != "fourteen-bytes" {
		t.Errorf("%+v", got)
	}
}

func TestMovedPlugs(t *testing.T) {
	for _, tt := range []struct {
		fault, want string
	}{
		{"swap-port=host3", "host1:a0-host2:a1 host1:a1-host3:a1 host1:b0-host2:b1 host1:b1-host3:b1 host2:a0-host3:a0 host2:b0-host3:b0"},
		{"same-peer=host1,host2", "host1:a0-host2:a1 host1:a1-host2:a0 host1:b0-host2:b1 host1:b1-host2:b0 host3:a0 host3:a1 host3:b0 host3:b1"},
		{"unplugged=host1:b1", "host1:a0-host2:a1 host1:a1 host1:b0-host2:b1 host1:b1 host2:a0-host3:a1 host2:b0-host3:b1 host3:a0 host3:b0"},
		{"foreign=host2:a0", "host1:a0-host2:a1 host1:a1-host3:a0 host1:b0-host2:b1 host1:b1-host3:b0 host2:a0-stranger:eno1 host2:b0-stranger:eno2 host3:a1 host3:b1"},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			s := spec(t, twinPlan(3, true))
			before := written(s.Cables)
			f, err := s.ParseFault(tt.fault)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(s.recabled([]Fault{f}).Cables); got != tt.want {
				t.Errorf("have %s\nwant %s", got, tt.want)
			}
			if got := written(s.Cables); got != before {
				t.Errorf("the planned cables are changed: %s", got)
			}
			if again, err := s.ParseFault(f.String()); err != nil || !cmp.Equal(f, again) {
				t.Errorf("%s is written %s, which reads %+v, %v", tt.fault, f, again, err)
			}
		})
	}
}

func TestTwinFaultsRefuse(t *testing.T) {
	ring, leaf := spec(t, twinPlan(4, true)), spec(t, twinPlan(2, false))
	plain := spec(t, testPlan(2, 2))
	for _, tt := range []struct {
		s          Spec
		text, want string
	}{
		{plain, "swap-port=host1", "only where ports have several interfaces"},
		{plain, "unplugged=host1:eth1", "only where ports have several interfaces"},
		{plain, "cross-twins=host1", "only where ports have several interfaces"},
		{leaf, "swap-port=host1", "not on a switch: any of its ports will do"},
		{leaf, "foreign=host1", "not on a switch"},
		{ring, "swap-cable=host1", "swap-port and same-peer move their plugs"},
		{ring, "one-layer2=host1", "swap-port and same-peer move their plugs"},
		{ring, "route=host1", "the NICs have no tables"},
		{ring, "swap-port=host1:a0", "takes one host with two cabled ports"},
		{ring, "swap-port=host1,host2", "takes one host with two cabled ports"},
		{ring, "same-peer=host1", "takes two hosts"},
		{ring, "same-peer=host1,host3", "must be joined by one cable in the plan"},
		{ring, "one-subnet=host1:a0,host1:a1", "both NICs must be of one port"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			if f, err := tt.s.ParseFault(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, %v, want %s", f, err, tt.want)
			}
		})
	}
	if _, err := ring.ParseFaults([]string{"swap-port=host1", "unplugged=host1:a0"}); err == nil || !strings.Contains(err.Error(), "both change the cable") {
		t.Errorf("two faults of one plug: %v", err)
	}
	if partner, err := ring.partner(fabric.Endpoint{Node: "host2", NIC: "b1"}); err != nil || partner.NIC != "a1" {
		t.Errorf("the twin of b1 is %v, %v", partner, err)
	}
}
