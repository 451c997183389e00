package diagnose

import (
	"slices"
	"testing"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// What joins GPUs is a fact of the catalog where nothing states it, whatever they are called.
func TestSlowNodeByWhatJoinsItsGPUs(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		gpu    string
		stated *bool
		want   string
	}{
		{"l40s", nil, "measure one PCIe node slow"},
		{"rtx-a6000", nil, "measure one PCIe node slow"},
		{"a40", nil, "measure one PCIe node slow"},
		{"v100-pcie", nil, "measure one PCIe node slow"},
		{"h100", nil, "measure one NVLink node slow"},
		{"h100", &no, "measure one PCIe node slow"},
		{"rtx-a6000", &yes, "measure one NVLink node slow"},
		{"", nil, "measure one NVLink node slow"},
	} {
		s := observed{hw: fabric.Hardware{GPU: c.gpu, NVLink: c.stated}, points: []point{{test: "nccl", scope: scopeNode, quality: bad}}}
		s.measureNode(known(t))
		if signs := signsOf(s.seen); !slices.Equal(signs, []string{c.want}) {
			t.Errorf("%s: %v, want %s", c.gpu, signs, c.want)
		}
	}
}

func signsOf(seen []evidence.Evidence) (all []string) {
	for _, e := range seen {
		all = append(all, e.Sign())
	}
	return all
}
