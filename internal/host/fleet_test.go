//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRunAll(t *testing.T) {
	names := []string{"quick", "slow", "dead", "hangs", "deaf", "quick2"}
	var running, most atomic.Int32
	start := time.Now()
	out := RunAll(t.Context(), names, 3, 300*time.Millisecond, func(ctx context.Context, name string) (string, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		switch name {
		case "slow":
			time.Sleep(100 * time.Millisecond)
		case "dead":
			return "half", errors.New("refused")
		case "hangs":
			<-ctx.Done()
			return "", fmt.Errorf("reading facts: %w", context.Cause(ctx))
		case "deaf":
			time.Sleep(10 * time.Second)
		}
		return name + "!", nil
	})
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("took %s", took)
	}
	if m := most.Load(); m != 3 {
		t.Errorf("%d at once, want 3", m)
	}
	want := []string{"quick!", "slow!", "refused", "reading facts: no answer within 300ms", "no answer within 300ms", "quick2!"}
	for i, o := range out {
		text := o.Value
		if o.Err != nil {
			text += o.Err.Error()
		}
		if o.Name != names[i] || text != want[i] || o.Took <= 0 {
			t.Errorf("have %s %q %s, want %s %q", o.Name, text, o.Took, names[i], want[i])
		}
	}
	if !errors.Is(out[4].Err, context.DeadlineExceeded) {
		t.Error("not a deadline")
	}
}

func TestRunAllCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := RunAll(ctx, []string{"a", "b", "c"}, 1, time.Minute, func(ctx context.Context, name string) (int, error) {
		cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	})
	for _, o := range out {
		if !errors.Is(o.Err, context.Canceled) {
			t.Errorf("%s: %v", o.Name, o.Err)
		}
	}
	if out := RunAll(t.Context(), nil, 0, time.Second, func(context.Context, string) (int, error) { return 0, nil }); len(out) != 0 {
		t.Errorf("have %v", out)
	}
}

// A panic is the program's fault and says so by its exit status.
func TestRunAllPanics(t *testing.T) {
	if os.Getenv("RAILWRIGHT_TEST_PANIC") != "" {
		RunAll(t.Context(), []string{"a"}, 1, time.Minute, func(context.Context, string) (int, error) { panic("oh") })
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRunAllPanics$")
	cmd.Env = append(os.Environ(), "RAILWRIGHT_TEST_PANIC=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != ExitFault || !strings.Contains(string(out), "internal error") {
		t.Errorf("have %v:\n%s", err, out)
	}
}

// Of 64 hosts a tenth is dead and a twentieth hangs: all is told within one timeout.
func TestFleet(t *testing.T) {
	s := startSSHD(t, sshdSpec{})
	live, hang, closed := s.target(t), silent(t), freePort(t)
	const hosts, timeout = 64, 5 * time.Second
	var names []string
	targets := make(map[string]Target)
	want := make(map[string]string)
	for i := range hosts {
		target := live
		target.Name = fmt.Sprintf("gpu%03d", i+1)
		target.Timeout = timeout
		answer := "up\n"
		switch {
		case i%10 == 3: // 3, 13, .. 63: 7 of 64
			target.Port, answer = closed, "connection refused"
		case i%20 == 6: // 6, 26, 46: 3 of 64
			target.Port, answer = hang, "no answer within 5s"
		}
		names = append(names, target.Name)
		targets[target.Name], want[target.Name] = target, answer
	}
	d := &Dialer{}
	defer d.Close()
	start := time.Now()
	out := RunAll(t.Context(), names, hosts, timeout, func(ctx context.Context, name string) (string, error) {
		h, err := d.Dial(ctx, targets[name])
		if err != nil {
			return "", err
		}
		defer h.Close()
		out, err := Output(ctx, h, Command{Argv: []string{"echo", "up"}})
		return string(out), err
	})
	if took := time.Since(start); took > timeout+2*parting {
		t.Errorf("took %s, more than the timeout of %s", took, timeout)
	}
	var slowest time.Duration
	for i, o := range out {
		text := o.Value
		if o.Err != nil {
			text = o.Err.Error()
		} else {
			slowest = max(slowest, o.Took)
		}
		if o.Name != names[i] || !strings.HasSuffix(text, want[o.Name]) {
			t.Errorf("%s: have %q, want %q", o.Name, text, want[o.Name])
		}
	}
	t.Logf("all after %s, the slowest live host after %s", time.Since(start).Round(time.Millisecond), slowest.Round(time.Millisecond))
}
