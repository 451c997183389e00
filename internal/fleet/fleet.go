// Package fleet determines which machines a command concerns, how each is reached, and which of them answered. What they
// are asked is up to the caller.
package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Bounds of work on many machines.
const (
	atOnce      = 64               // machines
	reachWithin = 30 * time.Second // to log in and to copy the program: 14 MB, about one second at 100 Mb/s
	askWithin   = 60 * time.Second // for an answer of one machine
	leaveWithin = 10 * time.Second // to remove the program and log out
)

// longAnswers bounds the long answers of all machines together, in bytes: facts are some hundred KiB.
const longAnswers = 64 << 20

// Member is a machine on which this program can be run.
type Member struct {
	Runner  host.Runner
	Program string                      // path of this program on the machine
	Leave   func(context.Context) error // removes what was copied; nil: nothing was copied
	// Again logs in once more, over a connection that is made then, and logs out by its second result. nil: the machine
	// is this one, or is not reached over a network.
	Again func(context.Context) (host.Runner, func() error, error)
}

// Fleet is the machines that a command concerns, in their order. One that could not be reached has an error
// instead of a Member.
type Fleet struct {
	names   []string
	members map[string]host.Outcome[Member]
	close   func() error
}

// New returns a fleet of machines that were already reached, or could not be.
func New(members []host.Outcome[Member]) *Fleet {
	return closing(members, func() error { return nil })
}

func closing(members []host.Outcome[Member], closeAll func() error) *Fleet {
	f := &Fleet{members: make(map[string]host.Outcome[Member]), close: closeAll}
	for _, m := range members {
		f.names = append(f.names, m.Name)
		f.members[m.Name] = m
	}
	return f
}

// Names returns the machines in their order.
func (f *Fleet) Names() []string { return slices.Clone(f.names) }

// Reached returns the machines that were reached, by name.
func (f *Fleet) Reached() map[string]Member {
	reached := make(map[string]Member, len(f.members))
	for name, m := range f.members {
		if m.Err == nil {
			reached[name] = m.Value
		}
	}
	return reached
}

// Lost returns the errors of reaching the other machines, by name.
func (f *Fleet) Lost() map[string]error {
	lost := make(map[string]error)
	for name, m := range f.members {
		if m.Err != nil {
			lost[name] = m.Err
		}
	}
	return lost
}

// Close removes the program from every machine and logs out.
func (f *Fleet) Close() error {
	left := host.RunAll(context.Background(), f.names, atOnce, leaveWithin, func(ctx context.Context, name string) (struct{}, error) {
		if m := f.members[name]; m.Err == nil && m.Value.Leave != nil {
			return struct{}{}, m.Value.Leave(ctx)
		}
		return struct{}{}, nil
	})
	errs := []error{f.close()}
	for _, o := range left {
		if o.Err != nil {
			errs = append(errs, fmt.Errorf("host %q: %w", o.Name, o.Err))
		}
	}
	return errors.Join(errs...)
}

// Ask runs this program with arguments on every machine in parallel and decodes the document of a kind that each
// prints; an answer that is anything else is an error of that machine. stdin returns its standard input, nil for none.
// The outcomes are in the order of the fleet; for a machine that could not be reached it is the error of reaching it.
func Ask[T any](ctx context.Context, f *Fleet, kind string, args []string, stdin func(name string) ([]byte, error)) []host.Outcome[T] {
	budget := host.NewBudget(longAnswers)
	return host.RunAll(ctx, f.names, atOnce, askWithin, func(ctx context.Context, name string) (answer T, err error) {
		m := f.members[name]
		if m.Err != nil {
			return answer, m.Err
		}
		var text []byte
		if stdin != nil {
			if text, err = stdin(name); err != nil {
				return answer, err
			}
		}
		argv := append([]string{m.Value.Program}, args...)
		out, err := host.Output(ctx, m.Value.Runner, host.Command{Argv: argv, Stdin: bytes.NewReader(text), Budget: budget})
		if err != nil {
			return answer, err
		}
		if err := fabric.Decode(out, kind, &answer); err != nil {
			return answer, fmt.Errorf("answer to %q: %w", args, err)
		}
		return answer, nil
	})
}
