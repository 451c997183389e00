package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// These tests kill, collide and starve processes that apply and roll back. The process is this test's own binary with
// actVariable: "apply ROOT CONTENT" or "rollback ROOT"; the journal is below the root too.
const actVariable = "RAILWRIGHT_TEST_ACT"

// busyStatus is how such a process ends that was refused because of another one.
const busyStatus = 3

func TestMain(m *testing.M) {
	if order := strings.Fields(os.Getenv(actVariable)); len(order) > 0 {
		runtime.LockOSThread() // strace counts the system calls of each thread
		os.Exit(act(order))
	}
	os.Exit(m.Run())
}

func act(order []string) int {
	var err error
	switch root := order[1]; order[0] {
	case "apply":
		_, err = write(root+"/journal", wanted(root, order[2]))
	case "rollback":
		_, err = Rollback(root + "/journal")
	case "esx-apply", "esx-back":
		err = esxActs(order[0], root)
	case "try":
		_, err = trialPlaces(root).try(context.Background(), trialBundle(root, newNet, 60), fileNetwork{root: root}, notArmed)
	case "confirm":
		_, err = trialPlaces(root).confirm(context.Background(), "T1", fileNetwork{root: root})
	case "take-back":
		err = trialPlaces(root).takeBack(context.Background(), "T1", fileNetwork{root: root}, "a test")
	}
	switch {
	case errors.Is(err, ErrBusy):
		return busyStatus
	case err != nil && !errors.Is(err, ErrNoJournal):
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// endsAtOnce spares some hundred processes of a binary with -race the second for which each would sleep at its end.
const endsAtOnce = "GORACE=atexit_sleep_ms=0"

// actor is the process, started by a program such as strace, or by none.
func actor(by []string, order ...string) host.Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return host.Command{Argv: append(slices.Clone(by), self), Env: []string{actVariable + "=" + strings.Join(order, " "), endsAtOnce}}
}

// emptyRoot is a folder for a host. In memory, where there is such a file system: what counts is the order of what is
// done, and a disk takes its time for each of thousands of syncs.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("/dev/shm", "railwright-test-*")
	if err != nil {
		return filepath.Join(t.TempDir(), "r") // without blanks
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	return root
}

// exitStatus runs a command; -1: it was killed.
func exitStatus(t *testing.T, c host.Command) int {
	t.Helper()
	status, err := ended(t, c)
	if status == 1 {
		t.Errorf("%q: %v", c.Env[0], err)
	}
	return status
}

func ended(t *testing.T, c host.Command) (status int, err error) {
	t.Helper()
	out, err := host.Output(context.Background(), host.Local{}, c)
	var exit *host.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		t.Fatalf("%v: %v, %s", c, err, out)
	}
	return exit.Status, err
}

// furnish makes a host with files of every kind, and returns what is on it.
func furnish(t *testing.T, root string) map[string]string {
	t.Helper()
	put(t, root+"/etc/changed.yaml", "old\n", 0o640)
	put(t, root+"/etc/mode.conf", "of both\n", 0o666)
	put(t, root+"/etc/same.conf", "same\n", 0o644)
	put(t, root+"/etc/target", "behind the link\n", 0o644)
	if err := os.Symlink("target", root+"/etc/link.conf"); err != nil {
		t.Fatal(err)
	}
	return tree(t, root+"/etc")
}

// wanted is what an apply writes there.
func wanted(root, content string) []fabric.Artifact {
	return []fabric.Artifact{
		artifact(root+"/etc/changed.yaml", content, 0o600),
		artifact(root+"/etc/new/deep/file", content, 0o755),
		artifact(root+"/etc/same.conf", "same\n", 0o644),
		artifact(root+"/etc/mode.conf", "of both\n", 0o644),
		artifact(root+"/etc/link.conf", content, 0o644),
		artifact(root+"/etc/new.conf", content, 0o644),
	}
}

// applied reports whether every file is as an apply of the content leaves it, and nothing else is there.
func applied(t *testing.T, root, content string, before map[string]string) bool {
	t.Helper()
	for _, c := range Diff(wanted(root, content)) {
		if c.Kind != Same {
			return false
		}
	}
	want := slices.Concat(slices.Collect(maps.Keys(before)), []string{"/new", "/new/deep", "/new/deep/file", "/new.conf"})
	return sameNames(want, slices.Collect(maps.Keys(tree(t, root+"/etc"))))
}

func sameNames(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// entries lists the journal.
func entries(t *testing.T, root string) []string {
	t.Helper()
	all, err := os.ReadDir(root + "/journal")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// restored fails unless the host is exactly as before the first apply, and the journal is empty.
func restored(t *testing.T, root string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, tree(t, root+"/etc")); diff != "" {
		t.Errorf("not as before (-before +after):\n%s", diff)
	}
	if left := entries(t, root); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}
}

// oldOrNew fails unless each path is exactly as before or as written.
func oldOrNew(t *testing.T, root, content string, before map[string]string) {
	t.Helper()
	now := tree(t, root+"/etc")
	for _, c := range Diff(wanted(root, content)) {
		name := strings.TrimPrefix(c.Path, root+"/etc")
		if c.Kind != Same && now[name] != before[name] {
			t.Errorf("%s is neither old nor new: %q", name, now[name])
		}
	}
}

// changers are the system calls that change files, folders or the lock. Those that a machine does not have are passed over.
var changers = []string{
	"mkdirat", "openat", "flock", "write", "fchmod", "fchmodat", "fsync", "rename", "renameat", "renameat2",
	"unlinkat", "symlinkat", "fchownat", "utimensat", "ftruncate",
}

// killedAt runs a process that is killed at the nth of a system call; false: it made fewer.
func killedAt(t *testing.T, call string, n int, order ...string) bool {
	t.Helper()
	by := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=?" + call, "-e", fmt.Sprintf("inject=?%s:signal=KILL:when=%d", call, n)}
	return exitStatus(t, actor(by, order...)) != 0
}

func needsStrace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: hundreds of processes are killed one after the other")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed (package strace)")
	}
	if exitStatus(t, actor([]string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=flock:signal=KILL"}, "rollback", t.TempDir())) != 0 {
		t.Fatal("a rollback without a journal takes the lock")
	}
}

// kills runs an order once for every system call that changes something, and kills it there. prepare furnishes a host,
// and then looks at what is left of it.
func kills(t *testing.T, order []string, prepare func(root string), then func(root string, kill int)) {
	t.Helper()
	var counts []string
	total, changes := 0, 0 // a file that is opened is mostly read, some of them by the runtime, now more and now fewer
	for _, call := range changers {
		n := 1
		for ; ; n++ {
			root := emptyRoot(t)
			prepare(root)
			if !killedAt(t, call, n, append([]string{order[0], root}, order[1:]...)...) {
				break
			}
			then(root, n)
			if t.Failed() {
				t.Fatalf("killed at %s number %d", call, n)
			}
			if err := os.RemoveAll(root); err != nil {
				t.Fatal(err)
			}
		}
		if n > 1 {
			counts = append(counts, fmt.Sprintf("%s %d", call, n-1))
		}
		total += n - 1
		if call != "openat" {
			changes += n - 1
		}
	}
	t.Logf("%d kills of %s: %s", total, order[0], strings.Join(counts, ", "))
	if changes < 15 {
		t.Errorf("only %d kills at calls that change something", changes)
	}
}

// An apply that is killed at any instruction that changes something leaves each file old or new, and the next rollback
// leaves the host exactly as before.
func TestKilledApplyThenRollback(t *testing.T) {
	needsStrace(t)
	var before map[string]string
	kills(t, []string{"apply", "new"}, func(root string) { before = furnish(t, root) }, func(root string, _ int) {
		oldOrNew(t, root, "new", before)
		if _, err := Rollback(root + "/journal"); err != nil && !errors.Is(err, ErrNoJournal) {
			t.Error(err)
		}
		restored(t, root, before)
	})
}

// The next apply writes everything, and its rollback leaves the host as before the one that was killed.
func TestKilledApplyThenApply(t *testing.T) {
	needsStrace(t)
	var before map[string]string
	kills(t, []string{"apply", "new"}, func(root string) { before = furnish(t, root) }, func(root string, _ int) {
		if _, err := write(root+"/journal", wanted(root, "newer")); err != nil {
			t.Error(err)
		}
		if !applied(t, root, "newer", before) {
			t.Errorf("not applied, or something is left: %v", tree(t, root))
		}
		for range entries(t, root) {
			if _, err := Rollback(root + "/journal"); err != nil {
				t.Error(err)
			}
		}
		restored(t, root, before)
	})
}

// A rollback that is killed leaves each file old or new; the next one ends it, and so does the next apply.
func TestKilledRollback(t *testing.T) {
	needsStrace(t)
	var before map[string]string
	kills(t, []string{"rollback"}, func(root string) {
		before = furnish(t, root)
		if _, err := write(root+"/journal", wanted(root, "new")); err != nil {
			t.Fatal(err)
		}
	}, func(root string, kill int) {
		oldOrNew(t, root, "new", before)
		if kill%2 == 0 {
			if _, err := write(root+"/journal", wanted(root, "newer")); err != nil {
				t.Error(err)
			}
			if !applied(t, root, "newer", before) {
				t.Errorf("not applied, or something is left: %v", tree(t, root))
			}
		}
		for range max(1, len(entries(t, root))) {
			if _, err := Rollback(root + "/journal"); err != nil && !errors.Is(err, ErrNoJournal) {
				t.Error(err)
			}
		}
		restored(t, root, before)
	})
}

// What ends a killed apply is killed too, at some instruction, twice.
func TestKilledTwice(t *testing.T) {
	needsStrace(t)
	random := rand.New(rand.NewPCG(1, 2))
	var before map[string]string
	kills(t, []string{"apply", "new"}, func(root string) { before = furnish(t, root) }, func(root string, _ int) {
		for range 2 {
			killedAt(t, changers[random.IntN(len(changers))], 1+random.IntN(12), "rollback", root)
			oldOrNew(t, root, "new", before)
		}
		if _, err := Rollback(root + "/journal"); err != nil && !errors.Is(err, ErrNoJournal) {
			t.Error(err)
		}
		restored(t, root, before)
	})
}

// A system call that fails, each of them once, leaves all files as they were, or all as they should be: never some of each.
func TestFailedCall(t *testing.T) {
	needsStrace(t)
	failures, done := 0, 0
	for _, order := range []string{"apply", "rollback"} {
		for _, call := range changers {
			for n, unharmed := 1, 0; unharmed < 3; n++ { // some calls may fail; three in a row were not made
				root := emptyRoot(t)
				before := furnish(t, root)
				if order == "rollback" {
					if _, err := write(root+"/journal", wanted(root, "new")); err != nil {
						t.Fatal(err)
					}
				}
				by := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=?" + call, "-e", fmt.Sprintf("inject=?%s:error=EIO:when=%d", call, n)}
				status, err := ended(t, actor(by, order, root, "new"))
				isNew, isOld := applied(t, root, "new", before), cmp.Equal(before, tree(t, root+"/etc"))
				switch status {
				case 0:
					unharmed++
					done++
				case 1:
					unharmed = 0
					failures++
				default:
					t.Errorf("%s, %s number %d: exit status %d, %v", order, call, n, status, err)
				}
				// Of a rollback that cannot replace one file, the others are restored.
				one := order == "rollback" && status == 1 && (strings.HasPrefix(call, "rename") || call == "unlinkat")
				if !isNew && !isOld && !one || status == 0 && isNew != (order == "apply") {
					t.Errorf("%s, %s number %d, exit status %d: neither old nor new, or not as ordered: %v, %v", order, call, n, status, err, tree(t, root))
				}
				for range entries(t, root) {
					if _, err := Rollback(root + "/journal"); err != nil && !errors.Is(err, ErrNoJournal) {
						t.Error(err)
					}
				}
				restored(t, root, before)
				if t.Failed() {
					t.Fatalf("%s, %s number %d", order, call, n)
				}
			}
		}
	}
	t.Logf("%d failed and %d ended well", failures, done)
	if failures < 60 {
		t.Errorf("only %d failures", failures)
	}
}

// Of two at once one is refused, or they follow each other: files are never mixed, and all can be rolled back.
func TestTwoAtOnce(t *testing.T) {
	const rounds = 60
	outcomes := map[string]int{}
	for round := range rounds {
		root := emptyRoot(t)
		before := furnish(t, root)
		if _, err := write(root+"/journal", wanted(root, "first")); err != nil {
			t.Fatal(err)
		}
		second := []string{"apply", root, "beta"}
		if round%3 == 2 {
			second = []string{"rollback", root}
		}
		ended := make(chan int)
		for _, order := range [][]string{{"apply", root, "alpha"}, second} {
			go func() { ended <- exitStatus(t, actor(nil, order...)) }()
		}
		refused := 0
		for range 2 {
			if <-ended == busyStatus {
				refused++
			}
		}
		outcomes[fmt.Sprintf("%d refused", refused)]++
		if !slices.ContainsFunc([]string{"first", "alpha", "beta"}, func(c string) bool { return applied(t, root, c, before) }) && !cmp.Equal(before, tree(t, root+"/etc")) {
			t.Errorf("round %d: mixed: %v", round, tree(t, root))
		}
		for range entries(t, root) {
			if _, err := Rollback(root + "/journal"); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
		restored(t, root, before)
	}
	t.Logf("%d rounds: %v", rounds, outcomes)
}

// The lock is held while files take effect, and given up by the end of the process alone.
func TestJournalIsLocked(t *testing.T) {
	folder := t.TempDir()
	j, err := openJournal(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(folder); !errors.Is(err, ErrBusy) {
		t.Errorf("locked twice: %v", err)
	}
	if _, err := Rollback(folder); !errors.Is(err, ErrBusy) {
		t.Errorf("rollback: %v", err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Rollback(folder); !errors.Is(err, ErrNoJournal) {
		t.Errorf("afterwards: %v", err)
	}
}
