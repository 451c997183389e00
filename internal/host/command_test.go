//go:build linux

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func sh(script string) Command { return Command{Argv: []string{"sh", "-c", script}} }

func TestOutput(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB: more than any pipe holds
	tests := []struct {
		name    string
		command Command
		want    string
		status  int
		stderr  string
	}{
		{"plain", sh("echo one; echo two"), "one\ntwo\n", 0, ""},
		{"environment is added", Command{Argv: []string{"sh", "-c", `echo "$ADDED${PATH:+ path}"`}, Env: []string{"ADDED=yes"}}, "yes path\n", 0, ""},
		{"no shell reads arguments", Command{Argv: []string{"printf", "%s", "$HOME;`x`"}}, "$HOME;`x`", 0, ""},
		{"empty input", sh("cat; echo end"), "end\n", 0, ""},
		{"input larger than a pipe, and as much output", Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(big)}, string(big), 0, ""},
		{"input that nobody reads", Command{Argv: []string{"sh", "-c", "echo done"}, Stdin: bytes.NewReader(big)}, "done\n", 0, ""},
		{"input that nobody reads, of a program that fails", Command{Argv: []string{"sh", "-c", "echo no >&2; exit 9"}, Stdin: bytes.NewReader(big)}, "", 9, "no"},
		{"status and what it said", sh("echo out; echo first >&2; echo last >&2; exit 7"), "out\n", 7, "first\nlast"},
		{"ended by a signal", sh("kill -9 $$"), "", -1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			within(t, 20*time.Second, func() {
				out, err := Output(context.Background(), Local{}, tt.command)
				if string(out) != tt.want {
					t.Errorf("output of %d bytes %.80q, want %d %.80q", len(out), out, len(tt.want), tt.want)
				}
				var exit *ExitError
				if errors.As(err, &exit) != (tt.status != 0) || exit == nil && err != nil {
					t.Fatalf("error %v, want status %d", err, tt.status)
				}
				if exit != nil && (exit.Status != tt.status || exit.Stderr != tt.stderr) {
					t.Errorf("status %d, said %q, want %d, %q", exit.Status, exit.Stderr, tt.status, tt.stderr)
				}
			})
		})
	}
}

func TestExitErrorText(t *testing.T) {
	_, err := Output(context.Background(), Local{}, sh("echo why >&2; exit 3"))
	const want = `command "sh -c echo why >&2; exit 3": exit status 3: why`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Of a program that says much, the last words are kept: they tell why it ended.
func TestStderrTail(t *testing.T) {
	_, err := Output(context.Background(), Local{}, sh(`i=0; while [ $i -lt 2000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`))
	var exit *ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if !strings.HasSuffix(exit.Stderr, "\nline 1999") || len(exit.Stderr) > tailSize || strings.Contains(exit.Stderr, "line 1\n") {
		t.Errorf("%d bytes: %.40q ... %.40q", len(exit.Stderr), exit.Stderr, exit.Stderr[max(0, len(exit.Stderr)-40):])
	}
}

func TestStartOfNothing(t *testing.T) {
	if _, err := Output(context.Background(), Local{}, Command{Argv: []string{"railwright-no-such-program"}}); err == nil {
		t.Error("no error")
	}
}

// cancelled runs a script until it has printed the process id of a program that it started, cancels it,
// and gives that id and how it ended.
func cancelled(t *testing.T, script string) (pid int, err error) {
	t.Helper()
	said := t.TempDir() + "/pid"
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := Output(ctx, Local{}, Command{Argv: []string{"sh", "-c", script}, Env: []string{"SAID=" + said}})
		ended <- err
	}()
	eventually(t, "a process id", func() bool {
		text, err := os.ReadFile(said)
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	cancel()
	select {
	case err = <-ended:
	case <-time.After(10 * time.Second):
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		t.Fatal("not ended 10 s after it was cancelled")
	}
	return pid, err
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 500 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited 5 s for %s", what)
}

func TestCancelEndsWhatACommandStarted(t *testing.T) {
	tests := []struct{ name, script string }{
		{"the program itself", `echo $$ >$SAID; exec sleep 60`},
		{"a child that holds both pipes", `sleep 60 & echo $! >$SAID; wait`},
		{"a child that holds standard output alone", `sleep 60 2>/dev/null & echo $! >$SAID; wait`},
		{"a child whose parent has gone", `sleep 60 & echo $! >$SAID`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pid, err := cancelled(t, tt.script)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that it was cancelled", err)
			}
			eventually(t, fmt.Sprintf("process %d to end", pid), func() bool { return !Alive(pid) })
		})
	}
}

// What has a session of its own may live on, but nobody waits for it.
func TestCancelDoesNotWaitForADaemon(t *testing.T) {
	t.Parallel()
	pid, err := cancelled(t, `setsid sh -c 'echo $$ >$SAID; exec sleep 60' 2>/dev/null & wait`)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestProcessConversation(t *testing.T) {
	p, err := Local{}.Start(context.Background(), Command{Argv: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	var b [5]byte
	for _, word := range []string{"first", "other"} {
		if _, err := p.Stdin.Write([]byte(word)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Stdout.Read(b[:]); err != nil || string(b[:]) != word {
			t.Fatalf("got %q, %v, want %q", b, err, word)
		}
	}
	if !Alive(p.PID()) {
		t.Error("a running process is not alive")
	}
	within(t, 10*time.Second, func() {
		if err := p.Wait(); err != nil { // closes its input, which ends cat
			t.Error(err)
		}
	})
	if Alive(p.PID()) {
		t.Error("a process that was waited for is alive")
	}
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Kill after the end: %v, want os.ErrProcessDone", err)
	}
}

func TestKill(t *testing.T) {
	p, err := Local{}.Start(context.Background(), Command{Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Status != -1 {
		t.Errorf("Wait: %v, want a status of -1", err)
	}
}

// Commands that print without an end take their budget together, and are ended; a short answer beside them is taken.
func TestBudgetOfManyCommands(t *testing.T) {
	budget := NewBudget(8 << 20)
	flood := Command{Argv: []string{"cat", "/dev/zero"}, Budget: budget}
	outcomes := RunAll(t.Context(), make([]string, 12), 12, 30*time.Second, func(ctx context.Context, _ string) (int, error) {
		out, err := Output(ctx, Local{}, flood)
		return len(out), err
	})
	for _, o := range outcomes {
		if o.Value != 0 || o.Err == nil || !strings.Contains(o.Err.Error(), "exceeds what is kept of all") {
			t.Errorf("%d bytes, %v", o.Value, o.Err)
		}
	}
	if out, err := Output(t.Context(), Local{}, Command{Argv: []string{"echo", "short"}, Budget: budget}); err != nil || string(out) != "short\n" {
		t.Errorf("%q, %v", out, err)
	}
	long := Command{Argv: []string{"head", "-c", "3000000", "/dev/zero"}}
	if out, err := Output(t.Context(), Local{}, Command{Argv: long.Argv, Budget: budget}); err == nil {
		t.Errorf("%d bytes were taken of a budget that is spent", len(out))
	}
	if out, err := Output(t.Context(), Local{}, Command{Argv: long.Argv, Budget: NewBudget(8 << 20)}); err != nil || len(out) != 3000000 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	_, err := Output(t.Context(), Local{}, Command{Argv: flood.Argv, Budget: NewBudget(1 << 40)})
	if err == nil || !strings.Contains(err.Error(), "prints more than 16777216 bytes") {
		t.Errorf("one machine alone: %v", err)
	}
}
