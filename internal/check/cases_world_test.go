package check

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Changes that the cases of several files make.

func both(changes ...func(*world)) func(*world) {
	return func(w *world) {
		for _, c := range changes {
			c(w)
		}
	}
}

func onPort(change func(*fabric.Port)) func(*world) {
	return func(w *world) { change(&w.host1().HCAs[2].Ports[0]) }
}

func onHCA(change func(*fabric.HCA)) func(*world) {
	return func(w *world) { change(&w.host1().HCAs[2]) }
}

func onMachine(change func(*fabric.Machine)) func(*world) {
	return func(w *world) { change(&w.host1().Machine) }
}

func onNIC(change func(*fabric.NIC)) func(*world) { return func(w *world) { change(eth3(w)) } }

func onPCI(address string, change func(*fabric.PCIDevice)) func(*world) {
	return func(w *world) { change(pciOf(w.host1(), address)) }
}

func onModule(name string, change func(*fabric.Module)) func(*world) {
	return func(w *world) {
		change(&w.host1().Modules[slices.IndexFunc(w.host1().Modules, func(m fabric.Module) bool { return m.Name == name })])
	}
}

// loaded is one more module, on every host.
func loaded(name, version string) func(*world) {
	return func(w *world) {
		for _, f := range w.nodes {
			f.Modules = append(f.Modules, fabric.Module{Name: name, Version: version, OnDisk: version})
		}
	}
}

func gone(what string) func(*world) { return func(w *world) { w.missing(what) } }

func logged(lines ...string) func(*world) {
	return func(w *world) { w.host1().KernelLog.Lines = append(w.host1().KernelLog.Lines, lines...) }
}

func logCut(w *world)    { w.host1().KernelLog.Cut = true }
func logUnread(w *world) { w.host1().KernelLog = nil; w.missing("kernel_log") }

func noModules(w *world) { w.host1().Modules = nil; w.missing("modules") }

func dropModule(name string) func(*world) {
	return func(w *world) {
		w.host1().Modules = slices.DeleteFunc(w.host1().Modules, func(m fabric.Module) bool { return m.Name == name })
	}
}

// bare is a host without RDMA, whose kernel has no list of RDMA devices, checked without a cluster file.
func bare(w *world) {
	noPlan(w)
	noClass(w)
}

func noClass(w *world) {
	for _, f := range w.nodes {
		f.HCAs = nil
		f.Missing = append(f.Missing, fabric.Missing{What: "hcas", Source: "/sys/class/infiniband", Reason: "no such file or directory", Absent: true})
	}
}

// noGPUs leaves the functions of bridges and NICs.
func noGPUs(w *world) {
	for _, f := range w.nodes {
		f.GPUs = nil
		f.PCI = slices.DeleteFunc(f.PCI, func(d fabric.PCIDevice) bool { return d.Class == gpuClass })
	}
}

// giveAway binds the GPUs and NICs of a host to VFIO, as one of virtual machines under KVM has them.
func giveAway(f *fabric.Facts) {
	for i := range f.PCI {
		if d := &f.PCI[i]; !isBridge(d) {
			d.Driver = "vfio-pci"
		}
	}
}

// kvm gives GPUs and NICs away on all hosts, with ATS of the NICs on.
func kvm(w *world) {
	for _, f := range w.nodes {
		giveAway(f)
		for i := range f.PCI {
			f.PCI[i].ATS.Enabled = true
		}
	}
}

// vmHosts have ACS as well as virtual machines need it.
func vmHosts(w *world) {
	kvm(w)
	for _, f := range w.nodes {
		for i := range f.PCI {
			if isBridge(&f.PCI[i]) {
				f.PCI[i].ACS.Control = acsOfHypervisor
			}
		}
	}
}

func onVSphere(w *world) { w.plan.Platform = "vsphere" }

// infiniBand makes the fabric one of ConnectX-7 on InfiniBand.
func infiniBand(w *world) {
	w.plan.Transport, w.plan.MTU = fabric.InfiniBand, 4092
	noAddresses(w)
	for _, f := range w.nodes {
		for i := range f.HCAs {
			h := &f.HCAs[i]
			h.Name, h.Driver, h.Type = strings.Replace(h.Name, "bnxt_re", "mlx5_", 1), "mlx5_core", "MT4129"
			p := &h.Ports[0]
			p.LinkLayer, p.LID, p.SMLID, p.PKeys, p.GIDs = "InfiniBand", ref(10*i+1), ref(1), []string{"0x8001", "0x7fff"}, nil
			f.NICs[i+1].MTU, f.NICs[i+1].Driver, f.NICs[i+1].Addresses = 4092, "mlx5_core", nil
		}
	}
}

// alone leaves one node, in the plan too.
func alone(w *world) {
	w.nodes, w.plan.Nodes = w.nodes[:1], w.plan.Nodes[:1]
}

// third adds a node, so that there is a majority.
func third(w *world) {
	w.plan = testPlan(3)
	w.nodes = []*fabric.Facts{metalFacts(w.plan, 0), metalFacts(w.plan, 1), metalFacts(w.plan, 2)}
}

func labs(w *world) {
	for _, f := range w.nodes {
		f.Platform = "lab"
	}
}
