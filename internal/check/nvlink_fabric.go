package check

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func fabricState() Rule {
	return Rule{
		ID:        "fabric-state",
		Title:     "Each GPU has joined the NVLink fabric",
		Doc:       "reads how far each GPU has joined the fabric of NVSwitches, its status and its health: until it is Completed with Success, CUDA does not start (error 802) or NVLink is not used",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseFabricManager,
		Reference: "NVML API reference, nvmlGpuFabricInfo_v3_t; NVIDIA Fabric Manager user guide; NVIDIA gpu-operator issue 2511; leptonai gpud",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUHealth, fabric.FactFabricManagerMode},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA(), withNVLink()},
		DependsOn: []string{"gpu-driver", "gpu-answers", "fabric-manager"},
		Node:      judgeFabricState,
	}
}

func judgeFabricState(in NodeInput) []Verdict {
	const want = "Completed, Success"
	in.missing(fabric.FactFabricManagerMode) // without it a GPU that waits is taken for one that should not
	return in.eachNVIDIA(func(g *fabric.GPU, name string) Verdict {
		known, _ := in.known(g)
		if g.Health == nil || g.Health.Fabric == nil || g.Health.Fabric.State == "" {
			return Verdict{Why: in.healthWhy("the fabric state of GPU "+name+" was not read", g)}
		}
		f := g.Health.Fabric
		seen := saw(nvidiaQuery+", Fabric", fabricText(f))
		none := f.State == notThere || f.State == "Not Supported"
		switch {
		case none && known.Rack:
			return in.fabricFault(name, seen, "has the fabric state \""+f.State+"\", although its NVSwitches are those of a rack",
				"systemctl status nvidia-imex; nvidia-smi -q | grep -A4 Fabric; the fabric manager of the rack's switch trays has not registered it")
		case none && len(in.nvSwitches()) > 0 && known.Fabric:
			return Verdict{Evidence: []fabric.Evidence{seen}, Expected: want, Why: "GPU " + name + " tells no fabric state (" + f.State + "), although the node has NVSwitches"}
		case none:
			return Verdict{Status: fabric.NotApplicable, Evidence: []fabric.Evidence{seen}, Why: "GPU " + name + " takes part in no fabric of NVSwitches (" + f.State + ")"}
		case f.State != "Completed":
			return in.notCompleted(name, f, seen)
		case f.Status == "":
			return Verdict{Evidence: []fabric.Evidence{seen}, Expected: want, Why: in.healthWhy("the fabric status of GPU "+name+" was not read", g)}
		case f.Status != "Success":
			return in.fabricFault(name, seen, "joined the NVLink fabric with the status \""+f.Status+"\"", fabricFix)
		case f.Health == "Unhealthy" || f.Health == "Limited Capacity" || f.Faults != "":
			return in.fabricFault(name, seen, "joined the NVLink fabric, whose health is "+strings.TrimSuffix(orWord(f.Health, "not told")+", "+f.Faults, ", "), fabricFix)
		}
		return pass(want, seen)
	})
}

const fabricFix = "systemctl status nvidia-fabricmanager; compare nv-fabricmanager --version with /proc/driver/nvidia/version; after a change stop all jobs, nvidia-smi --gpu-reset of all GPUs, then systemctl restart nvidia-fabricmanager"

// notCompleted judges a GPU that waits. With shared NVSwitches it does so until its partition is activated.
func (in NodeInput) notCompleted(name string, f *fabric.GPUFabric, seen fabric.Evidence) Verdict {
	const shared = 1 // FABRIC_MODE, NVIDIA Fabric Manager user guide
	if m := in.Facts.FabricManager; m != nil && m.Mode != nil && *m.Mode == shared && f.State == "In Progress" {
		return Verdict{Evidence: []fabric.Evidence{seen, saw("fabricmanager.cfg", "FABRIC_MODE=1")}, Expected: "Completed, once its partition is active",
			Why: "GPU " + name + " waits for the NVLink fabric (" + f.State + "): Fabric Manager shares the NVSwitches, and whether a partition of this GPU is to be active is unknown"}
	}
	fix := fabricFix
	if v := in.Facts.Machine.Hypervisor; v != nil && *v {
		fix = "in the service VM or on the host that owns the NVSwitches: fmpm -l, and activate the partition of this VM's GPUs; else " + fabricFix
	}
	return in.fabricFault(name, seen, "has not joined the NVLink fabric: its state is \""+f.State+"\"", fix)
}

func (in NodeInput) fabricFault(name string, seen fabric.Evidence, says, fix string) Verdict {
	return Verdict{
		Status: fabric.Fail, Expected: "Completed, Success", Evidence: []fabric.Evidence{seen}, Why: "GPU " + name + " " + says + ".",
		Cost: "CUDA fails with error 802 (system not yet initialized), or NCCL runs without NVLink and NVLS", Fix: onNode(fix, in.Facts.Node),
	}
}

func fabricText(f *fabric.GPUFabric) string {
	text := "State " + f.State + ", Status " + orWord(f.Status, "not read")
	if f.Health != "" {
		text += ", Health " + f.Health
	}
	if f.Faults != "" {
		text += ", " + f.Faults
	}
	return text
}

func fabricManager() Rule {
	return Rule{
		ID:        "fabric-manager",
		Title:     "Fabric Manager runs in the version of the driver",
		Doc:       "reads the state of nvidia-fabricmanager and compares its version with the loaded driver: it refuses any other version, and without it NVSwitches are not set up",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseFabricManager,
		Reference: "NVIDIA Fabric Manager user guide; VMware Cloud Foundation guide 9.4; NVIDIA health validation",
		Facts:     []string{fabric.FactFabricManager, fabric.FactFabricManagerVersion, fabric.FactGPUs, fabric.FactGPUDriverVersion, fabric.FactPCI},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA(), withNVSwitch()},
		DependsOn: []string{"gpu-driver"},
		Node:      judgeFabricManager,
	}
}

func judgeFabricManager(in NodeInput) []Verdict {
	const want = "active, in the version of the loaded driver"
	m := in.Facts.FabricManager
	if m == nil || m.State == "" && m.Version == "" {
		return in.asNode(Verdict{Expected: want, Why: in.why("the state of Fabric Manager on "+in.Facts.Node+" was not read", fabric.FactFabricManager)})
	}
	driver := orWord(m.Driver, in.loadedDriver())
	seen := []fabric.Evidence{saw("systemctl, nv-fabricmanager", managerText(m)), saw("/proc/driver/nvidia/version", orWord(driver, "not read"))}
	switch {
	case m.Version != "" && driver != "" && m.Version != driver:
		return in.asNode(in.managerFault(want, seen, "is of version "+m.Version+", and the loaded driver of "+driver, "install Fabric Manager "+driver+
			" (or, where the packages are newer than the loaded module, reboot), then nvidia-smi --gpu-reset of all GPUs and systemctl restart nvidia-fabricmanager"))
	case strings.Contains(m.Says, "NV_WARN_NOTHING_TO_DO") && len(in.nvSwitches()) == 0:
		return in.asNode(Verdict{Evidence: seen, Expected: want, Why: "Fabric Manager of " + in.Facts.Node + " found no NVSwitch, and none was seen: where there is none it is not needed"})
	case m.State == "absent" || m.State != "" && m.State != "active":
		return in.asNode(in.notRunning(m, want, seen))
	case m.State == "":
		return in.asNode(Verdict{Evidence: seen, Expected: want, Why: in.why("whether Fabric Manager runs on "+in.Facts.Node+" was not read", fabric.FactFabricManager)})
	case m.Version == "" || driver == "":
		return in.asNode(Verdict{Evidence: seen, Expected: want, Why: in.why("the versions of Fabric Manager and of the loaded driver were not both read on "+in.Facts.Node,
			fabric.FactFabricManagerVersion, fabric.FactGPUDriverVersion)})
	}
	return in.asNode(pass(want, seen...))
}

// notRunning judges a service that systemd does not have or that does not run. Where every GPU has joined, something else
// runs it, such as the GPU operator in a container.
func (in NodeInput) notRunning(m *fabric.FabricManager, want string, seen []fabric.Evidence) Verdict {
	joined, unread := 0, 0
	for _, g := range in.Facts.GPUs {
		switch {
		case g.Vendor != "nvidia":
		case g.Health == nil || g.Health.Fabric == nil || g.Health.Fabric.State == "":
			unread++
		case g.Health.Fabric.State == "Completed" && g.Health.Fabric.Status == "Success":
			joined++
		}
	}
	switch {
	case joined > 0 && joined == len(in.Facts.GPUs) && m.State == "absent":
		return pass("it runs, or something else set up the fabric", append(seen, saw(nvidiaQuery+", Fabric", strconv.Itoa(joined)+" GPUs Completed"))...)
	case m.State == "activating" || m.State == "reloading":
		return Verdict{Evidence: seen, Expected: want, Why: "Fabric Manager of " + in.Facts.Node + " is " + m.State}
	case m.State == "absent" && unread > 0 && len(in.nvSwitches()) == 0:
		return Verdict{Evidence: seen, Expected: want, Why: in.why("whether "+in.Facts.Node+" needs Fabric Manager is unknown: it has no such service, and the fabric state of its GPUs was not read", fabric.FactGPUHealth)}
	case m.State == "inactive" && len(in.nvSwitches()) == 0 && in.Facts.Source == captured && !m.Masked && m.Says == "":
		return Verdict{Evidence: seen, Expected: want, Why: "Fabric Manager of " + in.Facts.Node + " does not run; whether the machine has NVSwitches is not in the text"}
	}
	fix := "journalctl -u nvidia-fabricmanager; systemctl enable --now nvidia-fabricmanager"
	if m.Masked {
		fix = "systemctl unmask nvidia-fabricmanager && systemctl enable --now nvidia-fabricmanager"
	}
	if m.State == "absent" {
		fix = "install nvidia-fabricmanager in the version of the driver, systemctl enable --now nvidia-fabricmanager"
	}
	return in.managerFault(want, seen, "does not run: "+managerText(m), fix)
}

func (in NodeInput) managerFault(want string, seen []fabric.Evidence, says, fix string) Verdict {
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: seen, Why: "Fabric Manager of " + in.Facts.Node + " " + says + ".",
		Cost: "after the next boot or reset CUDA fails on every GPU (error 802), or NVLink and NVLS are not used", Fix: onNode(fix, in.Facts.Node),
	}
}

func managerText(m *fabric.FabricManager) string {
	text := orWord(m.State, "state not read")
	if m.Masked {
		text += ", masked"
	}
	if m.Version != "" {
		text += ", version " + m.Version
	}
	if m.Says != "" {
		text += ": " + m.Says
	}
	return text
}

// loadedDriver is the version of the NVIDIA module that is loaded.
func (in NodeInput) loadedDriver() string {
	if m, ok := in.module("nvidia"); ok && m.Version != "" {
		return m.Version
	}
	for _, g := range in.Facts.GPUs {
		if g.Vendor == "nvidia" && g.DriverVersion != "" {
			return g.DriverVersion
		}
	}
	return ""
}

// nvSwitches are the NVSwitches on PCI: those of the boards up to Hopper.
func (in NodeInput) nvSwitches() (found []*fabric.PCIDevice) {
	const vendorNVIDIA, otherBridge = 0x10de, 0x0680 // PCI ID database; PCI Code and ID Assignment Specification
	for i := range in.Facts.PCI {
		if d := &in.Facts.PCI[i]; d.Vendor == vendorNVIDIA && d.Class>>8 == otherBridge {
			found = append(found, d)
		}
	}
	return found
}

func nvSwitchesRule() Rule {
	return Rule{
		ID:        "nvswitches",
		Title:     "The node has its NVSwitches, with their driver",
		Doc:       "compares the number of NVSwitches with the planned machine's, and reads the driver of each: without nvidia-nvswitch Fabric Manager does not see it",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "VMware Cloud Foundation guide 2.2 and table 1 (4 NVSwitches a server); NVIDIA Fabric Manager user guide",
		Facts:     []string{fabric.FactPCI, fabric.FactPCIDriver},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA(), withNVSwitch(), onBareMetal()},
		Node:      judgeNVSwitches,
	}
}

func judgeNVSwitches(in NodeInput) []Verdict {
	found, want := in.nvSwitches(), 0
	if in.Plan != nil && in.Plan.Machine != nil {
		want = in.Plan.Machine.NVSwitches
	}
	expected := "each bound to nvidia-nvswitch"
	if want > 0 {
		expected = fabric.Count(want, "NVSwitch") + ", " + expected
	}
	seen := saw("/sys/bus/pci/devices", strconv.Itoa(len(found))+" NVSwitches")
	_, cut := in.missing(fabric.FactPCI)
	switch {
	case len(found) < want && (cut || len(in.Facts.PCI) == 0 || len(in.unidentified()) > 0):
		return in.asNode(Verdict{Evidence: []fabric.Evidence{seen}, Expected: expected, Why: in.why("NVSwitches of "+in.Facts.Node+" were not all identified", fabric.FactPCI)})
	case len(found) < want:
		return in.asNode(Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("%s has %d of the %d NVSwitches of its planned machine %s.", in.Facts.Node, len(found), want, in.Plan.Machine.ID),
			Cost: "NVLinks of every GPU end at the missing switch: Fabric Manager does not start, or the GPUs lose a part of their bandwidth",
			Fix:  onNode("dmesg | grep -i -e nvswitch -e SXid; power the node off and on; if it stays away, the baseboard goes to the vendor", in.Facts.Node),
		})
	case len(found) == 0 && (cut || len(in.Facts.PCI) == 0 || len(in.unidentified()) > 0):
		return in.asNode(Verdict{Evidence: []fabric.Evidence{seen}, Expected: expected, Why: in.why("NVSwitches of "+in.Facts.Node+" were not all identified", fabric.FactPCI)})
	case len(found) == 0: // those of Blackwell boards are reached through a NIC
		return in.asNode(Verdict{Status: fabric.NotApplicable, Evidence: []fabric.Evidence{seen}, Why: in.Facts.Node + " has no NVSwitch on PCI, and no plan says that it should"})
	}
	for _, d := range found {
		if d.Driver == "nvidia-nvswitch" {
			continue
		}
		if _, unread := in.missing(fabric.FactPCIDriver+" "+d.Address, fabric.FactPCIDriver); unread && d.Driver == "" {
			return in.asNode(Verdict{Evidence: []fabric.Evidence{seen}, Expected: expected, Why: in.pciWhy("driver of NVSwitch "+d.Address+" was not read", fabric.FactPCIDriver, d.Address)})
		}
		return in.asNode(Verdict{
			Status: fabric.Fail, Cause: fabric.CauseGPUDriver, Expected: expected, Evidence: []fabric.Evidence{seen, saw("/sys/bus/pci/devices/"+d.Address+"/driver", orWord(d.Driver, "none"))},
			Why:  "NVSwitch " + in.Facts.Node + ":" + d.Address + " is bound to driver " + orWord(d.Driver, "none") + ", not nvidia-nvswitch.",
			Cost: "Fabric Manager cannot set it up: no NVLink between the GPUs",
			Fix:  onNode("dmesg | grep -i nvswitch; modprobe nvidia; if the machine gives its NVSwitches to a service VM, Fabric Manager belongs there", in.Facts.Node),
		})
	}
	return in.asNode(pass(expected, seen))
}
