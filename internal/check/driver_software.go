package check

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

func driverRelease() Rule {
	return Rule{
		ID:    "driver-release",
		Title: "Both halves of a NIC driver and its library are of one release",
		Doc: "compares the versions of the Ethernet and the RDMA half of NIC drivers that their vendor ships together (bnxt_en and bnxt_re, mlx5_core and mlx5_ib, ionic and ionic_rdma), " +
			"and of the vendor's library: one of the vendor beside one of the kernel, or of another release, is half an update",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "Broadcom RoCE guide 2.2.1.2 and 2.6 no. 1: one release, loaded after a reboot too; names of its packages: bnxt-en-dkms, bnxt-re-dkms, bnxt-rocelib",
		Facts:     []string{fabric.FactModules, fabric.FactModuleVersion, fabric.FactPackages},
		Scope:     []Condition{withHardware(), withRDMA()},
		DependsOn: []string{"rdma-modules"},
		Node:      judgeDriverRelease,
	}
}

// halves are drivers of one release: the Ethernet half, the RDMA half. Others (ice and irdma) have releases of their own.
func halves() [][2]string {
	return [][2]string{{"bnxt_en", "bnxt_re"}, {"mlx5_core", "mlx5_ib"}, {"ionic", "ionic_rdma"}}
}

// releaseInVersion is Broadcom's release in the version of a driver or package: 235.2.86.0 of 1.10.3.235.2.86.0,
// of 1.10.3-235.2.86.0 and of 235.2.86.0-1.
var releaseInVersion = pattern.Plain(`(?:^|[.-])([0-9]{3}\.[0-9]+\.[0-9]+\.[0-9]+)(?:-[0-9]+)?$`)

func release(version string) string {
	if m := releaseInVersion().FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return version
}

func judgeDriverRelease(in NodeInput) []Verdict {
	const want = "one release"
	var same, differ []string
	for _, pair := range halves() {
		base, okBase := in.module(pair[0])
		half, okHalf := in.module(pair[1])
		if !okBase || !okHalf {
			continue
		}
		for _, m := range []*fabric.Module{base, half} {
			if _, lost := in.missing(fabric.FactModuleVersion + " " + m.Name); lost {
				return in.asNode(Verdict{Why: in.why("version of "+m.Name+" on "+in.Facts.Node+" was not read", fabric.FactModuleVersion+" "+m.Name)})
			}
		}
		text := pair[0] + " " + orWord(base.Version, "of the kernel") + ", " + pair[1] + " " + orWord(half.Version, "of the kernel")
		if release(base.Version) != release(half.Version) {
			differ = append(differ, text)
			continue
		}
		same = append(same, text)
		if library, version := in.vendorLibrary(pair[1]); library != "" && half.Version != "" && release(version) != release(half.Version) {
			differ = append(differ, pair[1]+" "+half.Version+", its library "+library+" "+version)
		}
	}
	switch {
	case len(differ) > 0:
		return in.asNode(Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw("/sys/module/*/version, packages", strings.Join(differ, "; "))},
			Why:  "Drivers of " + in.Facts.Node + " that belong together are of several releases: " + strings.Join(differ, "; ") + ".",
			Cost: "an interface between them that changed fails at run time: devices without verbs, or settings that take no effect",
			Fix:  onNode("install Ethernet driver, RDMA driver and library of one release of the vendor (Broadcom: nic_wizard, or bnxt-en-dkms, bnxt-re-dkms and bnxt-rocelib), update-initramfs -u -k all, reboot", in.Facts.Node),
		})
	case len(same) == 0 && len(in.Facts.Modules) == 0:
		return in.asNode(Verdict{Why: in.why("which drivers "+in.Facts.Node+" has loaded is unknown", fabric.FactModules)})
	case len(same) == 0:
		_, cut := in.missing(fabric.FactModules)
		if cut {
			return in.asNode(Verdict{Why: in.why("modules of "+in.Facts.Node+" were not all read", fabric.FactModules)})
		}
		return in.asNode(pass(want, saw("/proc/modules", "no driver of two halves that are shipped together")))
	}
	return in.asNode(pass(want, saw("/sys/module/*/version", strings.Join(same, "; "))))
}

// vendorLibrary is the vendor's own package of the provider of an RDMA driver, where one is installed.
func (in NodeInput) vendorLibrary(driver string) (name, version string) {
	names := map[string][]string{"bnxt_re": {"bnxt-rocelib", "libbnxt_re", "libbnxt-re"}}[driver]
	for _, name := range names {
		if version := in.Facts.Packages[name]; version != "" {
			return name, version
		}
	}
	return "", ""
}

func providerShadow() Rule {
	return Rule{
		ID:    "provider-shadow",
		Title: "Verbs open each device by the library that was installed for it",
		Doc: "lists the provider libraries of the loaded RDMA drivers: libibverbs takes the one in the distribution's folder libibverbs first, so that it shadows the vendor's beside it, " +
			"until an update of the driver makes their ABI differ",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseDriverABI,
		Reference: "Broadcom RoCE guide 5.1 no. 6; rdma-core, libibverbs/dynamic_driver.c, load_driver: the folder of providers, then the search path of the system",
		Facts:     []string{fabric.FactProviders, fabric.FactHCAs},
		Scope:     []Condition{withHardware(), withRDMA()},
		DependsOn: []string{"provider-abi"},
		Node:      judgeProviderShadow,
	}
}

// providerOf is the library's name of the RDMA device's driver, as it is in its file name.
func providerOf(driver string) string {
	module, known := rdmaPartner(driver)
	if !known {
		module = driver
	}
	return map[string]string{"bnxt_re": "bnxt_re", "mlx5_ib": "mlx5", "ionic_rdma": "ionic", "irdma": "irdma", "efa": "efa", "mana_ib": "mana"}[module]
}

func judgeProviderShadow(in NodeInput) []Verdict {
	const want = "one library for each driver, or the same one in both places"
	if len(in.Facts.Providers) == 0 {
		return in.asNode(Verdict{Why: in.why("provider libraries of "+in.Facts.Node+" were not listed", fabric.FactProviders)})
	}
	var drivers, seen, none []string
	for i := range in.Facts.HCAs {
		if name := providerOf(in.Facts.HCAs[i].Driver); name != "" {
			drivers = addOnce(drivers, name)
		}
	}
	for _, driver := range drivers {
		inbox, other := in.providers(driver)
		switch {
		case inbox == nil && other == nil:
			none = append(none, driver)
		case inbox == nil || other == nil || inbox.Bytes != 0 && inbox.Bytes == other.Bytes:
			seen = append(seen, orPath(inbox, other))
		case inbox.Bytes == 0 || other.Bytes == 0:
			return in.asNode(Verdict{Evidence: []fabric.Evidence{saw("find", inbox.Path+", "+other.Path)},
				Why: in.Facts.Node + " has two libraries of " + driver + "; whether they are the same is unknown, as their sizes were not read"})
		default:
			return in.asNode(in.shadowed(driver, inbox, other, want))
		}
	}
	switch {
	case len(none) > 0 || len(seen) == 0:
		return in.asNode(Verdict{Why: in.why("no provider library of "+orWord(strings.Join(none, ", "), "the RDMA devices")+" was found on "+in.Facts.Node+" where they usually are", fabric.FactProviders)})
	}
	if _, cut := in.missing(fabric.FactProviders); cut {
		return in.asNode(Verdict{Why: in.why("the list of provider libraries of "+in.Facts.Node+" is not whole", fabric.FactProviders), Evidence: []fabric.Evidence{saw("find -name lib*-rdmav*.so", strings.Join(seen, ", "))}})
	}
	return in.asNode(pass(want, saw("find -name lib*-rdmav*.so", strings.Join(seen, ", "))))
}

// providers finds the library of a driver in the folder where libibverbs looks first, and one elsewhere.
func (in NodeInput) providers(driver string) (inbox, other *fabric.Provider) {
	for i := range in.Facts.Providers {
		p := &in.Facts.Providers[i]
		switch first := path.Base(path.Dir(p.Path)) == "libibverbs" && !strings.HasPrefix(p.Path, "/usr/local/"); {
		case p.Driver != driver:
		case first && inbox == nil:
			inbox = p
		case !first && other == nil:
			other = p
		}
	}
	return inbox, other
}

func orPath(all ...*fabric.Provider) string {
	i := slices.IndexFunc(all, func(p *fabric.Provider) bool { return p != nil })
	return all[i].Path
}

func (in NodeInput) shadowed(driver string, inbox, other *fabric.Provider, want string) Verdict {
	text := func(p *fabric.Provider) string { return p.Path + " (" + strconv.Itoa(p.Bytes) + " bytes)" }
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw("find -name lib*-rdmav*.so", text(inbox)+", "+text(other))},
		Why:  "On " + in.Facts.Node + " verbs open " + driver + " devices by the distribution's " + inbox.Path + ", not by " + other.Path + ", which was installed for them.",
		Cost: "functions of the vendor's library are not used, and with the next driver its ABI may not match: no RDMA for user programs",
		// A rename or removal, as the guide says, comes back with the next update of rdma-core; a diversion does not.
		Fix: onNode("dpkg-divert --local --rename --divert "+fabric.ShellWord(inbox.Path+".inbox")+" --add "+fabric.ShellWord(inbox.Path)+" && ldconfig && ibv_devinfo", in.Facts.Node) +
			"; with rpm, rename it after every update of rdma-core",
	}
}

// ofedPackages are the packages of NVIDIA's RDMA stack, which take the place of the kernel's RDMA core.
func (in NodeInput) ofedPackages() []string {
	var out []string
	for name, version := range in.Facts.Packages {
		if strings.HasPrefix(name, "mlnx-of") || strings.HasPrefix(name, "kmod-mlnx-of") || strings.HasPrefix(name, "doca-ofed") {
			out = append(out, name+" "+version)
		}
	}
	slices.Sort(out)
	return out
}

// withoutHalf names a loaded NIC driver of another vendor than NVIDIA whose RDMA half is not loaded.
func (in NodeInput) withoutHalf() (driver, half string) {
	for _, pair := range halves() {
		if pair[0] != "mlx5_core" && in.loaded(pair[0]) && !in.loaded(pair[1]) {
			return pair[0], pair[1]
		}
	}
	return "", ""
}

// judgeStacks is the conflict where the log no longer shows it: NVIDIA's stack is installed, and the RDMA half of another
// vendor's driver is not loaded.
func (in NodeInput) judgeStacks() (Verdict, bool) {
	driver, half := in.withoutHalf()
	_, cut := in.missing(fabric.FactModules)
	if half == "" || cut {
		return Verdict{}, false
	}
	if in.Facts.Packages == nil {
		return Verdict{Why: in.why(half+" is not loaded beside "+driver+" on "+in.Facts.Node+", and whether another RDMA stack is installed is unknown", fabric.FactPackages)}, true
	}
	stack := in.ofedPackages()
	if len(stack) == 0 {
		return Verdict{}, false
	}
	list := strings.Join(stack[:min(len(stack), mostNamed)], ", ")
	return Verdict{
		Status: fabric.Fail, Expected: "one RDMA stack", Evidence: []fabric.Evidence{saw("packages", list), saw("/proc/modules", driver+" without "+half)},
		Why:  in.Facts.Node + " has NVIDIA's RDMA stack installed (" + list + "), and " + half + " is not loaded beside " + driver + ": it does not load into another RDMA core than it was built for.",
		Cost: "no RDMA by its devices",
		Fix:  onNode("/usr/sbin/ofed_uninstall.sh && reboot; then install the NIC vendor's driver, or rebuild it against that stack (dkms autoinstall)", in.Facts.Node),
	}, true
}
