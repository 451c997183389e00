package host

import (
	"cmp"
	"context"
	"fmt"
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
		return nil, fmt.Errorf("%w: %q", err, cmp.Or(firstLine([]byte(said.String())), firstLine(out)))
	}
	return out, nil
}
