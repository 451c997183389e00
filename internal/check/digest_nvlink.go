package check

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// digestNVLink keeps of the GPUs why rules about NVLink do not apply to a node. What was not read excludes nothing.
func (in NodeInput) digestNVLink(d *Digest, t texts) {
	gpus := in.Facts.GPUs
	if len(gpus) == 0 {
		return
	}
	d.NoNVIDIA = !slices.ContainsFunc(gpus, func(g fabric.GPU) bool { return g.Vendor != "amd" })
	if d.NoNVIDIA {
		return
	}
	whole := len(in.Facts.PCI) > 0 && !slices.ContainsFunc(in.Facts.Missing, func(m fabric.Missing) bool {
		return m.What == fabric.FactPCI || m.What == fabric.FactGPUs || strings.HasPrefix(m.What, fabric.FactPCI+" ")
	})
	switches := len(in.nvSwitches()) > 0
	switch {
	case !in.someGPU(in.mayHaveNVLink) && !switches:
		d.NoNVLink = t.keep("the GPUs of " + in.Facts.Node + " have no NVLink")
		d.NoNVSwitch = d.NoNVLink
	case whole && len(gpus) == 1 && !switches:
		d.NoNVLink = t.keep(in.Facts.Node + " has one GPU: NVLink joins it with none")
		d.NoNVSwitch = d.NoNVLink
	case switches:
	case whole && in.Facts.Machine.Hypervisor != nil && *in.Facts.Machine.Hypervisor:
		d.NoNVSwitch = t.keep(in.Facts.Node + " is a virtual machine without an NVSwitch: the host or its service VM runs Fabric Manager")
	case !in.someGPU(func(g *fabric.GPU) bool { known, ok := in.known(g); return !ok || !known.Rack }):
		d.NoNVSwitch = t.keep("the NVSwitches of " + in.Facts.Node + " are in its rack: Fabric Manager runs on the switch trays")
	case whole && !in.someGPU(mayWaitForFabric):
		d.NoNVSwitch = t.keep(in.Facts.Node + " has no NVSwitch on PCI, and its GPUs take part in no fabric")
	}
}

func (in NodeInput) someGPU(is func(*fabric.GPU) bool) bool {
	for i := range in.Facts.GPUs {
		if g := &in.Facts.GPUs[i]; g.Vendor == "nvidia" && is(g) {
			return true
		}
	}
	return false
}

// mayHaveNVLink holds unless the catalog has the GPU without, or it says that it does not support it. Cards of PCIe that a
// bridge joins have links that are up.
func (in NodeInput) mayHaveNVLink(g *fabric.GPU) bool {
	if g.NVLink != nil && g.NVLink.Up > 0 || g.Health != nil && g.Health.Fabric != nil && joinsFabric(g.Health.Fabric) {
		return true
	}
	if known, ok := in.known(g); ok {
		return known.Links > 0 || known.Rack
	}
	return g.NVLink == nil || !strings.Contains(g.NVLink.Says, "ot Supported") && !strings.Contains(g.NVLink.Says, "does not have or support")
}

// mayWaitForFabric holds unless a GPU says that it takes part in none.
func mayWaitForFabric(g *fabric.GPU) bool {
	return g.Health == nil || g.Health.Fabric == nil || joinsFabric(g.Health.Fabric)
}

func joinsFabric(f *fabric.GPUFabric) bool {
	return f.State != "" && f.State != notThere && f.State != "Not Supported"
}
