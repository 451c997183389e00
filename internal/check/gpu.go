package check

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func gpuDevice() Rule {
	return Rule{
		ID:        "gpu-device",
		Title:     "The node has GPUs",
		Doc:       "looks for GPUs among the PCI functions: a node without GPUs may be the wrong node, or has lost them, so GPU checks are unknown",
		Severity:  fabric.SeverityWarning,
		Reference: "PCI Code and ID Assignment Specification, base classes 03 and 12; Broadcom RoCE guide chapter 7",
		Facts:     []string{fabric.FactGPUs, fabric.FactPCI},
		Scope:     []Condition{withHardware()},
		Node:      judgeGPUDevice,
	}
}

func judgeGPUDevice(in NodeInput) []Verdict {
	seen := saw("/sys/bus/pci/devices", strconv.Itoa(len(in.Facts.GPUs))+" GPUs")
	if len(in.Facts.GPUs) == 0 {
		return in.asNode(Verdict{
			Evidence: []fabric.Evidence{seen}, Why: in.why("no GPU was seen on "+in.Facts.Node, fabric.FactGPUs, fabric.FactPCI),
			Fix: onNode("lspci -nn | grep -i -e '\\[03' -e '\\[12'", in.Facts.Node),
		})
	}
	if d, ok := in.unlistedGPU(); ok {
		return in.asNode(Verdict{Evidence: []fabric.Evidence{seen}, Why: in.Facts.Node + ":" + d.Address + " is of the class and vendor of its GPUs, and is not among them"})
	}
	return in.asNode(pass("at least one GPU", seen))
}

// unlistedGPU finds a PCI function of the vendor and class of a GPU that is not in the list of GPUs.
func (in NodeInput) unlistedGPU() (*fabric.PCIDevice, bool) {
	first, ok := in.view.pci[in.Facts.GPUs[0].PCI]
	if !ok {
		return nil, false
	}
	for i := range in.Facts.PCI {
		if d := &in.Facts.PCI[i]; d.Vendor == first.Vendor && d.Class == first.Class && !in.isGPU(d.Address) {
			return d, true
		}
	}
	return nil, false
}

func gpuDriver() Rule {
	return Rule{
		ID:        "gpu-driver",
		Title:     "Each GPU has its driver",
		Doc:       "reads which driver each GPU is bound to: without nvidia or amdgpu no program can use it",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseGPUDriver,
		Reference: "Broadcom RoCE guide 2.6 no. 3 and chapter 7",
		Facts:     []string{fabric.FactGPUs, fabric.FactPCI, fabric.FactPCIDriver},
		Scope:     []Condition{withHardware(), withGPU()},
		Node:      judgeGPUDriver,
	}
}

// driverOfGPU returns the compute driver of a vendor's GPUs.
func driverOfGPU(vendor string) string {
	if vendor == "amd" {
		return "amdgpu"
	}
	return "nvidia"
}

func judgeGPUDriver(in NodeInput) []Verdict {
	return in.eachGPU(func(g *fabric.GPU) Verdict {
		name, want := in.gpuName(g), driverOfGPU(g.Vendor)
		have := orWord(g.Driver, "none")
		seen := saw("/sys/bus/pci/devices/"+g.PCI+"/driver", have)
		if have == want {
			return pass(want, seen)
		}
		if d, ok := in.view.pci[g.PCI]; ok && d.GivenAway() && in.givesAllGPUs() {
			return pass(want+", or VFIO on a host that gives all its GPUs to virtual machines", seen)
		}
		if _, cut := in.missing(fabric.FactPCIDriver+" "+g.PCI, fabric.FactPCIDriver); (cut || in.Facts.Source == captured) && g.Driver == "" {
			return Verdict{Evidence: []fabric.Evidence{seen}, Why: in.pciWhy("driver of GPU "+name+" was not read", fabric.FactPCIDriver, g.PCI)}
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
			Why:  "GPU " + name + " is bound to driver " + have + ", not " + want + ".",
			Cost: "1 of " + strconv.Itoa(len(in.Facts.GPUs)) + " GPUs of the node cannot be used",
			Fix:  onNode("modprobe "+want+"; dkms status; dmesg | grep -i -e "+want+" -e "+fabric.ShellWord(g.PCI), in.Facts.Node),
		}
	})
}

// givesAllGPUs reports whether every GPU is for virtual machines, on a host that is not planned to compute itself.
func (in NodeInput) givesAllGPUs() bool {
	role, _ := in.Facts.HostRole()
	return in.Plan == nil && role == fabric.HostOfVMs
}

// eachGPU judges every GPU.
func (in NodeInput) eachGPU(judge func(*fabric.GPU) Verdict) []Verdict {
	if len(in.Facts.GPUs) == 0 {
		return in.asNode(Verdict{Why: in.why("no GPU was seen on "+in.Facts.Node, fabric.FactGPUs, fabric.FactPCI)})
	}
	out := in.room(len(in.Facts.GPUs))
	for i := range in.Facts.GPUs {
		g := &in.Facts.GPUs[i]
		v := judge(g)
		v.Subject = in.gpuSubject(in.gpuPart(g))
		out = append(out, v)
	}
	return out
}

// eachNVIDIA judges every GPU of NVIDIA. name is the node and the GPU.
func (in NodeInput) eachNVIDIA(judge func(g *fabric.GPU, name string) Verdict) []Verdict {
	out := in.room(len(in.Facts.GPUs))
	for i := range in.Facts.GPUs {
		if g := &in.Facts.GPUs[i]; g.Vendor == "nvidia" {
			v := judge(g, in.gpuName(g))
			v.Subject = in.gpuSubject(in.gpuPart(g))
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return in.asNode(Verdict{Why: in.why("no GPU of NVIDIA was seen on "+in.Facts.Node, fabric.FactGPUs, fabric.FactPCI)})
	}
	return out
}

// gpuPart names a GPU on its node: by its PCI address; where only outputs of tools are there, by their number of it or its UUID,
// else by its place in them.
func (in NodeInput) gpuPart(g *fabric.GPU) string {
	switch {
	case g.PCI != "":
		return g.PCI
	case g.Index != nil:
		return "gpu" + strconv.Itoa(*g.Index)
	case g.UUID != "":
		return g.UUID
	}
	for i := range in.Facts.GPUs {
		if g == &in.Facts.GPUs[i] {
			return "gpu-" + strconv.Itoa(i+1) + "-of-the-text"
		}
	}
	return "gpu"
}

func (in NodeInput) gpuName(g *fabric.GPU) string { return in.Facts.Node + ":" + in.gpuPart(g) }

func (in NodeInput) isGPU(address string) bool {
	return slices.ContainsFunc(in.Facts.GPUs, func(g fabric.GPU) bool { return g.PCI == address })
}

func (in NodeInput) gpuSubject(address string) fabric.Subject {
	return fabric.Subject{Kind: "gpu", Node: in.Facts.Node, GPU: address}
}

func gpuDirect() Rule {
	return Rule{
		ID:    "gpu-direct",
		Title: "NICs can register GPU memory",
		Doc: "looks for one of the two ways in which a NIC can access GPU memory: a peer memory client (nvidia_peermem; amdgpu has its own) or RDMA over dma-buf; " +
			"without one NCCL copies through host memory. Not for GPUs that share the host's memory (GB10)",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseGDRDisabled,
		Reference: "Broadcom RoCE guide 2.6 no. 1 and 5.1 no. 3; NVIDIA GPUDirect RDMA documentation; kernel documentation, driver-api/dma-buf",
		Facts:     []string{fabric.FactGPUs, fabric.FactKernelDMABuf, fabric.FactKernelPeerMemory, fabric.FactModules},
		Scope:     []Condition{withHardware(), withRDMA(), withGPU()},
		Node:      judgeGPUDirect,
	}
}

// ownerOfPeerMemory says whose it is: where the kernel has it, the vendor's ib_peer_mem is neither needed nor loaded.
func ownerOfPeerMemory(module string) string {
	switch module {
	case "":
		return "built in"
	case "ib_peer_mem":
		return "of the vendor's ib_peer_mem"
	}
	return "of the kernel's " + module
}

func judgeGPUDirect(in NodeInput) []Verdict {
	const want = "peer memory or dma-buf"
	if len(in.Facts.GPUs) == 0 {
		return in.asNode(Verdict{Why: in.why("no GPU was seen on "+in.Facts.Node, fabric.FactGPUs, fabric.FactPCI)})
	}
	if strings.Contains(in.Facts.GPUs[0].Name, "GB10") || in.Facts.Machine.Product != nil && strings.Contains(*in.Facts.Machine.Product, "Spark") {
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "the GPU of " + in.Facts.Node + " shares the host's memory: it has no memory of its own to register"})
	}
	k, nvidia := in.Facts.Kernel, in.Facts.GPUs[0].Vendor == "nvidia"
	client := in.loaded("nvidia_peermem") || in.loaded("nv_peer_mem")
	_, unlisted := in.missing(fabric.FactModules)
	switch {
	case k.DMABuf != nil && *k.DMABuf:
		return in.asNode(pass(want, saw("/proc/kallsyms", "ib_umem_dmabuf_get")))
	case nvidia && client:
		return in.asNode(pass(want, saw("/proc/modules", "nvidia_peermem")))
	case !nvidia && k.PeerMemory != nil && *k.PeerMemory:
		return in.asNode(pass(want, saw("/proc/kallsyms", "ib_register_peer_memory_client, "+ownerOfPeerMemory(k.PeerMemoryBy))))
	case k.DMABuf == nil, nvidia && (unlisted || len(in.Facts.Modules) == 0), !nvidia && k.PeerMemory == nil:
		return in.asNode(Verdict{Why: in.why("unknown whether the kernel of "+in.Facts.Node+" has peer memory or RDMA over dma-buf",
			fabric.FactKernelDMABuf, fabric.FactKernelPeerMemory, fabric.FactModules)})
	}
	v := Verdict{
		Status: fabric.Fail, Expected: want,
		Evidence: []fabric.Evidence{saw("/proc/kallsyms, /proc/modules", "neither ib_umem_dmabuf_get nor a peer memory client")},
		Why:      "The kernel of " + in.Facts.Node + " has neither a peer memory client nor RDMA over dma-buf: its NICs cannot read or write GPU memory.",
		Cost:     "every byte is copied through host memory: it crosses the GPU's PCIe link, the root complex and the NIC's link in turn",
		Fix:      onNode("modprobe ib_peer_mem || uname -r; if there is no such module: kernel 5.12 or later and a NIC driver with dma-buf", in.Facts.Node),
	}
	if nvidia {
		v.Fix = onNode("modprobe nvidia_peermem; for dma-buf: kernel 5.12 or later and the driver's open kernel modules", in.Facts.Node)
	}
	return in.asNode(v)
}
