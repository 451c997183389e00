package plan

import (
	"fmt"
	"net/netip"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

func planOfExample(t *testing.T, name string, nodes int) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(name, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse(name, text, cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In every wiring the two ends of a twin's cable are in one subnet, which no other cable has, and the twins of a port in
// different ones. Compared with the document: six /24 in the mesh of three.
func TestTwins(t *testing.T) {
	for _, tt := range []struct {
		example               string
		nodes, cables, subnet int
		wiring                fabric.Wiring
	}{
		{"spark-pair", 2, 1, 2, fabric.WiredPair},
		{"spark-switch", 2, 2, 2, fabric.WiredSwitch},
		{"spark-switch", 6, 6, 2, fabric.WiredSwitch},
		{"spark-mesh", 3, 3, 6, fabric.WiredRing},
		{"spark-mesh", 6, 6, 12, fabric.WiredRing},
	} {
		t.Run(fmt.Sprintf("%s of %d", tt.example, tt.nodes), func(t *testing.T) {
			p := planOfExample(t, tt.example, tt.nodes)
			if p.Wiring() != tt.wiring || len(p.Cabling.Links) != 2*tt.cables || p.Cabling.Bill[0].Cables != tt.cables || len(p.Addressing.Subnets) != tt.subnet {
				t.Errorf("%s, %d links, %d cables, %d subnets", p.Wiring(), len(p.Cabling.Links), p.Cabling.Bill[0].Cables, len(p.Addressing.Subnets))
			}
			at := make(map[fabric.Endpoint]netip.Prefix)
			seen := make(map[netip.Addr]bool)
			for _, n := range p.Addressing.Nodes {
				for _, a := range n.NICs {
					at[fabric.Endpoint{Node: n.Node, NIC: a.NIC}] = a.Address
					if seen[a.Address.Addr()] || a.Table != 0 || a.Gateway.IsValid() {
						t.Errorf("%s:%s %+v", n.Node, a.NIC, a)
					}
					seen[a.Address.Addr()] = true
				}
			}
			for _, port := range p.Ports {
				a := at[fabric.Endpoint{Node: port.Node, NIC: port.Twins[0].NIC}]
				b := at[fabric.Endpoint{Node: port.Node, NIC: port.Twins[1].NIC}]
				if !a.IsValid() || !b.IsValid() || a.Overlaps(b) {
					t.Errorf("%s port %d: %s and %s", port.Node, port.Number, a, b)
				}
			}
			used := make(map[netip.Prefix]int)
			for _, l := range p.Cabling.Links {
				used[at[l.A].Masked()]++
				if tt.wiring != fabric.WiredSwitch && at[l.A].Masked() != at[l.B].Masked() {
					t.Errorf("%s %s to %s %s", l.A, at[l.A], l.B, at[l.B])
				}
			}
			for subnet, n := range used {
				if tt.wiring != fabric.WiredSwitch && n != 1 {
					t.Errorf("%s is on %d links", subnet, n)
				}
			}
		})
	}
}

// The cables of the mesh are those of the document: port 0 of each to port 1 of the next.
func TestMeshCables(t *testing.T) {
	p := planOfExample(t, "spark-mesh", 3)
	for i, want := range []string{"spark1:enp1s0f0np0 spark2:enp1s0f1np1", "spark1:enP2p1s0f0np0 spark2:enP2p1s0f1np1", "spark2:enp1s0f0np0 spark3:enp1s0f1np1",
		"spark2:enP2p1s0f0np0 spark3:enP2p1s0f1np1", "spark3:enp1s0f0np0 spark1:enp1s0f1np1", "spark3:enP2p1s0f0np0 spark1:enP2p1s0f1np1"} {
		if l := p.Cabling.Links[i]; l.A.String()+" "+l.B.String() != want {
			t.Errorf("%s to %s, want %s", l.A, l.B, want)
		}
	}
}
