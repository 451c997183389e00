package esxcheck

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about the software on a host that reaches the NICs: MFT, its module NMST, and the driver.

const vibList = "esxcli software vib list"

func toolsRule() Rule {
	return Rule{
		ID: "esx-tools", Title: "The NIC tools are installed, all of one release",
		Doc:      "looks for the planned packages (mft, nmst) and compares their releases: mst and mlxconfig need both, of one release",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 8.1, B; " + docVS8, Facts: []string{fabric.FactESXVIBs},
		Judge: eachHost(false, judgeTools),
	}
}

func judgeTools(s scene) []fabric.Finding {
	if s.esx.VIBs == nil && len(s.esx.NoVIBs) == 0 {
		return []fabric.Finding{s.unread("installed software was not read", fabric.FactESXVIBs)}
	}
	wanted := []string{"mft", "nmst"}
	if s.goal != nil {
		wanted = s.goal.VIBs
	}
	found := map[string]string{}
	var gone, dark []string
	var seen []fabric.Evidence
	for _, name := range wanted {
		i := slices.IndexFunc(s.esx.VIBs, func(v fabric.VIB) bool { return strings.EqualFold(v.Name, name) })
		switch {
		case i >= 0:
			found[name] = s.esx.VIBs[i].Version
			seen = append(seen, saw(vibList, name+" "+s.esx.VIBs[i].Version))
		case s.esx.Whole(fabric.FactESXVIBs) || slices.ContainsFunc(s.esx.NoVIBs, func(part string) bool { return strings.Contains(name, strings.ToLower(part)) }):
			gone = append(gone, name)
		default:
			dark = append(dark, name)
		}
	}
	if s.goal == nil && len(gone) == len(wanted) && !s.setUp() {
		return []fabric.Finding{s.finding(fabric.Unknown, s.name()+" does not have "+strings.Join(gone, " and ")+": right where nobody sets up its NICs, wrong where ATS or SR-IOV are to be set; no plan says which", saw(vibList, "no "+strings.Join(gone, ", no ")))}
	}
	base := func(v string) string { head, _, _ := strings.Cut(v, "-"); return head }
	switch {
	case len(gone) > 0:
		return []fabric.Finding{s.fail(fault{
			why: s.name() + " does not have " + strings.Join(gone, " and ") + ": mst and mlxconfig do not run.", expected: strings.Join(wanted, ", "),
			seen: append(seen, saw(vibList, "no "+strings.Join(gone, ", no "))), cost: "ATS and SR-IOV of the NICs can neither be read nor set",
			fix: "add the NMST and MFT components to the image of the cluster in Lifecycle Manager, or " + s.here("esxcli software vib install -d /vmfs/volumes/DATASTORE/NMST.zip") + " (and of MFT), then restart it once",
		})}
	case len(dark) > 0:
		return []fabric.Finding{s.finding(fabric.Unknown, "whether "+s.name()+" has "+strings.Join(dark, " and ")+" is not in the part of the list that was read", seen...)}
	case found["mft"] != "" && found["nmst"] != "" && base(found["mft"]) != base(found["nmst"]):
		return []fabric.Finding{s.fail(fault{cause: fabric.CauseVersionSkew, why: fmt.Sprintf("MFT %s and its module NMST %s of %s are of different releases.", base(found["mft"]), base(found["nmst"]), s.name()),
			expected: "one release", seen: seen, cost: "mst does not find the NICs, or refuses them", fix: "install NMST of the release of MFT, then restart the host"})}
	}
	return s.pass(strings.Join(wanted, ", ")+", of one release", seen...)
}

func driverRule() Rule {
	return Rule{
		ID: "esx-nic-driver", Title: "nmlx5_core is loaded, and not left in recovery mode",
		Doc: "reads the module of Mellanox NICs: without it mst shows nothing that is not passed through, and no virtual functions are made; " +
			"mst_recovery=1 is for the first time of setting up only",
		Severity: fabric.SeverityError, Cause: fabric.CauseESXiDriverUnloaded, Reference: docVS8 + ", troubleshooting; " + docVCF + ", B", Facts: []string{fabric.FactESXModules},
		Judge: eachHost(false, judgeDriver),
	}
}

const nicModule = "nmlx5_core"

func judgeDriver(s scene) []fabric.Finding {
	m := s.esx.Module(nicModule)
	whole := s.esx.Whole(fabric.FactESXModules)
	if m == nil && !whole {
		return []fabric.Finding{s.unread(nicModule+" was not read", fabric.FactESXModules)}
	}
	bring := s.here("esxcli system module set -e true -m nmlx5_core && esxcli system module load -m nmlx5_core && /opt/mellanox/bin/mst start")
	const cost = "mst status stays empty, and there are neither firmware settings nor virtual functions"
	if s.goal == nil && (m == nil || is(m.Loaded, false) || is(m.Enabled, false)) && !s.setUp() {
		return []fabric.Finding{s.finding(fabric.Unknown, nicModule+" of "+s.name()+" is not loaded: right on a host without a NIC of NVIDIA (Mellanox), wrong with one; none was read, and no plan says which", saw("esxcli system module list", nicModule+" not loaded"))}
	}
	if m == nil {
		return []fabric.Finding{s.fail(fault{why: nicModule + " is not among the modules of " + s.name() + ".", expected: nicModule + " loaded", seen: []fabric.Evidence{saw("esxcli system module list", fabric.Count(len(s.esx.Modules), "module"))},
			cost: cost, fix: bring})}
	}
	seen := []fabric.Evidence{saw("esxcli system module list", nicModule+" "+moduleText(m))}
	recovery, given := m.Parameters["mst_recovery"]
	n, ok := number(recovery)
	switch {
	case is(m.Loaded, false) || is(m.Enabled, false):
		return []fabric.Finding{s.fail(fault{why: nicModule + " of " + s.name() + " is " + moduleText(m) + ".", expected: "loaded, enabled", seen: seen, cost: cost, fix: bring})}
	case given && ok && n == 1:
		seen = append(seen, saw("esxcli system module parameters list -m nmlx5_core", "mst_recovery="+recovery))
		return []fabric.Finding{s.fail(fault{why: nicModule + " of " + s.name() + " is left in recovery mode (mst_recovery=1).", expected: "mst_recovery=0", seen: seen,
			cost: "the NICs carry no traffic of ESX, and no virtual functions are made",
			fix:  s.here(`esxcli system module parameters set -a -m nmlx5_core -p "mst_recovery=0"`) + ", then restart it; without -a the other parameters (max_vfs) are lost"})}
	case m.Loaded == nil && m.Enabled == nil:
		return []fabric.Finding{s.unread("whether "+nicModule+" is loaded was not read", fabric.FactESXModules)}
	}
	return s.pass("loaded, enabled", seen...)
}

// setUp reports, without a plan, that the host has a NIC which its own tools and driver are to reach, or that somebody looked for one
// with them.
func (s scene) setUp() bool {
	if s.esx.MST != nil || len(s.esx.NICConfigs)+len(s.esx.Firmware) > 0 {
		return true
	}
	if m := s.esx.Module(nicModule); m != nil && len(m.Parameters) > 0 {
		return true
	}
	return slices.ContainsFunc(s.tree, func(d device) bool {
		return d.kind == kindNIC && d.vendor == vendorMellanox && (d.pass == nil || !is(d.pass.Active, true))
	})
}

// givesAway reports, without a plan, that a GPU or a NIC of the host goes to virtual machines: what the kernel and the firmware need for
// it is then no question of a plan.
func (s scene) givesAway() bool {
	return slices.ContainsFunc(s.tree, func(d device) bool {
		return (d.kind == kindGPU || d.kind == kindNIC && d.vendor == vendorMellanox) && d.pass != nil && (is(d.pass.Enabled, true) || is(d.pass.Active, true))
	})
}

func moduleText(m *fabric.ESXModule) string {
	word := func(v *bool, yes, no string) string {
		switch {
		case v == nil:
			return yes + "? not read"
		case *v:
			return yes
		}
		return no
	}
	return word(m.Loaded, "loaded", "not loaded") + ", " + word(m.Enabled, "enabled", "not enabled")
}

func toolDevicesRule() Rule {
	return Rule{
		ID: "esx-mst", Title: "mst shows the NICs of the host, or they are passed through",
		Doc:      "reads mst status: it shows NICs that ESX itself has. Empty it is right where all are passed through; else the driver is not loaded, or needs its recovery mode once",
		Severity: fabric.SeverityError, Cause: fabric.CauseESXiDriverUnloaded, Reference: docVS8 + ", troubleshooting; " + docVCF + ", 8.3, B", Facts: []string{fabric.FactESXMST, fabric.FactESXDevices},
		DependsOn: []string{"esx-tools", "esx-nic-driver"},
		Judge:     eachHost(false, judgeToolDevices),
	}
}

func judgeToolDevices(s scene) []fabric.Finding {
	if s.esx.MST == nil {
		return []fabric.Finding{s.unread("mst status was not read", fabric.FactESXMST)}
	}
	seen := saw("mst status", fabric.Count(len(s.esx.MST), "device"))
	nics, unknown := s.ours(kindNIC)
	var given, kept, dark []string
	for _, d := range nics {
		switch {
		case d.tools:
		case d.pass == nil || d.pass.Active == nil:
			dark = append(dark, d.address)
		case *d.pass.Active:
			given = append(given, d.address)
		default:
			kept = append(kept, d.address)
		}
	}
	switch {
	case len(kept) > 0:
		return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("mst does not show %s of %s, which ESX has not given away.", few(kept), s.name()), expected: "each NIC that is not passed through", seen: []fabric.Evidence{seen},
			cost: "its firmware settings can neither be read nor set",
			fix:  s.here(`esxcli system module load -m nmlx5_core; esxcli system module parameters set -a -m nmlx5_core -p "mst_recovery=1"`) + ", restart, set what is to be set, mst_recovery=0, restart"})}
	case len(dark) > 0 || len(s.esx.MST) == 0 && (len(nics) == 0 || unknown > 0):
		return []fabric.Finding{s.finding(fabric.Unknown, "mst of "+s.name()+" does not show all NICs: they are passed through, which is right, or "+nicModule+" is not loaded or needs its recovery mode; passthrough of them was not read", seen)}
	case len(given) > 0:
		f := s.pass("NICs that are passed through are not shown", seen, saw("passthrough", few(given)))
		f[0].Why = "harmless: mst shows no NIC that is passed through"
		return f
	}
	return s.pass("each NIC that is not passed through", seen)
}

func cardsRule() Rule {
	return Rule{
		ID: "esx-nic-model", Title: "The NICs of the host are of the planned model",
		Doc:      "compares the ids of the NICs with the plan (MT4129 is a ConnectX-7); an older card (ConnectX-3, ConnectX-4) does no GPUDirect RDMA of this kind. Without a plan only a card that mst or flint was run on is judged: one in a list of NICs may be for storage or management",
		Severity: fabric.SeverityError, Cause: fabric.CauseDeviceFault, Reference: docVCF + ", 8.3; PCI ID database", Facts: []string{fabric.FactPCI, fabric.FactESXDevices, fabric.FactESXMST},
		Judge: eachHost(false, judgeCards),
	}
}

func judgeCards(s scene) []fabric.Finding {
	vendor, id := s.wantedNIC()
	var right, other, set []string // set: too old ones that somebody sets up with mst
	for _, d := range s.tree {
		if d.kind != kindNIC || d.device == 0 {
			continue
		}
		text := d.address + " " + familyOf(d.device) + " (" + d.id() + ")"
		if d.vendor == vendor && d.device == id {
			right = append(right, d.address)
		} else {
			other = append(other, text)
		}
		if d.tools && tooOld(d.device) {
			set = append(set, text)
		}
	}
	want := familyOf(id)
	if want == "" {
		want = hex4(vendor) + ":" + hex4(id)
	}
	for _, fw := range s.esx.Firmware {
		if len(right)+len(other) > 0 {
			break // the list of devices says more
		}
		if family := oldFirmware(fw.Version); family != "" && !slices.ContainsFunc(s.tree, func(d device) bool { return d.address == fw.Device && d.device != 0 }) {
			return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("NIC %s of %s has firmware %s, that of a %s.", fw.Device, s.name(), fw.Version, family), expected: want, seen: []fabric.Evidence{saw("flint query", strings.TrimSpace(fw.Version+" of "+fw.Released+" "+fw.PSID))},
				cost: "GPUDirect RDMA in virtual machines was not tried on it", fix: "put the planned NICs in; a NIC for storage or management is to be left out"})}
		}
	}
	switch {
	case len(right) > 0:
		return s.pass(want, saw("lspci, mst status", few(right)))
	case len(other) == 0:
		return []fabric.Finding{s.unread("no NIC was identified", fabric.FactPCI, fabric.FactESXMST, fabric.FactESXDevices)}
	case s.goal == nil && len(set) == 0:
		return []fabric.Finding{s.finding(fabric.NotApplicable, "no plan says which NICs "+s.name()+" should have: "+few(other))}
	}
	return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("%s has no %s: its NICs are %s.", s.name(), want, few(other)), expected: want, seen: []fabric.Evidence{saw("lspci, mst status", few(other))},
		cost: "GPUDirect RDMA in virtual machines was not tried on them", fix: "put the planned NICs in, or correct the machine of the cluster file"})}
}

// oldFirmware is the family of a NIC before ConnectX-5 by the first number of its firmware (NVIDIA firmware release notes).
func oldFirmware(version string) string {
	major, _, _ := strings.Cut(version, ".")
	switch major {
	case "2":
		return "ConnectX-3"
	case "10":
		return "Connect-IB"
	case "12":
		return "ConnectX-4"
	case "14":
		return "ConnectX-4 Lx"
	}
	return ""
}

// tooOld reports the families before ConnectX-5, the first with ATS and firmware settings for it.
func tooOld(id uint16) bool {
	switch id {
	case 0x1003, 0x1007, 0x1011, 0x1013, 0x1015:
		return true
	}
	return false
}

func countRule() Rule {
	return Rule{
		ID: "esx-devices", Title: "The host has its GPUs, NICs and NVSwitches",
		Doc:      "compares the numbers of GPUs, NICs and NVSwitches that ESX sees with the planned machine",
		Severity: fabric.SeverityError, Cause: fabric.CauseDeviceFault, Reference: "the plan; the catalog", Facts: []string{fabric.FactPCI, fabric.FactESXDevices, fabric.FactESXMST},
		DependsOn: []string{"esx-nic-model"},
		Judge:     eachHost(true, judgeCount),
	}
}

func judgeCount(s scene) []fabric.Finding {
	var out []fabric.Finding
	var seen []fabric.Evidence
	whole := s.esx.Whole(fabric.FactESXDevices) || len(s.facts.PCI) > 0
	if _, lost := s.facts.MissingReason(fabric.FactPCI); lost && !s.esx.Whole(fabric.FactESXDevices) {
		whole = false
	}
	for _, k := range []struct {
		kind string
		want int
	}{{kindGPU, s.goal.GPUs}, {kindNIC, s.goal.NICs}, {kindNVSwitch, s.goal.NVSwitches}} {
		if k.want == 0 {
			continue
		}
		found, dark := s.ours(k.kind)
		var at []string
		for _, d := range found {
			at = append(at, d.address)
		}
		source := saw("lspci, mst status, vSphere API", fmt.Sprintf("%d %s: %s", len(found), k.kind, strings.Join(at, " ")))
		switch {
		case len(found) < k.want && (!whole || dark > 0):
			out = append(out, s.finding(fabric.Unknown, fmt.Sprintf("%d of the %d planned %ss of %s were seen, and not all its devices were identified", len(found), k.want, k.kind, s.name()), source))
		case len(found) < k.want:
			out = append(out, s.fail(fault{why: fmt.Sprintf("%s has %d of its %d %ss.", s.name(), len(found), k.want, k.kind), expected: fmt.Sprintf("%d %ss", k.want, k.kind), seen: []fabric.Evidence{source},
				cost: "a virtual machine that is to get it does not start", fix: "seat or replace the device; look at the log of the server's management controller and " + s.here("lspci")}))
		case len(found) > k.want:
			out = append(out, s.finding(fabric.Unknown, fmt.Sprintf("%s has %d %ss, the planned machine %d: the cluster file names another machine", s.name(), len(found), k.kind, k.want), source))
		default:
			seen = append(seen, source)
		}
	}
	if len(out) == 0 && len(seen) > 0 {
		return s.pass("as the planned machine", seen...)
	}
	return out
}
