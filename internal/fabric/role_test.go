package fabric

import (
	"strings"
	"testing"
)

func TestHostRole(t *testing.T) {
	yes, no, esx, ubuntu := true, false, "VMware ESXi 9.0.0", "Ubuntu 24.04.2 LTS"
	const gpuAt, nicAt, bridgeAt, switchAt = "0000:14:00.0", "0000:13:00.0", "0000:12:00.0", "0000:15:00.0"
	host := func(gpu, nic string) Facts {
		return Facts{Node: "host1", Kernel: Kernel{OS: &ubuntu}, Machine: Machine{Hypervisor: &no}, Modules: []Module{{Name: "kvm"}, {Name: "kvm_amd"}}, PCI: []PCIDevice{
			{Address: bridgeAt, Class: 0x060400, Driver: "pcieport"}, {Address: nicAt, Class: 0x020000, Driver: nic}, {Address: gpuAt, Class: 0x120000, Driver: gpu},
		}}
	}
	nics := func(driver string) Facts {
		f := host("", driver)
		f.PCI = f.PCI[:2]
		return f
	}
	with := func(f Facts, change func(*Facts)) Facts {
		change(&f)
		return f
	}
	lost := func(what string) func(*Facts) {
		return func(f *Facts) { f.Missing = append(f.Missing, Missing{What: what, Source: "sysfs", Reason: "denied"}) }
	}
	for name, tt := range map[string]struct {
		facts Facts
		want  HostRole
		by    string
	}{
		"bare metal with kvm loaded": {host("amdgpu", "bnxt_en"), HostBareMetal, "none bound to VFIO"},
		"GPU driver not loaded":      {host("", "bnxt_en"), HostBareMetal, "none bound"},
		"KVM":                        {host("vfio-pci", "vfio-pci"), HostOfVMs, "vfio-pci"},
		"KVM, NIC still the host's":  {host("vfio-pci", "mlx5_core"), HostOfVMs, "vfio-pci"},
		"a vendor's VFIO driver":     {host("nvgrace-gpu-vfio-pci", "mlx5_vfio_pci"), HostOfVMs, "nvgrace"},
		"a NIC of DPDK beside a GPU": {host("amdgpu", "vfio-pci"), HostBareMetal, ""},
		"NICs only, given away":      {nics("mlx5_vfio_pci"), HostOfVMs, "mlx5_vfio_pci"},
		"NICs only":                  {nics("mlx5_core"), HostBareMetal, "0 GPUs"},
		"NVSwitch given away": {with(nics("mlx5_core"), func(f *Facts) {
			f.PCI = append(f.PCI, PCIDevice{Address: switchAt, Class: 0x068000, Driver: "vfio-pci"})
		}), HostOfVMs, switchAt},
		"guest with VFIO of its own":      {with(host("vfio-pci", "vfio-pci"), func(f *Facts) { f.Machine.Hypervisor = &yes }), HostGuest, "hypervisor"},
		"ESX":                             {Facts{Node: "host1", Kernel: Kernel{OS: &esx}}, HostOfVMs, "ESX"},
		"guest or not was not read":       {with(host("amdgpu", "bnxt_en"), func(f *Facts) { f.Machine.Hypervisor = nil }), "", FactMachineHypervisor},
		"no function was read":            {with(host("amdgpu", "bnxt_en"), func(f *Facts) { f.PCI = nil }), "", FactPCI},
		"list of functions cut":           {with(host("amdgpu", "bnxt_en"), lost(FactPCI)), "", FactPCI},
		"a function without a class":      {with(host("amdgpu", "bnxt_en"), lost(FactPCI+" 0000:99:00.0")), "", FactPCI},
		"driver of the GPU not read":      {with(host("", "bnxt_en"), lost(FactPCIDriver+" "+gpuAt)), "", gpuAt},
		"driver of the NIC not read":      {with(host("amdgpu", ""), lost(FactPCIDriver+" "+nicAt)), HostBareMetal, ""},
		"driver of the only NIC not read": {with(nics(""), lost(FactPCIDriver+" "+nicAt)), "", nicAt},
		"driver of a bridge not read":     {with(host("amdgpu", "bnxt_en"), lost(FactPCIDriver+" "+bridgeAt)), HostBareMetal, ""},
		"drivers not read at all":         {with(host("", ""), lost(FactPCIDriver)), "", FactPCIDriver},
		"one GPU kept, one given away": {with(host("amdgpu", "bnxt_en"), func(f *Facts) {
			f.PCI = append(f.PCI, PCIDevice{Address: switchAt, Class: 0x120000, Driver: "vfio-pci"})
		}), "", switchAt},
		"a driver that only ends like VFIO's": {host("novfio", "bnxt_en"), HostBareMetal, ""},
	} {
		role, by := tt.facts.HostRole()
		if said := by.Source + " " + by.Value; role != tt.want || !strings.Contains(said, tt.by) {
			t.Errorf("%s: %q by %q, want %q by %q", name, role, said, tt.want, tt.by)
		}
	}
}
