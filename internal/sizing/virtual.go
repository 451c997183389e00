package sizing

import (
	"fmt"
	"math/bits"
)

// UnifiedCap is the largest --gpu-memory-utilization that starts where GPU and CPU share memory: vLLM asks that
// utilization x total is free at its start, and the system's own part never is.
func UnifiedCap(totalGiB, freeGiB float64) (float64, error) {
	if !(totalGiB > 0) || !(freeGiB > 0) || freeGiB > totalGiB {
		return 0, fmt.Errorf("unified memory: %g of %g GiB free: free must be above 0 and at most the total", freeGiB, totalGiB)
	}
	return float64(int(freeGiB/totalGiB*100)) / 100, nil // rounded down: a hundredth more would not start
}

// UnifiedNotes returns what is different where GPU and CPU share memory.
func UnifiedNotes(m Machine) []string {
	notes := []string{
		"the GPU shares its memory with the CPU: the page cache counts as used, so drop it before the engine starts (echo 1 > /proc/sys/vm/drop_caches)",
	}
	if limit, err := UnifiedCap(m.CUDAGiB, m.IdleGiB); err == nil {
		notes = append(notes, fmt.Sprintf("--gpu-memory-utilization at most %.2f: %.1f of %.2f GiB are free after the system has started", limit, m.IdleGiB, m.CUDAGiB))
	}
	return notes
}

// MMIO is the memory-mapped I/O space that a virtual machine needs for the GPUs and NICs that it is given,
// pciPassthru.64bitMMIOSizeGB.
type MMIO struct {
	GB      int64 // of 2^30 bytes, as the setting counts
	Formula string
	Notes   []string
}

// The rule of the VMware document, 10.1: 128 GB for each H100, for the NICs of a machine 32 GB at least.
const (
	mmioNICs    = 32   // GB
	mmioOfANIC  = 4    // GB: above the document's eight NICs, in proportion
	maxDevices  = 1024 // more than any host holds
	gibOfMemory = 1 << 30
)

// MMIOSize is what a machine with so many GPUs of such memory and so many NICs needs. A GPU maps all of its memory,
// and a PCI region is a power of two: 80 GB take 128. Of H200 the document says 128 GB as well, but nvidia-smi
// shows a region of 262144 MiB, as 141 GB do not fit into 128: such a machine would not start.
func MMIOSize(machine Machine, gpus int) (MMIO, error) {
	gpu, nics := machine.GPU, machine.NICs
	switch {
	case gpus < 1 || gpus > maxDevices:
		return MMIO{}, fmt.Errorf("mmio: %d GPUs: must be from 1 to %d", gpus, maxDevices)
	case nics < 0 || nics > maxDevices:
		return MMIO{}, fmt.Errorf("mmio: %d NICs: must be from 0 to %d", nics, maxDevices)
	case gpu.Unified:
		return MMIO{}, fmt.Errorf("mmio: gpu %q: its memory is the system's, it is not passed through", gpu.Name)
	case gpu.MemoryBytes < 1 || gpu.MemoryBytes > 1<<50:
		return MMIO{}, fmt.Errorf("mmio: gpu %q: memory of %d bytes: unknown", gpu.Name, gpu.MemoryBytes)
	}
	region := regionGB(gpu.MemoryBytes)
	small := int64(max(mmioNICs, mmioOfANIC*nics))
	m := MMIO{GB: int64(gpus)*region + small}
	m.Formula = fmt.Sprintf("%d GPUs x %d GB + %d GB for %d NICs = %d GB", gpus, region, small, nics, m.GB)
	if documented := machine.MMIOGB; documented > 0 && region > documented {
		m.Notes = append(m.Notes, fmt.Sprintf("the VMware document, 10.1, states %d GB for such a GPU: %d GB; its memory takes a region of %d GB, so that would be too small", documented, int64(gpus)*documented+small, region))
	}
	return m, nil
}

// regionGB is the power of two that holds so many bytes, in GB of 2^30.
func regionGB(memory int64) int64 {
	whole := uint64((memory + gibOfMemory - 1) / gibOfMemory)
	if whole <= 1 {
		return 1
	}
	return 1 << bits.Len64(whole-1)
}

// Domain is the smallest workload domain of VMware Cloud Foundation around GPU servers.
type Domain struct {
	GPUServers int
	CPUServers int // standard servers without GPUs beside them
	Switches   int // of the GPUs' network
	Reasons    []string
}

// A cluster of vSAN with four hosts keeps its data redundant while one is in maintenance and another fails over: a
// host less leaves no place to rebuild to. The document, 2.4, starts at four for the same reason, and says that only
// those that serve have to have GPUs.
const domainHosts = 4

// SmallestDomain is what VMware's document, 2.4, recommends around the servers that a replica needs: four hosts, of
// which only the serving ones have GPUs, and switches on which every rail stays on one switch.
func SmallestDomain(servers, nics, switchPorts int) (Domain, error) {
	switch {
	case servers < 1 || servers > 4096:
		return Domain{}, fmt.Errorf("domain: %d GPU servers: must be from 1 to 4096", servers)
	case nics < 0 || nics > maxDevices:
		return Domain{}, fmt.Errorf("domain: %d NICs: must be from 0 to %d", nics, maxDevices)
	case switchPorts < 1:
		return Domain{}, fmt.Errorf("domain: a switch of %d ports: must have at least 1", switchPorts)
	}
	d := Domain{GPUServers: servers, CPUServers: max(0, domainHosts-servers)}
	d.Reasons = append(d.Reasons, fmt.Sprintf("hosts: max(%d, %d) = %d, as vSAN needs a spare host to rebuild (VMware document 2.4: minimum of %d)",
		domainHosts, servers, servers+d.CPUServers, domainHosts))
	if d.CPUServers > 0 {
		d.Reasons = append(d.Reasons, fmt.Sprintf("%d with GPUs, %d standard servers without: only those that serve need GPUs (2.4, cost optimization)", servers, d.CPUServers))
	}
	if servers == 1 {
		d.Reasons = append(d.Reasons, "one server serves alone: no switch for the GPUs' network is needed")
		return d, nil
	}
	if rails := switchPorts / servers; nics > 0 && rails == 0 {
		return Domain{}, fmt.Errorf("domain: %d GPU servers: a switch of %d ports does not hold one rail of them; leaves and spines are needed", servers, switchPorts)
	} else if nics > 0 {
		d.Switches = int(ceilDiv(int64(nics), int64(min(rails, nics))))
		d.Reasons = append(d.Reasons, fmt.Sprintf("switches: %d ports hold %d of %d rails of %d servers: %d", switchPorts, min(rails, nics), nics, servers, d.Switches))
	}
	return d, nil
}
