package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// Start runs a command on the host; its first word is looked up in the PATH there. It returns when the
// command has been started. What the login shell printed before is not in Stdout. When the context ends,
// the command and what it started are killed.
func (s *SSH) Start(ctx context.Context, c Command) (*Process, error) {
	marker := "railwright-" + rand.Text()
	line, err := commandLine(c, marker)
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", s.name, err)
	}
	starting, cancel := context.WithTimeoutCause(ctx, s.timeout, &NoAnswerError{s.timeout})
	defer cancel()
	type answer struct {
		session *session
		err     error
	}
	answers := make(chan answer, 1)
	Go(func() {
		one, err := s.start(starting, line, marker)
		answers <- answer{one, err}
	})
	select {
	case a := <-answers:
		if a.err == nil {
			a.session.name, a.session.command = s.name, firstLine([]byte(strings.Join(c.Argv, " ")))
			return a.session.process(ctx), nil
		}
		if starting.Err() != nil {
			a.err = context.Cause(starting)
		}
		return nil, fmt.Errorf("host %q: start %q: %w", s.name, c.Argv[0], a.err)
	case <-starting.Done():
		Go(func() {
			if a := <-answers; a.session != nil { // it came too late
				a.session.kill()
			}
		})
		return nil, fmt.Errorf("host %q: start %q: %w", s.name, c.Argv[0], context.Cause(starting))
	}
}

// session is a command that runs on another machine.
type session struct {
	*ssh.Session
	link          *connection
	name, command string
	pid           int // of the command, which leads its process group
	stdin         io.WriteCloser
	stdout        io.Reader
	stderr        *tail
	pipe          *io.PipeWriter // to what the caller reads
	ctx           context.Context
	killing       sync.Once
	givenUp       chan struct{} // closed when it was killed and still did not end
	stop          func() bool
}

// start opens a session and reads until the marker.
func (s *SSH) start(ctx context.Context, line, marker string) (*session, error) {
	opened, err := s.link.NewSession()
	if err != nil {
		var refused *ssh.OpenChannelError
		if errors.As(err, &refused) {
			return nil, fmt.Errorf("%w (MaxSessions of its sshd must be at least 3)", err)
		}
		return nil, cmp.Or(s.link.lost(), err)
	}
	one := &session{Session: opened, link: s.link, stderr: &tail{}, givenUp: make(chan struct{})}
	opened.Stderr = one.stderr
	stop := context.AfterFunc(ctx, guarded(func() { _ = opened.Close() })) // ends the reads below
	defer stop()
	if one.stdin, err = opened.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := opened.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := opened.Start(line); err != nil {
		return nil, cmp.Or(s.link.lost(), err)
	}
	one.pid, one.stdout, err = afterMarker(stdout, marker)
	if err != nil {
		_ = opened.Close() // ends what runs there instead
		return nil, err
	}
	return one, nil
}

// maxGreeting bounds what a login shell may print before the command, in bytes: a long message of the day
// is some KiB.
const maxGreeting = 64 << 10

// afterMarker reads past the line with the marker and the process id, and gives what follows it.
func afterMarker(r io.Reader, marker string) (pid int, rest io.Reader, err error) {
	var seen []byte
	chunk := make([]byte, 4<<10)
	for {
		n, err := r.Read(chunk)
		seen = append(seen, chunk[:n]...)
		if pid, rest, found := cutMarker(seen, marker+" "); found {
			return pid, io.MultiReader(bytes.NewReader(rest), r), nil
		}
		switch {
		case len(seen) > maxGreeting:
			return 0, nil, fmt.Errorf("the login shell printed %d bytes and did not reach the command: %q", len(seen), firstLine(seen))
		case errors.Is(err, io.EOF):
			return 0, nil, fmt.Errorf("the login shell ended before the command; it printed %q", firstLine(seen))
		case err != nil:
			return 0, nil, err
		}
	}
}

// cutMarker finds "MARKER PID\n". A shell that shows its commands prints the marker too, with no number.
func cutMarker(seen []byte, marker string) (pid int, rest []byte, found bool) {
	for {
		_, after, ok := bytes.Cut(seen, []byte(marker))
		if !ok {
			return 0, nil, false
		}
		const digits = 10 // more than any process id has
		if end := bytes.IndexByte(after[:min(len(after), digits+1)], '\n'); end > 0 {
			if pid, err := strconv.ParseUint(string(after[:end]), 10, 31); err == nil && pid > 0 {
				return int(pid), after[end+1:], true
			}
		}
		seen = after
	}
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	const enough = 200 // bytes of a message
	return string(line[:min(len(line), enough)])
}

// process opens the streams of a started session to the caller. Its standard output goes through a pipe,
// which can be closed here when the other end does not answer any more.
func (r *session) process(ctx context.Context) *Process {
	reader, writer := io.Pipe()
	r.pipe, r.ctx = writer, ctx
	Go(func() {
		_, err := io.Copy(writer, r.stdout)
		_ = writer.CloseWithError(err) // never fails
	})
	r.stop = context.AfterFunc(ctx, guarded(r.kill))
	return &Process{Stdin: &remoteStdin{w: r.stdin}, Stdout: reader, remote: r}
}

// remoteStdin is a channel that behaves as a pipe does: it can be closed at any time, and its errors are
// those of a pipe.
type remoteStdin struct {
	w       io.WriteCloser
	writing sync.Mutex
	closed  atomic.Bool
}

func (s *remoteStdin) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed.Load() {
		return 0, os.ErrClosed
	}
	n, err := s.w.Write(p)
	if errors.Is(err, io.EOF) {
		err = syscall.EPIPE
	}
	return n, err
}

// Close does not wait for a write that the other end does not take.
func (s *remoteStdin) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return os.ErrClosed
	}
	Go(func() {
		s.writing.Lock()
		defer s.writing.Unlock()
		_ = s.w.Close() // the other end may be gone, which Wait tells
	})
	return nil
}

// killGrace is how long a killed command may take to end before it is given up, as for local ones.
const killGrace = 2 * time.Second

// kill ends the process group of the command. The signal request of SSH would do, but sshd refuses it for
// root, so another session kills. What belongs to another user (sudo) sees its standard input end.
func (r *session) kill() {
	r.killing.Do(func() {
		time.AfterFunc(killGrace, guarded(func() { // where the host does not answer any more
			close(r.givenUp)
			_ = r.Close()
			if r.pipe != nil {
				_ = r.pipe.CloseWithError(os.ErrClosed) // never fails
			}
		}))
		Go(func() {
			if killer, err := r.link.NewSession(); err == nil {
				_ = killer.Run(fmt.Sprintf("kill -KILL -%d", r.pid)) // it may have ended by itself
				_ = killer.Close()
			}
			_ = r.Close() // idem
		})
	})
}

// wait is Process.Wait.
func (r *session) wait() error {
	done := make(chan error, 1)
	Go(func() { done <- r.Wait() })
	var err error
	select {
	case err = <-done:
	case <-r.givenUp:
		err = errors.New("killed, but its end was not confirmed")
	}
	r.stop()
	_ = r.pipe.CloseWithError(os.ErrClosed) // what was not read is not wanted
	return r.explain(err)
}

func (r *session) explain(err error) error {
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case err == nil:
		return nil
	case r.ctx.Err() != nil:
		return fmt.Errorf("host %q: command %q: %w", r.name, r.command, context.Cause(r.ctx))
	case errors.As(err, &exit) && exit.Signal() != "":
		return &ExitError{Command: r.command, Status: -1, Stderr: strings.TrimSpace("ended by signal " + exit.Signal() + " " + r.stderr.String())}
	case errors.As(err, &exit):
		return &ExitError{Command: r.command, Status: exit.ExitStatus(), Stderr: r.stderr.String()}
	case errors.As(err, &missing):
		err = cmp.Or(r.link.lost(), errors.New("ended without a status"))
	}
	return fmt.Errorf("host %q: command %q: %w", r.name, r.command, err)
}
