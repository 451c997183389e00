package render

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// acsHost is a folder that stands for / of a machine: a switch with a NIC and a GPU below one root port, a GPU right below
// another, and an NVMe drive that is none of the script's business.
type acsHost struct {
	root string
	t    *testing.T
}

const (
	rootPort  = "0000:00:01.0"
	upPort    = "0000:01:00.0"
	nicPort   = "0000:02:00.0"
	gpuPort   = "0000:02:01.0"
	nicAt     = "0000:03:00.0"
	gpuAt     = "0000:04:00.0"
	otherRoot = "0000:80:01.0"
	otherGPU  = "0000:81:00.0"
	diskRoot  = "0000:40:01.0"
	diskAt    = "0000:41:00.0"
)

func newACSHost(t *testing.T) acsHost {
	t.Helper()
	h := acsHost{t.TempDir(), t}
	const bridge = "0x060400"
	h.function("pci0000:00/"+rootPort, bridge, "0x1022", withACS(0x1d))
	h.function("pci0000:00/"+rootPort+"/"+upPort, bridge, "0x1000", express(4096)) // upstream ports have none
	h.function("pci0000:00/"+rootPort+"/"+upPort+"/"+nicPort, bridge, "0x1000", withACS(0x5d))
	h.function("pci0000:00/"+rootPort+"/"+upPort+"/"+gpuPort, bridge, "0x1000", withACS(0x11))
	h.function("pci0000:00/"+rootPort+"/"+upPort+"/"+nicPort+"/"+nicAt, "0x020000", "0x14e4", express(4096))
	h.function("pci0000:00/"+rootPort+"/"+upPort+"/"+gpuPort+"/"+gpuAt, "0x120000", "0x1002", express(4096))
	h.function("pci0000:80/"+otherRoot, bridge, "0x1022", withACS(0x1d))
	h.function("pci0000:80/"+otherRoot+"/"+otherGPU, "0x120000", "0x1002", express(4096))
	h.function("pci0000:40/"+diskRoot, bridge, "0x1022", withACS(0x1d))
	h.function("pci0000:40/"+diskRoot+"/"+diskAt, "0x010802", "0x144d", express(4096))
	h.function("pci0000:c0/0000:c0:01.0", "0x030000", "0x1a03", express(256)) // the BMC's display
	h.link("sys/class/net/eth1/device", h.device("pci0000:00/"+rootPort+"/"+upPort+"/"+nicPort+"/"+nicAt))
	h.link("sys/class/infiniband/bnxt_re0/device", h.device("pci0000:00/"+rootPort+"/"+upPort+"/"+nicPort+"/"+nicAt))
	h.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme svm lahf_lm\n")
	h.write("proc/cmdline", "ro iommu=pt\n")
	h.program("id", "echo 0")
	h.program("systemd-detect-virt", "echo none; exit 1")
	h.program("sleep", "exit 0")
	return h
}

func (h acsHost) device(path string) string { return filepath.Join(h.root, "sys/devices", path) }

func (h acsHost) write(name, text string) {
	h.t.Helper()
	file := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h acsHost) link(name, target string) {
	h.t.Helper()
	file := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		h.t.Fatal(err)
	}
}

func (h acsHost) program(name, body string) {
	h.write("bin/"+name, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(filepath.Join(h.root, "bin", name), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h acsHost) function(path, class, vendor string, config []byte) {
	at := "sys/devices/" + path + "/"
	h.write(at+"class", class+"\n")
	h.write(at+"vendor", vendor+"\n")
	h.write(at+"device", "0x0001\n")
	h.write(at+"irq", "0\n")
	h.write(at+"resource", strings.Repeat("0x0 0x0 0x0\n", 13))
	h.write(at+"config", string(config))
	h.link("sys/bus/pci/devices/"+filepath.Base(path), h.device(path))
}

// express is configuration space with a PCI Express capability (PCIe 5.0, 7.5.3) and no extended one.
func express(size int) []byte {
	b := make([]byte, size)
	copy(b, []byte{0x22, 0x10, 0x01, 0x00})
	b[0x06], b[0x34], b[0x60], b[0x62] = 0x10, 0x60, 0x10, 0x02
	if size > 0x100 {
		binary.LittleEndian.PutUint32(b[0x100:], 0x0001|1<<16) // AER, the last of the list
	}
	return b
}

// withACS has the capability at 0x150 (7.7.8): control is 6 bytes into it.
func withACS(control uint16) []byte {
	b := express(4096)
	binary.LittleEndian.PutUint32(b[0x100:], 0x0001|1<<16|0x150<<20)
	binary.LittleEndian.PutUint32(b[0x150:], 0x000d|1<<16)
	binary.LittleEndian.PutUint16(b[0x154:], 0x5f)
	binary.LittleEndian.PutUint16(b[0x156:], control)
	return b
}

func (h acsHost) control(address string) uint16 {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.root, "sys/bus/pci/devices", address, "config"))
	if err != nil {
		h.t.Fatal(err)
	}
	return binary.LittleEndian.Uint16(b[0x156:])
}

type acsResult struct {
	fabric.Meta
	State, Reason string
	Bridges       int
	Cleared, Left []string
}

// run runs the rendered script with its paths below the folder.
func (h acsHost) run(args ...string) (r acsResult, status int, said string) {
	h.t.Helper()
	text := string(ACSScript("host1").Content)
	for _, folder := range []string{"/sys/", "/proc/", "/run/railwright"} {
		text = strings.ReplaceAll(text, folder, h.root+folder)
	}
	h.write("script", text)
	c := exec.Command("/bin/sh", append([]string{filepath.Join(h.root, "script")}, args...)...)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(h.root, "bin")+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		h.t.Fatal(err)
	}
	result, err := os.ReadFile(filepath.Join(h.root, fabric.ACSResultFile))
	if err != nil {
		h.t.Fatalf("no result: %v\n%s", err, out)
	}
	if err := json.Unmarshal(result, &r); err != nil || r.Kind != fabric.ACSResultKind || r.APIVersion != fabric.APIVersion {
		h.t.Fatalf("%v: %s", err, result)
	}
	return r, c.ProcessState.ExitCode(), string(out)
}

// fakeSetpci answers as setpci 3.9 does, from files of one register each.
const fakeSetpci = `shift; file="$0.$1"
case $2 in
CAP_EXP.w) echo 0010 ;;
*=*) [ ! -e "$file" ] || [ -e "$file.stuck" ] || printf '%04x\n' $((0x$(cat "$file") & ~0x000c)) >"$file" ;;
*) [ -e "$file" ] && cat "$file" || { echo "setpci: $1: Instance #0 of Extended capability 000d not found - there are no capabilities with that id." >&2; exit 1; } ;;
esac`

// withFake puts the fake beside the tree.
func (h acsHost) withFake() acsHost {
	h.program("setpci", fakeSetpci)
	for address, control := range map[string]string{rootPort: "001d", nicPort: "005d", gpuPort: "0011", otherRoot: "001d", diskRoot: "001d"} {
		h.write("bin/setpci."+address, control+"\n")
	}
	return h
}

func TestACSScriptClears(t *testing.T) {
	h := newACSHost(t).withFake()
	r, status, said := h.run("eth1")
	cleared := []string{rootPort, nicPort, otherRoot}
	slices.Sort(r.Cleared)
	if status != 0 || r.State != fabric.ACSCleared || r.Bridges != 5 || !slices.Equal(r.Cleared, cleared) || len(r.Left) != 0 {
		t.Fatalf("status %d, %+v\n%s", status, r, said)
	}
	if text, err := os.ReadFile(filepath.Join(h.root, "bin/setpci."+diskRoot)); err != nil || string(text) != "001d\n" {
		t.Errorf("the bridge of the drive was changed: %s, %v", text, err)
	}
	if r, status, said := h.run("eth1"); status != 0 || len(r.Cleared) != 0 || r.Bridges != 5 {
		t.Errorf("again: status %d, %+v\n%s", status, r, said)
	}
}

// Everything that keeps the script from knowing, or from clearing, ends it with a status and a reason.
func TestACSScriptRefusesAndFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(acsHost)
		args   []string
		status int
		want   string
	}{
		{"guest", func(h acsHost) { h.write("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n") }, []string{"eth1"}, 3, "CPU flag hypervisor"},
		{"guest, last flag", func(h acsHost) { h.write("proc/cpuinfo", "flags\t\t: fpu hypervisor\n") }, nil, 3, "CPU flag hypervisor"},
		{"guest on Arm", func(h acsHost) { h.program("systemd-detect-virt", "echo kvm") }, nil, 3, "a virtual machine (kvm)"},
		{"Xen", func(h acsHost) { h.write("proc/xen/capabilities", "control_d\n") }, nil, 3, "control domain of Xen"},
		{"host of VMs", func(h acsHost) {
			h.write("sys/module/kvm/x", "")
			h.write("sys/bus/pci/drivers/vfio-pci/"+gpuAt, "")
		}, nil, 3, "vfio-pci has " + gpuAt},
		{"host of VMs, later", func(h acsHost) {
			h.write("sys/module/kvm/x", "")
			h.write("proc/cmdline", "ro vfio-pci.ids=1002:74a1\n")
		}, nil, 3, "kernel command line gives devices"},
		{"no cpuinfo", func(h acsHost) { _ = os.Remove(filepath.Join(h.root, "proc/cpuinfo")) }, nil, 1, "is unknown"},
		{"not root", func(h acsHost) { h.program("id", "echo 1000") }, nil, 1, "must run as root"},
		{"NIC absent", func(acsHost) {}, []string{"eth1", "eth9"}, 1, "no PCI device of eth9"},
		{"RDMA devices absent", func(acsHost) {}, []string{"-n", "8"}, 1, "1 RDMA devices, not 8"},
		{"write without effect", func(h acsHost) { h.write("bin/setpci."+nicPort+".stuck", "") }, []string{"eth1"}, 1, "not cleared: " + nicPort},
		{"locked down", func(h acsHost) {
			h.write("bin/setpci."+nicPort+".stuck", "")
			h.write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
		}, []string{"eth1"}, 1, "locked down"},
		{"device gone", func(h acsHost) { h.write("bin/setpci."+gpuPort, "ffff\n") }, []string{"eth1"}, 1, "not cleared: " + gpuPort},
		{"nothing printed", func(h acsHost) { h.write("bin/setpci."+gpuPort, "") }, []string{"eth1"}, 1, "not cleared: " + gpuPort},
		{"other words", func(h acsHost) { h.write("bin/setpci."+gpuPort, "Zeit\n") }, []string{"eth1"}, 1, "not cleared: " + gpuPort},
		{"setpci broken", func(h acsHost) { h.program("setpci", "echo 'cannot open' >&2; exit 1") }, []string{"eth1"}, 1, "not cleared: "},
		{"extended space cut", func(h acsHost) {
			_ = os.Remove(filepath.Join(h.root, "bin/setpci."+gpuPort))
			h.write("sys/bus/pci/devices/"+gpuPort+"/config", string(express(256)))
		}, []string{"eth1"}, 1, "not cleared: " + gpuPort},
		{"class of a function unread", func(h acsHost) { _ = os.Remove(filepath.Join(h.root, "sys/bus/pci/devices", gpuAt, "class")) }, []string{"eth1"}, 1, "not cleared: " + gpuAt},
		{"no device at all", func(h acsHost) { _ = os.RemoveAll(filepath.Join(h.root, "sys")) }, nil, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newACSHost(t).withFake()
			c.change(h)
			r, status, said := h.run(c.args...)
			state := map[int]string{1: fabric.ACSFailed, 3: fabric.ACSRefused}[c.status]
			if status != c.status || r.State != state || !strings.Contains(r.Reason, c.want) {
				t.Errorf("status %d, %+v, want %d and %q\n%s", status, r, c.status, c.want, said)
			}
			if c.status == 3 && len(r.Cleared) > 0 {
				t.Errorf("it wrote although it refused: %v", r.Cleared)
			}
		})
	}
}

// Without pciutils it says so.
func TestACSScriptWithoutSetpci(t *testing.T) {
	h := newACSHost(t)
	for _, name := range []string{"sh", "grep", "tr", "mkdir", "mv", "rm", "cat", "readlink", "sed", "awk", "head", "wc"} {
		if path, err := exec.LookPath(name); err == nil {
			h.link("bin/"+name, path)
		}
	}
	t.Setenv("PATH", filepath.Join(h.root, "bin"))
	r, status, said := h.run("eth1")
	if status != 1 || !strings.Contains(r.Reason, "install pciutils") {
		t.Errorf("status %d, %+v\n%s", status, r, said)
	}
}

// The real setpci reads and writes configuration space in files.
func TestACSScriptRealSetpci(t *testing.T) {
	setpci := program(t, "setpci")
	h := newACSHost(t)
	h.program("setpci", "exec "+setpci+" -O sysfs.path="+filepath.Join(h.root, "sys/bus/pci")+` "$@"`)
	r, status, said := h.run("eth1")
	if status != 0 || r.Bridges != 5 || len(r.Cleared) != 3 {
		t.Fatalf("status %d, %+v\n%s", status, r, said)
	}
	for address, want := range map[string]uint16{rootPort: 0x11, nicPort: 0x51, gpuPort: 0x11, otherRoot: 0x11, diskRoot: 0x1d} {
		if got := h.control(address); got != want {
			t.Errorf("%s: ACS control %04x, want %04x\n%s", address, got, want, said)
		}
	}
	h.write("sys/bus/pci/devices/"+nicPort+"/config", string(withACS(0x5d)))
	cut := withACS(0x1d)[:256]
	h.write("sys/bus/pci/devices/"+gpuPort+"/config", string(cut))
	if r, status, said := h.run("eth1"); status != 1 || !slices.Equal(r.Left, []string{gpuPort}) || !slices.Equal(r.Cleared, []string{nicPort}) {
		t.Errorf("cut space: status %d, %+v\n%s", status, r, said)
	}
}

func TestACSUnitVerifies(t *testing.T) {
	analyze := program(t, "systemd-analyze")
	verify := func(unit fabric.Artifact) (string, error) {
		root := t.TempDir()
		place(t, root, unit)
		place(t, root, ACSWanted("host1"))
		// The program of the unit must exist: the script itself is rendered to another root.
		file := filepath.Join(root, unit.Path)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program := place(t, root, ACSScript("host1"))
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), acsScriptPath, program)), 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(analyze, "verify", "--recursive-errors=no", filepath.Base(unit.Path))
		c.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+filepath.Join(root, "etc/systemd/system")+":")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	good := ACSUnit(fabric.RoCE, fabric.Node{Name: "host1", NICs: eight()})
	if out, err := verify(good); err != nil || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
	for _, bad := range [][2]string{{"ExecStart=", "ExecStartt="}, {"Type=oneshot", "Type=onceshot"}} {
		if out, err := verify(spoil(t, good, bad[0], bad[1])); err == nil && out == "" {
			t.Errorf("systemd-analyze accepts %q", bad[1])
		}
	}
}
