package ncclgraph

import (
	"fmt"
	"testing"
)

func BenchmarkGraphs(b *testing.B) {
	a100 := hgxH100()
	a100.sm, a100.links, a100.speed, a100.nicMbps, a100.vendor = 80, 12, "16.0 GT/s PCIe", 200000, "AuthenticAMD"
	pcie := hgxH100()
	pcie.sm, pcie.links, pcie.speed = 89, 0, "16.0 GT/s PCIe"
	many := hgxH100()
	many.nics, many.nicMbps = 32, 100000
	for name, h := range map[string]host{"h100": hgxH100(), "a100": a100, "pcie": pcie, "h100x32": many} {
		for _, nodes := range []int{1, 2} {
			s := newSystem(b, h.document(), Options{Nodes: nodes})
			b.Run(fmt.Sprintf("%s/%d", name, nodes), func(b *testing.B) {
				for b.Loop() {
					s.Graphs()
				}
			})
			for _, g := range []GraphID{GraphRing, GraphTree, GraphNVLS} {
				ring := s.Search(GraphRing, 1, 32)
				lo, hi := ring.Channels, ring.Channels
				if g != GraphTree {
					lo, hi = 1, 32
				}
				b.Run(fmt.Sprintf("%s/%d/%d", name, nodes, g), func(b *testing.B) {
					for b.Loop() {
						s.Search(g, lo, hi)
					}
				})
			}
		}
	}
}
