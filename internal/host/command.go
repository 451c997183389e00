package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Command is a program to run with its arguments; no shell reads it.
type Command struct {
	Argv  []string
	Env   []string  // added to the host's own
	Stdin io.Reader // nil: empty

	Budget *Budget // of what Output keeps; nil: maxOutput for this command alone
	Merged bool    // standard error comes in standard output, at its place; on this machine only
}

// Process is a started command whose standard streams are open. Wait must be called.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.Reader
	stderr *tail
	cmd    *exec.Cmd // on this machine, or
	remote *session  // on another one
}

// Wait closes standard input, waits for the end and explains a failure with what the command said last.
func (p *Process) Wait() error {
	_ = p.Stdin.Close() // already closed by callers that are done writing
	if p.remote != nil {
		return p.remote.wait()
	}
	return explain(p.cmd, p.cmd.Wait(), p.stderr)
}

// Kill ends the process at once, with what it has started.
func (p *Process) Kill() error {
	if p.remote != nil {
		p.remote.kill()
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		return err // it was waited for: its number may be another's by now
	}
	return killGroup(p.cmd)
}

func command(ctx context.Context, c Command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.WaitDelay = 2 * time.Second // a grandchild that keeps the pipes open does not keep us
	if len(c.Env) > 0 {
		cmd.Env = append(cmd.Environ(), c.Env...)
	}
	return cmd
}

// ExitError is a command that ended with a status other than 0.
type ExitError struct {
	Command string
	Status  int    // -1: ended by a signal
	Stderr  string // its last lines
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("command %q: exit status %d", e.Command, e.Status)
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

func explain(cmd *exec.Cmd, err error, stderr *tail) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	return &ExitError{Command: strings.Join(cmd.Args, " "), Status: exit.ExitCode(), Stderr: stderr.String()}
}

// Output runs a command to its end and gives its standard output. Input and output flow at the same time;
// what a command leaves unread of its input is no error. One that was cancelled ends with the context's
// error.
func Output(ctx context.Context, r Runner, c Command) ([]byte, error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	unread := make(chan error, 1)
	Go(func() {
		defer p.Stdin.Close()
		if c.Stdin == nil {
			return
		}
		if _, err := io.Copy(p.Stdin, c.Stdin); err != nil && !isBrokenPipe(err) {
			unread <- err
			_ = p.Kill() // it must not take a part of its input for the whole
		}
	})
	out, err := c.Budget.readAll(p.Stdout)
	if isTooLong(err) {
		_ = p.Kill() // it may never end by itself
		_ = p.Wait() // it was killed
		return nil, fmt.Errorf("command %q: %w", strings.Join(c.Argv, " "), err)
	}
	err = errors.Join(p.Wait(), err)
	select {
	case inputErr := <-unread:
		err = errors.Join(inputErr, err)
	default:
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("command %q: %w", strings.Join(c.Argv, " "), ctx.Err())
	}
	return out, err
}

// OutputMost runs a command to its end, or until it has printed more than so many bytes: then it is killed, and cut is true.
// The output is returned with an error too, as far as it came.
func OutputMost(ctx context.Context, r Runner, c Command, most int) (out []byte, cut bool, err error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return nil, false, err
	}
	_ = p.Stdin.Close() // Wait does it too
	out, err = readMost(p.Stdout, most)
	if isTooLong(err) {
		_ = p.Kill() // it may never end by itself
		_ = p.Wait() // it was killed
		return out[:most], true, nil
	}
	err = errors.Join(p.Wait(), err)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, false, err
}

// tail keeps the last bytes written to it.
type tail struct{ b bytes.Buffer }

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b.Write(p)
	if extra := t.b.Len() - tailSize; extra > 0 {
		t.b.Next(extra)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(t.b.String()) }
