package runbook

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// The documents of vSphere that steps come from.
const (
	vcf = "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI"
	vs8 = "InfiniBand Configuration on VMware vSphere 8"
)

// workstation marks commands for the machine of the person who works with vCenter.
const workstation = "workstation"

// atHome are commands for that machine.
func atHome(lines ...string) []Script { return []Script{{OS: workstation, Lines: lines}} }

const (
	mst       = "/opt/mellanox/bin/mst status -vv"
	mlxconfig = "/opt/mellanox/bin/mlxconfig"
)

// eachNIC runs a command for each NIC of the plan's model that mst shows, however many these are: mst names a device after the
// decimal number of its PCI device, mt4129 for 0x1021. Further ports of a device, as mt4129_pciconf0.1, share its settings.
func eachNIC(g fabric.ESXGoal, command string) string {
	name := "mt[0-9]+"
	if _, device, ok := strings.Cut(g.NIC, ":"); ok {
		if n, err := strconv.ParseUint(device, 16, 16); err == nil {
			name = "mt" + strconv.FormatUint(n, 10)
		}
	}
	return `/opt/mellanox/bin/mst status | awk '{for (i = 1; i <= NF; i++) if ($i ~ /` + name + `_pciconf[0-9]+$/) print $i}' | sort -u | while read -r d; do ` + command + "; done"
}

// vsphereGroups are the steps of the ESX hosts, of vCenter and the Supervisor, and of virtual machines that somebody logs in to.
// Hosts whose facts are known get what they lack and no more.
func vsphereGroups(p *fabric.Plan, known []*fabric.Facts) []Group {
	v := p.VSphere
	var hosts, unread []string
	for _, h := range v.Hosts {
		hosts = append(hosts, h.Name)
	}
	groups := []Group{}
	if len(known) == 0 {
		unread = hosts
	} else {
		groups, unread = readGroups(p, known)
	}
	if len(unread) > 0 {
		esx := Group{Title: "ESX hosts", Hosts: unread, Unknown: []string{}, Machine: machineOf(p)}
		if len(known) > 0 {
			esx.Title = "ESX hosts of which the snapshot has nothing"
		}
		if esx.Machine == "" {
			esx.Unknown = append(esx.Unknown, "the cluster file names no machine of the catalog, so that GPUs and NICs of the hosts are unknown")
		}
		esx.Steps, esx.Reboots = ordered(esxSteps(*v))
		groups = append(groups, esx)
	}
	site := Group{Title: "Once: switches, vCenter and what it makes", Running: true, Hosts: hosts, Unknown: []string{}}
	site.Steps, site.Reboots = ordered(siteSteps(p))
	groups = append(groups, site)
	if p.Launcher != "kubernetes" {
		guest := Group{Title: "Virtual machines", Running: true, Unknown: []string{}}
		for _, n := range p.Nodes {
			guest.Hosts = append(guest.Hosts, n.Name)
		}
		guest.Steps, guest.Reboots = ordered(guestSteps(p))
		groups = append(groups, guest)
	}
	return groups
}

func machineOf(p *fabric.Plan) string {
	if len(p.Machines) == 0 {
		return ""
	}
	return p.Machines[0].ID
}

func esxSteps(v fabric.VSphere) []Step {
	g := v.Goal
	steps := []Step{lookESX(v), vSphereBIOS(v), maintenance(), mft(), kernelSettings(g)}
	if g.ResetMethod != "" {
		steps = append(steps, resetMethod(g))
	}
	steps = append(steps, powerPolicy(g), restart(Reboot, "reboot"), recoveryMode(), nicSettings(g))
	if g.Mode == fabric.SRIOVToGuests {
		steps = append(steps, maxVFs(g))
	} else {
		steps = append(steps, passthroughStep(g), labelStep(v))
	}
	return append(steps, restart(SecondReboot, "second-reboot"), afterESX(v))
}

func lookESX(v fabric.VSphere) Step {
	return Step{
		ID: "esx-facts", Phase: Before, Title: "What each host has, and what that needs",
		When:  "the steps below are for a host of which nothing is known; this shows for each host which of them it needs, and its conflicts, which are settled first",
		Check: Check{Lines: []string{"# on your own machine", "railwright check -f cluster.yaml"}, Expect: fmt.Sprintf("%s with %s of %s; nothing that is refused", fabric.Count(len(v.Hosts), "host"), fabric.Count(v.Goal.NICs, "NIC"), v.Goal.NIC)},
		Undo:  "nothing was changed", Source: "practice",
	}
}

func vSphereBIOS(v fabric.VSphere) Step {
	return Step{
		ID: "bios", Phase: Install, Title: "BIOS and firmware of the server, at the reboot below",
		When: "for hosts of virtual machines: Virtualization Technology (with it IOMMU and ACS), SR-IOV and memory-mapped I/O above 4 GB on, the profile performance per watt controlled by the operating system; " +
			"the lists for bare metal have the first two off. Sub-NUMA clustering off where the work lives in the last-level cache. The file bios.md of railwright render has the names of this maker's settings. " +
			"PCIe switch board (Broadcom Atlas 2): firmware 4.160.3.0 or later; where only ESX is installed it is flashed from a live Linux (chmod +x FILE.BIN; ./FILE.BIN), which is a start of its own",
		Commands: atHome("railwright render -f cluster.yaml -d out", "cat out/workstation/bios.md"),
		Check:    Check{Expect: "each setting of that list reads as it has to, over the BMC; the server's own inventory names the firmware of the switch board"},
		Undo:     "the profile that was exported from the BMC before", Reboot: true, Source: vcf + ", 7, A.1",
	}
}

// maintenance is entered once, and left by the last step: it lasts over starts of the host.
func maintenance() Step {
	return Step{
		ID: "maintenance", Phase: Install, Title: "Maintenance mode", When: "virtual machines move to other hosts; those with devices of the host do not, and are shut down first",
		Commands: everywhere("esxcli system maintenanceMode get | grep -qx Enabled || esxcli system maintenanceMode set -e true"),
		Check:    Check{Lines: []string{"esxcli system maintenanceMode get"}, Expect: "Enabled"}, Undo: "esxcli system maintenanceMode set -e false", Source: vcf + ", 8.2",
	}
}

func mft() Step {
	return Step{
		ID: "mft", Phase: Install, Title: "MFT and NMST, the tools that configure NICs, of one release",
		When: "best by vSphere Lifecycle Manager for the whole cluster (import both zip files, remediate): it puts one host after the other into maintenance mode. By hand from a datastore; of the packages for this version of ESX",
		Commands: everywhere(
			"esxcli software vib install -d /vmfs/volumes/DATASTORE/Mellanox-NATIVE-NMST_VERSION.zip",
			"esxcli software vib install -d /vmfs/volumes/DATASTORE/Mellanox-MFT-Tools_VERSION.zip"),
		Check: Check{Lines: []string{"esxcli software vib list | grep -iE 'mft|nmst|nmlx5'"}, Expect: "mft and nmst of one release, and nmlx5-core, which comes with ESX"},
		Undo:  "esxcli software vib remove -n mft -n nmst", Reboot: true, Source: vcf + ", 8.1, B; " + vs8 + ", 1, 2",
	}
}

func kernelSettings(g fabric.ESXGoal) Step {
	var set, list []string
	var want []string
	for _, s := range g.Settings {
		line := fmt.Sprintf("esxcli system settings kernel set -s %s -v %s", s.Name, strings.ToLower(s.Configured))
		if since := g.SinceMajor[s.Name]; since > 0 {
			line += fmt.Sprintf(" # only on ESX %d and later: an earlier one does not know it", since)
		}
		set = append(set, line)
		list = append(list, "esxcli system settings kernel list -o "+s.Name)
		want = append(want, s.Name+" "+s.Configured)
	}
	return Step{
		ID: "kernel-settings", Phase: Install, Title: "ACS and ATS in the kernel", When: "these are the defaults: only a host on which somebody changed them needs it",
		Commands: everywhere(set...), Check: Check{Lines: list, Expect: strings.Join(want, ", ") + ": Configured at once, Runtime after the reboot"},
		Undo: "the value in the column Default", Reboot: true, Source: vcf + ", 8.2",
	}
}

func resetMethod(g fabric.ESXGoal) Step {
	return Step{
		ID: "reset-method", Phase: Install, Title: "GPUs are reset by " + g.ResetMethod, When: "the file says bridge for all devices of NVIDIA, which also resets what is behind the same bridge; the line is changed in place, and a second run changes nothing",
		Commands: everywhere("cp -n /etc/vmware/passthru.map /etc/vmware/passthru.map.before",
			`sed -i 's/^\(10de[[:space:]][[:space:]]*ffff[[:space:]][[:space:]]*\)bridge/\1`+g.ResetMethod+`/' /etc/vmware/passthru.map`),
		Check: Check{Lines: []string{"grep -i '^10de' /etc/vmware/passthru.map"}, Expect: "10de ffff " + g.ResetMethod + " false"},
		Undo:  "cp /etc/vmware/passthru.map.before /etc/vmware/passthru.map", Reboot: true, Source: vcf + ", 8.4",
	}
}

func powerPolicy(g fabric.ESXGoal) Step {
	return Step{
		ID: "power-policy", Phase: Install, Title: "Power policy of ESX", When: "in effect at once, and only where the BIOS leaves the choice to the operating system",
		Commands: everywhere("esxcli system settings advanced set -o /Power/CpuPolicy -s '" + g.PowerPolicy + "'"),
		Check:    Check{Lines: []string{"esxcli system settings advanced list -o /Power/CpuPolicy"}, Expect: "String Value: " + g.PowerPolicy},
		Undo:     "the same command with the value that the check shows as the default", Source: vcf + ", 7",
	}
}

func restart(phase Phase, id string) Step {
	return Step{
		ID: id, Phase: phase, Title: "Start the host again, in maintenance mode",
		Commands: everywhere("esxcli system shutdown reboot -r railwright"),
		Check:    Check{Lines: []string{"esxcli system stats uptime get"}, Expect: "a time after the last step above, in microseconds"}, Undo: "none", Reboot: true, Source: vcf + ", 8; " + vs8 + ", 2.4",
	}
}

func recoveryMode() Step {
	return Step{
		ID: "recovery-mode", Phase: Optional, Title: "NICs that mst status does not show",
		When: "first look why: a NIC that is passed through is not shown, and that is as it should be; nmlx5_core may not be loaded. Else a start in recovery mode brings them to light: two reboots more (set replaces all parameters: give those that esxcfg-module -g nmlx5_core shows as well), and no NIC of this driver carries traffic meanwhile, so not where the management network is on one",
		Commands: everywhere("esxcli system module list | grep nmlx5", `esxcli system module parameters set -m nmlx5_core -p "mst_recovery=1"`, "# start the host again; then "+mst,
			`esxcli system module parameters set -m nmlx5_core -p "mst_recovery=0"`, "# go on with the step nic-settings, whose reboot also ends the recovery mode"),
		Check: Check{Lines: []string{mst}, Expect: "every NIC; esxcfg-module -g nmlx5_core shows mst_recovery=0 at the end"}, Undo: "mst_recovery=0 and a reboot", Source: vs8 + ", 2.4, Troubleshooting; " + vcf + ", B",
	}
}

func nicSettings(g fabric.ESXGoal) Step {
	var lines, want []string
	for _, o := range g.NICSettings {
		lines = append(lines, eachNIC(g, mlxconfig+` -d "$d" -y set `+o.Name+"="+o.Value))
		want = append(want, o.Name+" "+o.Value)
	}
	return Step{
		ID: "nic-settings", Phase: Second, Title: "Firmware settings of each NIC", When: fmt.Sprintf("before the NICs are passed through: mst does not see them then. The loop is over those that are there, which have to be %d", g.NICs),
		Commands: everywhere(append([]string{mst}, lines...)...),
		Check:    Check{Lines: []string{eachNIC(g, mlxconfig+` -d "$d" -e q`)}, Expect: "in the column Next Boot of every NIC: " + strings.Join(want, ", ")},
		Undo:     "the values of the column Current, which were noted before", Reboot: true, Source: vcf + ", 8.3; " + vs8 + ", 3",
	}
}

func maxVFs(g fabric.ESXGoal) Step {
	list := strings.TrimSuffix(strings.Repeat(strconv.Itoa(g.MaxVFs)+",", max(g.NICs, 1)), ",")
	return Step{
		ID: "max-vfs", Phase: Second, Title: "Virtual functions of each NIC", When: fmt.Sprintf("a number for each NIC of this driver in the order of PCI addresses, 0 for those that are not of the fabric; a card that is added shifts the list. The command replaces all parameters: give those that the driver has (esxcfg-module -g nmlx5_core) as well. NUM_OF_VFS is one above %d", g.MaxVFs),
		Commands: everywhere("esxcli network nic list | grep nmlx5_core", `esxcli system module parameters set -m nmlx5_core -p "max_vfs=`+list+`"`),
		Check:    Check{Lines: []string{"esxcfg-module -g nmlx5_core", "esxcli network sriovnic list"}, Expect: "max_vfs as set; after the reboot each NIC of the fabric is listed. The vSphere Client shows their functions as Down, which is no fault: the guest shows the link"},
		Undo:     `esxcli system module parameters set -m nmlx5_core -p "", with what it had before, and the reboot`, Reboot: true, Source: vs8 + ", 3.1",
	}
}

func passthroughStep(g fabric.ESXGoal) Step {
	what := fabric.Count(g.NICs, "NIC")
	if g.GPUs > 0 {
		what = fabric.Count(g.GPUs, "GPU") + " and " + what
	}
	if g.NVSwitches > 0 {
		what += " and " + fabric.Count(g.NVSwitches, "NVSwitch")
	}
	ids := strings.TrimSuffix(strings.Join([]string{g.NIC, g.GPU, g.NVSwitch}, "|"), "|")
	return Step{
		ID: "passthrough", Phase: Second, Title: "Passthrough of " + what, When: "by vCenter (host, Configure, PCI Devices, Toggle passthrough), or in the shell for each address; no virtual functions may be left",
		Commands: everywhere("lspci -n | grep -E '"+strings.ReplaceAll(ids, "||", "|")+"'", "esxcli hardware pci pcipassthru set -d ADDRESS -e true"),
		Check:    Check{Lines: []string{"esxcli hardware pci pcipassthru list"}, Expect: "true for each of them; after the reboot vCenter shows Active"},
		Undo:     "esxcli hardware pci pcipassthru set -d ADDRESS -e false", Reboot: true, Source: vcf + ", 8.5",
	}
}

func labelStep(v fabric.VSphere) Step {
	when := "GPUn and NICn are those below one PCIe switch: by their addresses, the same on every host of one model. Only the vSphere Client and the API set labels (host, Configure, PCI Devices, Hardware Label)"
	if v.Service != nil {
		when += ". Where virtual machines share a host, partitions of Fabric Manager go by Module Id: GPU0 is the one of Module Id 1, and so on (nvidia-smi -q in a virtual machine that has all GPUs)"
	}
	expect := "GPU0, NIC0, GPU1, NIC1 and so on"
	if v.Goal.NVSwitches > 0 {
		expect += fmt.Sprintf(", and NVS0 to NVS%d", v.Goal.NVSwitches-1)
	}
	var lines []string
	for _, l := range v.Goal.Labels {
		if l.Address != "" {
			lines = append(lines, "# "+l.Label+" is "+l.Address)
		}
	}
	s := Step{ID: "labels", Phase: Second, Title: "Hardware labels", When: when, Check: Check{Expect: expect + ", each once on every host"}, Undo: "empty labels, in the same place", Source: vcf + ", 8.5"}
	if len(lines) > 0 {
		s.Commands = everywhere(lines...)
	}
	return s
}

func afterESX(v fabric.VSphere) Step {
	return Step{
		ID: "esx-done", Phase: After, Title: "The host is as planned, and takes virtual machines again", When: fmt.Sprintf("then the next host; at most %s out of use at a time", fabric.Count(v.Parallel, "host")),
		Commands: everywhere("esxcli system maintenanceMode set -e false"),
		Check:    Check{Lines: []string{"# on your own machine", "railwright check -f cluster.yaml"}, Expect: "nothing of this host failed"},
		Undo:     "esxcli system maintenanceMode set -e true", Source: vcf + ", 8",
	}
}
