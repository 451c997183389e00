package check

import (
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func numaKnown() Rule {
	return Rule{
		ID:        "numa-known",
		Title:     "The firmware reports the NUMA node of each device",
		Doc:       "reads the NUMA node of every GPU and fabric NIC of a host with several: without it (-1) NCCL, MPI and the kernel place threads and buffers anywhere",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseCPUAffinity,
		Reference: "kernel documentation, ABI/testing/sysfs-bus-pci, numa_node; ACPI 6.5, 6.2.15 _PXM",
		Facts:     []string{fabric.FactPCI, fabric.FactPCINUMANode, fabric.FactMachineNUMANodes},
		Scope:     []Condition{withHardware(), onHost()},
		Node:      judgeNUMAKnown,
	}
}

// numaNodes is the number of NUMA nodes; nil where it was not read, or where functions sit on more nodes than that.
func (in NodeInput) numaNodes() *int {
	nodes := in.Facts.Machine.NUMANodes
	first := -1
	for i := range in.Facts.PCI {
		at := in.Facts.PCI[i].NUMANode
		switch {
		case at == nil || *at < 0:
		case first < 0:
			first = *at
		case *at != first && nodes != nil && *nodes == 1:
			return nil
		}
	}
	return nodes
}

func judgeNUMAKnown(in NodeInput) []Verdict {
	nodes := in.numaNodes()
	return in.eachFunction(in.view.ends, func(d *fabric.PCIDevice) Verdict {
		name := in.Facts.Node + ":" + d.Address
		if d.NUMANode == nil || nodes == nil {
			return Verdict{Why: in.why("NUMA node of "+name+", or how many there are, is unknown", fabric.FactPCINUMANode+" "+d.Address, fabric.FactPCINUMANode, fabric.FactMachineNUMANodes)}
		}
		seen := saw("/sys/bus/pci/devices/"+d.Address+"/numa_node", strconv.Itoa(*d.NUMANode))
		if *d.NUMANode >= 0 || *nodes == 1 {
			return pass("a NUMA node, where there are several", seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: "0 to " + strconv.Itoa(*nodes-1), Evidence: []fabric.Evidence{seen},
			Why:  "The firmware of " + in.Facts.Node + " does not report on which of its " + strconv.Itoa(*nodes) + " NUMA nodes " + d.Address + " is.",
			Cost: "threads and buffers on the wrong socket: twice the latency at small sizes, and traffic over the link between sockets",
			Fix:  onNode("update the BIOS and set NUMA nodes per socket as its vendor advises; until then echo N > /sys/bus/pci/devices/"+fabric.ShellWord(d.Address)+"/numa_node", in.Facts.Node),
		}
	})
}

func gpuNICNUMA() Rule {
	return Rule{
		ID:        "gpu-nic-numa",
		Title:     "Each GPU has a fabric NIC on its NUMA node",
		Doc:       "looks for a fabric NIC on the NUMA node of every GPU: a GPU without one sends over the link between the sockets",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseGPUNICMisaligned,
		Reference: "NCCL documentation, NCCL_NET_GDR_LEVEL (no GPUDirect across SYS); Broadcom RoCE guide 2.8",
		Facts:     []string{fabric.FactGPUs, fabric.FactPCI, fabric.FactPCINUMANode, fabric.FactMachineNUMANodes},
		Scope:     []Condition{withHardware(), withRDMA(), withGPU()},
		DependsOn: []string{"numa-known"},
		Node:      judgeGPUNICNUMA,
	}
}

func judgeGPUNICNUMA(in NodeInput) []Verdict {
	var places []int // NUMA nodes with a fabric NIC
	unread := len(in.view.cards) == 0
	for _, address := range in.view.cards {
		d, ok := in.view.pci[address]
		if !ok || d.NUMANode == nil {
			unread = true
			continue
		}
		places = append(places, *d.NUMANode)
	}
	nodes := in.numaNodes()
	one := nodes != nil && *nodes == 1
	out := in.eachGPU(func(g *fabric.GPU) Verdict {
		name := in.Facts.Node + ":" + g.PCI
		const want = "a fabric NIC on its NUMA node"
		if one && !unread {
			return pass(want, saw("/sys/devices/system/node/online", "one NUMA node"))
		}
		d, ok := in.view.pci[g.PCI]
		if !ok || d.NUMANode == nil || *d.NUMANode < 0 {
			return Verdict{Why: in.why("NUMA node of GPU "+name+" is unknown", fabric.FactPCINUMANode+" "+g.PCI, fabric.FactPCINUMANode, fabric.FactPCI)}
		}
		seen := saw("/sys/bus/pci/devices/"+g.PCI+"/numa_node", strconv.Itoa(*d.NUMANode))
		switch {
		case slices.Contains(places, *d.NUMANode):
			return pass(want, seen)
		case unread || slices.Contains(places, -1):
			return Verdict{Evidence: []fabric.Evidence{seen}, Why: in.why("NUMA nodes of the fabric NICs of "+in.Facts.Node+" are not all read", fabric.FactPCINUMANode, fabric.FactPCI, fabric.FactHCAs)}
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
			Why:  "GPU " + name + " is on NUMA node " + strconv.Itoa(*d.NUMANode) + ", and none of the " + strconv.Itoa(len(places)) + " fabric NICs is.",
			Cost: "its traffic crosses the link between the sockets, without GPUDirect RDMA (NCCL's distance SYS)",
			Fix:  onNode("nvidia-smi topo -m || rocm-smi --showtopo; move a NIC to a slot of that socket, or use only GPUs with a NIC on their NUMA node", in.Facts.Node),
		}
	})
	for i := range out {
		out[i].On = []fabric.Subject{fabric.PCISubject(in.Facts.Node, out[i].Subject.GPU)} // numa-known speaks of the function
	}
	return out
}
