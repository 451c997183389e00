package nic

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// standard is the intent of the document's examples.
func standard() Settings {
	return Settings{NICs: []string{"eth1", "eth2"}, Traffic: fabric.Traffic{Share: 50, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 48, Priority: 7},
		{Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}},
	}}}
}

// other differs from the standard in every field.
func other() Settings {
	return Settings{NICs: []string{"eth1", "eth2"}, Traffic: fabric.Traffic{Share: 80, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 46, Priority: 6},
		{Name: "roce", DSCP: 24, Priority: 4, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}},
	}}}
}

// lossy has neither PFC nor ECN.
func lossy() Settings {
	s := standard()
	s.Traffic.Classes[1].Lossless, s.Traffic.Classes[1].ECN = false, nil
	return s
}

// rig is a host with two NICs of a vendor: fake tools, and the part of sysfs that the script uses.
type rig struct {
	t      *testing.T
	folder string
	vendor Vendor
}

func newRig(t *testing.T, v Vendor) rig {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the scripts are for Linux")
	}
	r := rig{t, t.TempDir(), v}
	for i, pci := range []string{"0000:1d:00.0", "0000:43:00.1"} {
		nic, rdma := []string{"eth1", "eth2"}[i], map[string]string{"broadcom": "bnxt_re", "nvidia": "mlx5_", "amd": "ionic_"}[v.ID]+string(rune('0'+i))
		r.write("sys/devices/"+pci+"/infiniband/"+rdma+"/node_type", "1: CA")
		r.must(os.MkdirAll(filepath.Join(r.folder, "sys/class/net", nic), 0o755))
		r.must(os.Symlink(filepath.Join(r.folder, "sys/devices", pci), filepath.Join(r.folder, "sys/class/net", nic, "device")))
		for name, text := range map[string]string{
			"kernel/config/bnxt_re/" + rdma + "/ports/1/cc/ecn_enable":           "0x0",
			"kernel/config/bnxt_re/" + rdma + "/ports/1/cc/ecn_marking":          "0x0",
			"kernel/config/bnxt_re/" + rdma + "/ports/1/cc/cc_mode":              "0x0",
			"kernel/config/bnxt_re/" + rdma + "/ports/1/cc/apply":                "0x0",
			"kernel/config/bnxt_re/" + rdma + "/ports/1/cc/disable_prio_vlan_tx": "0x0",
			"kernel/config/rdma_cm/" + rdma + "/ports/1/default_roce_tos":        "0",
			"class/infiniband/" + rdma + "/tc/1/traffic_class":                   "",
		} {
			if strings.HasPrefix(name, "class/infiniband") && v.ID != "nvidia" {
				continue
			}
			r.write("sys/"+name, text)
		}
		for p := range 8 {
			for _, end := range []string{"roce_np", "roce_rp"} {
				r.write("sys/class/net/"+nic+"/ecn/"+end+"/enable/"+string(rune('0'+p)), "0")
			}
		}
		r.write("sys/class/net/"+nic+"/ecn/roce_np/cnp_dscp", "0")
		r.write("sys/class/net/"+nic+"/ecn/roce_np/cnp_802p_prio", "6")
	}
	r.must(os.MkdirAll(filepath.Join(r.folder, "state"), 0o755))
	return r
}

func (r rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r rig) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.folder, name)
	r.must(os.MkdirAll(filepath.Dir(file), 0o755))
	r.must(os.WriteFile(file, []byte(text), 0o644))
}

// run runs the script of an intent; traffic_class of mlx5 is read in another form than it is written.
func (r rig) run(s Settings, verb string, env ...string) (status int, said string) {
	r.t.Helper()
	var script string
	for _, f := range r.vendor.Files(s) {
		if f.Path == ScriptPath {
			script = string(f.Text)
		}
	}
	script = strings.Replace(script, "sys=/sys\n", "sys="+r.folder+"/sys\n", 1)
	script = strings.Replace(script, "sleep 1\n", ":\n", 1)
	script = strings.Replace(script, `echo "$((roce_dscp * 4))" >"$(tclass_file`, `echo "Global tclass=$((roce_dscp * 4))" >"$(tclass_file`, 1)
	r.write("nic-qos", script)
	fakes, err := filepath.Abs("testdata/fake")
	r.must(err)
	env = append([]string{"STATE=" + r.folder + "/state", "PATH=" + fakes + ":/usr/bin:/bin"}, env...)
	out := filepath.Join(r.folder, "said")
	_, err = host.Output(context.Background(), host.Local{}, host.Command{
		Argv: []string{"sh", "-c", `sh "$0" "$1" >"$2" 2>&1`, filepath.Join(r.folder, "nic-qos"), verb, out}, Env: env})
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		status = exit.Status
	case err != nil:
		r.t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	r.must(err)
	return status, string(text)
}

// calls returns what the tools were called with, and forgets it.
func (r rig) calls() string {
	r.t.Helper()
	file := filepath.Join(r.folder, "state/calls")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	r.must(os.WriteFile(file, nil, 0o644))
	return string(text)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// The script sets what differs, finds it set, and then changes nothing any more; another intent changes every value.
func TestScriptSetsAndReadsBack(t *testing.T) {
	for _, v := range Vendors() {
		t.Run(v.ID, func(t *testing.T) {
			r := newRig(t, v)
			if status, said := r.run(standard(), "check"); status != 1 || !strings.Contains(said, "not in effect: ") {
				t.Errorf("a card from the factory: %d %s", status, said)
			}
			if changes(r.calls()) != "" {
				t.Error("check changes something")
			}
			if status, said := r.run(standard(), "set"); status != 0 {
				t.Errorf("set: %d %s", status, said)
			}
			golden(t, v.ID+".calls", changes(r.calls()))
			for _, verb := range []string{"check", "set"} {
				if status, said := r.run(standard(), verb); status != 0 || !strings.Contains(said, "as planned") {
					t.Errorf("%s again: %d %s", verb, status, said)
				}
			}
			if again := changes(r.calls()); again != "" {
				t.Errorf("a second set changes:\n%s", again)
			}
			for name, s := range map[string]Settings{"other": other(), "lossy": lossy()} {
				if status, said := r.run(s, "set"); status != 0 {
					t.Errorf("set of %s: %d %s", name, status, said)
				}
			}
		})
	}
}

// With the driver of the kernel there is neither ECN per priority nor a traffic class of the device; with that of MLNX_OFED a
// traffic class that is not there was not set.
func TestScriptOfTheKernelsDriver(t *testing.T) {
	r := newRig(t, vendorOf(t, "nvidia"))
	tclass := func(nic int) string {
		return filepath.Join(r.folder, "sys/class/infiniband", "mlx5_"+strconv.Itoa(nic), "tc/1/traffic_class")
	}
	for i, pci := range []string{"0000:1d:00.0", "0000:43:00.1"} {
		r.must(os.RemoveAll(filepath.Join(r.folder, "sys/class/net", "eth"+strconv.Itoa(i+1), "ecn")))
		r.must(os.Remove(tclass(i)))
		for _, name := range []string{"np_cnp_dscp", "np_cnp_prio", "np_cnp_prio_mode"} {
			r.write("sys/kernel/debug/mlx5/"+pci+"/cc_params/"+name, "0")
		}
	}
	status, said := r.run(standard(), "check")
	if status != 1 || !strings.Contains(said, "tos 104") || strings.Contains(said, "tclass") {
		t.Errorf("check: %d %s", status, said)
	}
	for _, verb := range []string{"set", "check"} {
		if status, said := r.run(standard(), verb); status != 0 || !strings.Contains(said, "eth2: as planned") {
			t.Errorf("%s: %d %s", verb, status, said)
		}
	}
	r = newRig(t, vendorOf(t, "nvidia"))
	r.must(os.RemoveAll(filepath.Dir(tclass(0))))
	if status, said := r.run(standard(), "set"); status != 1 || !strings.Contains(said, "eth1: not in effect: tclass 104\n") {
		t.Errorf("set without the folder of the traffic class: %d %s", status, said)
	}
}

// changes returns the calls that set something.
func changes(calls string) string {
	var out strings.Builder
	for line := range strings.Lines(calls) {
		for _, word := range []string{"--tsa", "--enable", "--add", "--del", "--setoption", "ethtool -A", "--dcbx", "--trust", "--dscp2prio", "--pfc", " -t ", " set ", " update "} {
			if strings.Contains(line, word) {
				out.WriteString(line)
				break
			}
		}
	}
	return out.String()
}

// Whatever a tool does wrong, the script does not say that all is as planned.
func TestScriptFailsClosed(t *testing.T) {
	for _, c := range []struct {
		vendor string
		env    string
		want   string
	}{
		{"broadcom", "FAKE_TOOL=dead", "not in effect"},
		{"broadcom", "FAKE_TOOL=half", "class 0 percent 50"},
		{"broadcom", "FAKE_TOOL=dcbx", "nic-qos options"},
		{"nvidia", "FAKE_TOOL=dead", "not in effect"},
		{"nvidia", "FAKE_TOOL=half", "trust dscp"},
		{"nvidia", "FAKE_TOOL=dcbx", "pfc 0 0 0 1 0 0 0 0"},
		{"amd", "FAKE_TOOL=dead", "not in effect"},
		{"amd", "FAKE_TOOL=one", "ports enough"},
		{"broadcom", "PATH=/usr/bin:/bin", "niccli is not installed"},
		{"nvidia", "PATH=/usr/bin:/bin", "mlnx_qos is not installed"},
		{"amd", "PATH=/usr/bin:/bin", "nicctl is not installed"},
	} {
		t.Run(c.vendor+" "+c.env, func(t *testing.T) {
			r := newRig(t, vendorOf(t, c.vendor))
			s := standard()
			s.NICs = s.NICs[:1]
			if c.vendor == "amd" {
				s = standard() // as many as it has ports
			}
			if status, said := r.run(s, "set", c.env); status != 1 || !strings.Contains(said, c.want) {
				t.Errorf("%d %s", status, said)
			}
		})
	}
}

func vendorOf(t *testing.T, id string) Vendor {
	t.Helper()
	for _, v := range Vendors() {
		if v.ID == id {
			return v
		}
	}
	t.Fatalf("no vendor %s", id)
	return Vendor{}
}

// A NIC that is not there, or without its RDMA device, or one of two that cannot be set, is not hidden by the other.
func TestScriptNamesTheNIC(t *testing.T) {
	for _, v := range Vendors() {
		t.Run(v.ID, func(t *testing.T) {
			r := newRig(t, v)
			s := standard()
			s.NICs = append(s.NICs, "eth3")
			if status, said := r.run(s, "set"); status != 1 || !strings.Contains(said, "eth3: there is no such NIC") {
				t.Errorf("%d %s", status, said)
			}
			r.must(os.RemoveAll(filepath.Join(r.folder, "sys/devices/0000:43:00.1/infiniband")))
			if status, said := r.run(standard(), "set"); status != 1 || !strings.Contains(said, "eth2: no RDMA device after") || v.ID != "amd" && !strings.Contains(said, "eth1: as planned") {
				t.Errorf("%d %s", status, said)
			}
			if status, said := r.run(standard(), "stop"); status != 64 || !strings.Contains(said, "usage: ") {
				t.Errorf("%d %s", status, said)
			}
		})
	}
}

// Both generations of niccli, and firmware that takes three classes or all eight.
func TestNiccliVariants(t *testing.T) {
	for _, env := range []string{"FAKE_NICCLI=old", "FAKE_TOOL=eight"} {
		r := newRig(t, vendorOf(t, "broadcom"))
		if status, said := r.run(standard(), "set", env); status != 0 {
			t.Errorf("%s: %d %s", env, status, said)
		}
		if calls := r.calls(); env == "FAKE_NICCLI=old" && !strings.Contains(calls, "niccli -i 0000:43:00.1 qos --pfc --enable 3\n") {
			t.Errorf("%s: %s", env, calls)
		}
	}
}

// A rule that an earlier intent left behind is taken away, not only added to.
func TestStaleRuleIsRemoved(t *testing.T) {
	r := newRig(t, vendorOf(t, "broadcom"))
	r.write("state/0000:1d:00.0/apps", "3,5,24\n")
	if status, said := r.run(standard(), "set"); status != 0 {
		t.Errorf("%d %s", status, said)
	}
	text, err := os.ReadFile(filepath.Join(r.folder, "state/0000:1d:00.0/apps"))
	if err != nil || strings.Contains(string(text), "3,5,24") {
		t.Errorf("%q %v", text, err)
	}
}

// Stored options: for every NIC, with the function of each where the option has one; read back; one that stays is named.
func TestStoredOptions(t *testing.T) {
	for _, id := range []string{"broadcom", "nvidia"} {
		t.Run(id, func(t *testing.T) {
			r := newRig(t, vendorOf(t, id))
			if status, said := r.run(standard(), "check-options"); status != 1 || changes(r.calls()) != "" {
				t.Errorf("%d %s", status, said)
			}
			if status, said := r.run(standard(), "options"); status != 0 || !strings.Contains(said, "after a restart of the host") {
				t.Errorf("%d %s", status, said)
			}
			golden(t, id+"-options.calls", changes(r.calls()))
			if status, said := r.run(standard(), "options"); status != 0 || changes(r.calls()) != "" || strings.Contains(said, "restart") {
				t.Errorf("again: %d %s", status, said)
			}
		})
	}
	r := newRig(t, vendorOf(t, "broadcom"))
	if status, said := r.run(standard(), "options", "FAKE_TOOL=locked"); status != 1 || !strings.Contains(said, "eth1: not in effect: support_rdma=1, dcbx_mode=0, lldp_nearest_bridge=0, lldp_nearest_non_tpmr_bridge=0, performance_profile=1, pcie_relaxed_ordering=1") {
		t.Errorf("%d %s", status, said)
	}
	r = newRig(t, vendorOf(t, "amd"))
	if status, said := r.run(standard(), "check-options"); status != 1 || !strings.Contains(said, "none is documented in public") {
		t.Errorf("%d %s", status, said)
	}
}
