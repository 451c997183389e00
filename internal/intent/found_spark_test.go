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
