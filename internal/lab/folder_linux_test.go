package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/host"
)

// someone is a user who is not the one of these tests.
const someone = 65534

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes files of another user")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A folder that somebody else can prepare or exchange is refused, before anything in it is read or written.
func TestLabFolderOfAnother(t *testing.T) {
	asRoot(t)
	for _, tt := range []struct {
		name    string
		prepare func(base string) error // of base/lab
		want    string
	}{
		{"belongs to another", func(base string) error {
			return errors.Join(os.Mkdir(base+"/lab", 0o700), os.Chown(base+"/lab", someone, someone))
		}, "belongs to user 65534"},
		{"others may write to it", func(base string) error {
			return errors.Join(os.Mkdir(base+"/lab", 0o700), os.Chmod(base+"/lab", 0o777))
		}, "is writable by other users"},
		{"another's group may write to it", func(base string) error {
			return errors.Join(os.Mkdir(base+"/lab", 0o700), os.Chown(base+"/lab", 0, someone), os.Chmod(base+"/lab", 0o770))
		}, "is writable by other users"},
		{"is a link", func(base string) error {
			return errors.Join(os.Mkdir(base+"/mine", 0o700), os.Symlink("mine", base+"/lab"))
		}, "is not a folder"},
		{"its parent belongs to another", func(base string) error {
			return errors.Join(os.Chown(base, someone, someone))
		}, "belongs to user 65534"},
		{"others may exchange it", func(base string) error { return os.Chmod(base, 0o777) }, "can be replaced by other users"},
		{"the way to it is another's link", func(base string) error {
			return errors.Join(os.Rename(base, base+".mine"), os.Symlink(base+".mine", base), os.Lchown(base, someone, someone))
		}, "belongs to user 65534"},
		{"a link leads to another's folder", func(base string) error {
			return errors.Join(os.Rename(base, base+".other"), os.Symlink(base+".other", base), os.Chown(base+".other", someone, someone))
		}, "belongs to user 65534"},
		{"a link of our own", func(base string) error {
			return errors.Join(os.Rename(base, base+".mine"), os.Symlink(base+".mine", base))
		}, ""},
		{"a folder in which only owners exchange", func(base string) error { return os.Chmod(base, 0o777|os.ModeSticky) }, ""},
		{"an open folder of our own", func(base string) error { return os.Mkdir(base+"/lab", 0o755) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "base")
			must(t, os.Mkdir(base, 0o700))
			must(t, tt.prepare(base))
			folder := filepath.Join(base, "lab")
			unlock, err := lock(folder)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("%v, want %q", err, tt.want)
				}
				if _, err := os.Lstat(folder + "/" + lockFile); err == nil {
					t.Error("it was written to")
				}
				return
			}
			must(t, err)
			if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			unlock()
		})
	}
}

// A state that somebody else prepared is not read.
func TestStateOfAnother(t *testing.T) {
	asRoot(t)
	folder := t.TempDir()
	t.Setenv("RAILWRIGHT_LAB", folder)
	must(t, os.WriteFile(filepath.Join(folder, stateFile), []byte("{}"), 0o600))
	must(t, os.Chown(filepath.Join(folder, stateFile), someone, someone))
	if l, err := Open(); err == nil || !strings.Contains(err.Error(), "is not a file of this user") {
		t.Errorf("%+v, %v", l, err)
	}
	must(t, os.Chown(folder, someone, someone))
	if l, err := Open(); err == nil || errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("%+v, %v", l, err)
	}
	if found, err := Clear(); err == nil {
		t.Errorf("cleared: %s", found)
	}
}

// No file of the lab is written through a link.
func TestLabFilesFollowNoLink(t *testing.T) {
	for _, name := range []string{lockFile, stateFile, stateFile + ".new"} {
		t.Run(name, func(t *testing.T) {
			folder, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
			must(t, os.WriteFile(victim, []byte("mine"), 0o644))
			must(t, os.Symlink(victim, filepath.Join(folder, name)))
			if name == lockFile {
				if unlock, err := lock(folder); err == nil {
					unlock()
					t.Error("a link was locked")
				}
			}
			if err := writeState(folder, []byte("state")); err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
				t.Errorf("%q, %v", text, err)
			}
			if info, err := os.Lstat(filepath.Join(folder, stateFile)); err != nil || info.Mode() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

// A state that names a process that is not the keeper of a lab does not end it: neither a foreign program with the right
// start time, nor one that only has the keeper's arguments.
func TestForgedKeeper(t *testing.T) {
	for name, argv := range map[string][]string{
		"another program":      {"sleep", "60"},
		"the keeper's options": {"sh", "-c", "sleep 60", "node", "lab-keep"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			t.Setenv("RAILWRIGHT_LAB", folder)
			cmd := exec.Command(argv[0], argv[1:]...)
			must(t, cmd.Start())
			defer func() {
				_ = cmd.Process.Kill() // it ends with the test at the latest
				_ = cmd.Wait()
			}()
			p, err := host.Describe(cmd.Process.Pid)
			must(t, err)
			forged := &Lab{Folder: folder, Keeper: cmd.Process.Pid, KeeperStart: p.Start, Neighbours: map[string]limit{"../../../../../../" + folder + "/x": {1, 2}}}
			must(t, forged.save())
			if l, err := Open(); !errors.Is(err, ErrStale) {
				t.Errorf("%+v, %v", l, err)
			}
			if found, err := Clear(); err != nil || found != "stale lab cleared" {
				t.Errorf("%s, %v", found, err)
			}
			if !host.Alive(cmd.Process.Pid) {
				t.Error("a process that is not the keeper was killed")
			}
			if _, err := os.Lstat(folder); err == nil {
				t.Error("the state is left")
			}
		})
	}
}

// Whether a new lab may start, by who is alive.
func TestRunning(t *testing.T) {
	self, err := host.Describe(os.Getpid())
	must(t, err)
	if p := (&Lab{Keeper: os.Getpid(), KeeperStart: self.Start}); p.running() {
		t.Error("a process that is no keeper is one")
	}
	folder := t.TempDir()
	t.Setenv("RAILWRIGHT_LAB", folder)
	if err := Free(); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	text, err := json.Marshal(&Lab{Keeper: 1 << 30, KeeperStart: "1"})
	must(t, err)
	must(t, writeState(folder, text))
	if err := Free(); err != nil {
		t.Errorf("the keeper is gone: %v", err)
	}
	must(t, writeState(folder, text[:len(text)/2]))
	if err := Free(); !errors.Is(err, ErrStale) {
		t.Errorf("a state cut in the middle: %v", err)
	}
}

// A limit that another lab has raised since is that one's to restore.
func TestRestoreLeavesLimitsOfAnotherLab(t *testing.T) {
	name := neighbourThresholds()[0].name
	now, err := readInt(neighbourLimits + name)
	if err != nil {
		t.Skipf("the limit cannot be read: %v", err)
	}
	l := &Lab{Neighbours: map[string]limit{name: {Old: now / 2, New: now + 1}}}
	if err := l.restoreNeighbours(); err != nil {
		t.Error(err)
	}
	if after, err := readInt(neighbourLimits + name); err != nil || after != now {
		t.Error(fmt.Sprintf("%s was %d and is %d", name, now, after), err)
	}
}
