package check

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// rdmaPartner is the module that makes RDMA devices of the interfaces of a network driver. Drivers that do
// both in one module name themselves. Names: drivers/infiniband/hw of the kernel, and ionic_rdma of AMD's
// Pensando package.
func rdmaPartner(driver string) (module string, known bool) {
	switch driver {
	case "mlx5_core":
		return "mlx5_ib", true
	case "mlx4_core":
		return "mlx4_ib", true
	case "bnxt_en":
		return "bnxt_re", true
	case "ionic":
		return "ionic_rdma", true
	case "ice", "i40e", "idpf":
		return "irdma", true
	case "mana":
		return "mana_ib", true
	case "qede":
		return "qedr", true
	case "cxgb4":
		return "iw_cxgb4", true
	case "hns3":
		return "hns_roce_hw_v2", true
	case "efa":
		return "efa", true
	default:
		return "", false
	}
}

func rdmaModules() Rule {
	return Rule{
		ID:        "rdma-modules",
		Title:     "The RDMA half of each NIC driver is loaded",
		Doc:       "looks for the module that provides RDMA for each planned NIC's driver (bnxt_re with bnxt_en, mlx5_ib with mlx5_core): without it the NIC is only Ethernet",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRDMADriver,
		Reference: "Broadcom RoCE guide 2.6 no. 1; kernel source, drivers/infiniband/hw",
		Facts:     []string{fabric.FactHCAs, fabric.FactModules, fabric.FactNICs, fabric.FactNICDriver},
		Scope:     []Condition{withPlan(), withHardware()},
		Node:      judgeRDMAModules,
	}
}

func judgeRDMAModules(in NodeInput) []Verdict {
	var seen, absent, odd []string
	for _, name := range in.Plan.NICs {
		if h, ok := in.plannedHCA(name); ok {
			seen = addOnce(seen, "RDMA device "+h.Name)
			continue
		}
		nic, ok := in.nic(name)
		if !ok {
			continue
		}
		if h, ok := in.hcaOf(nic); ok { // whatever makes it is loaded, or built in
			seen = addOnce(seen, "RDMA device "+h.Name+" on "+name)
			continue
		}
		module, known := rdmaPartner(nic.Driver)
		switch {
		case nic.Driver == "":
			odd = addOnce(odd, "driver of "+name+" was not read")
		case !known:
			odd = addOnce(odd, "which module provides RDMA for "+nic.Driver+" is unknown")
		case in.loaded(module):
			seen = addOnce(seen, module+" beside "+nic.Driver)
		default:
			absent = addOnce(absent, module+" beside "+nic.Driver)
		}
	}
	_, cut := in.missing(fabric.FactModules)
	switch {
	case len(absent) > 0 && !cut && len(in.Facts.Modules) > 0:
		return in.asNode(in.modulesAbsent(absent))
	case len(absent) > 0:
		return in.asNode(Verdict{Why: in.why("unknown whether "+strings.Join(absent, ", ")+" is loaded", fabric.FactModules)})
	case len(odd) > 0:
		return in.asNode(Verdict{Why: in.why(strings.Join(odd, ", "), fabric.FactNICDriver+" "+in.Plan.NICs[0], fabric.FactNICs)})
	case len(seen) == 0:
		return in.asNode(Verdict{Why: in.why("the facts of "+in.Facts.Node+" show no planned NIC", fabric.FactNICs)})
	}
	return in.asNode(pass("the RDMA module of every NIC driver", saw("/proc/modules, /sys/class/infiniband", strings.Join(seen, ", "))))
}

func (in NodeInput) modulesAbsent(absent []string) Verdict {
	names := make([]string, 0, len(absent))
	for _, a := range absent {
		name, _, _ := strings.Cut(a, " ")
		names = append(names, name)
	}
	list := strings.Join(names, " ")
	return Verdict{
		Status: fabric.Fail, Expected: list,
		Evidence: []fabric.Evidence{saw("/proc/modules", strconv.Itoa(len(in.Facts.Modules))+" modules, without "+strings.Join(names, ", "))},
		Why:      in.Facts.Node + " has not loaded " + strings.Join(absent, ", ") + ": its NICs have no RDMA device.",
		Cost:     "no RDMA: NCCL falls back to TCP sockets",
		Fix:      onNode("modprobe -a "+list+" && rdma link show", in.Facts.Node),
	}
}

func (in NodeInput) loaded(module string) bool {
	_, ok := in.module(module)
	return ok
}

func (in NodeInput) module(name string) (*fabric.Module, bool) {
	for i := range in.Facts.Modules {
		if in.Facts.Modules[i].Name == name {
			return &in.Facts.Modules[i], true
		}
	}
	return nil, false
}

func addOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

func nicRDMA() Rule {
	return Rule{
		ID:        "nic-rdma",
		Title:     "Each planned NIC has an RDMA device",
		Doc:       "looks for the RDMA device on the PCI function of each planned NIC, or with the NIC in its GID table: a NIC without one cannot do RDMA",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRDMADriver,
		Reference: "Broadcom RoCE guide 2.6 no. 1 and 6; rdma-link(8)",
		Facts:     []string{fabric.FactHCAs, fabric.FactHCAPCI, fabric.FactNICs, fabric.FactNICPCI, fabric.FactPortGIDAttributes},
		Scope:     []Condition{withPlan(), withHardware()},
		DependsOn: []string{"nic-present", "rdma-modules"},
		Node:      judgeNICRDMA,
	}
}

func judgeNICRDMA(in NodeInput) []Verdict {
	homeless := slices.ContainsFunc(in.Facts.HCAs, func(h fabric.HCA) bool {
		return h.PCI == "" && !slices.ContainsFunc(h.Ports, namesNIC)
	})
	_, cut := in.missing(fabric.FactHCAs)
	none := knownWithoutRDMA(in.Facts)
	out := in.eachPlanned(func(nic *fabric.NIC) Verdict {
		name := in.Facts.Node + ":" + nic.Name
		if h, ok := in.hcaOf(nic); ok {
			return pass("an RDMA device", saw("/sys/class/infiniband", h.Name+" on "+nic.PCI))
		}
		seen := saw("/sys/class/infiniband", strconv.Itoa(len(in.Facts.HCAs))+" devices")
		if !none && (cut || homeless || len(in.Facts.HCAs) == 0) {
			return Verdict{Evidence: []fabric.Evidence{seen}, Why: in.why("unknown which RDMA device belongs to "+name, fabric.FactHCAs, fabric.FactNICPCI+" "+nic.Name)}
		}
		return Verdict{
			Status: fabric.Fail, Expected: "an RDMA device", Evidence: []fabric.Evidence{seen},
			Why:  "None of the " + strconv.Itoa(len(in.Facts.HCAs)) + " RDMA devices of " + in.Facts.Node + " belongs to " + name + ".",
			Cost: "1/" + strconv.Itoa(len(in.Plan.NICs)) + " of the node's bandwidth: collectives wait for its rail, or do not use it",
			Fix:  onNode("rdma link show; dmesg | grep -i -e "+fabric.ShellWord(orWord(nic.PCI, nic.Name)), in.Facts.Node),
		}
	})
	for i, name := range in.Plan.NICs {
		if h, ok := in.plannedHCA(name); ok {
			out[i] = pass("an RDMA device", saw("/sys/class/infiniband", h.Name))
			out[i].Subject = fabric.NICSubject(in.Facts.Node, name)
		}
	}
	return out
}

// plannedHCA finds the RDMA device that a plan for InfiniBand names instead of an interface over it.
func (in NodeInput) plannedHCA(name string) (*fabric.HCA, bool) {
	if _, isNIC := in.nic(name); isNIC || in.Plan.Transport != fabric.InfiniBand {
		return nil, false
	}
	return in.hca(name)
}

// namesNIC reports whether the GID table of a port names its interface: verbs alone do not.
func namesNIC(p fabric.Port) bool {
	return slices.ContainsFunc(p.GIDs, func(g fabric.GID) bool { return g.NetDev != "" })
}

func orWord(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func uverbsDevices() Rule {
	return Rule{
		ID:        "uverbs-devices",
		Title:     "User programs can open every RDMA device",
		Doc:       "counts uverbs* in /dev/infiniband against the RDMA devices: NCCL opens them, and a device without one is usable by the kernel only",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRDMADriver,
		Reference: "kernel documentation, infiniband/user_verbs; Broadcom RoCE guide 2.6 no. 6",
		Facts:     []string{fabric.FactHCAs, fabric.FactMachineRDMACharDevices},
		Scope:     []Condition{withHardware(), withRDMA()},
		DependsOn: []string{"pod-rdma-devices"},
		Node:      judgeUverbs,
	}
}

func judgeUverbs(in NodeInput) []Verdict {
	have, want := in.Facts.Machine.RDMACharDevs, len(in.Facts.HCAs)
	if i := slices.IndexFunc(in.Facts.Disagree, func(d fabric.Disagreement) bool { return d.What == fabric.FactHCAs }); i >= 0 {
		return in.asNode(Verdict{Why: "how many RDMA devices " + in.Facts.Node + " has is unknown: its sources disagree (see disagreement)", Evidence: in.Facts.Disagree[i].Said})
	}
	if have == nil || want == 0 {
		return in.asNode(Verdict{Why: in.why("RDMA devices and their /dev/infiniband/uverbs* of "+in.Facts.Node+" were not both counted",
			fabric.FactMachineRDMACharDevices, fabric.FactHCAs)})
	}
	expected := "at least " + strconv.Itoa(want)
	seen := saw("/dev/infiniband/uverbs*", strconv.Itoa(*have))
	if *have >= want {
		return in.asNode(pass(expected, seen))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen, saw("/sys/class/infiniband", strconv.Itoa(want)+" devices")},
		Why: in.Facts.Node + " has " + strconv.Itoa(*have) + " uverbs devices for " + strconv.Itoa(want) + " RDMA devices: user programs cannot open the others.",
		Fix: onNode("modprobe -a ib_uverbs rdma_ucm && udevadm trigger -s infiniband_verbs", in.Facts.Node) + "; in a container, mount /dev/infiniband",
	})
}

func providerABI() Rule {
	return Rule{
		ID:        "provider-abi",
		Title:     "The user-space provider matches the ABI of the kernel driver",
		Doc:       "checks that verbs can open every RDMA port: a provider library whose ABI differs from the kernel driver's shows no device",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDriverABI,
		Reference: "Broadcom RoCE guide 5.1 no. 6; rdma-core, libibverbs, match_device",
		Facts:     []string{fabric.FactHCAs, fabric.FactPorts, fabric.FactPortActiveMTU},
		Scope:     []Condition{withHardware(), withRDMA()},
		DependsOn: []string{"uverbs-devices"},
		Node:      judgeProviderABI,
	}
}

// abiWarning is the message of libibverbs about a provider that does not match the kernel's driver.
const abiWarning = "does not support the kernel ABI"

func judgeProviderABI(in NodeInput) []Verdict {
	const want = "verbs open every port"
	for _, m := range in.Facts.Missing {
		if strings.Contains(m.Reason, abiWarning) {
			v := in.abiMismatch(saw(m.Source, m.Reason), want)
			for _, p := range in.Facts.Providers[:min(len(in.Facts.Providers), mostNamed)] {
				v.Evidence = append(v.Evidence, saw("find -name lib*-rdmav*.so", p.Path))
			}
			return in.asNode(v)
		}
	}
	return in.eachPort("", func(p portAt) Verdict {
		if p.port.ActiveMTU == nil {
			return Verdict{Why: in.portWhy("verbs were not queried for "+in.Facts.Node+":"+p.name, fabric.FactPortActiveMTU, p)}
		}
		return pass(want, saw("ibv_devinfo -d "+p.hca.Name, "active_mtu "+strconv.Itoa(*p.port.ActiveMTU)))
	})
}

func (in NodeInput) abiMismatch(seen fabric.Evidence, want string) Verdict {
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
		Why:  "The provider library of " + in.Facts.Node + " does not match the ABI of its kernel driver: the distribution's library precedes the vendor's, or only one of the two was updated.",
		Cost: "no RDMA for user programs",
		// Not by deleting the library, as the guide says: the next update of rdma-core brings it back.
		Fix: onNode("ldconfig -p | grep -e libbnxt_re -e libmlx5 -e libionic; install the vendor's user-space package in the loaded driver's version, put its folder first in /etc/ld.so.conf.d, then run ldconfig", in.Facts.Node),
	}
}

func moduleOnDisk() Rule {
	return Rule{
		ID:        "module-on-disk",
		Title:     "Loaded drivers are the installed ones",
		Doc:       "compares the version of each loaded GPU or NIC driver with the one on disk, and its DKMS state: if they differ, the driver changes with the next boot",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseDriverABI,
		Reference: "Broadcom RoCE guide 2.6 no. 1 and chapter 7; modinfo(8), dkms(8)",
		Facts:     []string{fabric.FactModules, fabric.FactModuleVersion, fabric.FactModuleOnDisk, fabric.FactModuleDKMS},
		Scope:     []Condition{withHardware(), withRDMA()},
		Node:      judgeModuleOnDisk,
	}
}

func judgeModuleOnDisk(in NodeInput) []Verdict {
	var same, differ, names []string
	for i := range in.Facts.Modules {
		m := &in.Facts.Modules[i]
		switch {
		case m.Version != "" && m.OnDisk != "" && m.Version != m.OnDisk:
			differ = append(differ, m.Name+" "+m.Version+" is loaded, "+m.OnDisk+" is installed")
			names = append(names, m.Name)
		case m.DKMS != "" && !strings.HasPrefix(m.DKMS, "installed"):
			differ = append(differ, m.Name+" is \""+m.DKMS+"\" in DKMS, not installed for this kernel")
			names = append(names, m.Name)
		case m.Version != "" && m.OnDisk != "":
			same = append(same, m.Name+" "+m.Version)
		}
	}
	const want = "loaded = installed"
	switch {
	case len(differ) > 0:
		return in.asNode(Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw("/sys/module/*/version, modinfo, dkms status", strings.Join(differ, "; "))},
			Why: "On " + in.Facts.Node + " " + strings.Join(differ, "; ") + ".",
			Fix: onNode("dkms autoinstall && update-initramfs -u -k all && reboot; then modinfo -F version "+names[0], in.Facts.Node),
		})
	case len(same) == 0:
		return in.asNode(Verdict{Why: in.why("no driver of "+in.Facts.Node+" reports its version both loaded and on disk", fabric.FactModuleOnDisk, fabric.FactModules)})
	}
	return in.asNode(pass(want, saw("/sys/module/*/version, modinfo", strings.Join(same, ", "))))
}

func driverConflict() Rule {
	return Rule{
		ID:        "driver-conflict",
		Title:     "One RDMA stack is installed",
		Doc:       "searches the kernel log for RDMA modules that were built against a different ib_core than the loaded one, and the packages for MLNX_OFED where the RDMA half of another vendor's driver is not loaded: two RDMA stacks on one host",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDriverConflict,
		Reference: "Broadcom RoCE guide 5.1 no. 7",
		Facts:     []string{fabric.FactKernelLog, fabric.FactModules, fabric.FactPackages},
		Scope:     []Condition{withHardware()},
		Node:      judgeDriverConflict,
	}
}

func judgeDriverConflict(in NodeInput) []Verdict {
	out := in.judgeConflictLog()
	if v, ok := in.judgeStacks(); ok && !slices.ContainsFunc(out, func(v Verdict) bool { return v.Status == fabric.Fail }) {
		return in.asNode(v)
	}
	return out
}

func (in NodeInput) judgeConflictLog() []Verdict {
	return in.judgeLog("no module refused over a symbol's version", func(line string) (logHit, bool) {
		if !strings.Contains(line, "disagrees about version of symbol") && !strings.Contains(line, "Unknown symbol") {
			return logHit{}, false
		}
		module, _, _ := strings.Cut(line, ":")
		return logHit{
			subject: fabric.NodeSubject(in.Facts.Node), status: fabric.Fail,
			why:  in.Facts.Node + " could not load " + module + ": it was built against another version of the RDMA core.",
			cost: "no RDMA by its devices",
			fix:  onNode("ls /usr/sbin/ofed_uninstall.sh; remove one of the two stacks, rebuild the driver against the other (dkms autoinstall), reboot", in.Facts.Node),
		}, true
	})
}
