package facts

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// TestLspciAgreesWithSysfs reads what lspci printed on the machine of the captured tree, and compares with
// what the tree tells. Registers of ACS were cleared in the tree.
func TestLspciAgreesWithSysfs(t *testing.T) {
	_, tree := capturedTree(t)
	text, err := os.ReadFile(capturedFile("lspci-vvvnn-D.txt"))
	if err != nil {
		t.Fatal(err)
	}
	said, err := parseLspciText(string(text), "")
	if err != nil {
		t.Fatal(err)
	}
	var f fabric.Facts
	readPCI(t.Context(), tree, &f)
	if len(f.PCI) != 32 || f.PCI[0].Control == nil {
		t.Fatalf("%d functions in the tree, the first %+v", len(f.PCI), f.PCI[0])
	}
	if len(said.PCI) != len(f.PCI) {
		t.Fatalf("lspci tells of %d functions, sysfs of %d", len(said.PCI), len(f.PCI))
	}
	unknown := 0
	for i := range f.PCI {
		want, got := &f.PCI[i], &said.PCI[i]
		got.Regions = nil                // of lspci alone
		want.Driver, got.Driver = "", "" // the unpacked part of the capture has the link of some only
		if got.ACS == nil && got.ATS == nil && !want.ACS.Present && !want.ATS.Present {
			got.ACS, got.ATS = want.ACS, want.ATS // lspci shows no extended space where it is empty
			unknown++
		}
		for _, a := range []*fabric.ACS{want.ACS, got.ACS} {
			if a != nil {
				a.Control = 0
			}
		}
	}
	if unknown != 2 {
		t.Errorf("ACS and ATS of %d functions are unknown from lspci, want 2", unknown)
	}
	if diff := cmp.Diff(f.PCI, said.PCI); diff != "" {
		t.Errorf("functions (-sysfs +lspci):\n%s", diff)
	}
	if diff := cmp.Diff(f.GPUs, said.GPUs); diff != "" {
		t.Errorf("GPUs (-sysfs +lspci):\n%s", diff)
	}
}
