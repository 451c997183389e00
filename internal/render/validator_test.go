package render

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// program finds a real validator, or skips the test with the reason.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: its verdict on the rendered file is missing", name)
	}
	return path
}

func place(t *testing.T, root string, a fabric.Artifact) string {
	t.Helper()
	file := filepath.Join(root, a.Path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, a.Content, os.FileMode(a.Mode)); err != nil {
		t.Fatal(err)
	}
	return file
}

// spoil returns a copy of an artifact with one thing wrong, which its validator must refuse.
func spoil(t *testing.T, a fabric.Artifact, old, new string) fabric.Artifact {
	t.Helper()
	if !strings.Contains(string(a.Content), old) {
		t.Fatalf("%s has no %q to spoil", a.Path, old)
	}
	a.Content = []byte(strings.Replace(string(a.Content), old, new, 1))
	return a
}

func TestNetplanGenerate(t *testing.T) {
	netplan := program(t, "netplan")
	generate := func(t *testing.T, a fabric.Artifact) (string, string, error) {
		root := t.TempDir()
		place(t, root, a)
		out, err := exec.Command(netplan, "generate", "--root-dir", root).CombinedOutput()
		return root, string(out), err
	}
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24, fabric.Flat} {
		t.Run(string(scheme), func(t *testing.T) {
			n := node(scheme, eight()...)
			root, out, err := generate(t, Netplan(9000, scheme, n))
			if err != nil || out != "" {
				t.Fatalf("netplan is not quiet: %v\n%s", err, out)
			}
			for _, a := range n.NICs {
				file := filepath.Join(root, "run/systemd/network/10-netplan-"+a.NIC+".network")
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range wantNetwork(scheme, a) {
					if !strings.Contains(string(text), w) {
						t.Errorf("%s lacks %q:\n%s", file, w, text)
					}
				}
			}
		})
	}
	good := Netplan(9000, fabric.P2P31, node(fabric.P2P31, "eth1"))
	for _, bad := range [][2]string{{"mtu:", "mtuu:"}, {"/31", "/33"}, {"table: 101", "table: x"}} {
		if _, out, err := generate(t, spoil(t, good, bad[0], bad[1])); err == nil {
			t.Errorf("netplan accepts %q: %s", bad[1], out)
		}
	}
}

// wantNetwork is the expected configuration of systemd-networkd.
func wantNetwork(scheme fabric.Scheme, a fabric.NICAddress) []string {
	table := fmt.Sprintf("Table=%d\n", a.Table)
	want := []string{
		"Name=" + a.NIC + "\n", "MTUBytes=9000\n", "LinkLocalAddressing=no\n", "IPv6AcceptRA=no\n",
		"Address=" + a.Address.String() + "\n",
		"From=" + a.Address.Addr().String() + "/32\n" + table + fmt.Sprintf("Priority=%d\n", 10000+a.Table),
	}
	if scheme != fabric.Flat {
		want = append(want, "Gateway="+a.Gateway.String()+"\n"+table)
	}
	if scheme != fabric.P2P31 {
		want = append(want, "Destination="+a.Address.Masked().String()+"\nScope=link\n"+table)
	}
	return want
}

func TestSystemdAnalyzeVerify(t *testing.T) {
	analyze := program(t, "systemd-analyze")
	const unit = "systemd-networkd-wait-online.service"
	if _, err := os.Stat(filepath.Join("/lib/systemd/system", unit)); err != nil {
		t.Skipf("%s is not installed: its drop-in cannot be verified", unit)
	}
	verify := func(a fabric.Artifact) (string, error) {
		root := t.TempDir()
		place(t, root, a)
		// Without --recursive-errors a warning leaves the status at 0.
		c := exec.Command(analyze, "verify", "--recursive-errors=no", unit)
		c.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+filepath.Join(root, "etc/systemd/system")+":")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, names := range [][]string{eight(), {"a b", `a"b`, "100%n", "$HOME"}} {
		good := WaitOnline(node(fabric.P2P31, names...))
		if out, err := verify(good); err != nil || out != "" {
			t.Errorf("%v: %v\n%s", names, err, out)
		}
		for _, bad := range [][2]string{{"ExecStart=", "ExecStartt="}, {`:routable"`, `:routable`}} {
			if out, err := verify(spoil(t, good, bad[0], bad[1])); err == nil {
				t.Errorf("systemd-analyze accepts %q: %s", bad[1], out)
			}
		}
	}
}

// The service's own program reads its options before it prints its help. It can leave with 0 after it
// complained of a state (systemd 252 does), so any output on standard error counts as rejection too.
func TestWaitOnlineOptions(t *testing.T) {
	wait := program(t, "/lib/systemd/systemd-networkd-wait-online")
	accepts := func(a fabric.Artifact) bool {
		_, line, _ := strings.Cut(string(a.Content), "ExecStart=")
		words := strings.Fields(strings.NewReplacer("\\\n", " ", `"`, "").Replace(line))
		c := exec.Command(wait, append(words[1:], "--help")...)
		var stderr strings.Builder
		c.Stderr = &stderr
		return c.Run() == nil && stderr.Len() == 0
	}
	good := WaitOnline(node(fabric.P2P31, eight()...))
	if !accepts(good) {
		t.Error("systemd-networkd-wait-online refuses the rendered options")
	}
	for _, bad := range [][2]string{{`:routable"`, `:routeable"`}, {"--timeout=120", "--timeout=soon"}, {`"--interface`, `"--interfacee`}} {
		if accepts(spoil(t, good, bad[0], bad[1])) {
			t.Errorf("systemd-networkd-wait-online accepts %q", bad[1])
		}
	}
}

// systemd-analyze finds the file among the manager's; it does not judge its text, so the text is compared.
func TestSystemdCatConfig(t *testing.T) {
	analyze := program(t, "systemd-analyze")
	a := ServiceLimits("host1")
	cat := func(a fabric.Artifact) string {
		root := t.TempDir()
		place(t, root, a)
		out, err := exec.Command(analyze, "cat-config", "--root="+root, "systemd/system.conf").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := cat(a); !strings.Contains(out, string(a.Content)) {
		t.Errorf("systemd does not see the file:\n%s", out)
	}
	a.Path = strings.TrimSuffix(a.Path, ".conf") + ".cfg"
	if out := cat(a); strings.Contains(out, "MEMLOCK") {
		t.Errorf("systemd sees a file that does not end in .conf:\n%s", out)
	}
}

// The loopback interface stands for a NIC: it is on every machine. Nothing is written.
func TestSysctlDryRun(t *testing.T) {
	sysctl := program(t, "sysctl")
	if out, err := exec.Command(sysctl, "--dry-run", "kernel.numa_balancing").CombinedOutput(); err != nil {
		t.Skipf("sysctl cannot try a setting here: %s", out)
	}
	try := func(a fabric.Artifact) (string, error) {
		out, err := exec.Command(sysctl, "--dry-run", "-p", place(t, t.TempDir(), a)).CombinedOutput()
		return string(out), err
	}
	good := Sysctl(fabric.Flat, 4096, node(fabric.Flat, "lo"))
	out, err := try(good)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"net.ipv4.conf.lo.rp_filter = 2", "net.ipv4.conf.lo.arp_ignore = 2", "net.ipv4.neigh.default.gc_thresh3 = 32768"} {
		if !strings.Contains(out, want) {
			t.Errorf("sysctl does not read %q:\n%s", want, out)
		}
	}
	for _, bad := range [][2]string{{"rp_filter", "rp_filterr"}, {"kernel.numa_balancing", "kernel.numa_balance"}} {
		if out, err := try(spoil(t, good, bad[0], bad[1])); err == nil {
			t.Errorf("sysctl accepts %q: %s", bad[1], out)
		}
	}
}
