package render

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func roceTraffic() *fabric.Traffic {
	return &fabric.Traffic{Share: 50, CableM: 5, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 48, Priority: 7},
		{Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}},
	}}
}

// Every file of a vendor but the script, with what it leaves out.
func TestNICSettingsGolden(t *testing.T) {
	for driver, name := range map[string]string{"bnxt_en": "nic-broadcom.txtar", "mlx5_core": "nic-nvidia.txtar", "ionic": "nic-amd.txtar"} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, a := range NICSettings(fabric.NominalMachine{NICDriver: driver}, roceTraffic(), node(fabric.P2P31, "eth1", "enp-1")) {
				content := string(a.Content)
				if a.Mode == modeProgram {
					head, _, _ := strings.Cut(content, "\nsys=/sys\n")
					content = head + "\n...\n"
				}
				if len(a.Omits) > 0 {
					content += "(not in it)\n" + strings.Join(a.Omits, "\n") + "\n"
				}
				got.WriteString("-- " + a.Path + " --\n" + content)
				if a.Target != "host1" || a.SHA256 != sum(a.Content) || !filepath.IsAbs(a.Path) {
					t.Errorf("target %q path %q sha256 %q", a.Target, a.Path, a.SHA256)
				}
			}
			golden(t, name, []byte(got.String()))
		})
	}
}

// NCCL before 2.21 takes everything before a '=' for a variable, a comment too; and no value has a blank or a quote.
func TestNCCLEnvironmentIsReadAlike(t *testing.T) {
	for _, driver := range []string{"bnxt_en", "mlx5_core", "ionic"} {
		for _, a := range NICSettings(fabric.NominalMachine{NICDriver: driver}, roceTraffic(), node(fabric.P2P31, "eth1")) {
			if a.Path != ncclPath {
				continue
			}
			settings := 0
			for line := range strings.Lines(string(a.Content)) {
				name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				switch {
				case strings.HasPrefix(line, "#") && ok:
					t.Errorf("a comment with '=': %q", line)
				case !strings.HasPrefix(line, "#"):
					settings++
					if !ok || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" || strings.Trim(value, "0123456789") != "" {
						t.Errorf("%q", line)
					}
				}
			}
			if settings < 2 {
				t.Errorf("%s: %d settings", driver, settings)
			}
		}
	}
}

func TestNoNICSettings(t *testing.T) {
	n := node(fabric.P2P31, "eth1")
	for _, c := range []struct {
		name    string
		machine fabric.NominalMachine
		traffic *fabric.Traffic
		want    string
	}{
		{"no classes", fabric.NominalMachine{NICDriver: "bnxt_en"}, nil, "no traffic classes"},
		{"no machine", fabric.NominalMachine{}, roceTraffic(), "does not say which NICs"},
		{"other NICs", fabric.NominalMachine{NICDriver: "gve"}, roceTraffic(), `NIC driver "gve": no settings are rendered for it in this version; known: bnxt_en, mlx5_core, ionic`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := CheckNICSettings(c.machine, c.traffic); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if got := NICSettings(c.machine, c.traffic, n); got != nil {
				t.Errorf("%d files", len(got))
			}
		})
	}
}

// systemd itself reads the unit, and refuses a bad one.
func TestNICUnitIsRead(t *testing.T) {
	analyze := program(t, "systemd-analyze")
	for _, a := range NICSettings(fabric.NominalMachine{NICDriver: "bnxt_en"}, roceTraffic(), node(fabric.P2P31, "eth1", "enp-1")) {
		if !strings.HasSuffix(a.Path, ".service") {
			continue
		}
		good := spoil(t, a, "ExecStart=/usr/local/sbin/railwright-nic-qos set", "ExecStart=/bin/true")
		out, err := exec.Command(analyze, "verify", "--man=no", place(t, t.TempDir(), good)).CombinedOutput()
		if err != nil || strings.Contains(string(out), "railwright-nic-qos") {
			t.Errorf("%v\n%s", err, out)
		}
		for _, bad := range [][2]string{{"Type=oneshot", "Type=once"}, {"ExecStart=", "ExecStartt="}} {
			out, err := exec.Command(analyze, "verify", "--man=no", place(t, t.TempDir(), spoil(t, good, bad[0], bad[1]))).CombinedOutput()
			if err == nil && len(out) == 0 {
				t.Errorf("systemd-analyze accepts %q", bad[1])
			}
		}
	}
}
