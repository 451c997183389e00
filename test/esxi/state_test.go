//go:build linux

package esxi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// device changes a device of the state.
func (p *played) device(address string, change func(map[string]any)) {
	devices := p.state()["devices"].([]any)
	for _, d := range devices {
		if d := d.(map[string]any); d["Address"] == address {
			change(d)
		}
	}
	p.change("devices", devices)
}

// Hosts that are found in other states than that of delivery: each gets to the goal with as many reboots as were foretold at the
// beginning or when more was known, and back.
func TestOtherStates(t *testing.T) {
	for _, c := range []struct {
		name, example string
		change        func(p *played)
		starts        int
	}{
		{"NIC needs recovery mode", "small", func(p *played) {
			p.device("0000:1a:00.0", func(d map[string]any) { d["Broken"] = true })
		}, 3},
		{"NIC was passed through", "vsphere8-sriov", func(p *played) {
			p.device("0000:9c:00.0", func(d map[string]any) { d["Enabled"], d["Active"] = true, true })
		}, 2},
		{"everything but passthrough waits for a reboot", "small", func(p *played) {
			kernel := p.state()["kernel"].([]any)
			for _, k := range kernel {
				k := k.(map[string]any)
				k["Configured"] = map[string]string{"atsSupport": "TRUE", "disableACSCheck": "FALSE", "enableACSDTP2P": "TRUE", "heapMetaPct": "2"}[k["Name"].(string)]
			}
			p.change("kernel", kernel).change("power", "High Performance")
		}, 2},
		{"a NIC set by hand, and not rebooted", "small", func(p *played) {
			vibs := append(p.state()["vibs"].([]any), map[string]any{"Name": "mft", "Version": "4.31", "Vendor": "MEL"}, map[string]any{"Name": "nmst", "Version": "4.31", "Vendor": "MEL"})
			p.change("vibs", vibs).change("map", "10de ffff flr false\n")
			p.device("0000:1a:00.0", func(d map[string]any) {
				d["Config"].(map[string]any)["ATS_ENABLED"].(map[string]any)["Next"] = "1"
			})
			p.tools()
		}, 1},
		{"rules of other forms", "small", func(p *played) {
			p.rules("10DE\tffff\tbridge\n  10de 2330 d3d0 default\n8086 ffff bridge false\n10de ffff flr false\n")
		}, 2},
		{"no rule", "small", func(p *played) { p.rules("# nothing\n8086 1502 d3d0 default\n") }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, folder := newHost(t, c.example, "esx1"), t.TempDir()
			c.change(p)
			before := p.kept()
			foretold := p.dryRun(folder)
			if a := p.apply(folder); a.Status != fabric.Pass || p.starts() != c.starts || count(foretold.Changes, "reboot ") > c.starts {
				t.Errorf("%s %s, %d starts, want %d\n%s\nforetold:\n%s", a.Status, a.Error, p.starts(), c.starts, lines(a.Changes), lines(foretold.Changes))
			}
			if a := p.dryRun(folder); a.Status != fabric.Pass {
				t.Errorf("again: %s %s\n%s", a.Status, a.Error, lines(a.Changes))
			}
			if a := p.rollback(folder); a.Status != fabric.Pass || settled(p.kept()) != settled(before) {
				t.Errorf("rollback: %s %s\nbefore %s\nafter %s", a.Status, a.Error, before, p.kept())
			}
		})
	}
}

// settled is a state without what a reboot alone changes: what was configured came into force, and a NIC was shown.
func settled(state string) string {
	var b strings.Builder
	for line := range strings.Lines(state) {
		if word := strings.TrimSpace(line); !strings.HasPrefix(word, `"Runtime"`) && !strings.HasPrefix(word, `"Current"`) && !strings.HasPrefix(word, `"Broken"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// rules writes passthru.map, as it is kept.
func (p *played) rules(text string) {
	p.change("map", text)
	if err := os.WriteFile(filepath.Join(p.folder, "etc/vmware/passthru.map"), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// tools puts the programs of MFT there, as a start does where it is installed.
func (p *played) tools() {
	p.rules(p.state()["map"].(string))
	for _, name := range []string{"mst", "mlxconfig"} {
		at := filepath.Join(p.folder, "opt/mellanox/bin", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Symlink("/bin/esxcli.real", at); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Where nobody named the bundles, a person installs them: that is said before anything is changed.
func TestForAPerson(t *testing.T) {
	p, folder := newHost(t, "small", "esx1"), t.TempDir()
	before := p.kept()
	p.goal.Depots = nil
	foretold := p.dryRun(folder)
	if foretold.Status != fabric.Fail || count(foretold.Changes, "for a person: install mft and nmst") != 1 {
		t.Errorf("%s %s\n%s", foretold.Status, foretold.Error, lines(foretold.Changes))
	}
	a := p.apply(folder)
	if a.Status != fabric.Unknown || !strings.Contains(a.Error, "a person has to install mft and nmst") || p.kept() != before {
		t.Errorf("%s %q", a.Status, a.Error)
	}
}
