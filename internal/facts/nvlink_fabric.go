package facts

import (
	"context"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

const (
	fabricManagerUnit   = "nvidia-fabricmanager"
	fabricManagerConfig = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
)

// readFabricManager reads the mode that Fabric Manager is set to. In that of a shared NVSwitch a GPU waits for a partition.
func readFabricManager(_ context.Context, h host.Host, f *fabric.Facts) {
	if !hasDriver(f, "nvidia") && !slices.ContainsFunc(f.PCI, isNVSwitch) {
		return
	}
	b, err := h.ReadFile(fabricManagerConfig)
	if err != nil {
		if !host.IsAbsent(err) {
			miss(f, fabric.FactFabricManagerMode, fabricManagerConfig, err)
		}
		return
	}
	for line := range strings.Lines(string(b)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && strings.TrimSpace(key) == "FABRIC_MODE" {
			f.FabricManager = &fabric.FabricManager{Mode: number(strings.TrimSpace(value))}
		}
	}
}

// isNVSwitch knows an NVSwitch on PCI: up to Hopper. Those of later boards are reached through a NIC of their own.
func isNVSwitch(d fabric.PCIDevice) bool {
	return d.Vendor == vendorNVIDIA && d.Class>>8 == classOtherBridge
}

// fabricManagerRuns asks systemd where there are GPUs that could need the service.
func fabricManagerRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if !hasDriver(f, "nvidia") && !slices.ContainsFunc(f.PCI, isNVSwitch) {
		return nil
	}
	return []toolRun{{argv: []string{"systemctl", "show", "--property=LoadState,ActiveState,UnitFileState", fabricManagerUnit}}}
}

// fabricManagerVersionRuns asks the program itself, where systemd has the service.
func fabricManagerVersionRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if m := f.FabricManager; m == nil || m.State == "" || m.State == "absent" {
		return nil
	}
	return []toolRun{{argv: []string{"nv-fabricmanager", "--version"}}}
}

const loadState = "LoadState="

func knowsUnitShow(text string) bool {
	return hasLine(text, startsWith(loadState)) && hasLine(text, startsWith("ActiveState="))
}

// parseUnitShow reads systemctl show of the service of Fabric Manager.
func parseUnitShow(text, _ string) (fabric.Facts, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = fabric.Printable(value)
		}
	}
	state, load := values["ActiveState"], values["LoadState"]
	if state == "" || load == "" || !isUnitWord(state) {
		return fabric.Facts{}, errForeignText
	}
	m := &fabric.FabricManager{State: state, Masked: load == "masked" || strings.HasPrefix(values["UnitFileState"], "masked")}
	if load == "not-found" {
		m.State = "absent"
	}
	return fabric.Facts{FabricManager: m}, nil
}

// isUnitWord knows the states of a unit (systemd, org.freedesktop.systemd1, ActiveState).
func isUnitWord(word string) bool {
	return slices.Contains([]string{"active", "reloading", "refreshing", "inactive", "failed", "activating", "deactivating", "maintenance"}, word)
}

// Lines about Fabric Manager: of nv-fabricmanager --version, of systemctl status, and of its log, where a message about the
// driver may be broken in two.
var (
	fabricManagerOwn     = pattern.New(`Fabric Manager version is ?: ?([0-9][0-9.]{2,20})`)
	fabricManagerRefuses = pattern.New(`fabric manager NVIDIA GPU driver interface version ([0-9][0-9.]{2,20})\s+do(?:es)?n't match with (?:the )?(?:driver version |matching )?([0-9][0-9.]{2,20})`)
	fabricManagerHead    = pattern.New(`^\s*(?:[●○×*] )?nvidia-fabricmanager\.service(?: - |$)`)
	fabricManagerActive  = pattern.New(`^\s*Active: ([a-z]+)`)
	fabricManagerLine    = pattern.New(`(?:nv-fabricmanager|nvidia-fabricmanager(?:-start\.sh)?)(?:\[[0-9]+\])?: |systemd\[[0-9]+\]: (?:nvidia-fabricmanager\.service: |(?:Starting|Started|Failed to start) .*(?i:fabric ?manager))`)
	fabricManagerAbsent  = pattern.New(`Unit nvidia-fabricmanager(?:\.service)? (?:could not be found|not found)`)
)

func isFabricManagerLine(line string) bool {
	return strings.Contains(line, "abric") && (fabricManagerOwn().MatchString(line) || fabricManagerHead().MatchString(line) || fabricManagerLine().MatchString(line) ||
		fabricManagerAbsent().MatchString(line) || strings.HasPrefix(line, "fabric manager NVIDIA GPU driver interface version "))
}

func knowsFabricManager(text string) bool { return hasLine(text, isFabricManagerLine) }

// parseFabricManager reads its version, systemctl status and lines of its log, of which the last state holds.
func parseFabricManager(text, _ string) (fabric.Facts, error) {
	m := &fabric.FabricManager{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if v := fabricManagerOwn().FindStringSubmatch(line); v != nil {
			m.Version = fabric.Printable(strings.TrimRight(v[1], "."))
		}
		if v := fabricManagerActive().FindStringSubmatch(line); v != nil && isUnitWord(v[1]) {
			m.State = v[1]
		}
		switch {
		case fabricManagerAbsent().MatchString(line):
			m.State = "absent"
		case strings.Contains(line, "nvidia-fabricmanager.service; masked"), strings.Contains(line, "Unit nvidia-fabricmanager.service is masked"), strings.Contains(line, "Loaded: masked"):
			m.Masked = true
		case !fabricManagerLine().MatchString(line):
		default:
			fabricManagerSays(m, line)
		}
	}
	if v := fabricManagerRefuses().FindStringSubmatch(text); v != nil {
		m.Version, m.Driver = strings.TrimRight(v[1], "."), strings.TrimRight(v[2], ".")
		m.State = orText(m.State, "failed")
	}
	if *m == (fabric.FabricManager{}) {
		return fabric.Facts{}, errForeignText
	}
	return fabric.Facts{FabricManager: m}, nil
}

// fabricManagerSays reads a line of the log. A later start takes back what an earlier one failed with.
func fabricManagerSays(m *fabric.FabricManager, line string) {
	const most = 200 // bytes of a line that is kept
	switch {
	case strings.Contains(line, ": Started "), strings.Contains(line, "Successfully configured"):
		m.State, m.Says = "active", ""
	case strings.Contains(line, "systemd["):
		if strings.Contains(line, "Failed") || strings.Contains(line, "process exited") {
			m.State = "failed"
		}
	case strings.Contains(line, "rror"), strings.Contains(line, "ailed"), strings.Contains(line, "t match with"):
		if m.Says == "" {
			m.Says = fabric.Printable(line[max(0, len(line)-most):])
		}
		m.State = "failed"
	}
}

// nvrmTool is the file of the driver that people print.
const nvrmTool = "/proc/driver/nvidia/version"

// nvrmVersion is the first line of /proc/driver/nvidia/version: the version of the module that is loaded.
var nvrmVersion = pattern.New(`^NVRM version: .*?(?:x86_64|aarch64|Kernel Module).*?  ([0-9]{3}\.[0-9.]{2,12})  `)

func isNVRMLine(line string) bool {
	return strings.HasPrefix(line, "NVRM version: ") && nvrmVersion().MatchString(line)
}

func knowsNVRM(text string) bool { return hasLine(text, isNVRMLine) }

func parseNVRM(text, _ string) (fabric.Facts, error) {
	for line := range strings.Lines(text) {
		if m := nvrmVersion().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			return fabric.Facts{Modules: []fabric.Module{{Name: "nvidia", Version: m[1]}}}, nil
		}
	}
	return fabric.Facts{}, errForeignText
}
