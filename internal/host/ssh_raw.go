package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// Say sends one command as it is to a system that may have no shell, such as a switch, and returns what it printed on its
// standard output, at most 16 MiB. Nothing is quoted or set around it. A command that ends with another status than 0 is an
// error. It takes until the context ends, and no longer.
func (s *SSH) Say(ctx context.Context, command string) ([]byte, error) {
	type answer struct {
		out []byte
		err error
	}
	answers := make(chan answer, 1) // a system that hangs is not waited for: Close ends what is left
	Go(func() {
		out, err := s.say(ctx, command)
		answers <- answer{out, err}
	})
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		a.err = context.Cause(ctx)
	}
	if a.err != nil {
		return nil, fmt.Errorf("host %q: %q: %w", s.name, command, a.err)
	}
	return a.out, nil
}

func (s *SSH) say(ctx context.Context, command string) ([]byte, error) {
	session, err := s.link.NewSession()
	if err != nil {
		return nil, cmp.Or(s.link.lost(), err)
	}
	defer session.Close()
	stop := context.AfterFunc(ctx, guarded(func() { _ = session.Close() })) // ends the read below
	defer stop()
	said := &tail{}
	session.Stderr = said
	stdout, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := session.Start(command); err != nil {
		return nil, cmp.Or(s.link.lost(), err)
	}
	out, err := readMost(stdout, maxOne)
	if err != nil {
		return nil, err
	}
	if err := session.Wait(); err != nil {
		words := cmp.Or(firstLine([]byte(said.String())), firstLine(out))
		err = fmt.Errorf("%w: %q", err, words)
		if exit, ended := errors.AsType[*ssh.ExitError](err); ended && exit.Signal() == "" {
			err = saidNo{err, &ExitError{Command: command, Status: exit.ExitStatus(), Stderr: words}}
		}
		return nil, err
	}
	return out, nil
}

// saidNo is the end of a command with another status than 0: an *ExitError in other words.
type saidNo struct {
	error
	exit *ExitError
}

func (s saidNo) Unwrap() error { return s.exit }
