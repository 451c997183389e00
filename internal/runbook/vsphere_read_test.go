package runbook

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// esxFacts is a host with the devices of a goal, in passthrough, and everything else as the goal has it.
func esxFacts(name string, g fabric.ESXGoal) *fabric.Facts {
	yes, no := true, false
	e := &fabric.ESX{Version: "9.0.0", Maintenance: &no, PowerPolicy: g.PowerPolicy, MST: []fabric.MSTDevice{}, NICConfigs: []fabric.NICConfig{}, Uplinks: []fabric.Uplink{}, VFs: []fabric.ESXVirtual{}, VMs: []fabric.VM{},
		VIBs:       []fabric.VIB{{Name: "mft", Version: "4.32.0.120-1OEM"}, {Name: "nmst", Version: "4.32.0.120-1OEM"}, {Name: "nmlx5-core", Version: "4.24.0.7"}},
		Modules:    []fabric.ESXModule{{Name: "nmlx5_core", Loaded: &yes, Enabled: &yes, Parameters: map[string]string{}}, {Name: "nmst", Loaded: &yes, Enabled: &yes, Parameters: map[string]string{}}},
		ResetRules: []fabric.ResetRule{{Vendor: 0x10de, Device: 0xffff, Method: "flr", Line: 1}}, Devices: []fabric.PassthroughPCI{}}
	for _, s := range g.Settings {
		e.Settings = append(e.Settings, fabric.ESXSetting{Name: s.Name, Configured: s.Configured, Runtime: s.Configured, Default: s.Configured})
	}
	f := &fabric.Facts{Node: name, ESX: e}
	for i, id := range []struct {
		id string
		n  int
	}{{g.GPU, g.GPUs}, {g.NIC, g.NICs}, {g.NVSwitch, g.NVSwitches}} {
		var vendor, device uint16
		if _, err := fmt.Sscanf(id.id, "%x:%x", &vendor, &device); err != nil {
			continue
		}
		for n := range id.n {
			at := fmt.Sprintf("0000:%x%x:00.0", i+1, n)
			label := []string{"GPU", "NIC", "NVS"}[i] + fmt.Sprint(n)
			e.Devices = append(e.Devices, fabric.PassthroughPCI{Address: at, Vendor: vendor, Device: device, Capable: &yes, Enabled: &yes, Active: &yes, Labels: true, Label: label})
			if i == 1 {
				e.MST = append(e.MST, fabric.MSTDevice{Name: fmt.Sprintf("mt4129_pciconf%d", n), Address: at})
				e.NICConfigs = append(e.NICConfigs, fabric.NICConfig{Device: fmt.Sprintf("mt4129_pciconf%d", n), Address: at, Settings: stored(g)})
			}
		}
	}
	return f
}

func stored(g fabric.ESXGoal) map[string]fabric.NICStored {
	out := map[string]fabric.NICStored{}
	for _, o := range g.NICSettings {
		out[o.Name] = fabric.NICStored{Default: o.Value, Current: o.Value, Next: o.Value}
	}
	return out
}

// Each host gets the steps that it needs, hosts that need the same share a list, conflicts come first, and what was not read is
// said.
func TestRunbookOfReadHosts(t *testing.T) {
	p := vspherePlan(t, "vcf-h100", 7)
	g := p.VSphere.Goal
	known := []*fabric.Facts{esxFacts("esx1", g), esxFacts("esx2", g), esxFacts("esx3", g), esxFacts("esx4", g), esxFacts("esx5", g), esxFacts("esx6", g)}
	known[4].ESX.Devices[0].Label = ""
	for i := range known[5].ESX.Devices {
		known[5].ESX.Devices[i].Label, known[5].ESX.Devices[i].Labels = "", false
	}
	known[1].ESX.Settings[0].Configured, known[1].ESX.Settings[0].Runtime = "TRUE", "TRUE"
	known[2].ESX.Settings[0].Configured, known[2].ESX.Settings[0].Runtime = "TRUE", "TRUE"
	known[3].ESX.Devices = known[3].ESX.Devices[1:]
	r := New(p, nil, known...)
	text := string(r.Markdown())
	t.Log(text)
	var got []string
	for _, group := range r.Groups {
		line := fmt.Sprint(group.Hosts, group.Reboots)
		for _, s := range group.Steps {
			line += " " + s.ID
		}
		got = append(got, line)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		"[esx4] 0 conflict-devices-missing\n", "[esx2 esx3] 1 bios maintenance-enter kernel-disableACSCheck reboot maintenance-leave\n", "[esx1] 0 bios\n", "[esx5] 0 bios labels", "[esx6] 0 bios labels", "[esx7] 2 esx-facts bios",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	for _, want := range []string{"on no device of their kind, or on more than one: GPU0.", "The shell of ESX does not show labels"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the text", want)
		}
	}
	if again := string(New(p, nil, known...).Markdown()); again != text {
		t.Error("not the same twice")
	}
}
