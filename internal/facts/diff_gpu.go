package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func (d *differ) gpus() {
	if d.unread(fabric.FactGPUs, len(d.a.GPUs), len(d.b.GPUs)) {
		return
	}
	none := func(*fabric.GPU) string { return "" }
	key := func(g *fabric.GPU) string { return g.PCI }
	for _, p := range match(placed(d.a.GPUs, d.pci.ofA), placed(d.b.GPUs, d.pci.ofB), none, key) {
		if p.a == nil || p.b == nil {
			at := cmp.Or(p.a, p.b).PCI
			d.missing(rankDevice, isError, "GPU "+at, p.a != nil, p.b != nil, "fewer GPUs than the other", fabric.FactGPUs, fabric.FactPCI, fabric.FactPCI+" "+at)
			continue
		}
		a, b := p.a, p.b
		thing := "GPU " + a.PCI
		d.compare(thing,
			field{rankDevice, isError, "vendor", a.Vendor, b.Vendor, ""},
			field{rankDevice, isError, "name", text(a.Name), text(b.Name), "another model"},
			field{rankVersion, isWarning, "driver", orNone(d.a, a.Driver, fabric.FactPCIDriver, fabric.FactPCIDriver+" "+a.PCI), orNone(d.b, b.Driver, fabric.FactPCIDriver, fabric.FactPCIDriver+" "+b.PCI), "a GPU without its driver is unusable"},
			field{rankVersion, isWarning, "driver version", text(a.DriverVersion), text(b.DriverVersion), "all nodes of a job should have the same"},
			field{rankVersion, isWarning, "VBIOS", text(a.VBIOS), text(b.VBIOS), ""},
		)
		d.gpuHealth(thing, a.Health, b.Health)
		d.nvlink(thing, a.NVLink, b.NVLink)
		if d.identities {
			d.compare(thing, field{rankDevice, isWarning, "UUID", text(a.UUID), text(b.UUID), "another board in this slot"})
		}
	}
}

// placed are the GPUs under the names that both sides have for their PCI functions.
func placed(list []fabric.GPU, name func(string) string) []fabric.GPU {
	out := slices.Clone(list)
	for i := range out {
		out[i].PCI = name(out[i].PCI)
	}
	return out
}

// gpuHealth compares what a GPU says of itself, without what changes from one moment to the next: corrected errors, and what
// lowers its clocks.
func (d *differ) gpuHealth(thing string, a, b *fabric.GPUHealth) {
	if a == nil && b == nil {
		return
	}
	a, b = cmp.Or(a, &fabric.GPUHealth{}), cmp.Or(b, &fabric.GPUHealth{})
	fa, fb := cmp.Or(a.Fabric, &fabric.GPUFabric{}), cmp.Or(b.Fabric, &fabric.GPUFabric{})
	none := func(text string) string { return cmp.Or(text, "none") }
	d.compare(thing,
		field{rankDevice, isError, "answer", cmp.Or(a.Fault, "whole"), cmp.Or(b.Fault, "whole"), "a GPU that does not answer is lost to jobs"},
		field{rankDevice, isWarning, "recovery that the driver asks for", text(a.Recovery), text(b.Recovery), ""},
		field{rankSetting, isWarning, "ECC", text(a.ECC), text(b.ECC), "without it errors of memory go unseen"},
		field{rankDevice, isWarning, "uncorrected memory errors", value(a.Uncorrected), value(b.Uncorrected), "each ends a job or spoils its numbers"},
		field{rankOther, isInfo, "uncorrected memory errors ever", value(a.UncorrectedEver), value(b.UncorrectedEver), ""},
		field{rankOther, isInfo, "rows remapped", value(a.RowsRemapped), value(b.RowsRemapped), ""},
		field{rankDevice, isWarning, "row remap pending", value(a.RemapPending), value(b.RemapPending), "it waits for a reset of the GPU"},
		field{rankDevice, isError, "row remap failed", value(a.RemapFailed), value(b.RemapFailed), "no spare row is left: the GPU is to be changed"},
		field{rankOther, isInfo, "pages retired", value(a.PagesRetired), value(b.PagesRetired), ""},
		field{rankDevice, isWarning, "page retirement pending", value(a.RetirePending), value(b.RetirePending), "it waits for a reset of the GPU"},
		field{rankDevice, isWarning, "repair pending", value(a.RepairPending), value(b.RepairPending), "it waits for a reboot"},
		field{rankDevice, isError, "unrepairable memory", value(a.Unrepairable), value(b.Unrepairable), "the GPU is to be changed"},
		field{rankDevice, isWarning, "SRAM errors over the limit", value(a.SRAMOverLimits), value(b.SRAMOverLimits), "the GPU is to be changed"},
		field{rankSetting, isInfo, "persistence mode", value(a.Persistence), value(b.Persistence), "without it the first program waits for the driver"},
		field{rankPort, isError, "fabric state", text(fa.State), text(fb.State), "until it is Completed the GPU has no NVLink fabric"},
		field{rankPort, isError, "fabric status", text(fa.Status), text(fb.Status), ""},
		field{rankPort, isError, "fabric health", text(fa.Health), text(fb.Health), ""},
		field{rankPort, isWarning, "fabric faults", none(fa.Faults), none(fb.Faults), ""},
	)
}

// nvlink compares the links of a GPU, without their error counters.
func (d *differ) nvlink(thing string, a, b *fabric.NVLink) {
	if a == nil && b == nil {
		return
	}
	a, b = cmp.Or(a, &fabric.NVLink{}), cmp.Or(b, &fabric.NVLink{})
	of := func(n *fabric.NVLink, v string) string {
		if !n.Listed {
			return unknown
		}
		return v
	}
	numbers := func(list []int) string {
		if len(list) == 0 {
			return "none"
		}
		return fmt.Sprint(list)
	}
	rate := func(gbps float64) string { return strconv.FormatFloat(gbps, 'f', -1, 64) + " GB/s" }
	d.compare(thing,
		field{rankLink, isError, "NVLinks up", of(a, strconv.Itoa(a.Up)), of(b, strconv.Itoa(b.Up)), "fewer links carry less between the GPUs"},
		field{rankLink, isError, "NVLinks down", of(a, numbers(a.Down)), of(b, numbers(b.Down)), ""},
		field{rankLink, isError, "NVLink rate", of(a, rate(a.GBps)), of(b, rate(b.GBps)), ""},
		field{rankLink, isError, "slow NVLinks", of(a, numbers(a.Slow)), of(b, numbers(b.Slow)), ""},
		field{rankLink, isError, "slowest NVLink", of(a, rate(a.Low)), of(b, rate(b.Low)), ""},
		field{rankLink, isInfo, "NVLink message", of(a, cmp.Or(a.Says, "none")), of(b, cmp.Or(b.Says, "none")), ""},
	)
}

// fabricManager compares the service that sets up NVSwitches.
func (d *differ) fabricManager() {
	d.nvShare()
	d.compare("subnet manager", field{rankSetting, isWarning, "virtual ports", text(d.a.SMVirtual), text(d.b.SMVirtual), "without it the ports of virtual functions stay down"})
	a, b := d.a.FabricManager, d.b.FabricManager
	if a == nil && b == nil {
		return
	}
	known := func(m *fabric.FabricManager, v func(*fabric.FabricManager) string) string {
		if m == nil {
			return unknown
		}
		return v(m)
	}
	row := func(name, why string, v func(*fabric.FabricManager) string) field {
		return field{rankVersion, isWarning, name, known(a, v), known(b, v), why}
	}
	d.compare("Fabric Manager",
		row("state", "without it the NVSwitches are not set up", func(m *fabric.FabricManager) string { return text(m.State) }),
		row("masked", "nothing can start it", func(m *fabric.FabricManager) string { return strconv.FormatBool(m.Masked) }),
		row("version", "it must be that of the driver", func(m *fabric.FabricManager) string { return text(m.Version) }),
		row("driver that it refused", "", func(m *fabric.FabricManager) string { return cmp.Or(m.Driver, "none") }),
		row("message", "", func(m *fabric.FabricManager) string { return cmp.Or(m.Says, "none") }),
		row("mode", "in mode 1 GPUs wait for a partition", func(m *fabric.FabricManager) string { return value(m.Mode) }),
	)
}

// nvShare compares the partitions of shared NVSwitches.
func (d *differ) nvShare() {
	row := func(name, why string, of func(*fabric.NVShare) string) field {
		said := func(s *fabric.NVShare) string {
			if s == nil {
				return "not read"
			}
			return of(s)
		}
		return field{rankSetting, isWarning, name, said(d.a.NVShare), said(d.b.NVShare), why}
	}
	d.compare("shared NVSwitches",
		row("partitions", "GPUs reach each other by NVLink only within an active partition", func(s *fabric.NVShare) string { return fmt.Sprint(s.Partitions) }),
		row("Module Ids of the GPUs", "other GPUs need another partition", func(s *fabric.NVShare) string { return fmt.Sprint(s.Modules) }),
	)
}
