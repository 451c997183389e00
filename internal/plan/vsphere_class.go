package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/sizing"
)

// division is how the devices of a host are divided among its virtual machines.
type division struct {
	plan   *fabric.Plan
	site   *intent.VSphereSite
	goal   fabric.ESXGoal
	hosts  []fabric.ESXHost
	guests int // per host
}

// shape is what a virtual machine gets.
type shape struct{ gpus, nics, cpus, memoryMB int }

// partitions lists the GPUs, by Module Id, that Fabric Manager joins on a board of 8 GPUs and 4 NVSwitches, in the order of its
// partition ids: 0 is all, 1 and 2 the fours, 3 to 6 the pairs, 7 to 14 single GPUs. They are neither in the order of PCI addresses
// nor of neighbours. So prints fmpm -l in NVIDIA's HGX Shared NVSwitch GPU Passthrough Virtualization Integration Guide
// (WP-12736-002), and in public notes of an HGX of another maker, whose Module Ids lie at other PCI addresses. Fabric Manager can be
// given a file with others: what a host has is what its own fmpm -l says.
func partitions(gpus int) [][]int {
	switch gpus {
	case 8:
		return [][]int{{1, 2, 3, 4, 5, 6, 7, 8}}
	case 4:
		return [][]int{{1, 2, 3, 4}, {5, 6, 7, 8}}
	case 2:
		return [][]int{{1, 3}, {2, 4}, {5, 7}, {6, 8}}
	case 1:
		return [][]int{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}}
	}
	return nil
}

// boardGPUs are those of a board whose partitions are known.
const boardGPUs = 8

// shared reports whether virtual machines share the NVSwitches of a host through a service virtual machine.
func (d division) shared() bool { return d.site.Service != nil && d.goal.NVSwitches > 0 }

// classes are those of the nodes first, one for each virtual machine of a host, then those of the other sizes that the host allows.
func (d division) classes(cat *catalog.Catalog) ([]fabric.VMClass, error) {
	want := d.shape()
	if err := d.fits(want, cat); err != nil {
		return nil, err
	}
	all, err := d.slots(want, d.guests, cat)
	if err != nil {
		return nil, err
	}
	for i := range all {
		for _, h := range d.hosts {
			if len(all) == 1 { // all virtual machines are alike
				all[i].Nodes = append(all[i].Nodes, h.Nodes...)
			} else {
				all[i].Nodes = append(all[i].Nodes, h.Nodes[i])
			}
		}
	}
	if !d.shared() || d.goal.GPUs != boardGPUs {
		return all, nil
	}
	for _, gpus := range []int{8, 4, 2} {
		if gpus == want.gpus || d.goal.NICs%(boardGPUs/gpus) != 0 {
			continue
		}
		of := func(n int) int { return n * gpus / want.gpus }
		more, err := d.slots(shape{gpus, max(1, d.goal.NICs*gpus/boardGPUs), of(want.cpus), of(want.memoryMB)}, boardGPUs/gpus, cat)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func (d division) shape() shape {
	w := intent.VMShape{}
	if d.site.VM != nil {
		w = *d.site.VM
	}
	return shape{gpus: cmp.Or(w.GPUs, d.goal.GPUs/d.guests), nics: cmp.Or(w.NICs, len(d.plan.Nodes[0].NICs)), cpus: w.CPUs, memoryMB: w.MemoryGiB * 1024}
}

// fits refuses what a host cannot give.
func (d division) fits(w shape, cat *catalog.Catalog) error {
	g := d.goal
	if d.site.Mode == fabric.SRIOVToGuests && w.gpus > 0 {
		return fmt.Errorf("vsphere.mode: sriov plans virtual functions of NICs, and no GPUs beside them, of which a host has %d: use passthrough, or a machine without GPUs (nodes, machine)", g.GPUs)
	}
	if err := d.asListed(w, cat); err != nil {
		return err
	}
	if w.gpus*d.guests > g.GPUs {
		return fmt.Errorf("vsphere.vm.gpus: %d virtual machines of %s on a host of %d", d.guests, fabric.Count(w.gpus, "GPU"), g.GPUs)
	}
	if d.site.Mode == fabric.Passthrough && w.nics*d.guests > g.NICs {
		return fmt.Errorf("vsphere.vm.nics: %d virtual machines of %s on a host of %d", d.guests, fabric.Count(w.nics, "NIC"), g.NICs)
	}
	if d.site.Mode == fabric.SRIOVToGuests && g.MaxVFs < d.guests {
		return fmt.Errorf("vsphere.vfs: %s per NIC for %d virtual machines of a host: each needs one", fabric.Count(g.MaxVFs, "virtual function"), d.guests)
	}
	if g.MaxVFs > mostVFs-1 {
		return fmt.Errorf("vsphere.vfs: %s per NIC: a ConnectX has at most %d, of which one stays for the physical function", fabric.Count(g.MaxVFs, "virtual function"), mostVFs)
	}
	if d.site.Service != nil && g.NVSwitches == 0 {
		return fmt.Errorf("vsphere.service_vm: the machine has no NVSwitches on PCI in the catalog, and nothing else needs a service virtual machine: remove it, or name the machine (nodes, machine)")
	}
	if g.NVSwitches == 0 || w.gpus == 0 {
		return nil
	}
	if len(partitions(w.gpus)) == 0 {
		return fmt.Errorf("vsphere.vm.gpus: Fabric Manager has no partition of %d GPUs: use 1, 2, 4 or 8", w.gpus)
	}
	if w.gpus < g.GPUs && w.gpus > 1 && d.site.Service == nil {
		return fmt.Errorf("vsphere.vm.gpus: %d of the %d GPUs of a host: their NVSwitches are shared, which needs vsphere.service_vm", w.gpus, g.GPUs)
	}
	return nil
}

// mostVFs is how many virtual functions a port of a ConnectX has at most (DOCA documentation, SR-IOV).
const mostVFs = 127

// asListed refuses a virtual machine that is not what the nodes and the catalog say of it.
func (d division) asListed(w shape, cat *catalog.Catalog) error {
	g := d.goal
	if listed := len(d.plan.Nodes[0].NICs); w.nics != listed {
		return fmt.Errorf("vsphere.vm.nics: %s for each virtual machine, and nodes lists %s: both have to say the same", fabric.Count(w.nics, "NIC"), fabric.Count(listed, "interface"))
	}
	if w.gpus > w.nics && g.NICs >= g.GPUs && g.GPUs > 0 {
		return fmt.Errorf("vsphere.vm: %s and %s: %s would have no NIC below their PCIe switch, and their traffic would go through the processor: list %d interfaces in nodes.nics", fabric.Count(w.gpus, "GPU"), fabric.Count(w.nics, "NIC"), fabric.Count(w.gpus-w.nics, "GPU"), w.gpus)
	}
	if len(d.plan.Machines) == 0 {
		return nil
	}
	m := d.plan.Machines[0]
	if physical := cat.NICs[m.NIC].Physical; physical != "" && d.site.Mode == fabric.Passthrough {
		return fmt.Errorf("vsphere.mode: the NIC of machine %s is a virtual function of a %s, and with passthrough a virtual machine has the whole card: use sriov, or another machine (nodes, machine)", m.ID, physical)
	}
	if most := int(m.HostMemoryGB * 1e9 / (1 << 20)); most > 0 && w.memoryMB*d.guests > most {
		return fmt.Errorf("vsphere.vm.memory_gib: %s of %d GiB on a host of %d GiB: all of it is reserved", fabric.Count(d.guests, "virtual machine"), w.memoryMB/1024, most/1024)
	}
	return nil
}

// labelled refuses labels that no class has: nothing would ever ask for these devices.
func labelled(s *intent.VSphereSite, classes []fabric.VMClass, switches int) error {
	known := map[string]bool{}
	var all []string
	for _, c := range classes {
		for _, d := range c.Devices {
			if !known[d.Label] {
				known[d.Label], all = true, append(all, d.Label)
			}
		}
	}
	for i := range switches { // a service virtual machine has them
		known[fmt.Sprintf("NVS%d", i)] = true
	}
	for i, l := range s.Labels {
		if !known[l.Label] {
			return fmt.Errorf("vsphere.labels[%d].label: no virtual machine of the plan has %s: they have %s", i, l.Label, strings.Join(all, ", "))
		}
	}
	return nil
}

// slots are the classes of so many virtual machines of a host. Where each has devices of its own, their labels differ, and each
// needs a class of its own: a label that two virtual machines ask for starts only one of them.
func (d division) slots(w shape, guests int, cat *catalog.Catalog) ([]fabric.VMClass, error) {
	mmio, err := d.mmio(w, cat)
	if err != nil {
		return nil, err
	}
	count := guests
	if w.gpus == 0 && d.site.Mode == fabric.SRIOVToGuests {
		count = 1 // any virtual function is as good
	}
	var all []fabric.VMClass
	for slot := range count {
		c := fabric.VMClass{Name: fmt.Sprintf("%s-%dgpu-%dnic", d.plan.Name, w.gpus, w.nics), GPUs: w.gpus, NICs: w.nics, CPUs: w.cpus, MemoryMB: w.memoryMB}
		if count > 1 {
			c.Name += fmt.Sprintf("-p%d", slot+1)
		}
		if d.shared() {
			c.Modules = partitions(w.gpus)[slot]
		}
		if d.site.Mode == fabric.SRIOVToGuests {
			c.Functions = 1
		}
		c.Devices = d.devices(w, slot, c.Modules, cat)
		if w.gpus > 0 {
			c.MMIOGB, c.MMIO, c.Extra = int(mmio.GB), mmio.Formula, extra(int(mmio.GB))
		}
		all = append(all, c)
	}
	return all, nil
}

// mmio is the space of the largest regions of GPUs, which are powers of two, and of the NICs.
func (d division) mmio(w shape, cat *catalog.Catalog) (sizing.MMIO, error) {
	if w.gpus == 0 {
		return sizing.MMIO{}, nil
	}
	m, err := sizing.MachineOf(cat, d.plan.Machines[0].ID)
	if err != nil {
		return sizing.MMIO{}, fmt.Errorf("vsphere.vm: %w", err)
	}
	m.NICs = w.nics
	return sizing.MMIOSize(m, w.gpus)
}

// devices are in the order GPU0, NIC0, GPU1, NIC1 (10.1). The NVSwitches are last, and only where no service virtual machine has
// them: the document gives them to both (9.3, 10.1), which no host can do.
func (d division) devices(w shape, slot int, modules []int, cat *catalog.Catalog) (all []fabric.VMClassDevice) {
	nic := d.goal.NIC
	if d.site.Mode == fabric.SRIOVToGuests {
		nic = virtualFunction(cat, d.plan.Machines)
	}
	for i := range max(w.gpus, w.nics) {
		gpuAt, nicAt := slot*w.gpus+i, slot*w.nics+i
		if len(modules) > 0 && i < len(modules) {
			gpuAt = modules[i] - 1
			if w.nics == w.gpus {
				nicAt = gpuAt
			}
		}
		if d.site.Mode == fabric.SRIOVToGuests {
			nicAt = i
		}
		if i < w.gpus {
			all = append(all, classDevice("GPU"+strconv.Itoa(gpuAt), d.goal.GPU))
		}
		if i < w.nics {
			all = append(all, classDevice("NIC"+strconv.Itoa(nicAt), nic))
		}
	}
	if d.site.Mode == fabric.Passthrough && !d.shared() && w.gpus > 0 && w.gpus == d.goal.GPUs && d.goal.NVSwitch != "" {
		for i := range d.goal.NVSwitches {
			all = append(all, classDevice("NVS"+strconv.Itoa(i), d.goal.NVSwitch))
		}
	}
	return all
}

// virtualFunction is vendor:device of the virtual functions of the planned NIC; empty: no source gives it.
func virtualFunction(cat *catalog.Catalog, machines []fabric.NominalMachine) string {
	if len(machines) == 0 {
		return ""
	}
	nic := machines[0].NIC
	if m := cat.NICs[nic]; m.Physical != "" {
		return first(m.PCIID)
	}
	for _, m := range cat.NICs {
		if m.Physical == nic {
			return first(m.PCIID)
		}
	}
	return ""
}

func extra(mmioGB int) []fabric.Option {
	return []fabric.Option{
		{Name: "pciPassthru.allowP2P", Value: "TRUE", Why: "GPU and NIC talk to each other directly"},
		{Name: "pciPassthru.relaxACSforP2P", Value: "TRUE", Why: "below one PCIe switch"},
		{Name: "pciPassthru.use64bitMMIO", Value: "TRUE", Why: "the virtual machine does not start without it"},
		{Name: "pciPassthru.64bitMMIOSizeGB", Value: strconv.Itoa(mmioGB), Why: "the memory of the GPUs as the processor sees it, and of the NICs"},
	}
}

// classDevice is a device of a class by vendor:device, both hexadecimal.
func classDevice(label, id string) fabric.VMClassDevice {
	vendor, device, _ := strings.Cut(id, ":")
	hex := func(text string) uint16 {
		n, err := strconv.ParseUint(text, 16, 16)
		if err != nil {
			return 0
		}
		return uint16(n)
	}
	return fabric.VMClassDevice{Label: label, Vendor: hex(vendor), Device: hex(device)}
}

// pools are the workers of the Kubernetes cluster: as many of a class as there are nodes.
func pools(classes []fabric.VMClass) (all []fabric.VMPool) {
	planned := slices.DeleteFunc(slices.Clone(classes), func(c fabric.VMClass) bool { return len(c.Nodes) == 0 })
	for i, c := range planned {
		name := "gpu"
		if len(planned) > 1 {
			name += fmt.Sprintf("-p%d", i+1)
		}
		all = append(all, fabric.VMPool{Name: name, Class: c.Name, Workers: len(c.Nodes)})
	}
	return all
}
