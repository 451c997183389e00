package runbook

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Releases that the guide names (957608-AN209, 2.2.1.1, 2.2.2, appendix A).
const (
	nicRelease = "234.1.124.0b" // tarball with installer, drivers and firmware of every part
	nicSource  = "234.0.154.0"  // sources of drivers and library in it
)

func broadcomSteps(s scene) []Step {
	return []Step{
		nicPart(s), noOFED(), nicRelease234(), firmwareFile(s), nicSoftware(s), nicOptions(s),
		nicVersions(s), nicQoS(s),
		sourceBuild(), qosPackage(s), firmwareByHand(s), capture(s), captureUndo(s),
	}
}

// eachNIC is a loop over the NICs of the fabric. In it nic is the interface, bdf its PCI function, dev how niccli names that
// and pf the number of the function.
func (s scene) eachNIC(lines ...string) []string {
	words := make([]string, len(s.nics))
	for i, nic := range s.nics {
		words[i] = fabric.ShellWord(nic)
	}
	out := []string{
		"for nic in " + strings.Join(words, " ") + "; do",
		`  bdf=$(basename "$(readlink -f "/sys/class/net/$nic/device")")`,
		`  dev=${bdf#0000:} pf=${bdf##*.}`,
	}
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return append(out, "done")
}

// readPart sets part to the order number in the card's vital product data: BCM957608-P1400GDF00.
const readPart = `part=$(lspci -vvv -s "$bdf" | sed -n 's/.*\[PN\] Part number: *//p' | tr -d ' ')`

func nicPart(s scene) Step {
	part := s.nic.Part
	if part == "" {
		part = "(the catalog has no order number for this NIC)"
	}
	return Step{
		ID: "nic-part", Phase: Before, Title: "Part number and port mode of every NIC",
		When: "firmware is made for one part: files of another one are printed in the guide itself. Interfaces have no names yet where the driver is missing: lspci -d 14e4:1760 lists the cards",
		Check: Check{
			Lines: s.eachNIC(readPart, `echo "$nic $bdf ${part:-unknown} $(ethtool "$nic" | sed -n 's/^.*Speed: //p')"`),
			Expect: fmt.Sprintf("%d lines with a part that begins with %s, as niccli --dev DEVICE show -p prints it too, and with %sMb/s. "+
				"A P2200G or N2200G has two ports of 200 Gb/s unless it was set to one of 400: %s a card is what the plan has", len(s.nics), part, mbps(s.nicRate), fabric.Count(max(s.nic.Ports, 1), "interface")),
			Rule: "port-rate",
		},
		Undo: "nothing was changed", Source: guide + ", table 1, 2.2.2.2",
	}
}

func mbps(gbps float64) string { return strconv.FormatFloat(gbps*1000, 'f', -1, 64) }

func noOFED() Step {
	return Step{
		ID: "no-ofed", Phase: Before, Title: "No MLNX OFED on the host",
		When:  "it replaces the kernel's RDMA modules, after which Broadcom's driver does not load (bnxt_re: disagrees about version of symbol). Where it is there: /usr/sbin/ofed_uninstall.sh, and a reboot of its own before anything else",
		Check: Check{Lines: []string{"! test -e /usr/sbin/ofed_uninstall.sh && echo none"}, Expect: "none", Rule: "driver-conflict"},
		Undo:  "install MLNX OFED again", Source: guide + ", 5.1 no. 7",
	}
}

func nicRelease234() Step {
	return Step{
		ID: "nic-release", Phase: Install, Title: "The NIC release " + nicRelease + " on the host",
		When: "from the downloads of Broadcom's P1400G or P2200G page, copied to /root. The installer fetches compilers and headers with the system's package manager: the host needs its repositories",
		Commands: everywhere("cd /root", "tar -xf bcm_"+nicRelease+".tar.gz",
			"find /root/bcm_"+nicRelease+" -name '*.pkg' | sort"),
		Check: Check{Lines: []string{"test -x /root/bcm_" + nicRelease + "/utils/nic_wizard/install.sh && echo there"}, Expect: "there"},
		Undo:  "rm -r /root/bcm_" + nicRelease, Source: guide + ", 2.2.1.1",
	}
}

// matchFile sets file to the firmware made for a part, and refuses anything else: the name of the file is the part's, with
// its revision where the card does not tell it.
func matchFile() []string {
	return []string{
		readPart,
		`if test -z "$part"; then echo "$nic: the part number was not read: no firmware" >&2; exit 1; fi`,
		`file=$(find /root/bcm_` + nicRelease + ` -name "$part.pkg" | head -n 1)`,
		`test -n "$file" || file=$(find /root/bcm_` + nicRelease + ` -name "${part}F[0-9][0-9].pkg" | head -n 1)`,
		`if test -z "$file"; then echo "$nic: no firmware for $part in this release" >&2; exit 1; fi`,
	}
}

func firmwareFile(s scene) Step {
	return Step{
		ID: "firmware-file", Phase: Install, Title: "The release has firmware for exactly these cards",
		When: "stop here where it has none: a file of another part, such as P1400GQ for a P1400GD, is never the nearest one",
		Check: Check{
			Lines:  append([]string{"("}, append(s.eachNIC(append(matchFile(), `echo "$nic $part $(basename "$file")"`)...), ")")...),
			Expect: fmt.Sprintf("%d lines, in each the same part twice, and exit status 0", len(s.nics)),
		},
		Undo: "nothing was changed", Source: guide + ", 2.2.2.2",
	}
}

// wizardFlags are those of congestion control: the installer's own default is NOOP, which configures none.
func (s scene) wizardFlags() (flags, why string) {
	roce, hasRoCE := s.class("roce")
	cnp, hasCNP := s.class("cnp")
	if !hasRoCE {
		return "", "the plan has no traffic classes: the installer configures none"
	}
	mode := "NOOP"
	switch {
	case roce.Lossless && roce.ECN != nil:
		mode = "ECNPFC"
	case roce.Lossless:
		mode = "PFC"
	case roce.ECN != nil:
		mode = "ECN"
	}
	flags = fmt.Sprintf(" -o %s -r %d -d %d", mode, roce.Priority, roce.DSCP)
	if hasCNP {
		flags += fmt.Sprintf(" -c %d -p %d", cnp.Priority, cnp.DSCP)
	}
	if s.traffic.Share > 0 {
		flags += fmt.Sprintf(" -b %d", s.traffic.Share)
	}
	return flags, "-o and what follows it are the plan's traffic classes: by its own default the installer configures none (NOOP)"
}

func (s scene) class(name string) (fabric.TrafficClass, bool) {
	if s.traffic == nil {
		return fabric.TrafficClass{}, false
	}
	for _, c := range s.traffic.Classes {
		if c.Name == name {
			return c, true
		}
	}
	return fabric.TrafficClass{}, false
}

func nicSoftware(s scene) Step {
	flags, why := s.wizardFlags()
	return Step{
		ID: "nic-software", Phase: Install, Title: "Drivers, library, QoS package and firmware of all NICs of the fabric",
		When: why + ". -g brings peer memory where the kernel has none of its own. The NICs are named, instead of -A, which would take Broadcom ports of the management network too. " +
			fmt.Sprintf("The MTU is not set here (the installer's default is 1500, and only for addresses that it gives): %d comes with the host's network files", s.mtu),
		Commands: everywhere(append(append([]string{"set --"}, s.eachNIC(`set -- "$@" -i "$bdf"`)...),
			"cd /root/bcm_"+nicRelease+"/utils/nic_wizard", `bash ./install.sh -v "$@" -f -g`+flags, "grep -inE 'error|fail' install.log || echo clean")...),
		Check: Check{
			Lines:  []string{"modinfo bnxt_en bnxt_re | grep -E '^(filename|version):'", "dkms status | grep -i bnxt"},
			Expect: "clean from the log; versions of the release, in an updates or extra folder of the running kernel", Rule: "module-on-disk",
		},
		Undo: "in the same folder: bash ./install.sh -U with the same -i; the firmware stays, and goes back with the file of the previous release", Reboot: true,
		Source: guide + ", 2.2.1, 2.2.1.4",
	}
}

// option is a stored setting of a NIC.
type option struct {
	name  string
	value string
	scope bool // each function has its own
}

// rdmaOptions are what peer memory and driver-made QoS need (957608-AN209, 2.2.3).
func rdmaOptions() []option {
	return []option{
		{"support_rdma", "1", true}, {"performance_profile", "1", false}, {"pcie_relaxed_ordering", "1", false},
		{"dcbx_mode", "0", true}, {"lldp_nearest_bridge", "0", true}, {"lldp_nearest_non_tpmr_bridge", "0", true},
	}
}

func (o option) set() string {
	return `niccli --dev "$dev" nvm --setoption ` + o.name + o.ofFunction() + " --value " + o.value
}

func (o option) get() string { return `niccli --dev "$dev" nvm --getoption ` + o.name + o.ofFunction() }

func (o option) ofFunction() string {
	if o.scope {
		return ` --scope "$pf"`
	}
	return ""
}

func (s scene) optionLines(options []option) (get, set []string) {
	for _, o := range options {
		get, set = append(get, o.get()), append(set, o.set())
	}
	return s.eachNIC(get...), s.eachNIC(set...)
}

func nicOptions(s scene) Step {
	get, set := s.optionLines(rdmaOptions())
	return Step{
		ID: "nic-options", Phase: Install, Title: "Stored options of the NICs",
		When: "relaxed ordering can corrupt data of applications that rely on the order of PCIe writes: GPU collectives do not. DCBX and LLDP of the firmware are off, or the driver configures no QoS",
		Commands: everywhere(append(append([]string{"{"}, append(get, "} >/root/nic-options.before")...),
			set...)...),
		Check: Check{Lines: get, Expect: "support_rdma, performance_profile and pcie_relaxed_ordering on, the three others 0 or disabled"},
		Undo:  "set the values in /root/nic-options.before again, with --setoption", Reboot: true, Source: guide + ", 2.2.3 (its examples that disable LLDP print --getoption, which sets nothing)",
	}
}

func nicVersions(s scene) Step {
	return Step{
		ID: "nic-versions", Phase: After, Title: "Drivers and firmware after the reboot",
		When: "the loaded driver, and not the one on disk only; all NICs with one firmware",
		Check: Check{
			Lines:  s.eachNIC(`ethtool -i "$nic" | grep -E '^(driver|version|firmware-version):' | tr '\n' ' '; echo "$nic"`),
			Expect: "the release's driver and firmware on each line, none else; no message of bnxt in dmesg", Rule: "firmware-equal",
		},
		Undo: "as of nic-software", Source: guide + ", 2.2.1.2",
	}
}

func nicQoS(s scene) Step {
	expect := "what the plan has"
	if roce, ok := s.class("roce"); ok {
		expect = fmt.Sprintf("PFC enabled: %d; DSCP %d to priority %d", roce.Priority, roce.DSCP, roce.Priority)
		if cnp, ok := s.class("cnp"); ok {
			expect += fmt.Sprintf("; DSCP %d to priority %d", cnp.DSCP, cnp.Priority)
		}
	}
	return Step{
		ID: "nic-qos", Phase: After, Title: "QoS on every NIC, and in the file that it comes from",
		When: "PFC enabled: none, all priorities in queue 0 and setets rc:-22 in dmesg: DCBX or LLDP of the firmware is on, see nic-options",
		Check: Check{
			Lines:  append([]string{"cat /etc/bnxt_re/bnxt_re.conf"}, s.eachNIC(`niccli --dev "$dev" qos --ets --show`)...),
			Expect: expect,
		},
		Undo: "as of nic-software", Source: guide + ", 2.2.1.3, 5.1 no. 5",
	}
}
