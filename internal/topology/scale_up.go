package topology

import (
	"fmt"

	"railwright.dev/railwright/internal/catalog"
)

// ScaleUpKind is what connects GPUs of a model where nothing else is stated: nvlink, xgmi, or pcie for one without links.
func ScaleUpKind(m catalog.GPUModel) string {
	switch {
	case m.ScaleUpLinks.Value == 0:
		return "pcie"
	case m.Vendor == "amd":
		return "xgmi"
	}
	return "nvlink"
}

// BoardSize is how many GPUs a board has, of which a machine may show only a part: AMD's have eight, each with links to all
// others (8 GPUs of OCP's UBB). 0: unknown.
func BoardSize(m catalog.GPUModel) int {
	if m.Vendor == "amd" {
		return 8
	}
	return 0
}

// IsCoherent reports whether NVLink-C2C connects a GPU to its CPU: NVIDIA's beside an Arm CPU in one package, for which the
// catalog has no limiting PCIe link (GB10, GB200).
func IsCoherent(m catalog.GPUModel, arch string) bool {
	return arch == "arm64" && m.Vendor == "nvidia" && m.PCIeLink.Speed == 0
}

// noC2C is the gap where GPUs are coherent and their links were not counted.
const noC2C = "NVLink-C2C connects the GPUs to their CPUs: unknown number of links and rate"

// hybridCube is which GCDs of an MI250X node have XGMI to which, as in RCCL's own file of such a node
// (ROCm/rccl, tools/topo_expl/models/topo_8p_90a.xml), the lower number first.
func hybridCube() [][2]int {
	return [][2]int{{0, 1}, {0, 2}, {0, 6}, {1, 3}, {1, 5}, {2, 3}, {2, 4}, {3, 7}, {4, 5}, {4, 6}, {5, 7}, {6, 7}}
}

// JoinGPUs adds the built-in links between the GPUs of a machine, and records what it assumed.
// kind is nvlink, xgmi, pcie or empty; full is how many GPUs the machine has, including those that are not
// visible.
func JoinGPUs(m *Machine, model catalog.GPUModel, kind string, full int) (gaps []string) {
	links := int(model.ScaleUpLinks.Value) // of one GPU; 0: none, or not counted by any source
	switch {
	case kind != "nvlink" && kind != "xgmi" || len(m.GPUs) == 0 || full < 2:
		return nil
	case links == 0:
		return []string{"unknown number of links between the GPUs"}
	case model.Vendor == "amd" && model.Arch == "gfx90a":
		return joinCube(m)
	case model.Vendor == "amd":
		joinAll(m, max(1, links/max(full-1, 1)), true)
		return nil
	}
	for i := range m.GPUs {
		m.GPUs[i].Links = []ScaleUp{{Target: UnseenNVSwitch, Class: ClassNVSwitch, Count: links}}
	}
	return nil
}

// joinAll connects each pair of GPUs with that many links.
func joinAll(m *Machine, count int, xgmi bool) {
	for i := range m.GPUs {
		for j := range m.GPUs {
			if i != j {
				m.link(i, j, count, xgmi)
			}
		}
	}
}

func joinCube(m *Machine) []string {
	for _, pair := range hybridCube() {
		if max(pair[0], pair[1]) < len(m.GPUs) {
			m.link(pair[0], pair[1], 1, true)
			m.link(pair[1], pair[0], 1, true)
		}
	}
	return []string{fmt.Sprintf("XGMI of %d GCDs: each pair counts one link, as in RCCL's own file; within a module there are four", len(m.GPUs))}
}

// link adds links from one GPU to another. The class is the one that NCCL and RCCL write for a GPU.
func (m *Machine) link(from, to, count int, xgmi bool) {
	class := uint32(class3D)
	if xgmi {
		class = classDisplay
	}
	m.GPUs[from].Links = append(m.GPUs[from].Links, ScaleUp{Target: m.GPUs[to].Bus, Class: class, Count: count, XGMI: xgmi})
}
