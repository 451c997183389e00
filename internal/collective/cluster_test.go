package collective

import (
	"os"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/ncclxml"
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
	d, err := ncclxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ncclgraph.NewSystem(d, ncclgraph.Options{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := FromSystem(loaded(t), s, fabric.Hardware{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
