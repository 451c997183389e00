package check_test

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestDeadGPU: a GPU that cannot be identified, as one that does not answer on the bus, never leaves a host that passes,
// without a cluster file and with one.
func TestDeadGPU(t *testing.T) {
	machine := twoHosts()
	machine.Machines = []fabric.NominalMachine{{ID: "recorded", GPU: "mi300x", GPUs: 2, NIC: "thor2", NICs: 2, NICGbps: 400, PCIeGeneration: 5, PCIeLanes: 16}}
	for i := range machine.Nodes {
		machine.Nodes[i].Machine = "recorded"
	}
	for name, plan := range map[string]*fabric.Plan{"no plan": nil, "planned": machine} {
		h := newSickHost(t, setting{recording: "roce", plan: plan, pair: true})
		if got := worst(h.judge(t, h.healthy)); got != fabric.Pass {
			t.Fatalf("%s: healthy is %s", name, got)
		}
		for i, e := range h.healthy.entries {
			switch e.key {
			case pciFolder + gpuAt, pciFolder + gpuAt + "/class", pciFolder + gpuAt + "/vendor", "/sys/bus/pci/devices":
			default:
				continue
			}
			for _, l := range losses() {
				left, changed := l.of(e)
				if !changed {
					continue
				}
				t.Run(name+"/"+e.key+"/"+l.name, func(t *testing.T) {
					if got := worst(h.judge(t, h.healthy.without(i, left))); got == fabric.Pass {
						t.Error("the host passes")
					}
				})
			}
		}
	}
}

func worst(findings []fabric.Finding) fabric.Status {
	var s fabric.Summary
	for _, f := range findings {
		s.Count(f.Status)
	}
	return s.Status()
}
