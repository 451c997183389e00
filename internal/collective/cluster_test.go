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

// A GPU that a table or a tool names in its own way is found, and said; one that fits several or none is not guessed.
func TestGPUsByTheirNames(t *testing.T) {
	cat := loaded(t)
	for text, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "h100-sxm", "nvidia h200": "h200-sxm", "NVIDIA B200": "b200", "AMD Instinct MI300X": "mi300x", "NVIDIA A100-SXM4-80GB": "a100-80-sxm",
		"NVIDIA GB200 NVL72": "gb200", "NVIDIA": "", "H1000": "", "": "", "h100 or h200": "",
	} {
		c, err := New(cat, fabric.Hardware{GPU: text, Nodes: 1, GPUsPerNode: 4})
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken as %s", text, c.hw.GPU)
			}
			continue
		}
		if err != nil || c.hw.GPU != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
