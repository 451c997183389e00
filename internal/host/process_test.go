//go:build linux

package host

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAlive(t *testing.T) {
	if !Alive(os.Getpid()) {
		t.Error("this process is not alive")
	}
	if Alive(1 << 30) { // beyond the largest process id of any kernel (PID_MAX_LIMIT, 2^22)
		t.Error("a process that cannot be is alive")
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Nobody has waited for it, so it is there, and a zombie.
	eventually(t, "a zombie", func() bool { return !Alive(cmd.Process.Pid) })
	if _, err := os.Stat("/proc/" + strconv.Itoa(cmd.Process.Pid)); err != nil {
		t.Errorf("the zombie has gone: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A program names itself as it likes; the name stands in the middle of what the kernel tells.
func TestProcessWithAnAwkwardName(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a) Z 1 (2) 3")
	if err := os.Symlink(sleep, name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}()
	pid := cmd.Process.Pid
	// The kernel lets go of this program's files, for which Start waits, before it tells of the new one's name and arguments.
	eventually(t, "the name", func() bool {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(comm)) == "a) Z 1 (2) 3"
	})
	if !Alive(pid) {
		t.Error("not alive")
	}
	want := []string{name, "60"}
	var started ProcessInfo
	eventually(t, "the arguments", func() bool {
		started, err = Describe(pid)
		return err != nil || slices.Equal(started.Argv, want)
	})
	if err != nil {
		t.Fatal(err)
	}
	if started.UID != os.Geteuid() || started.FirstInNamespace {
		t.Errorf("%+v, want one of this user", started)
	}
	before, err := Describe(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if ticks(t, started.Start) < ticks(t, before.Start) {
		t.Errorf("started at %s, before this process, which started it, at %s", started.Start, before.Start)
	}
}

func ticks(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("start time %q", text)
	}
	return n
}

// A process is killed only if it proves to be the expected one.
func TestKillIf(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if err := KillIf(pid, func() bool { return false }); err != nil || !Alive(pid) {
		t.Fatalf("another one was killed: %v", err)
	}
	if err := KillIf(pid, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, gone := range []int{pid, 0, -1} {
		if err := KillIf(gone, func() bool { return true }); err != nil {
			t.Errorf("%d: %v", gone, err)
		}
	}
}

func TestStartTime(t *testing.T) {
	process, err := Describe(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	first := process.Start
	again, err := Describe(os.Getpid())
	if err != nil || again.Start != first {
		t.Errorf("%s, then %s, %v", first, again.Start, err)
	}
	// The kernel's clock for it has 100 ticks a second.
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	if age := seconds - float64(ticks(t, first))/100; age < -1 || age > 3600 {
		t.Errorf("this test has run for %.0f s", age)
	}
	if _, err := Describe(1 << 30); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("of no process: %v, want os.ErrProcessDone", err)
	}
}

func TestChildren(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & sleep 60 & echo ready; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = Isolation{}.attributes()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	children, err := Children(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(children) != 2 {
		t.Errorf("children %v, want two", children)
	}
	for inner, outer := range children {
		if inner != outer || !Alive(outer) {
			t.Errorf("child %d is %d here, alive %v: no namespace lies between", inner, outer, Alive(outer))
		}
	}
	if children, err := Children(1 << 30); err != nil || len(children) != 0 {
		t.Errorf("of no process: %v, %v", children, err)
	}
}

func TestDaemonOutlivesItsStarter(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pid, err := Local{}.Daemon(Command{Argv: []string{"sh", "-c", `echo "$WORD"; echo err >&2; exec sleep 60`}, Env: []string{"WORD=out"}}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := Signal(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "its output", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && string(text) == "before\nout\nerr\n"
	})
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		t.Errorf("session %d, %v, want one of its own, %d", session, err, pid)
	}
	if _, err := (Local{}).Daemon(Command{Argv: []string{"/no/such/program"}}, log); err == nil || !strings.Contains(err.Error(), `"/no/such/program"`) {
		t.Errorf("no program: %v", err)
	}
	if _, err := (Local{}).Daemon(Command{Argv: []string{"true"}}, filepath.Dir(log)+"/none/log"); !IsAbsent(err) {
		t.Errorf("no folder for the log: %v", err)
	}
}

func TestEach(t *testing.T) {
	for _, limit := range []int{1, 3, 100} {
		var running, most, sum atomic.Int64
		items := make([]int, 40)
		for i := range items {
			items[i] = i
		}
		within(t, 20*time.Second, func() {
			Each(items, limit, func(i int) {
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(2 * time.Millisecond)
				sum.Add(int64(i))
				running.Add(-1)
			})
		})
		if sum.Load() != 40*39/2 {
			t.Errorf("limit %d: the sum of what was done is %d when Each returns", limit, sum.Load())
		}
		if got := int(most.Load()); got > limit || limit > 1 && got < 2 {
			t.Errorf("limit %d: %d at once", limit, got)
		}
	}
	within(t, 5*time.Second, func() { Each([]int{}, 0, func(int) { t.Error("called for nothing") }) })
}

// A panic must not end the program with the status 2, which reads as "unknown". It ends the whole process,
// so it does that to another one.
func TestGoPanicEndsWithItsOwnStatus(t *testing.T) {
	if os.Getenv("RAILWRIGHT_TEST_PANIC") == "yes" {
		Each([]int{1}, 1, func(int) { panic("on purpose") })
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Output(context.Background(), Local{}, Command{
		Argv: []string{self, "-test.run=^TestGoPanicEndsWithItsOwnStatus$"}, Env: []string{"RAILWRIGHT_TEST_PANIC=yes"},
	})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != ExitFault || !strings.Contains(exit.Stderr, "on purpose") || !strings.Contains(exit.Stderr, "process_test.go") {
		t.Errorf("%v, want status %d, what was said and where", err, ExitFault)
	}
}
