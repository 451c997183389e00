package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// node compares what a node has once.
func (d *differ) node() {
	a, b := &d.a.Machine, &d.b.Machine
	kib := func(n *int) string { return unit(value(n), "KiB") }
	d.compare("kernel",
		field{rankVersion, isWarning, "release", text(d.a.Kernel.Release), text(d.b.Kernel.Release), "another kernel brings other drivers and defaults"},
		field{rankVersion, isInfo, "operating system", value(d.a.Kernel.OS), value(d.b.Kernel.OS), ""},
		field{rankVersion, isWarning, "peer memory interface", value(d.a.Kernel.PeerMemory), value(d.b.Kernel.PeerMemory), "nvidia-peermem needs it for GPUDirect RDMA"},
		field{rankVersion, isWarning, "peer memory of", d.a.Kernel.PeerMemoryBy, d.b.Kernel.PeerMemoryBy, "the kernel's own, or the one of a vendor's driver"},
		field{rankVersion, isWarning, "dma-buf for RDMA", value(d.a.Kernel.DMABuf), value(d.b.Kernel.DMABuf), "GPUDirect RDMA needs it, or peer memory"},
	)
	d.compare("machine",
		field{rankMachine, isWarning, "vendor", value(a.Vendor), value(b.Vendor), ""},
		field{rankMachine, isWarning, "product", value(a.Product), value(b.Product), ""},
		field{rankMachine, isWarning, "virtual", value(a.Hypervisor), value(b.Hypervisor), ""},
		field{rankSetting, isWarning, "IOMMU mode", value(a.IOMMUMode), value(b.IOMMUMode), "translation costs bandwidth, and ATS or passthrough avoids it"},
		field{rankMachine, isInfo, "IOMMU groups", value(a.IOMMUGroups), value(b.IOMMUGroups), ""},
		field{rankMachine, isWarning, "NUMA nodes", value(a.NUMANodes), value(b.NUMANodes), "a firmware setting (NPS, SNC) or a defective socket"},
		field{rankVersion, isWarning, "BIOS", value(a.BIOS), value(b.BIOS), "brings other defaults for PCIe and memory"},
		field{rankMachine, isWarning, "CPUs of NUMA nodes", masks(a.NUMA), masks(b.NUMA), "a firmware setting (NPS, SNC) or a defective socket"},
		field{rankMachine, isWarning, "CPU family and model", value(a.CPU), value(b.CPU), ""},
		field{rankMachine, isWarning, "CPU model", value(a.CPUModel), value(b.CPUModel), ""},
		field{rankMachine, isWarning, "CPUs online", value(a.CPUsOnline), value(b.CPUsOnline), ""},
		field{rankMachine, isInfo, "CPUs present", value(a.CPUsPresent), value(b.CPUsPresent), ""},
		field{rankMachine, isWarning, "multithreading", value(a.SMT), value(b.SMT), "another number of processors for the same ranks"},
		field{rankMachine, isWarning, "frequency governor", value(a.Governor), value(b.Governor), "a CPU that saves power delays every message"},
		field{rankMachine, isWarning, "RDMA character devices", value(a.RDMACharDevs), value(b.RDMACharDevs), "without them no program can open an RDMA device"},
		field{rankSetting, isWarning, "locked memory limit", value(a.MemlockLimit), value(b.MemlockLimit), "RDMA can register memory only up to this limit"},
		field{rankMachine, isWarning, "memory in one piece for devices (CMA)", kib(a.CMAKiB), kib(b.CMAKiB), "with none of it registering memory for RDMA fails on a DGX Spark"},
		field{rankSetting, isInfo, "hot-plug of the NIC", hotPlugText(a.HotPlug), hotPlugText(b.HotPlug), ""},
		field{rankMachine, isInfo, "swap", kib(a.SwapKiB), kib(b.SwapKiB), ""},
		field{rankMachine, isInfo, "network owner", value(a.NetworkManager), value(b.NetworkManager), ""},
		field{rankSetting, isWarning, "unit that clears ACS", acsUnitText(a.ACSUnit), acsUnitText(b.ACSUnit), "ACS redirect takes traffic between GPU and NIC through the root complex"},
	)
	if !nearly(a.MemoryKiB, b.MemoryKiB) {
		d.compare("machine", field{rankMachine, isWarning, "memory", kib(a.MemoryKiB), kib(b.MemoryKiB), "a module is missing or defective"})
	}
	d.compare("",
		field{rankOther, isInfo, "platform", cmp.Or(d.a.Platform, "none"), cmp.Or(d.b.Platform, "none"), ""},
		field{rankOther, isInfo, "hardware", cmp.Or(d.a.Hardware, "its own"), cmp.Or(d.b.Hardware, "its own"), ""},
	)
	d.fabricManager()
	d.commandLine()
	d.sysctls()
	d.pods()
	d.esx()
	d.modules()
	d.packages()
	d.providers()
	d.kernelLog()
	d.firewall()
	d.disagreements()
}

// acsUnitText describes what the unit did in this boot.
func acsUnitText(u *fabric.ACSUnit) string {
	if u == nil {
		return unknown
	}
	text := cmp.Or(u.State, "no result in this boot")
	if !u.Installed {
		text += ", not installed"
	}
	if u.Reason != "" {
		text += ", " + u.Reason
	}
	return fmt.Sprintf("%s, %s, left: %s", text, fabric.Count(u.Bridges, "bridge"), cmp.Or(strings.Join(u.Left, " "), "none"))
}

// nearly reports whether two amounts of memory are those of machines with the same modules: what the kernel and the firmware keep
// differs from boot to boot, and a module of eight or more is above a hundredth.
func nearly(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return max(*a, *b)-min(*a, *b) <= max(*a, *b)/100
}

// commandLine compares parameters, whatever their order.
func (d *differ) commandLine() {
	words := func(line *string) string {
		if line == nil {
			return unknown
		}
		kept := slices.DeleteFunc(strings.Fields(*line), d.isOfTheNode)
		slices.Sort(kept)
		return strings.Join(kept, " ")
	}
	a, b := words(d.a.Kernel.CommandLine), words(d.b.Kernel.CommandLine)
	if a == unknown || b == unknown || a == b {
		d.compare("kernel", field{rankCommandLine, isInfo, "command line", a, b, ""})
		return
	}
	only := func(mine, other string) string {
		theirs := strings.Fields(other)
		left := slices.DeleteFunc(strings.Fields(mine), func(w string) bool {
			at := slices.Index(theirs, w)
			if at >= 0 {
				theirs = slices.Delete(theirs, at, at+1)
			}
			return at >= 0
		})
		return cmp.Or(strings.Join(left, " "), absent)
	}
	d.compare("kernel", field{rankCommandLine, isWarning, "command line", only(a, b), only(b, a), "IOMMU, ACS, huge pages and CPU isolation are set here"})
}

// isOfTheNode reports whether a parameter names a disk, an address or an image: of two nodes, and of two boots, they
// differ and say nothing.
func (d *differ) isOfTheNode(word string) bool {
	if strings.HasPrefix(word, "BOOT_IMAGE=") || strings.HasPrefix(word, "initrd=") {
		return true // the kernel's release says it
	}
	if d.identities {
		return false
	}
	return slices.ContainsFunc([]string{"root=", "resume=", "ip=", "BOOTIF=", "hostname=", "systemd.hostname=", "rd.luks.uuid=", "rd.lvm.lv=", "rd.md.uuid=", "nfsroot="},
		func(prefix string) bool { return strings.HasPrefix(word, prefix) })
}

func (d *differ) sysctls() {
	of := func(f *fabric.Facts, name string) string {
		v, ok := f.Sysctls[name]
		if !ok {
			return unknown
		}
		return v
	}
	for name := range union(d.a.Sysctls, d.b.Sysctls) {
		d.compare("", field{rankSysctl, isWarning, "sysctl " + name, of(d.a, name), of(d.b, name), sysctlWhy(name)})
	}
}

func sysctlWhy(name string) string {
	switch {
	case name == "kernel.numa_balancing":
		return "balancing unmaps pages to find out which node uses them, and stalls GPU and RDMA work"
	case strings.Contains(name, ".arp_"):
		return "decides which interface answers for an address"
	case strings.HasSuffix(name, ".rp_filter"):
		return "strict filtering drops packets that arrive on another interface than the return route uses"
	case strings.Contains(name, ".gc_thresh"):
		return "a neighbour table that is too small drops entries of a large fabric"
	}
	return ""
}

// modules compares the drivers that matter one by one, and reports the others in one difference.
func (d *differ) modules() {
	if d.unread(fabric.FactModules, len(d.a.Modules), len(d.b.Modules)) {
		return
	}
	important := versionedModules()
	var onlyA, onlyB []string
	name := func(m *fabric.Module) string { return m.Name }
	for _, p := range match(d.a.Modules, d.b.Modules, func(*fabric.Module) string { return "" }, name) {
		one := cmp.Or(p.a, p.b)
		switch isImportant := slices.Contains(important, one.Name); {
		case p.a != nil && p.b != nil:
			of := func(path, a, b string) (string, string) {
				return orNone(d.a, a, path, path+" "+one.Name), orNone(d.b, b, path, path+" "+one.Name)
			}
			version, versionB := of(fabric.FactModuleVersion, p.a.Version, p.b.Version)
			disk, diskB := of(fabric.FactModuleOnDisk, p.a.OnDisk, p.b.OnDisk)
			dkms, dkmsB := of(fabric.FactModuleDKMS, p.a.DKMS, p.b.DKMS)
			d.compare("module "+one.Name,
				field{rankVersion, isWarning, "version", version, versionB, "all nodes of a job should have the same"},
				field{rankVersion, isInfo, "version on disk", disk, diskB, "takes effect with the next boot"},
				field{rankVersion, isInfo, "DKMS", dkms, dkmsB, ""},
			)
		case isImportant:
			d.missing(rankDevice, isWarning, "module "+one.Name, p.a != nil, p.b != nil, "a driver is not loaded", fabric.FactModules)
		case p.a != nil:
			onlyA = append(onlyA, one.Name)
		default:
			onlyB = append(onlyB, one.Name)
		}
	}
	d.compare("", field{rankOther, isInfo, "other modules, loaded on one side only", someOf(onlyA), someOf(onlyB), ""})
}

// someOf names what stands on one side only; of many, the first.
func someOf(names []string) string {
	const most = 12
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most:most], "and more")
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// kernelLog compares lines without their numbers: device and time differ, the event is reported.
func (d *differ) kernelLog() {
	a, b := d.a.KernelLog, d.b.KernelLog
	if a == nil || b == nil {
		if a != b {
			known := func(l *fabric.KernelLog) string {
				if l == nil {
					return unknown
				}
				return "read"
			}
			d.compare("", field{rankOther, isInfo, "kernel log", known(a), known(b), ""})
		}
		return
	}
	linesA, linesB := withoutNumbers(a), withoutNumbers(b)
	only := func(mine, other map[string]string) string {
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(mine)) {
			if _, both := other[key]; !both {
				lines = append(lines, mine[key])
			}
		}
		const most = 5
		if len(lines) > most {
			lines = append(lines[:most:most], "and more")
		}
		return cmp.Or(strings.Join(lines, "\n"), "none")
	}
	d.compare("", field{rankOther, isWarning, "lines of the kernel log that the other lacks", only(linesA, linesB), only(linesB, linesA), ""})
}

// firewall compares the filters rule by rule.
func (d *differ) firewall() {
	words := func(f *fabric.Firewall) (legacy, read, chains string) {
		if f == nil {
			return unknown, unknown, unknown
		}
		var lines []string
		for _, c := range f.Chains {
			lines = append(lines, c.String())
		}
		return value(f.Legacy), cmp.Or(strings.Join(f.Read, ", "), "nothing"), cmp.Or(strings.Join(lines, "\n"), "none")
	}
	legacyA, readA, chainsA := words(d.a.Firewall)
	legacyB, readB, chainsB := words(d.b.Firewall)
	d.compare("firewall",
		field{rankOther, isInfo, "tables of the older iptables", legacyA, legacyB, ""},
		field{rankOther, isInfo, "read from", readA, readB, ""},
		field{rankSetting, isWarning, "rules for new connections", chainsA, chainsB, "the bootstrap of MPI, NCCL and RCCL is a TCP connection on any port"},
	)
}

func withoutNumbers(l *fabric.KernelLog) map[string]string {
	out := make(map[string]string)
	for _, line := range l.Lines {
		words := strings.Fields(line)
		for i, w := range words {
			if isNumbered(w) {
				words[i] = "#"
			}
		}
		key := strings.Join(words, " ")
		if _, ok := out[key]; !ok {
			out[key] = line
		}
	}
	return out
}

// isNumbered reports whether a word names one device, process or address. A short number (of an Xid) identifies what
// happened.
func isNumbered(word string) bool {
	const short = 4 // bytes
	return strings.ContainsAny(word, "0123456789") && (len(word) >= short || strings.ContainsAny(word, ":."))
}

// disagreements compares the facts that the sources of one node report differently.
func (d *differ) disagreements() {
	of := func(f *fabric.Facts) string {
		var what []string
		for _, g := range f.Disagree {
			what = append(what, g.What)
		}
		return someOf(what)
	}
	d.compare("", field{rankOther, isInfo, "facts of which sources disagree", of(d.a), of(d.b), ""})
}

// masks writes which CPUs each NUMA node has.
func masks(nodes []fabric.NUMA) string {
	if len(nodes) == 0 {
		return unknown
	}
	var out []string
	for _, n := range nodes {
		out = append(out, fmt.Sprintf("%d: %s", n.Number, n.CPUs))
	}
	return strings.Join(out, "; ")
}
