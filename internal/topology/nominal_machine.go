package topology

import (
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// NominalMachine is what a plan has of a machine of the catalog. An unknown id is an error that lists the known ones.
func NominalMachine(cat *catalog.Catalog, id string) (fabric.NominalMachine, error) {
	model, err := cat.Machine(id)
	if err != nil {
		return fabric.NominalMachine{}, err
	}
	nic := cat.NICs[model.NIC]
	ids := nic.PCIID
	if nic.Of != "" {
		ids = cat.NICs[nic.Of].PCIID
	}
	return fabric.NominalMachine{
		ID:  id,
		GPU: model.GPU, GPUs: int(model.GPUs.Value), GPUPCIIDs: cat.GPUs[model.GPU].PCIID, GPUVendor: cat.GPUs[model.GPU].Vendor,
		CPU:        model.CPU,
		NVSwitches: int(model.NVSwitches.Value),
		NIC:        model.NIC, NICs: int(model.NICs.Value), NICPCIIDs: ids, NICDriver: nic.Driver, NICGbps: nic.Rate(),
		PCIeGeneration: int(model.PCIeGeneration.Value), PCIeLanes: nic.PCIeLink.Width,
		PCIeSwitches: model.SwitchesSeen(),
		HostMemoryGB: model.HostMemory.Value, NICFirmware: nic.Firmware, NICFirmwareBad: nic.FirmwareBad,
		Source: sourceCatalog,
	}, nil
}
