package check

import "railwright.dev/railwright/internal/fabric"

// partitionsOf is every partition of a board of eight GPUs, of which some are active.
func partitionsOf(active ...int) *fabric.NVShare {
	share := &fabric.NVShare{}
	for id, modules := range [][]int{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4}, {5, 6, 7, 8}, {1, 3}, {2, 4}, {5, 7}, {6, 8}, {1}, {2}, {3}} {
		p := fabric.NVPartition{ID: id, GPUs: len(modules), Modules: modules}
		for _, a := range active {
			p.Active = p.Active || a == id
		}
		share.Partitions = append(share.Partitions, p)
	}
	return share
}

// sharing makes the first host the service virtual machine of a host whose virtual machine has Module Ids 1 and 3.
func sharing(planned bool, active ...int) func(*world) {
	return both(h100, func(w *world) {
		w.host1().NVShare = partitionsOf(active...)
		if planned {
			w.plan.VSphere = &fabric.VSphere{
				Hosts: []fabric.ESXHost{{Name: "esx1", Nodes: []string{"vm1"}}}, Classes: []fabric.VMClass{{Nodes: []string{"vm1"}, Modules: []int{1, 3}}},
				Service: &fabric.ServiceVM{Guests: []fabric.ServiceVMOf{{Host: "esx1", Name: "host1"}}},
			}
		}
	})
}

func shareCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	has := func(modules ...int) func(*world) { return func(w *world) { w.host1().NVShare.Modules = modules } }
	drops := func(w *world) {
		w.host1().KernelLog = &fabric.KernelLog{Lines: []string{"nvidia-nvswitch1: SXid (PCI:0000:00:08.0): 11004, Non-fatal, Link 36 ingress invalid ACL (First)"}}
	}
	unassigned := func(w *world) {
		h100(w)
		pciOf(w.host1(), gpu3(w).PCI).Regions = []fabric.PCIRegion{{Number: 0, Assigned: true}, {Number: 1}}
	}
	return []oneCase{
		{"nvlink-partition", "no list", "host1", na, "fmpm -l", h100},
		{"nvlink-partition", "planned pair", "host1", pass, "", sharing(true, 3)},
		{"nvlink-partition", "another pair than planned", "host1", fail, "none with Module Id 1, 3 is active", sharing(true, 4)},
		{"nvlink-partition", "two of one GPU instead of the planned pair", "host1", fail, "partition 7 (Module Id 1), partition 9 (Module Id 3)", sharing(true, 7, 9)},
		{"nvlink-partition", "that of the virtual machine", "host1", pass, "", both(sharing(false, 3), has(3, 1))},
		{"nvlink-partition", "two of one GPU", "host1", fail, "active instead", both(sharing(false, 7, 9), has(1, 3))},
		{"nvlink-partition", "one of two", "host1", unknown, "were not read", both(sharing(false, 7, 9), has(1))},
		{"nvlink-partition", "GPUs of no partition", "host1", fail, "none with Module Id 1, 2", both(sharing(false, 1), has(1, 2))},
		{"nvlink-partition", "traffic is dropped", "host1", fail, "drop traffic", both(sharing(false, 7, 9), drops)},
		{"nvlink-partition", "whose is unknown", "host1", unknown, "one virtual machine has exactly these GPUs", sharing(false, 0)},
		{"nvlink-partition", "two, whose is unknown", "host1", unknown, "wrong where one virtual machine has GPUs of two", sharing(false, 7, 9)},
		{"nvlink-partition", "none is active", "host1", unknown, "no partition", sharing(false)},
		{"nvlink-partition", "GPUs of one not read", "host1", unknown, "not all read", both(sharing(false, 3), func(w *world) { w.host1().NVShare.Partitions[3].Modules = nil })},
		{"nvlink-partition", "of two times", "host1", unknown, "two times", sharing(false, 1, 3)},
		{"gpu-answers", "memory region without an address", "host1:" + rail3GPU, fail, "has no address for memory region 1", unassigned},
		{"kernel-log-gpu", "memory region without an address", "host1", fail, "memory region without an address", both(h100, func(w *world) {
			w.host1().KernelLog = &fabric.KernelLog{Lines: []string{"NVRM: BAR1 is 0M @ 0x0 (PCI:ffff:05:00.0)"}}
		})},
	}
}
