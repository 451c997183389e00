package topology

import (
	"fmt"

	"railwright.dev/railwright/internal/catalog"
)

// scaleUpKind is what a GPU's model says of its NVLink or XGMI.
type scaleUpKind struct {
	vendor string // nvidia, amd
	arch   string
	links  int // of one GPU; 0: it has none, or no source counts them
}

func scaleUpOf(m catalog.GPUModel) scaleUpKind {
	return scaleUpKind{vendor: m.Vendor, arch: m.Arch, links: int(m.ScaleUpLinks.Value)}
}

// builtInLinks is what joins GPUs of a model where nothing else is said: nvlink, xgmi, or pcie for one without links.
func builtInLinks(m catalog.GPUModel) string {
	switch {
	case m.ScaleUpLinks.Value == 0:
		return "pcie"
	case m.Vendor == "amd":
		return "xgmi"
	}
	return "nvlink"
}

// boardOf is how many GPUs a board has of which a machine may show a part: AMD's have eight, each with links to all
// others (8 GPUs of OCP's UBB). 0: that sets nothing.
func boardOf(m catalog.GPUModel) int {
	if m.Vendor == "amd" {
		return 8
	}
	return 0
}

// isCoherent tells a GPU that NVLink-C2C joins to its CPU: NVIDIA's beside an Arm CPU in one package, of which the
// catalog has no PCIe link that could limit it (GB10, GB200).
func isCoherent(m catalog.GPUModel, arch string) bool {
	return arch == "arm64" && m.Vendor == "nvidia" && m.PCIeLink.Speed == 0
}

// noC2C says what is missing where GPUs are coherent and nobody counted the links.
const noC2C = "NVLink-C2C joins the GPUs to their CPUs: how many links and how fast is in no source"

// hybridCube is which GCDs of an MI250X node have XGMI to which, as RCCL's own file of such a node has it
// (ROCm/rccl, tools/topo_expl/models/topo_8p_90a.xml), the lower number first.
func hybridCube() [][2]int {
	return [][2]int{{0, 1}, {0, 2}, {0, 6}, {1, 3}, {1, 5}, {2, 3}, {2, 4}, {3, 7}, {4, 5}, {4, 6}, {5, 7}, {6, 7}}
}

// joinGPUs adds the links between the GPUs of a machine that has them built in, and says what it took for
// granted. kind is nvlink, xgmi, pcie or empty; full is how many GPUs the machine has with those that are not
// seen.
func joinGPUs(m *Machine, k scaleUpKind, kind string, full int) (gaps []string) {
	switch {
	case kind != "nvlink" && kind != "xgmi" || len(m.GPUs) == 0 || full < 2:
		return nil
	case k.links == 0:
		return []string{"how many links join the GPUs is in no source"}
	case k.vendor == "amd" && k.arch == "gfx90a":
		return joinCube(m)
	case k.vendor == "amd":
		joinAll(m, max(1, k.links/max(full-1, 1)), true)
		return nil
	}
	for i := range m.GPUs {
		m.GPUs[i].Links = []ScaleUp{{Target: UnseenNVSwitch, Class: ClassNVSwitch, Count: k.links}}
	}
	return nil
}

// joinAll gives each pair of GPUs so many links.
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
