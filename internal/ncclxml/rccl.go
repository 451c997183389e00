package ncclxml

import (
	"errors"

	"railwright.dev/railwright/internal/topology"
)

// RCCLDocument gives the topology file that RCCL needs to know a machine, as NCCLDocument does for NCCL. RCCL
// has a version of its own, names the architecture of the GPU and calls the links xgmi (ROCm/rccl,
// src/graph/xml.h and xml.cc). A GPU whose architecture is not known, or is NVIDIA's, is an error.
func ForRCCL(m *topology.Machine) (*Document, error) {
	return writeMachine(m, dialect{
		version: "2", link: "xgmi",
		gpu: func(g topology.GPU) ([]Attribute, error) {
			if g.GCN == "" {
				return nil, errors.New("has no AMD architecture, such as gfx942, and RCCL needs it")
			}
			return append([]Attribute{{"gcn", g.GCN}}, numbers("arch", hipFeatures(g.GCN))...), nil
		},
	})
}

// hipFeatures is the bit field of HIP's device properties (hipDeviceArch_t), which RCCL writes as arch, of the
// architectures of which a file of RCCL shows it: topo_8p_942vm.xml and topo_8p_950.xml of its
// tools/topo_expl/models. 0 of others: RCCL asks the driver.
func hipFeatures(gcn string) int {
	switch gcn {
	case "gfx942", "gfx950":
		return 38911
	default:
		return 0
	}
}
