package intent

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// foundSpark is a DGX Spark whose cable is in one port. Its RDMA devices have the names of a container.
func foundSpark(node string, port int, host byte) *fabric.Facts {
	product := "NVIDIA_DGX_Spark"
	f := &fabric.Facts{Node: node, Machine: fabric.Machine{Product: &product}}
	for p := range spark.Ports {
		for t := range spark.Twins {
			up := p == port
			n := fabric.NIC{Name: fmt.Sprintf("en%sp1s0f%dnp%d", []string{"", "P2"}[t], p, p), PCI: spark.Function(p, t), MTU: 1500, Carrier: &up, OperState: "up"}
			if up {
				n.Addresses = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 40, byte(t), host}), 24)}
			}
			f.NICs = append(f.NICs, n)
			f.HCAs = append(f.HCAs, fabric.HCA{Name: fmt.Sprintf("mlx5_%d", 2*t+p), PCI: n.PCI, Ports: []fabric.Port{{Number: 1, LinkLayer: "Ethernet", State: "DOWN"}}})
		}
	}
	return f
}

func TestFromFactsOfSpark(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	one := foundSpark("spark1", 1, 1)
	one.Neighbours = []fabric.Neighbour{{NIC: "enP7s7", Address: netip.MustParseAddr("192.168.1.7"), MAC: "02:00:00:00:00:07", State: "REACHABLE"}}
	one.LLDP = []fabric.LLDPNeighbour{{NIC: "enp1s0f1np1", System: "spark2", Port: "enp1s0f1np1"}}
	for name, tt := range map[string]struct {
		facts []*fabric.Facts
		want  []string
	}{
		"alone": {[]*fabric.Facts{one}, []string{
			`names: "spark1"`, "machine: dgx-spark", `nics: "enp1s0f1np1,enP2p1s0f1np1"`, "mtu: 9000", "scheme: twin24", "# port 0: no cable; left out",
			"port 1, twin 2: enP2p1s0f1np1 is mlx5_3 at PCI 0002:01:00.1, mtu 1500 now", "heard on port 1 by LLDP: spark2", "192.168.1.7", "One machine.",
		}},
		"with another": {[]*fabric.Facts{one, foundSpark("spark2", 1, 2)}, []string{`names: "spark1,spark2"`, "Cabled as a pair: spark1 p1 to spark2 p1."}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := FromFacts("c", tt.facts[0], tt.facts[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if _, err := Parse("found", text, cat); err != nil {
				t.Errorf("its own file is not valid: %v", err)
			}
		})
	}
}

func TestFromFactsOfSparkWithoutCable(t *testing.T) {
	hidden := foundSpark("spark1", 0, 1)
	hidden.NICs, hidden.HCAs = nil, nil
	hidden.Machine.HotPlug = &fabric.HotPlug{Last: "removal"}
	for says, f := range map[string]*fabric.Facts{"it is not dead. Plug the cable": hidden, "neither of its QSFP ports has a cable": foundSpark("spark1", -1, 1)} {
		if _, err := FromFacts("c", f); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// Machines of a mesh that are given in any order are written in the order of their cables, so that the plan's cables are those
// that are plugged. Machines of a pair whose cable is in different ports are two groups.
func TestFromFactsFollowsCables(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	// cable i: from port 0 of one to port 1 of another, a /24 for each twin
	mesh := map[string]*fabric.Facts{}
	plug := func(node string, port, cable int, host byte) {
		f := mesh[node]
		if f == nil {
			f = foundSpark(node, -1, 0)
			mesh[node] = f
		}
		for i := range f.NICs {
			for twin := range spark.Twins {
				if f.NICs[i].PCI == spark.Function(port, twin) {
					up := true
					f.NICs[i].Carrier = &up
					f.NICs[i].Addresses = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 50, byte(2*cable + twin), host}), 24)}
				}
			}
		}
	}
	for i, c := range [][2]string{{"spark1", "spark3"}, {"spark3", "spark2"}, {"spark2", "spark1"}} {
		plug(c[0], 0, i, 1)
		plug(c[1], 1, i, 2)
	}
	text, err := FromFacts("c", mesh["spark1"], mesh["spark2"], mesh["spark3"])
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("found", text, cat)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if c.Nodes[0].Names != "spark1,spark3,spark2" || !strings.Contains(string(text), "Cabled as a mesh") || strings.Contains(string(text), "WRONG") {
		t.Errorf("%s", text)
	}
	text, err = FromFacts("c", foundSpark("spark1", 0, 1), foundSpark("spark2", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Parse("found", text, cat); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(c.Nodes) != 2 || c.Nodes[0].NICs != "enp1s0f0np0,enP2p1s0f0np0" || c.Nodes[1].NICs != "enp1s0f1np1,enP2p1s0f1np1" {
		t.Errorf("%s", text)
	}
	if _, err := FromFacts("c", foundSpark("spark1", 0, 1), &fabric.Facts{Node: "pc"}); err == nil || !strings.Contains(err.Error(), `host "pc" is not a DGX Spark`) {
		t.Errorf("%v", err)
	}
}
