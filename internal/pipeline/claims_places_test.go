package pipeline

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
)

// The GPUs of a device plugin are where the catalog has them only on nodes of which every published NIC is.
func TestPlacesOfCatalog(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	const machine = "p4d-24xlarge"
	text := func(p Publishers) string {
		made, _, err := SlicesOfCatalog(cat, []string{machine}, map[string][]string{machine: {"a", "b"}}, p)
		if err != nil {
			t.Fatal(err)
		}
		yaml, err := SliceText(made, "v1", false)
		if err != nil {
			t.Fatal(err)
		}
		return string(yaml)
	}
	nics := text(Publishers{NIC: "dra.net"})
	for _, c := range []struct {
		name, text, says string
		ids              []string
		a, b             int // GPUs of known places on the nodes
	}{
		{name: "as the catalog", text: nics, ids: []string{machine}, a: 8, b: 8, says: "2 nodes: that the GPUs of a device plugin are where"},
		{name: "one of several", text: nics, ids: []string{"azure-nd-h100-v5", machine}, a: 8, b: 8, says: "those of " + machine},
		{name: "it may be another", text: nics, ids: []string{machine, "p4de-24xlarge"}, says: "no PCI addresses of p4de-24xlarge"},
		{name: "no machine", text: nics},
		{name: "another machine", text: nics, ids: []string{"oci-gb200-v3-4"}, says: "where oci-gb200-v3-4 of the catalog has none"},
		{name: "no source", text: nics, ids: []string{"hgx-h100"}, says: "no PCI addresses of hgx-h100"},
		{name: "another root on one node", text: strings.Replace(nics, "string: pci0000:20", "string: pci0000:21", 1), ids: []string{machine}, b: 8, says: "1 node: where a device plugin's GPUs are is unknown: NIC pci-0000-20-1b-0 is below root pci0000:21"},
		{name: "another address on one node", text: strings.Replace(nics, "string: 0000:20:1b.0", "string: 0000:20:1a.0", 1), ids: []string{machine}, b: 8, says: "is at 0000:20:1a.0"},
		{name: "published GPUs", text: text(Publishers{NIC: "dra.net", GPU: "gpu.nvidia.com"}), ids: []string{machine}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := claims.Read([]claims.File{{Name: "slices", Text: []byte(c.text)}})
			if o.Counts().Slices < 2 || len(o.Problems()) > 0 {
				t.Fatalf("%+v, %v", o.Counts(), o.Problems())
			}
			known, notes, err := PlacesOfCatalog(cat, c.ids, o)
			if err != nil {
				t.Fatal(err)
			}
			placed := func(node string) (n int) {
				for _, p := range known.GPUs(node) {
					n += len(p.Roots)
				}
				return n
			}
			if placed("a") != c.a || placed("b") != c.b || !strings.Contains(strings.Join(notes, "\n"), c.says) || (c.says == "") != (len(notes) == 0) {
				t.Errorf("have %d and %d, want %d and %d, saying %q\n%s", placed("a"), placed("b"), c.a, c.b, c.says, strings.Join(notes, "\n"))
			}
		})
	}
}
