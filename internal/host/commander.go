package host

import (
	"context"
	"os/exec"
)

// ErrNoProgram means that there is no such program.
var ErrNoProgram = exec.ErrNotFound

// Commander is a Host that runs a command to its end and gives its standard output. It is the seam for
// what only tools tell: this machine runs them, a recording answers what they printed.
//
// The output is returned with an error too, as far as it came. An error is an *ExitError where the
// command ended with a status other than 0, and wraps ErrNoProgram where there is no such program.
// Command.Stdin is nil for a command that is to be recorded: what was typed is no fact.
type Commander interface {
	Output(ctx context.Context, c Command) ([]byte, error)
}

// Output runs a command on this machine.
func (l Local) Output(ctx context.Context, c Command) ([]byte, error) { return Output(ctx, l, c) }
