package bench

import (
	"bytes"
	"context"
	_ "embed" // the script that bounds a command at the far end
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

//go:embed bounded.sh
var boundedScript string

// most is how much of a command's output is read, in bytes: the debug log of eight ranks is some 200 KiB.
const most = 4 << 20

// bounded is a command that ends after a time whatever becomes of us, and as soon as its standard input ends: by that a
// connection that breaks, and a kill that may not signal another user's process, end it too. owner: it runs as the user who logged
// in, not as root, since keys, known hosts and MPI's refusal of root are that user's.
func bounded(c fabric.BenchCommand, limit time.Duration, owner bool) host.Command {
	argv := []string{"sh", "-c", boundedScript, "sh", strconv.Itoa(int(limit.Seconds() + 0.5)), strconv.FormatBool(owner)}
	if len(c.Env) > 0 {
		argv = append(append(argv, "env"), c.Env...)
	}
	return host.Command{Argv: append(argv, c.Argv...)}
}

// started is a command under way. text is its output once done is closed, err why it ended otherwise than with status 0.
type started struct {
	process *host.Process
	done    chan struct{}
	text    []byte
	err     error
}

// start runs a bounded command and reads what it prints; standard error comes at its end, as another command's would.
func start(ctx context.Context, r host.Runner, c host.Command) (*started, error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &started{process: p, done: make(chan struct{})}
	host.Go(func() {
		defer close(s.done)
		text, readErr := io.ReadAll(io.LimitReader(p.Stdout, most+1))
		if len(text) > most {
			_ = p.Kill() // it may never end by itself
			text, readErr = text[:most], fmt.Errorf("it printed more than %d MiB", most>>20)
		}
		s.text = text
		s.err = errors.Join(readErr, p.Wait())
	})
	return s, nil
}

// end waits for the end, at most so long; then the command is killed. It returns all that was printed.
func (s *started) end(within time.Duration) (text []byte, err error) {
	select {
	case <-s.done:
	case <-time.After(within):
		_ = s.process.Kill() // Wait reports it
		<-s.done
		s.err = errors.Join(fmt.Errorf("did not end in %s and was ended", within), s.err)
	}
	text = s.text
	var exit *host.ExitError
	if errors.As(s.err, &exit) && exit.Stderr != "" {
		text = bytes.Join([][]byte{text, []byte(exit.Stderr), nil}, []byte("\n"))
	}
	return text, s.err
}

// stop ends a command that waits for others: its input ends.
func (s *started) stop() {
	_ = s.process.Stdin.Close() // it may have ended
}

// reason is an error of a command in few words: what it said last, and for a program that is not there, how to get it.
func reason(c fabric.BenchCommand, err error) string {
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err.Error()
	}
	program := c.Argv[0]
	switch exit.Status {
	case 126, 127: // of env and timeout: cannot be executed, is not there (POSIX, XCU 2.8.2)
		return fmt.Sprintf("%s is not installed on %s%s", program, c.Node, install(program))
	case 124, 137: // of timeout: the time was up; also killed
		return fmt.Sprintf("%s on %s did not end in time and was ended", program, c.Node)
	}
	said := strings.TrimSpace(exit.Stderr)
	if i := strings.LastIndexByte(said, '\n'); i >= 0 {
		said = said[i+1:]
	}
	text := fmt.Sprintf("%s on %s: exit status %d", program, c.Node, exit.Status)
	if said != "" {
		text += ": " + said
	}
	return text
}

func install(program string) string {
	switch {
	case strings.HasPrefix(program, "ib_"):
		return ": sudo apt-get install perftest"
	case program == "mpirun":
		return ": sudo apt-get install openmpi-bin libopenmpi-dev"
	}
	return ""
}
