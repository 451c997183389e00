package catalog

import (
	"math"
)

func (p *problems) machine(id string, m MachineModel, c *Catalog) {
	p.head(id, m.Title)
	p.text("source", m.Source)
	p.machineGPUs(m, c)
	reference(p, "nic", "NIC", m.NIC, c.NICs)
	if p.count("nics", m.NICs, unitNIC) && m.NICNames != "" {
		p.nicNames(m.NICNames, int(m.NICs.Value))
	}
	if m.NICLinks != (Figure{}) && p.count("nic_links", m.NICLinks, unitLink) && m.NICLinks.Value >= m.NICs.Value {
		p.add("nic_links.value", "%v is not below the %v NICs", m.NICLinks.Value, m.NICs.Value)
	}
	p.functions(m)
	p.places(m)
	p.images(m.Images)
	if m.GKE != (GKEType{}) {
		p.text("gke.accelerator", m.GKE.Accelerator)
		p.text("gke.source", m.GKE.Source)
		p.count("gke.gvnics", m.GKE.GVNICs, unitNIC)
	}
	if len(m.Fabrics) == 0 {
		p.add("fabrics", "is empty")
	}
	for _, id := range m.Fabrics {
		reference(p, "fabrics", "fabric", id, c.Fabrics)
	}
	if m.CPU != "" {
		p.oneOf("cpu", m.CPU, "amd", "arm", "intel")
	}
	if m.CPUID != (ProcessorID{}) {
		p.cpuid(m)
	}
	p.optional("host_memory", m.HostMemory, unitGB)
	if m.NUMANodes != (Figure{}) {
		p.count("numa_nodes", m.NUMANodes, unitNode)
	}
	if m.PCIeGeneration != (Figure{}) && p.count("pcie_generation", m.PCIeGeneration, unitGeneration) && m.PCIeGeneration.Value > 6 {
		p.add("pcie_generation.value", "%v is above 6", m.PCIeGeneration.Value)
	}
}

// cpuid checks what x86 processors name themselves by: Intel's servers are of family 6, AMD's of 23 and later.
func (p *problems) cpuid(m MachineModel) {
	p.text("cpuid.source", m.CPUID.Source)
	fits := m.CPU == "intel" && m.CPUID.Family == 6 || m.CPU == "amd" && m.CPUID.Family >= 23
	if !fits || m.CPUID.Model < 1 || m.CPUID.Model > 0xff {
		p.add("cpuid", "family %d, model %d is not a server processor of cpu %q", m.CPUID.Family, m.CPUID.Model, m.CPU)
	}
}

func (p *problems) machineGPUs(m MachineModel, c *Catalog) {
	if m.GPU == "" && m.GPUs == (Figure{}) {
		return
	}
	reference(p, "gpu", "GPU", m.GPU, c.GPUs)
	p.count("gpus", m.GPUs, unitGPU)
	gpu := c.GPUs[m.GPU]
	switch { // what the GPU has is what the machine joins them with
	case m.GPUs.Value < 2:
		p.among("scale_up", m.ScaleUp, "")
	case gpu.ScaleUp == Figure{}:
		p.among("scale_up", m.ScaleUp, "pcie")
	default:
		p.among("scale_up", m.ScaleUp, map[string]string{"nvidia": "nvlink", "amd": "xgmi"}[gpu.Vendor])
	}
	for field, f := range sorted(map[string]Figure{"scale_up_gpus": m.ScaleUpGPUs, "gpus_per_switch": m.GPUsPerSwitch}) {
		if f != (Figure{}) {
			p.count(field, f, unitGPU)
		}
	}
	if m.ScaleUpGPUs != (Figure{}) && m.ScaleUpGPUs.Value < m.GPUs.Value {
		p.add("scale_up_gpus.value", "%v is below the %v of the machine", m.ScaleUpGPUs.Value, m.GPUs.Value)
	}
	if m.NVSwitches != (Figure{}) {
		p.count("nvswitches", m.NVSwitches, unitNVSwitch)
	}
	if m.NVSwitchID != "" && (m.NVSwitches == (Figure{}) || !isPCIID(m.NVSwitchID)) {
		p.add("nvswitch_id", "%q is not vendor:device of the nvswitches", m.NVSwitchID)
	}
	p.link("switch_uplink", m.SwitchUplink)
	if m.SwitchUplink != (PCIeLink{}) && m.GPUsPerSwitch == (Figure{}) {
		p.add("switch_uplink", "has no meaning without gpus_per_switch")
	}
	if m.VirtualSwitch != (Figure{}) && p.count("virtual_switches", m.VirtualSwitch, unitSwitch) &&
		(m.GPUsPerSwitch == (Figure{}) || math.Mod(m.GPUsPerSwitch.Value, m.VirtualSwitch.Value) != 0) {
		p.add("virtual_switches.value", "%v do not share the %v of gpus_per_switch evenly", m.VirtualSwitch.Value, m.GPUsPerSwitch.Value)
	}
	p.ports("switch_ports", m.SwitchPorts)
	if m.GPUsPerSwitch.Value > m.GPUs.Value {
		p.add("gpus_per_switch.value", "%v is above the %v of the machine", m.GPUsPerSwitch.Value, m.GPUs.Value)
	}
}

// ports checks a range of ports, where there is one.
func (p *problems) ports(field string, r Range) {
	if r == (Range{}) {
		return
	}
	p.count(field, Figure{Value: r.Least, Unit: r.Unit, Source: r.Source}, unitPort)
	p.count(field, Figure{Value: r.Most, Unit: r.Unit, Source: r.Source}, unitPort)
	if r.Least > r.Most {
		p.add(field, "least %v is above most %v", r.Least, r.Most)
	}
}
