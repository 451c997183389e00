package collective

import (
	"os"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

func loaded(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// ofTopology is the cluster of one machine that an NCCL topology file describes.
func ofTopology(t testing.TB, file string) *Cluster {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := topology.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := topology.NewSystem(d, topology.SystemOptions{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := FromSystem(loaded(t), s, fabric.Hardware{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
