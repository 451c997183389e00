package ncclxml_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/ncclxml"
)

func TestFilled(t *testing.T) {
	text, err := os.ReadFile("testdata/cloud-bare.xml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := ncclxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	parts := catalogOf(t)
	yes := false
	for name, c := range map[string]struct {
		hw   fabric.Hardware
		want string // in the text, or the error
	}{
		"nothing said":     {fabric.Hardware{}, `GPU at "0001:00:00.0": unknown GPU: neither the file nor`},
		"unknown machine":  {fabric.Hardware{Machine: "nobody"}, "nobody"},
		"GPU said":         {fabric.Hardware{GPU: "h100"}, `<gpu dev="7" rank="7" sm="90">`},
		"links":            {fabric.Hardware{GPU: "h100"}, `<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>`},
		"no links":         {fabric.Hardware{GPU: "h100", NVLink: &yes}, `<gpu dev="7" rank="7" sm="90"/>`},
		"rate unknown":     {fabric.Hardware{GPU: "h100", Nodes: 2}, `NIC at "0101:00:00.0": unknown line rate: neither`},
		"rate said":        {fabric.Hardware{GPU: "h100", Nodes: 2, NICGbps: 400}, `<net name="0101:00:00.0" dev="0" speed="400000"/>`},
		"rate of the NIC":  {fabric.Hardware{GPU: "h100", Nodes: 2, NIC: "connectx7"}, `dev="7" speed="400000"/>`},
		"machine":          {fabric.Hardware{Machine: "azure-nd-h100-v5", Nodes: 2}, `speed="400000"/>`},
		"links of machine": {fabric.Hardware{Machine: "azure-nd-h100-v5"}, `count="18"`},
	} {
		t.Run(name, func(t *testing.T) {
			filled, err := d.Filled(parts, c.hw)
			got := fmt.Sprint(err)
			if err == nil {
				var b bytes.Buffer
				if _, err := filled.WriteTo(&b); err != nil {
					t.Fatal(err)
				}
				got = b.String()
				s, err := ncclgraph.NewSystem(filled, ncclgraph.Options{Nodes: c.hw.Nodes})
				if err != nil || len(s.GPUs) != 8 || len(s.NETs) != 8 {
					t.Errorf("%s: %v", name, err)
				}
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s: no %q in\n%s", name, c.want, got)
			}
		})
	}
	if len(d.All("gpu")) > 0 {
		t.Error("the document itself has changed")
	}
}

// A file that says all is not changed by filling it.
func TestFilledLeavesWhatIsSaid(t *testing.T) {
	text, err := os.ReadFile("testdata/host.xml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := ncclxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	filled, err := d.Filled(catalogOf(t), fabric.Hardware{GPU: "a100", NICGbps: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := filled.WriteTo(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), got.String()); diff != "" {
		t.Error(diff)
	}
}

func catalogOf(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
