package mesh

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// ringPlan has three machines with ports 0 and 1 of two interfaces each: port 0 of each to port 1 of the next. Interface x0 of
// machine n and x1 of the next are in 10.64.2n.0/24, y0 and y1 in the one after.
func ringPlan() *fabric.Plan {
	p := &fabric.Plan{}
	for n := range 3 {
		node := fabric.Node{Name: fmt.Sprintf("m%d", n+1)}
		on := fabric.NodeAddresses{Node: node.Name}
		for port := range 2 {
			np := fabric.NodePort{Node: node.Name, Number: port}
			for twin, letter := range []string{"x", "y"} {
				nic := fmt.Sprintf("%s%d", letter, port)
				np.Twins = append(np.Twins, fabric.Twin{NIC: nic})
				subnet := 2*((n-port+3)%3) + twin
				on.NICs = append(on.NICs, fabric.NICAddress{NIC: nic, Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(subnet), byte(n + 1)}), 24)})
				if port == 0 {
					p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: fabric.Endpoint{Node: node.Name, NIC: nic}, B: fabric.Endpoint{Node: fmt.Sprintf("m%d", (n+1)%3+1), NIC: letter + "1"}})
				}
			}
			p.Ports = append(p.Ports, np)
		}
		p.Nodes = append(p.Nodes, node)
		p.Addressing.Nodes = append(p.Addressing.Nodes, on)
	}
	return p
}

// ringMesh pings over every cable, both ways; the cables of a machine are silent.
func ringMesh(p *fabric.Plan, silent string, heard ...fabric.Heard) *fabric.Mesh {
	m := &fabric.Mesh{Heard: heard}
	for _, l := range p.Cabling.Links {
		for _, pair := range [][2]fabric.Endpoint{{l.A, l.B}, {l.B, l.A}} {
			one := fabric.Measurement{From: pair[0], To: pair[1], Small: fabric.Echo{Bytes: 84}}
			if pair[0].Node != silent && pair[1].Node != silent {
				one.Small = fabric.Echo{Bytes: 84, Answered: true, ArrivedOn: pair[1].NIC, ReturnedOn: pair[0].NIC}
				one.Full = one.Small
			}
			m.Pairs = append(m.Pairs, one)
		}
	}
	return m
}

func heard(node, nic, from string) fabric.Heard {
	return fabric.Heard{On: fabric.Endpoint{Node: node, NIC: nic}, From: netip.MustParseAddr(from)}
}

// Who asks by ARP on a port shows where its cable leads, where nothing answers and no neighbour was heard by LLDP.
func TestExplainByHeard(t *testing.T) {
	p := ringPlan()
	elsewhere := ringPlan()
	elsewhere.Switches = []fabric.Switch{{Name: "leaf1"}}
	swapped := []fabric.Heard{heard("m3", "x0", "10.64.2.2"), heard("m3", "x1", "10.64.4.1"), heard("m1", "x1", "10.64.2.3")}
	for _, tt := range []struct {
		name string
		plan *fabric.Plan
		mesh *fabric.Mesh
		want []string
		fix  string
	}{
		{"plugs swapped", p, ringMesh(p, "m3", swapped...), []string{"miscabled m3:port 0 1.00"}, "swap the two plugs on m3"},
		{"an address of the plan's outside", p, ringMesh(p, "m3", append(swapped, heard("m3", "x0", "192.0.2.1"))...), []string{"miscabled m3:port 0 1.00"}, "swap the two plugs on m3"},
		{"all as planned, and silent", p, ringMesh(p, "", heard("m1", "x1", "10.64.4.3")), nil, ""},
		{"nothing heard", p, ringMesh(p, "m3"), []string{
			"miscabled m1:x1 0.12", "link-down m1:x1 0.12", "miscabled m1:y1 0.12", "link-down m1:y1 0.12",
			"miscabled m3:x1 0.12", "link-down m3:x1 0.12", "miscabled m3:y1 0.12", "link-down m3:y1 0.12",
		}, ""},
		{"on a switch all hear all", elsewhere, ringMesh(p, "", swapped...), nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Explain(tt.plan, tt.mesh, nil)
			have := named(got)
			if tt.fix == "" && len(have) > 1 { // in whatever order
				have = sortedTexts(have)
				tt.want = sortedTexts(tt.want)
			}
			if diff := cmp.Diff(tt.want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.fix != "" && got.Causes[0].Fix != tt.fix {
				t.Errorf("fix %q", got.Causes[0].Fix)
			}
		})
	}
}

func sortedTexts(texts []string) []string {
	sorted := slices.Clone(texts)
	slices.Sort(sorted)
	return sorted
}
