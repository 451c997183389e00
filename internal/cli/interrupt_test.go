//go:build linux

package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// interrupted runs the program with a standard input that never comes, in a folder with a FIFO that nobody opens. It runs for
// a while before the signals, and is killed if they do not end it.
func interrupted(t *testing.T, after time.Duration, signals []unix.Signal, args ...string) (took time.Duration, end *os.ProcessState, stderr string) {
	t.Helper()
	path, err := program.path()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := errors.Join(unix.Mkfifo(filepath.Join(folder, "fifo"), 0o600), os.Mkdir(filepath.Join(folder, "run"), 0o700),
		unix.Mkfifo(filepath.Join(folder, "run", "run.json"), 0o600)); err != nil {
		t.Fatal(err)
	}
	in, never, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(in.Close(), never.Close()) }() // nothing was read or written
	cmd := exec.Command(path, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = in, io.Discard, &said, folder
	cmd.Env = append(os.Environ(), "RAILWRIGHT_LAB="+filepath.Join(folder, "lab"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state is what matters
		close(ended)
	}()
	select {
	case <-ended:
		t.Fatalf("ended before the signal: %s", &said)
	case <-time.After(after):
	}
	sent := time.Now()
	for i, s := range signals {
		if i > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		if err := cmd.Process.Signal(s); i == 0 && err != nil { // at a later one it may have ended
			t.Fatal(err)
		}
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		_ = cmd.Process.Kill() // reported below, by the time that it took
		<-ended
	}
	return time.Since(sent), cmd.ProcessState, said.String()
}

// SIGINT and SIGTERM end every command that waits for its input, or for somebody to open the other end of a FIFO.
func TestSignalWhileReading(t *testing.T) {
	for _, command := range []string{
		"explain -", "explain fifo", "explain - fifo", "predict --machine hgx-h100 --nodes 2 --html fifo",
		"check -f -", "check -f fifo", "bench -f -", "apply -f fifo", "apply --dry-run -f -",
		"plan -f -", "plan -f fifo", "render -f - -d out", "up -f -", "up --lab -f fifo", "lab up -f -", "lab up --hardware fifo",
		"topo lint -", "topo lint fifo", "report run", "node apply", "node mesh",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
				took, end, stderr := interrupted(t, time.Second, []unix.Signal{s}, strings.Fields(command)...)
				if took > time.Second || end.ExitCode() != exitUnknown || !strings.Contains(stderr, "interrupted") {
					t.Errorf("%s: ended after %s with %s\n%s", s, took, end, stderr)
				}
			}
		})
	}
}

// A second signal does what it does to a program that does not handle it.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	var end *os.ProcessState
	for range 5 { // on a busy machine the grace may be over before the second one is sent
		_, end, _ = interrupted(t, time.Second, []unix.Signal{unix.SIGINT, unix.SIGTERM}, "explain", "-")
		if status, ok := end.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
			return
		}
	}
	t.Errorf("ended with %s", end)
}

// A long computation is not waited for either.
func TestSignalWhileComputing(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	line := "node1:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
	if err := os.WriteFile(log, []byte(strings.Repeat(line, 8<<20/len(line)*40)), 0o600); err != nil {
		t.Fatal(err)
	}
	took, end, stderr := interrupted(t, time.Second, []unix.Signal{unix.SIGINT}, "explain", log)
	if took > time.Second || end.ExitCode() != exitUnknown {
		t.Errorf("ended after %s with %s\n%s", took, end, stderr)
	}
}
