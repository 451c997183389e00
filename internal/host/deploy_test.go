//go:build linux

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// program is a shell script that stands for the program: it answers with its arguments.
var program = []byte("#!/bin/sh\necho \"ran $*\"\n#" + strings.Repeat("x", 3<<20) + "\n")

func open(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(program)), nil }

func entries(t testing.TB, folder string) []string {
	t.Helper()
	names, err := Local{}.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDeploy(t *testing.T) {
	s := startSSHD(t, sshdSpec{})
	h := s.login(t)
	folder := t.TempDir()
	var asked string
	ctx, cancel := context.WithCancel(t.Context())
	path, remove, err := deploy(ctx, h, []string{"", "$XDG_RUNTIME_DIR", "/absent", folder, "/tmp"}, func(arch string) (io.ReadCloser, error) {
		asked = arch
		return open(arch)
	})
	cancel() // it was for the copying alone
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // for what ends with the context
	if want := strings.NewReplacer("x86_64", "amd64", "aarch64", "arm64").Replace(run(t, "uname -m")); asked != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if out, err := Output(t.Context(), h, Command{Argv: []string{path, "node", "collect"}}); err != nil || string(out) != "ran node collect\n" {
		t.Errorf("have %q, %v", out, err)
	}
	if modes := run(t, `stat -c %a "$(dirname "$P")" "$P"`, "P="+path); modes != "700\n700" {
		t.Errorf("modes %q, want 700 of folder and program", modes)
	}
	if list := entries(t, filepath.Dir(path)); len(list) != 1 || filepath.Dir(filepath.Dir(path)) != folder {
		t.Errorf("%q holds %q", path, list)
	}
	for range 2 {
		if err := remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if left := entries(t, folder); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// However the connection ends, nothing stays.
func TestDeployedGoesWithTheConnection(t *testing.T) {
	for name, end := range map[string]func(*sshd, *SSH){
		"closed":          func(_ *sshd, h *SSH) { _ = h.Close() },
		"server is ended": func(s *sshd, _ *SSH) { killSessions(t, s) },
	} {
		t.Run(name, func(t *testing.T) {
			s := startSSHD(t, sshdSpec{})
			h := s.login(t)
			folder := t.TempDir()
			_, remove, err := deploy(t.Context(), h, []string{folder}, open)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries(t, folder)) != 1 {
				t.Fatal("nothing was deployed")
			}
			end(s, h)
			eventually(t, "an empty folder", func() bool { return len(entries(t, folder)) == 0 })
			if err := remove(t.Context()); err == nil {
				t.Error("what was not seen is told as done")
			}
		})
	}
}

// killSessions ends the processes that serve connections, and not what they have started.
func killSessions(t *testing.T, s *sshd) {
	for _, pid := range s.sessions(t) {
		if err := Signal(pid, 9); err != nil {
			t.Error(err)
		}
	}
}

func TestDeployFolders(t *testing.T) {
	s := startSSHD(t, sshdSpec{before: `
mkdir "$DIR/noexec" "$DIR/small" "$DIR/full" "$DIR/good"
mount -t tmpfs -o noexec tmpfs "$DIR/noexec"
mount -t tmpfs -o size=1m tmpfs "$DIR/small"
mount -t tmpfs -o size=4k tmpfs "$DIR/full"; head -c 4096 /dev/zero >"$DIR/full/x"
mount -t tmpfs tmpfs "$DIR/good"; `})
	h := s.login(t)
	at := func(names ...string) (folders []string) {
		for _, n := range names {
			folders = append(folders, filepath.Join(s.dir, n))
		}
		return folders
	}
	left := func() string {
		out, err := Output(t.Context(), h, sh("find "+s.dir+" -name 'railwright.*'"))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	t.Run("passes over what will not do", func(t *testing.T) {
		path, remove, err := deploy(t.Context(), h, at("none", "noexec", "full", "good"), open)
		if err != nil || !strings.HasPrefix(path, at("good")[0]+"/railwright.") {
			t.Fatalf("have %q, %v", path, err)
		}
		if err := remove(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("nothing will do", func(t *testing.T) {
		_, _, err := deploy(t.Context(), h, at("none", "noexec", "full"), open)
		mustContain(t, err, "none: mktemp", "noexec: does not let programs run", "Permission denied", "full: cannot write", "No space left on device")
	})
	t.Run("no space", func(t *testing.T) {
		_, _, err := deploy(t.Context(), h, at("small", "good"), open)
		mustContain(t, err, at("small")[0]+"/railwright.", "takes 3072 KiB", "free space is 10", "No space left on device")
	})
	t.Run("a source that breaks", func(t *testing.T) {
		broken := errors.New("disk on fire")
		_, _, err := deploy(t.Context(), h, at("good"), func(string) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(program), iotest.ErrReader(broken))), nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("have %v", err)
		}
	})
	if found := left(); found != "" {
		t.Errorf("left:\n%s", found)
	}
}

// A copy that is not what was sent is never run.
func TestDeployCorrupted(t *testing.T) {
	s := startSSHD(t, sshdSpec{config: "SetEnv PATH=$DIR/home/bin:/usr/bin:/bin", home: map[string]string{"bin/cat": "#!/bin/sh\nexec /bin/cat - /dev/fd/3 3<<E\nx\nE\n"}})
	folder := t.TempDir()
	_, _, err := deploy(t.Context(), s.login(t), []string{folder}, open)
	mustContain(t, err, "its SHA-256 is", "expected")
	if left := entries(t, folder); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestDeployArchitecture(t *testing.T) {
	for _, machine := range []string{"Linux riscv64", "Darwin arm64", "FreeBSD x86_64", ""} {
		s := startSSHD(t, sshdSpec{config: "SetEnv PATH=$DIR/home/bin:/usr/bin:/bin", home: map[string]string{"bin/uname": "#!/bin/sh\necho " + machine + "\n"}})
		_, _, err := Deploy(t.Context(), s.login(t), open)
		mustContain(t, err, fmt.Sprintf("the host reports %q", machine), "Linux aarch64, Linux x86_64")
	}
	_, _, err := Deploy(t.Context(), Local{}, func(arch string) (io.ReadCloser, error) {
		return nil, errors.New("there is one for sparc")
	})
	mustContain(t, err, "program for ", "there is one for sparc")
}

// A file system that hangs does not hold the caller.
func TestDeployHangs(t *testing.T) {
	s := startSSHD(t, sshdSpec{config: "SetEnv PATH=$DIR/home/bin:/usr/bin:/bin", home: map[string]string{"bin/mktemp": "#!/bin/sh\nexec sleep 20\n"}})
	h := s.login(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	_, _, err := deploy(ctx, h, []string{t.TempDir()}, open)
	if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 3*time.Second {
		t.Errorf("have %v after %s", err, took)
	}
}

func TestDeployHere(t *testing.T) {
	folder := t.TempDir()
	path, remove, err := deploy(t.Context(), Local{}, []string{folder}, open)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, program) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := remove(t.Context()); err != nil || len(entries(t, folder)) > 0 {
		t.Errorf("left %q, %v", entries(t, folder), err)
	}
}

// A machine that prints lines without an end, instead of the folder, is given up.
func TestDeployFloods(t *testing.T) {
	for range 3 {
		start := time.Now()
		p, err := Local{}.Start(t.Context(), Command{Argv: []string{"yes", "not writable"}})
		if err != nil {
			t.Fatal(err)
		}
		h := &holder{process: p, wait: p.Wait}
		err = h.find()
		_ = p.Kill() // what it printed is in the error
		_ = p.Wait()
		if err == nil || len(err.Error()) > 2*maxGreeting || time.Since(start) > 10*time.Second {
			t.Errorf("after %s: %.200v", time.Since(start), err)
		}
	}
}
