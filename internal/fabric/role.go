package fabric

import (
	"fmt"
	"slices"
	"strings"
)

// HostRole is what a host is for. It decides what ACS, the IOMMU and ATS have to be: a host that uses its GPUs and NICs
// itself and one that gives them to virtual machines need the opposite of each other.
type HostRole string

// Roles of a host. The zero value is unknown.
const (
	HostBareMetal HostRole = "bare metal"
	HostOfVMs     HostRole = "host of virtual machines"
	HostGuest     HostRole = "virtual machine"
)

// HostRole finds the role in what was seen of the host, whatever the platform. The evidence says by what. Where it is unknown,
// the role is empty, and the evidence names the path of the fact that was not seen (Source) and what is unknown (Value).
//
// That the kernel could run virtual machines says nothing: most servers load kvm_amd or kvm_intel. A device that a
// virtual machine has is bound to a driver of VFIO (kernel documentation, driver-api/vfio). A NIC may be bound to one for a
// program of the host too (DPDK): it counts only where the host has no GPU, of which the role would be seen.
func (f *Facts) HostRole() (HostRole, Evidence) {
	m := f.Machine
	if f.Kernel.OS != nil && strings.HasPrefix(*f.Kernel.OS, "VMware ESX") {
		return HostOfVMs, Evidence{Source: "uname", Value: *f.Kernel.OS}
	}
	if m.Hypervisor == nil {
		return "", Evidence{Source: FactMachineHypervisor, Value: "whether " + f.Node + " is a virtual machine is unknown"}
	}
	if *m.Hypervisor {
		return HostGuest, Evidence{Source: "/proc/cpuinfo, flags", Value: "hypervisor"}
	}
	if len(f.PCI) == 0 {
		return "", Evidence{Source: FactPCI, Value: "whether " + f.Node + " gives devices to virtual machines is unknown"}
	}
	return f.roleByDrivers()
}

// roleByDrivers is that of a machine which is no guest. Of a host that keeps some GPUs and gives others away the role is
// unknown: it needs both settings at once.
func (f *Facts) roleByDrivers() (HostRole, Evidence) {
	var kept int
	var gpu, nic *PCIDevice // given away
	for i := range f.PCI {
		d := &f.PCI[i]
		switch {
		case d.isBridge():
		case d.IsNetwork() && d.GivenAway():
			nic = d
		case d.IsNetwork():
		case d.GivenAway():
			gpu = d
		default:
			kept++
		}
	}
	if lost, ok := f.lostDriver(kept > 0); ok {
		return "", Evidence{Source: lost, Value: "whether " + f.Node + " gives devices to virtual machines is unknown"}
	}
	switch {
	case gpu != nil && kept > 0:
		return "", Evidence{Source: gpu.boundTo().Source, Value: fmt.Sprintf("what %s is for is unknown: %s is bound to %s, and %s to no such driver",
			f.Node, gpu.Address, gpu.Driver, Count(kept, "other GPU"))}
	case gpu != nil:
		return HostOfVMs, gpu.boundTo()
	case kept == 0 && nic != nil:
		return HostOfVMs, nic.boundTo()
	}
	return HostBareMetal, Evidence{Source: "/sys/bus/pci/devices/*/driver", Value: Count(kept, "GPU") + ", none bound to VFIO"}
}

// lostDriver finds a function that could have another role than the seen ones: one of which even the class was not read, or
// one of which the driver was not. A NIC says nothing where GPUs are seen.
func (f *Facts) lostDriver(keepsGPUs bool) (path string, lost bool) {
	for _, m := range f.Missing {
		what, address, _ := strings.Cut(m.What, " ")
		switch what {
		case FactPCI:
			return m.What, true
		case FactPCIDriver:
			i := slices.IndexFunc(f.PCI, func(d PCIDevice) bool { return d.Address == address })
			if i < 0 || !f.PCI[i].isBridge() && (!keepsGPUs || !f.PCI[i].IsNetwork()) {
				return m.What, true
			}
		}
	}
	return "", false
}

// GivenAway reports whether the function is bound to a driver of VFIO: a virtual machine has it, or waits for it. Names:
// drivers/vfio/pci of the kernel (vfio-pci, mlx5_vfio_pci, nvgrace-gpu-vfio-pci, ...).
func (d *PCIDevice) GivenAway() bool {
	return strings.HasSuffix(strings.ReplaceAll(d.Driver, "_", "-"), "vfio-pci")
}

func (d *PCIDevice) boundTo() Evidence {
	return Evidence{Source: "/sys/bus/pci/devices/" + d.Address + "/driver", Value: d.Driver}
}

// IsNetwork reports whether the function is a network controller: base class 02 (PCI Code and ID Assignment 1.11, 1.3).
func (d *PCIDevice) IsNetwork() bool { return d.Class>>16 == 0x02 }

// isBridge: a PCI-to-PCI bridge is of base class 06, subclass 04 (1.7).
func (d *PCIDevice) isBridge() bool { return d.Class>>8 == 0x0604 }
