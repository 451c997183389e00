package apply

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func TestIsMapped(t *testing.T) {
	const (
		whole    = "         0          0 4294967295\n"
		ordinary = "         0       1000          1\n"
		subuids  = "         0       1000          1\n         1     100000      65536\n"
	)
	tests := []struct {
		uid, uidMap string
		want        bool
	}{
		{"998", whole, true},
		{"0", ordinary, true},
		{"998", ordinary, false},
		{"1000", ordinary, false}, // an id outside
		{"1", ordinary, false},
		{"998", subuids, true},
		{"65536", subuids, true},
		{"65537", subuids, false},
		{"0", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.uid+" in "+tt.uidMap, func(t *testing.T) {
			got, err := isMapped(tt.uid, tt.uidMap)
			if err != nil || got != tt.want {
				t.Errorf("isMapped(%s, %q) = %v, %v, want %v", tt.uid, tt.uidMap, got, err, tt.want)
			}
		})
	}
	for _, tt := range []struct{ uid, uidMap string }{{"nobody", whole}, {"-1", whole}, {"", whole}, {"1", "0 0\n"}, {"1", "all\n"}} {
		t.Run(tt.uid+" in "+tt.uidMap, func(t *testing.T) {
			if mapped, err := isMapped(tt.uid, tt.uidMap); err == nil || mapped {
				t.Errorf("isMapped(%q, %q) = %v, %v, want an error", tt.uid, tt.uidMap, mapped, err)
			}
		})
	}
}

func TestNetworkdState(t *testing.T) {
	tests := []struct{ text, want string }{
		{"# This is private data. Do not parse.\nADMIN_STATE=configured\nOPER_STATE=routable\n", "configured"},
		{"OPER_STATE=carrier\nADMIN_STATE=configuring\n", "configuring"},
		{"OPER_STATE=carrier\nX_ADMIN_STATE=configured\n", "nothing yet"},
		{"ADMIN_STATE=", ""},
		{"", "nothing yet"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if got := adminState(tt.text); got != tt.want {
				t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
			}
		})
	}
	if got := networkdState("no-such-nic"); !strings.HasPrefix(got, "nothing: ") || !strings.Contains(got, "no-such-nic") && !strings.Contains(got, "no such") {
		t.Errorf("of no interface: %q", got)
	}
	if _, err := net.InterfaceByName("lo"); err == nil {
		if got := networkdState("lo"); got == "configured" {
			t.Error("networkd has configured lo, which it leaves alone")
		}
	}
}

func TestSysctlPath(t *testing.T) {
	for name, want := range map[string]string{
		"net.ipv4.conf.eth1.rp_filter":     "net/ipv4/conf/eth1/rp_filter",
		"net.ipv4.conf.eth1/100.rp_filter": "net/ipv4/conf/eth1.100/rp_filter",
	} {
		if got := sysctlPath(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// lines is a rendered sysctl file.
func lines(text string) []fabric.Artifact {
	return []fabric.Artifact{
		artifact("/etc/netplan/60-railwright.yaml", "not = a sysctl\ngarbage\n", 0o600),
		artifact("/etc/sysctl.d/60-railwright.conf", text, 0o644),
	}
}

func TestSetSysctls(t *testing.T) {
	const whole = ": belongs to the whole machine, not to a lab host"
	tests := []struct{ line, pending, skipped string }{
		{"", "", ""},
		{"  \t\n", "", ""},
		{"# net.ipv4.ip_forward = 7\n", "", ""},
		{"; net.ipv4.ip_forward = 7", "", ""},
		{"kernel.numa_balancing = 0\n", "", "kernel.numa_balancing" + whole},
		{"-kernel.numa_balancing=0", "", "kernel.numa_balancing" + whole},
		{"vm.net.x = 1", "", "vm.net.x" + whole},
		{"net.no.such.variable = 1", "", "net.no.such.variable: does not exist in this network namespace"},
		{"net.ipv4.conf.no-such-nic.rp_filter = 2", "net.ipv4.conf.no-such-nic.rp_filter: open /proc/sys/net/ipv4/conf/no-such-nic/rp_filter: no such file or directory", ""},
		{"-net.ipv4.conf.no-such-nic.rp_filter = 2", "", "net.ipv4.conf.no-such-nic.rp_filter: open /proc/sys/net/ipv4/conf/no-such-nic/rp_filter: no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			all, err := sysctlsOf(lines(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			pending, skipped, err := setSysctls(all)
			if strings.Join(pending, "|") != tt.pending || strings.Join(skipped, "|") != tt.skipped || err != nil {
				t.Errorf("%q, %q, %v, want %q, %q", pending, skipped, err, tt.pending, tt.skipped)
			}
		})
	}
}

func TestSysctlsOfGarbage(t *testing.T) {
	for _, line := range []string{"net.ipv4.ip_forward", "garbage"} {
		t.Run(line, func(t *testing.T) {
			all, err := sysctlsOf(lines("# why\n" + line + "\n"))
			if err == nil || err.Error() != `"/etc/sysctl.d/60-railwright.conf": line "`+line+`": not of the form name = value` {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}

// A value that the kernel refuses is an error, unless the line says that it may fail.
func TestSetSysctlRefused(t *testing.T) {
	const name = "net.ipv4.conf.lo.arp_ignore"
	before, err := os.ReadFile("/proc/sys/" + sysctlPath(name))
	if err != nil {
		t.Skipf("no sysctl to try it on: %v", err)
	}
	f, err := os.OpenFile("/proc/sys/"+sysctlPath(name), os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("sysctls cannot be written here: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := setSysctls([]sysctl{{name, "many", false}}); err == nil {
		t.Error("refused: no error")
	}
	if pending, skipped, err := setSysctls([]sysctl{{name, "many", true}}); err != nil || len(pending) > 0 || len(skipped) != 1 {
		t.Errorf("refused and optional: %q, %q, %v, want it reported", pending, skipped, err)
	}
	same := sysctl{name, strings.TrimSpace(string(before)), false}
	if pending, skipped, err := setSysctls([]sysctl{same}); err != nil || len(pending)+len(skipped) > 0 || same.differs() != "" {
		t.Errorf("as it is: %q, %q, %v", pending, skipped, err)
	}
	after, err := os.ReadFile("/proc/sys/" + sysctlPath(name))
	if err != nil || string(after) != string(before) {
		t.Errorf("%q became %q, %v", before, after, err)
	}
	if got := (sysctl{name, "many", false}).differs(); got != "is "+same.value+", planned many" {
		t.Errorf("differs: %q", got)
	}
}

// On a host outside the lab the files are written, and nothing takes effect yet.
func TestNodeOnARealHost(t *testing.T) {
	root, journal := t.TempDir(), t.TempDir()
	b := Bundle{Node: "host1", MTU: 9000, Artifacts: []fabric.Artifact{artifact(root+"/etc/file", "x\n", 0o600)},
		Addresses: []fabric.NICAddress{{NIC: "no-such-nic"}}}
	for _, want := range []Kind{Create, Same} {
		r, err := Node(context.Background(), b, journal)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Applied{Node: "host1", Status: fabric.Pass, Changes: []Change{{Path: root + "/etc/file", Kind: want}}}, r.Applied); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if content, err := os.ReadFile(root + "/etc/file"); err != nil || string(content) != "x\n" {
		t.Errorf("%q, %v", content, err)
	}
	b.Artifacts[0].Path = root + "/etc/file/below"
	if r, err := Node(context.Background(), b, journal); err == nil || r.Applied.Node != "host1" || r.Applied.Activation != nil {
		t.Errorf("%+v, %v, want an error", r, err)
	}
}

func TestNICByNetlinkThatIsNotThere(t *testing.T) {
	err := byNetlink(Bundle{Node: "host1", MTU: 9000, Addresses: []fabric.NICAddress{{NIC: "no-such-nic"}}})
	if err == nil || !strings.Contains(err.Error(), `interface "no-such-nic"`) {
		t.Errorf("error %v", err)
	}
}

func TestProcessesOf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if pids, err := processesOf(self); err != nil || !slices.Contains(pids, os.Getpid()) {
		t.Errorf("%v, %v: without this process, %d", pids, err, os.Getpid())
	}
	other := t.TempDir() + "/program"
	put(t, other, "", 0o755)
	if pids, err := processesOf(other); err != nil || len(pids) > 0 {
		t.Errorf("of a program that does not run: %v, %v", pids, err)
	}
	if _, err := processesOf(other + "-gone"); err == nil {
		t.Error("of no program: no error")
	}
}
