package prepare

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func has(p Preparation, id string) bool {
	return slices.ContainsFunc(p.Stages, func(s Stage) bool {
		return slices.ContainsFunc(s.Steps, func(s Step) bool { return strings.HasPrefix(s.ID, id) })
	})
}

// A host as it has to be, with one thing that differs.
func TestWhatDiffers(t *testing.T) {
	yes, no := true, false
	ready := model{vib: true, tool: true, kernel: true, kernelIn: true, rule: true, ruleIn: true, stored: true, storedIn: true}
	for _, c := range []struct {
		name                    string
		change                  func(*fabric.ESXGoal, *fabric.ESX)
		step, conflict, unknown string
	}{
		{"nothing but passthrough", func(*fabric.ESXGoal, *fabric.ESX) {}, "passthrough 0000:1a:00.0 true", "", ""},
		{"setting not read", func(_ *fabric.ESXGoal, e *fabric.ESX) { e.Settings = nil }, "", "", "kernel setting disableACSCheck was not read"},
		{"setting of ESX 9 on 8", func(g *fabric.ESXGoal, e *fabric.ESX) {
			g.SinceMajor, e.Version, e.Settings = map[string]int{"disableACSCheck": 9}, "8.0.3", nil
		}, "", "", ""},
		{"file not read", func(_ *fabric.ESXGoal, e *fabric.ESX) { e.ResetRules = nil }, "", "", "passthru.map was not read"},
		{"no rule", func(_ *fabric.ESXGoal, e *fabric.ESX) { e.ResetRules = []fabric.ResetRule{} }, "reset-rule", "", ""},
		{"power", func(_ *fabric.ESXGoal, e *fabric.ESX) { e.PowerPolicy = "Balanced" }, "power", "", ""},
		{"NICs of the tool not read", func(_ *fabric.ESXGoal, e *fabric.ESX) { e.MST, e.NICConfigs = nil, nil }, "", "", "mst status was not read"},
		{"hidden", func(_ *fabric.ESXGoal, e *fabric.ESX) {
			e.MST, e.NICConfigs = []fabric.MSTDevice{}, []fabric.NICConfig{}
		}, "module-parameters recovery-on", "", ""},
		{"hidden, with uplinks", func(_ *fabric.ESXGoal, e *fabric.ESX) {
			e.MST, e.NICConfigs = []fabric.MSTDevice{}, []fabric.NICConfig{}
			e.Uplinks = []fabric.Uplink{{Name: "vmnic0", Driver: "nmlx5_core", Up: &yes}}
		}, "", "recovery-cuts-uplinks", ""},
		{"max_vfs left", func(_ *fabric.ESXGoal, e *fabric.ESX) {
			e.Modules[0].Parameters = map[string]string{"max_vfs": "4,4", "trust_state": "2"}
			e.Uplinks = []fabric.Uplink{{Name: "vmnic0", Address: "0000:02:00.0", Driver: "nmlx5_core", Up: &yes}}
		}, "module-parameters max_vfs", "", ""},
		{"function in use", func(_ *fabric.ESXGoal, e *fabric.ESX) {
			e.VFs = []fabric.ESXVirtual{{Of: "vmnic4", Owner: "2099532"}}
		}, "", "function-in-use", ""},
		{"too few NICs", func(g *fabric.ESXGoal, _ *fabric.ESX) { g.NICs = 2 }, "", "devices-missing", ""},
		{"not capable", func(_ *fabric.ESXGoal, e *fabric.ESX) { e.Devices[1].Capable = &no }, "", "not-capable", ""},
		{"SR-IOV and passthrough", func(g *fabric.ESXGoal, _ *fabric.ESX) {
			g.NICSettings = []fabric.Option{{Name: "SRIOV_EN", Value: "1"}}
		}, "", "sriov-with-passthrough", ""},
		{"functions", func(g *fabric.ESXGoal, _ *fabric.ESX) {
			g.Mode, g.MaxVFs, g.NICSettings = fabric.SRIOVToGuests, 8, []fabric.Option{{Name: "NUM_OF_VFS", Value: "8"}}
		}, "", "too-few-functions", ""},
		{"label", func(g *fabric.ESXGoal, e *fabric.ESX) {
			g.Labels, e.Devices[0].Labels = []fabric.DeviceLabel{{Label: "GPU0", Address: "1b:00.0"}}, true
		}, "label 0000:1b:00.0", "", ""},
		{"label not read", func(g *fabric.ESXGoal, _ *fabric.ESX) {
			g.Labels = []fabric.DeviceLabel{{Label: "GPU0", Address: "1b:00.0"}}
		}, "", "", "only the vSphere API has them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, f := goal(), ready.facts()
			c.change(&g, f.ESX)
			p := For("esx1", g, f)
			if c.step != "" && !has(p, c.step) || (c.conflict != "") != (len(p.Conflicts) > 0) || c.conflict != "" && (p.Conflicts[0].ID != c.conflict || len(p.Stages) > 0) {
				t.Errorf("%+v", p)
			}
			if c.unknown != "" && !strings.Contains(strings.Join(p.Unknown, "\n"), c.unknown) || c.unknown == "" && c.conflict == "" && len(p.Unknown) > 0 {
				t.Errorf("unknown: %q", p.Unknown)
			}
		})
	}
	if p := For("esx1", goal(), nil); len(p.Unknown) == 0 || len(p.Stages) > 0 {
		t.Errorf("without facts: %+v", p)
	}
}

// The other parameters of the driver stay, and two changes are one command.
func TestParametersStay(t *testing.T) {
	m := model{vib: true, tool: true, rec: true}
	g, f := goal(), m.facts()
	g.Mode, g.MaxVFs, g.GPU, g.NICSettings = fabric.SRIOVToGuests, 4, "", []fabric.Option{{Name: "ATS_ENABLED", Value: "1"}}
	f.ESX.Modules[0].Parameters["pfctx"] = "0x08"
	p := For("esx1", g, f)
	var commands []string
	for _, s := range p.Stages[0].Steps {
		commands = append(commands, s.Commands...)
	}
	const want = "esxcli system module parameters set -m nmlx5_core -p 'max_vfs=4 mst_recovery=0 pfctx=0x08'"
	if n := slices.Index(commands, want); n < 0 || strings.Count(strings.Join(commands, "\n"), "parameters set") != 1 {
		t.Errorf("%q", commands)
	}
}

// The rule is changed where it stands, twice is as once, and undoing gives the file back.
func TestRuleInPlace(t *testing.T) {
	const before = "# NVIDIA\n10DE  ffff  bridge   false\n10de  1401  d3d0     false\n8086 ffff bridge false\n"
	rule := fabric.ResetRule{Vendor: 0x10de, Device: 0xffff, Method: "bridge"}
	run := func(command, text string) string {
		_, script, _ := strings.Cut(command, "sed ")
		script, _, _ = strings.Cut(script, " "+passthruMap)
		c := exec.Command("sh", "-c", "sed "+script)
		c.Stdin = strings.NewReader(text)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	once := run(edit(rule, "bridge", "flr"), before)
	if want := strings.Replace(before, "bridge   false\n10de", "flr   false\n10de", 1); once != want {
		t.Fatalf("%q", once)
	}
	if run(edit(rule, "bridge", "flr"), once) != once || run(edit(rule, "flr", "bridge"), once) != before {
		t.Error("not the same twice, or not undone")
	}
}
