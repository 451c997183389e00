package pipeline

import (
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

// The vendor's own design stands first for GPUs whose machine nothing names; the machine of one maker alone does not stand
// for all that have such GPUs.
func TestSuppose(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		gpu     string
		perNode int
		first   string // machine and network; empty: none
	}{
		{"h100-sxm", 8, "hgx-h100 ib"},
		{"b300", 8, "hgx-b300 ib"},
		{"gb10", 1, "dgx-spark roce"},
		{"mi300x", 8, "azure-nd-mi300x-v5 ib"},
		{"a100-40-sxm", 8, "hgx-a100-40 ib"},
		{"mi250x-gcd", 8, ""},
		{"h100-sxm", 4, ""},
		{"h100-sxm", 0, ""},
		{"", 8, ""},
		{"l40s", 8, ""},
	} {
		first := ""
		if all := (knownMachines{cat}).Suppose(c.gpu, c.perNode); len(all) > 0 {
			first = all[0].Machine + " " + all[0].Net
		}
		if first != c.first {
			t.Errorf("%d x %q: %q, want %q", c.perNode, c.gpu, first, c.first)
		}
	}
}
