package plan

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// machines returns the nominal machine of each catalog id that a group names, in the order of the file.
func machines(groups []intent.NodeGroup, cat *catalog.Catalog) ([]fabric.NominalMachine, error) {
	var all []fabric.NominalMachine
	for i, g := range groups {
		if g.Machine == "" || slices.ContainsFunc(all, func(m fabric.NominalMachine) bool { return m.ID == g.Machine }) {
			continue
		}
		model, err := cat.Machine(g.Machine)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d].machine: %w", i, err)
		}
		nic := cat.NICs[model.NIC]
		all = append(all, fabric.NominalMachine{
			ID:  g.Machine,
			GPU: model.GPU, GPUs: int(model.GPUs.Value), GPUPCIIDs: cat.GPUs[model.GPU].PCIID,
			NIC: model.NIC, NICs: int(model.NICs.Value), NICGbps: nic.Rate(),
			PCIeGeneration: int(model.PCIeGeneration.Value), PCIeLanes: nic.PCIeLink.Width,
			Source: "catalog",
		})
	}
	return all, nil
}
