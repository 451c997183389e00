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
	guest := func(change func(*fabric.Facts)) func(*world) {
		return func(w *world) {
			w.plan.VSphere = &fabric.VSphere{Mode: fabric.SRIOVToGuests, Hosts: []fabric.ESXHost{{Name: "esx1", Nodes: []string{"host1"}}}}
			f := w.host1()
			for i := range f.HCAs {
				f.HCAs[i].Type = "MT4126"
			}
			change(f)
		}
	}
	virtual := func(says string, plan *fabric.VSphere) func(*world) {
		return func(w *world) {
			w.host1().SMVirtual, w.plan.VSphere = says, plan
		}
	}
	asIs := func(*fabric.Facts) {}
	return []oneCase{
		{"guest-vf", "no plan of such", "host1", na, "no virtual functions", asPlanned},
		{"guest-vf", "virtual functions", "host1", pass, "", guest(asIs)},
		{"guest-vf", "a whole NIC", "host1:bnxt_re1", fail, "whole NIC (MT4129)", guest(func(f *fabric.Facts) { f.HCAs[1].Type = "MT4129" })},
		{"guest-vf", "no GUID", "host1:bnxt_re1", fail, "without a GUID", guest(func(f *fabric.Facts) { f.HCAs[1].NodeGUID = "0000:0000:0000:0000" })},
		{"guest-vf", "type not read", "host1:bnxt_re1", unknown, "was not read", guest(func(f *fabric.Facts) { f.HCAs[1].Type = "" })},
		{"guest-topology", "no plan of such", "host1", na, "no plan", asPlanned},
		{"guest-topology", "file", "host1", pass, "", guest(func(f *fabric.Facts) { f.NCCL = map[string]string{"NCCL_TOPO_FILE": "/etc/topo.xml"} })},
		{"guest-topology", "flat", "host1", unknown, "shares a bridge with a NIC", guest(func(f *fabric.Facts) {
			for i := range f.PCI {
				f.PCI[i].Parent = ""
			}
		})},
		{"sm-virtual", "not planned", "cluster", na, "", asPlanned},
		{"sm-virtual", "on", "host1", pass, "", virtual("Enabled", nil)},
		{"sm-virtual", "on in OpenSM", "host1", pass, "", virtual("2", nil)},
		{"sm-virtual", "off", "host1", fail, "Disabled", virtual("Disabled", &fabric.VSphere{Mode: fabric.SRIOVToGuests})},
		{"sm-virtual", "off with passthrough", "host1", na, "", virtual("Disabled", &fabric.VSphere{Mode: fabric.Passthrough})},
		{"sm-virtual", "off, without a plan of ESX", "host1", unknown, "no plan says", virtual("0", nil)},
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
