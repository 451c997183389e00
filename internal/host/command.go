package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Command is a program to run with its arguments; no shell reads it.
type Command struct {
	Argv  []string
	Env   []string  // added to the host's own
	Stdin io.Reader // nil: empty
}

// Process is a started command whose standard streams are open. Wait must be called.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.Reader
	stderr *tail
	cmd    *exec.Cmd
}

// Wait closes standard input, waits for the end and explains a failure with what the command said last.
func (p *Process) Wait() error {
	_ = p.Stdin.Close() // already closed by callers that are done writing
	return explain(p.cmd, p.cmd.Wait(), p.stderr)
}

// Kill ends the process at once.
func (p *Process) Kill() error { return p.cmd.Process.Kill() }

// Start runs a command on this machine.
func (Local) Start(ctx context.Context, c Command) (*Process, error) {
	cmd := command(ctx, c)
	p := &Process{cmd: cmd, stderr: &tail{}}
	cmd.Stderr = p.stderr
	var err error
	if p.Stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.Stdout = stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
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

// Output runs a command to its end and gives its standard output.
func Output(ctx context.Context, r Runner, c Command) ([]byte, error) {
	stdin := c.Stdin
	p, err := r.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	if stdin != nil {
		if _, err := io.Copy(p.Stdin, stdin); err != nil && !isBrokenPipe(err) {
			_ = p.Kill() // it is ended either way; the copy's error is the one to tell
			_ = p.Wait()
			return nil, err
		}
	}
	if err := p.Stdin.Close(); err != nil && !isBrokenPipe(err) {
		return nil, err
	}
	out, readErr := io.ReadAll(io.LimitReader(p.Stdout, maxOutput))
	return out, errors.Join(p.Wait(), readErr)
}

// maxOutput bounds what Output keeps, in bytes: the facts of a large node are some hundred KiB.
const maxOutput = 256 << 20

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
