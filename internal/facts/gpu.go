package facts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const nvidiaProc = "/proc/driver/nvidia/gpus"

// readGPUs adds what the drivers of GPUs report in files: that of NVIDIA under /proc/driver, amdgpu beside the
// PCI function. What they leave open their tools are asked for, and then say why it is unknown.
func readGPUs(_ context.Context, h host.Host, f *fabric.Facts) {
	missUsedPCI(f)
	for i := range f.GPUs {
		g := &f.GPUs[i]
		if j := slices.IndexFunc(f.Modules, func(m fabric.Module) bool { return m.Name == g.Driver }); j >= 0 {
			g.DriverVersion = f.Modules[j].Version
		}
		switch g.Driver {
		case "nvidia":
			nvidiaInformation(h, f, g)
		case "amdgpu":
			folder := pciDevices + "/" + g.PCI
			r := fileReader{h: h, f: f, folder: folder, device: g.PCI}
			g.Name = r.textIfThere(fabric.FactGPUName, "product_name") // where the board has an EEPROM that names it
			g.VBIOS = r.textIfThere(fabric.FactGPUVBIOS, "vbios_version")
			if id := r.textIfThere(fabric.FactGPUUUID, "unique_id"); id != "" {
				g.UUID = "0x" + id // as rocm-smi writes it
			}
			amdRAS(h, f, g)
		}
	}
}

// missUsedPCI notes the functions of NICs and RDMA devices that are not among the PCI functions: then the list of these
// was cut, and a GPU may be missing in it too.
func missUsedPCI(f *fabric.Facts) {
	if len(f.PCI) == 0 {
		return // and Missing says why
	}
	note := func(address, user string) {
		known := slices.ContainsFunc(f.PCI, func(d fabric.PCIDevice) bool { return d.Address == address })
		what := fabric.FactPCI + " " + address
		if _, noted := f.MissingReason(what); address != "" && !known && !noted {
			miss(f, what, pciDevices, errors.New("the function of "+user+" is not in the list"))
		}
	}
	for _, n := range f.NICs {
		note(n.PCI, n.Name)
	}
	for _, h := range f.HCAs {
		note(h.PCI, h.Name)
	}
}

// nvidiaInformation reads what the driver says of one GPU. It has question marks for what it has not read
// from the GPU yet.
func nvidiaInformation(h host.Host, f *fabric.Facts, g *fabric.GPU) {
	file := nvidiaProc + "/" + g.PCI + "/information"
	b, err := h.ReadFile(file)
	if err != nil {
		if !host.IsAbsent(err) {
			miss(f, fabric.FactGPUName+" "+g.PCI, file, err)
		}
		return
	}
	for line := range strings.Lines(string(b)) {
		key, value, ok := keyValue(line)
		if !ok || strings.Contains(value, "?") {
			continue
		}
		switch value = fabric.Printable(value); key {
		case "Model":
			g.Name = value
		case "GPU UUID":
			g.UUID = value
		case "Video BIOS":
			g.VBIOS = strings.ToUpper(value) // as nvidia-smi writes it
		}
	}
}

// gpuOpen reports whether a GPU of a vendor is not fully described.
func gpuOpen(f *fabric.Facts, vendor string) bool {
	return slices.ContainsFunc(f.GPUs, func(g fabric.GPU) bool {
		return g.Vendor == vendor && (g.Name == "" || g.UUID == "" || g.DriverVersion == "" || g.VBIOS == "")
	})
}
