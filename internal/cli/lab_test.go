//go:build linux

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// The tests of this file run the built program against the kernel. Each lab has a folder of its own, so that
// they do not interfere, and each must end without a trace.

// testLab is a lab of a test: where it keeps its state, and as whom the program runs.
type testLab struct {
	t       *testing.T
	program string
	folder  string
	as      []string // a command that runs the program as another user
}

// newTestLab skips the test, with the reason, where a lab cannot run.
func newTestLab(t *testing.T) *testLab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("the lab tier needs root: without it systemd-networkd and lldpd cannot become their own users")
	}
	for name, why := range map[string]string{
		"nsenter": "commands enter a lab host by it (package util-linux)",
		"lldpd":   "cabling is unknown without it (package lldpd)",
	} {
		if _, err := exec.LookPath(name); err != nil {
			if _, err := os.Stat("/usr/sbin/" + name); err != nil {
				t.Skipf("%s is not installed: %s", name, why)
			}
		}
	}
	path, err := program.path()
	if err != nil {
		t.Fatal(err)
	}
	l := &testLab{t: t, program: path, folder: filepath.Join(t.TempDir(), "lab")}
	t.Cleanup(l.vanish)
	return l
}

func (l *testLab) command(args ...string) *exec.Cmd {
	argv := append(append(slices.Clone(l.as), l.program), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "RAILWRIGHT_LAB="+l.folder)
	cmd.Dir = l.t.TempDir()
	return cmd
}

func (l *testLab) run(args ...string) result {
	l.t.Helper()
	cmd := l.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// up starts the lab. The test is skipped where the kernel does not allow it.
func (l *testLab) up(args ...string) result {
	l.t.Helper()
	r := l.run(append([]string{"lab", "up"}, args...)...)
	if r.status == 64 && strings.Contains(r.stderr, "operation not permitted") {
		l.t.Skipf("the kernel allows no lab: %s", r.stderr)
	}
	l.want(r, 0)
	return r
}

func (l *testLab) want(r result, status int) {
	l.t.Helper()
	if r.status != status {
		l.t.Fatalf("want status %d\n%s", status, r)
	}
}

// findings returns the findings of a check, which must have this exit status. Where it has another, the test names what did not
// pass: it would be lost among some hundred that did.
func (l *testLab) findings(status int) fabric.Findings {
	l.t.Helper()
	r := l.run("check", "--lab", "-o", "json")
	if r.status != status && r.stdout == "" {
		l.t.Fatalf("want status %d\n%s", status, r)
	}
	found := decode[fabric.Findings](l.t, r.stdout)
	if r.status != status {
		for _, f := range found.Findings {
			if f.Status != fabric.Pass {
				l.t.Logf("%+v", f)
			}
		}
		l.t.Fatalf("want status %d, not %d: %s", status, r.status, r.stderr)
	}
	return found
}

// bench returns the measured mesh and the exit status.
func (l *testLab) bench() (mesh fabric.Mesh, status int) {
	l.t.Helper()
	r := l.run("bench", "--lab", "-o", "json")
	both := decode[struct {
		Mesh   fabric.Mesh
		Causes fabric.Causes
	}](l.t, r.stdout)
	return both.Mesh, r.status
}

// keeper is the first process of the lab, as its state names it.
func (l *testLab) keeper() int {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.folder, "lab.json"))
	if err != nil {
		l.t.Fatal(err)
	}
	return decode[struct{ Keeper int }](l.t, string(text)).Keeper
}

// processes are those that belong to the lab: whose environment names its folder, or that live in a
// process id namespace that its keeper had made.
func (l *testLab) processes(namespace string) []string {
	l.t.Helper()
	var found []string
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, p := range all {
		environ, _ := os.ReadFile(p + "/environ") // a process may end meanwhile
		inside, _ := os.Readlink(p + "/ns/pid")
		if bytes.Contains(environ, []byte("RAILWRIGHT_LAB="+l.folder+"\x00")) || namespace != "" && inside == namespace {
			command, _ := os.ReadFile(p + "/cmdline")
			found = append(found, fmt.Sprintf("%s %q", p, command))
		}
	}
	return found
}

// vanish stops the lab, if it is up, and checks that nothing is left.
func (l *testLab) vanish() {
	namespace := ""
	if _, err := os.Stat(filepath.Join(l.folder, "lab.json")); err == nil {
		namespace, _ = os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", l.keeper()))
	}
	if r := l.run("lab", "down"); r.status != 0 {
		l.t.Error(r)
	}
	l.noTrace(namespace)
}

func (l *testLab) noTrace(namespace string) {
	l.t.Helper()
	var left []string
	for range 200 { // the kernel ends the processes of a namespace one by one
		if left = l.processes(namespace); len(left) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		l.t.Errorf("processes left: %v", left)
	}
	if _, err := os.Stat(l.folder); !errors.Is(err, os.ErrNotExist) {
		l.t.Errorf("state left: %v", err)
	}
}

// blamed returns the failing findings as "cause subject", without duplicates.
func blamed(f fabric.Findings) []string {
	out := []string{}
	for _, one := range f.Findings {
		if one.Status == fabric.Fail && !one.Waived {
			out = append(out, fmt.Sprintf("%s %s", one.Cause, one.Subject))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestLabClean(t *testing.T) {
	t.Parallel()
	l := newTestLab(t)
	up := l.up()
	if !strings.Contains(up.stdout, "2 hosts, leaf leaf1") || !strings.Contains(up.stderr, "host2: configured by ") {
		t.Error(up)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "lab.json": 0o600, "lock": 0o600, "keeper.log": 0o600} {
		if info, err := os.Stat(filepath.Join(l.folder, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: mode %v, %v, want %v", name, info, err, want)
		}
	}
	f := l.findings(0)
	if s := f.Summary; s.Pass == 0 || s.Fail+s.Unknown+s.Waived > 0 {
		t.Errorf("a clean lab: %+v", s)
	}
	mesh, status := l.bench()
	if s := mesh.Summary(); status != 0 || s.Pass != 128 || len(mesh.Pairs) != 128 || len(mesh.Absent) > 0 {
		t.Errorf("a clean lab: bench exits with %d, %+v, absent %v", status, s, mesh.Absent)
	}
	text := l.run("bench", "--lab")
	if l.want(text, 0); !strings.Contains(text.stdout, "Mesh: 128 pairs passed") || !strings.Contains(text.stdout, "exit status 0") {
		t.Error(text)
	}

	second := l.run("lab", "up")
	if l.want(second, 64); !strings.Contains(second.stderr, "a lab is already up") || !strings.Contains(second.stderr, "end it with: railwright lab down") {
		t.Error(second)
	}
	again := l.run("up", "--lab", "-d", t.TempDir())
	if l.want(again, 64); !strings.Contains(again.stderr, "a lab is already up") {
		t.Error(again)
	}
	l.findings(0) // the first one is unchanged

	l.want(l.run("lab", "status"), 0)
	if r := l.run("lab", "exec", "host2", "--", "hostname"); r.status != 0 || r.stdout != "host2\n" {
		t.Error(r)
	}
	l.want(l.run("lab", "exec", "host1", "--", "sh", "-c", "exit 3"), 3)
	if r := l.run("lab", "exec", "host3", "--", "true"); r.status != 64 || !strings.Contains(r.stderr, "known: host1, host2, leaf1") {
		t.Error(r)
	}
}

// The output of the lab's commands conforms to the schemas.
func TestLabSchemas(t *testing.T) {
	t.Parallel()
	l := newTestLab(t)
	l.up("--fault", "mtu=host1:eth1")
	r := l.run("bench", "--lab", "-o", "json")
	l.want(r, 1)
	parts := decode[map[string]any](t, r.stdout)
	for key, kind := range map[string]string{"mesh": "Mesh", "causes": "Causes"} {
		validates(t, kind, encode(t, parts[key]))
	}
	validates(t, "Findings", l.run("check", "--lab", "-o", "json").stdout)
	validates(t, "Facts", l.run("lab", "exec", "host1", "--", l.program, "node", "collect").stdout)
}

func TestLabSchemes(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"rail24", "flat"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			l := newTestLab(t)
			l.up("-f", exampleIn(t, scheme, 2))
			if s := l.findings(0).Summary; s.Fail+s.Unknown > 0 {
				t.Errorf("check: %+v", s)
			}
			if mesh, status := l.bench(); status != 0 || mesh.Summary().Pass != 128 {
				t.Errorf("bench exits with %d, %+v", status, mesh.Summary())
			}
		})
	}
}

// The limits of the whole machine's neighbour tables, in entries.
const neighbourLimits = "/proc/sys/net/ipv4/neigh/default/gc_thresh3"

// All pairs of 8 hosts with 8 NICs, in one subnet: it needs more neighbours than the default limit allows, and
// restores the limit.
func TestLabOfEightHosts(t *testing.T) {
	l := newTestLab(t)
	before, err := os.ReadFile(neighbourLimits)
	if err != nil {
		t.Fatal(err)
	}
	l.up("-f", exampleIn(t, "flat", 8))
	var mesh fabric.Mesh
	for range 3 { // a machine that is busy with other tests may be late once
		var status int
		if mesh, status = l.bench(); status != 0 || mesh.Summary().Pass != 3584 || len(mesh.Pairs) != 3584 {
			t.Fatalf("bench exits with %d, %+v", status, mesh.Summary())
		}
		if mesh.Seconds < 1 {
			break
		}
	}
	if mesh.Seconds >= 1 || mesh.Seconds <= 0 {
		t.Errorf("3,584 pairs took %.2f s, three times", mesh.Seconds)
	}
	l.findings(0)
	l.want(l.run("lab", "down"), 0)
	if after, err := os.ReadFile(neighbourLimits); err != nil || string(after) != string(before) {
		t.Errorf("%s was %s and is %s, %v", neighbourLimits, before, after, err)
	}
}

// killed kills a command as soon as the lab's state exists.
func (l *testLab) killed(cmd *exec.Cmd, signal unix.Signal, when time.Duration) result {
	l.t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	for range 1000 {
		if _, err := os.Stat(filepath.Join(l.folder, "lab.json")); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(when)
	if err := cmd.Process.Signal(signal); err != nil {
		l.t.Fatal(err)
	}
	_ = cmd.Wait() // only its exit status matters
	return result{cmd.ProcessState.ExitCode(), "", stderr.String()}
}

func TestLabOfARunThatWasKilled(t *testing.T) {
	t.Parallel()
	for _, when := range []time.Duration{0, 700 * time.Millisecond} {
		t.Run(when.String(), func(t *testing.T) {
			t.Parallel()
			l := newTestLab(t)
			l.killed(l.command("up", "--lab"), unix.SIGKILL, when)
			if r := l.up(); !strings.Contains(r.stderr, "cleared the lab that a killed run left") { // a new lab can start
				t.Error(r)
			}
			l.findings(0)
			l.want(l.run("lab", "down"), 0)
			l.killed(l.command("up", "--lab"), unix.SIGKILL, when)
			l.want(l.run("up", "--lab", "-d", t.TempDir()), 0)
			l.noTrace("")
		})
	}
}

func TestLabOfARunThatWasInterrupted(t *testing.T) {
	t.Parallel()
	l := newTestLab(t)
	r := l.killed(l.command("up", "--lab"), unix.SIGINT, 700*time.Millisecond)
	if r.status != 2 || !strings.Contains(r.stderr, "interrupted") {
		t.Errorf("want status 2\n%s", r)
	}
	l.noTrace("")
}

func TestLabWhoseKeeperWasKilled(t *testing.T) {
	t.Parallel()
	l := newTestLab(t)
	l.up()
	keeper := l.keeper()
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", keeper))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.processes(namespace)); n < 4 {
		t.Errorf("%d processes in the lab: this test would detect nothing", n)
	}
	if err := unix.Kill(keeper, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if !host.Alive(keeper) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, args := range [][]string{{"check", "--lab"}, {"bench", "--lab"}, {"lab", "status"}} {
		r := l.run(args...)
		if r.status != 64 || !strings.Contains(r.stderr, "was left by a run that was killed") || !strings.Contains(r.stderr, "clear it with: railwright lab down") {
			t.Errorf("%v: want status 64\n%s", args, r)
		}
	}
	if r := l.run("lab", "down"); r.status != 0 || !strings.Contains(r.stderr, "stale lab cleared") {
		t.Error(r)
	}
	l.noTrace(namespace)
	if r := l.run("lab", "down"); r.status != 0 || !strings.Contains(r.stderr, "no lab was up") {
		t.Error(r)
	}
}

// Without root the lab runs in a user namespace: networkd and lldpd cannot run there, which is reported, and
// what depends on them is unknown.
func TestLabOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	l := newTestLab(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skipf("setpriv is not installed (package util-linux): %v", err)
	}
	const nobody = 65534
	l.as = []string{setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"}
	folder, err := os.MkdirTemp("", "railwright-lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(folder, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.vanish)
	l.folder = filepath.Join(folder, "lab")

	up := l.run("lab", "up")
	if up.status == 64 && strings.Contains(up.stderr, "without root the lab needs user namespaces") {
		t.Skipf("the kernel allows no lab without root: %s", up.stderr)
	}
	l.want(up, 0)
	for _, want := range []string{"host1: configured by netlink (", "host2: configured by netlink (", "cabling stays unknown: lldpd does not run on "} {
		if !strings.Contains(up.stderr, want) {
			t.Errorf("want %q\n%s", want, up)
		}
	}
	for _, f := range l.findings(2).Findings {
		if f.Status == fabric.Fail || f.Status == fabric.Unknown && f.ID != "cabling" {
			t.Errorf("%s %s on %s: %s", f.Status, f.ID, f.Subject, f.Why)
		}
		if f.ID == "cabling" && f.Subject.NIC != "" && (f.Status != fabric.Unknown || f.Why == "") {
			t.Errorf("%s %s on %s, why %q", f.Status, f.ID, f.Subject, f.Why)
		}
	}
	if mesh, _ := l.bench(); mesh.Summary().Pass != 128 {
		t.Errorf("bench: %+v, absent %v", mesh.Summary(), mesh.Absent)
	}
	l.want(l.run("lab", "down"), 0)

	l.want(l.run("lab", "up", "--fault", "down=host2:eth3", "--fault", "mtu=host1:eth1"), 0)
	want := []string{"link-down host2:eth3", "mtu-mismatch host1:eth1"}
	if got := blamed(l.findings(1)); !slices.Equal(want, got) {
		t.Errorf("blamed %v, want %v", got, want)
	}
}
