package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

func (m *merger) mergeGPU(reported fabric.GPU) {
	i := m.placeGPU(reported)
	if i < 0 {
		if m.kernel[fabric.FactGPUs] && reported.PCI == "" {
			return // it may be any of them
		}
		if m.kernel[fabric.FactGPUs] {
			m.disagree(fabric.FactGPUs, "no "+gpuText(reported), gpuText(reported))
			return
		}
		m.f.GPUs = append(m.f.GPUs, reported)
		m.givenBy[fabric.FactGPUs+" "+reported.PCI] = m.tool
		return
	}
	g, at := &m.f.GPUs[i], " "+m.f.GPUs[i].PCI
	g.PCI = cmp.Or(g.PCI, reported.PCI)
	g.Name = cmp.Or(g.Name, reported.Name) // vendors write one name in several ways
	keep(m, fabric.FactGPUUUID+at, &g.UUID, reported.UUID)
	keep(m, fabric.FactGPUDriverVersion+at, &g.DriverVersion, reported.DriverVersion)
	keep(m, fabric.FactGPUVBIOS+at, &g.VBIOS, reported.VBIOS)
	g.Driver = cmp.Or(g.Driver, reported.Driver)
	g.Index = cmp.Or(g.Index, reported.Index)
	mergeHealth(g, reported.Health)
	mergeNVLink(g, reported.NVLink)
}

// placeGPU finds the GPU that a tool speaks of: by its PCI address, else by its UUID where one GPU has it, else by the number
// that its tools give it. One that nothing names is another.
func (m *merger) placeGPU(reported fabric.GPU) int {
	where := func(is func(fabric.GPU) bool) int {
		i := slices.IndexFunc(m.f.GPUs, is)
		if i < 0 || slices.ContainsFunc(m.f.GPUs[i+1:], is) {
			return -1
		}
		return i
	}
	if reported.PCI != "" {
		if i := where(func(g fabric.GPU) bool { return g.PCI == reported.PCI }); i >= 0 || m.kernel[fabric.FactGPUs] {
			return i
		}
	}
	if reported.UUID != "" {
		same := func(g fabric.GPU) bool {
			return g.UUID == reported.UUID && (g.PCI == "" || reported.PCI == "")
		}
		if i := where(same); i >= 0 {
			return i
		}
	}
	if reported.Index == nil {
		return -1
	}
	return where(func(g fabric.GPU) bool {
		return g.Index != nil && *g.Index == *reported.Index && g.Vendor == reported.Vendor && (g.PCI == "" || reported.PCI == "")
	})
}

// gpuText names a GPU by what is known of it.
func gpuText(g fabric.GPU) string {
	if g.PCI == "" && g.UUID == "" && g.Index != nil {
		return fmt.Sprintf("GPU %d", *g.Index)
	}
	return cmp.Or(g.PCI, g.UUID, "GPU")
}

// mergeHealth takes what is not there yet. These values change from one moment to the next, so that two tools may differ.
func mergeHealth(g *fabric.GPU, reported *fabric.GPUHealth) {
	if reported == nil {
		return
	}
	if g.Health == nil {
		g.Health = new(*reported)
		return
	}
	h := g.Health
	h.Fault, h.Recovery, h.ECC = cmp.Or(h.Fault, reported.Fault), cmp.Or(h.Recovery, reported.Recovery), cmp.Or(h.ECC, reported.ECC)
	h.Uncorrected, h.UncorrectedEver = cmp.Or(h.Uncorrected, reported.Uncorrected), cmp.Or(h.UncorrectedEver, reported.UncorrectedEver)
	h.Corrected = cmp.Or(h.Corrected, reported.Corrected)
	h.RowsRemapped, h.PagesRetired = cmp.Or(h.RowsRemapped, reported.RowsRemapped), cmp.Or(h.PagesRetired, reported.PagesRetired)
	h.RemapPending, h.RemapFailed = cmp.Or(h.RemapPending, reported.RemapPending), cmp.Or(h.RemapFailed, reported.RemapFailed)
	h.RetirePending, h.RepairPending = cmp.Or(h.RetirePending, reported.RetirePending), cmp.Or(h.RepairPending, reported.RepairPending)
	h.Unrepairable, h.SRAMOverLimits = cmp.Or(h.Unrepairable, reported.Unrepairable), cmp.Or(h.SRAMOverLimits, reported.SRAMOverLimits)
	h.Throttle, h.Persistence = cmp.Or(h.Throttle, reported.Throttle), cmp.Or(h.Persistence, reported.Persistence)
	h.Fabric = cmp.Or(h.Fabric, reported.Fabric)
}

// mergeNVLink puts the state of the links and their errors together, which are two outputs.
func mergeNVLink(g *fabric.GPU, reported *fabric.NVLink) {
	if reported == nil {
		return
	}
	if g.NVLink == nil {
		g.NVLink = new(*reported)
		return
	}
	errors := g.NVLink.Errors
	if !g.NVLink.Listed && reported.Listed {
		*g.NVLink = *reported
	}
	if errors == nil {
		errors = maps.Clone(reported.Errors)
	}
	g.NVLink.Errors = errors
}

// mergeFabricManager takes what is not there yet: systemd comes before the log.
func (m *merger) mergeFabricManager(reported *fabric.FabricManager) {
	if reported == nil {
		return
	}
	if m.f.FabricManager == nil {
		m.f.FabricManager = new(*reported)
		return
	}
	to := m.f.FabricManager
	to.State, to.Masked = cmp.Or(to.State, reported.State), to.Masked || reported.Masked
	keep(m, fabric.FactFabricManagerVersion, &to.Version, reported.Version)
	to.Driver, to.Says, to.Mode = cmp.Or(to.Driver, reported.Driver), cmp.Or(to.Says, reported.Says), cmp.Or(to.Mode, reported.Mode)
}
