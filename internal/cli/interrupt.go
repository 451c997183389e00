package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"railwright.dev/railwright/internal/host"
)

// grace is how long a command that leaves nothing behind may take to end by itself after a signal.
const grace = 500 * time.Millisecond

// untilSignal runs a command until it ends, or until SIGINT or SIGTERM. A command that has begun work of which
// something would be left is waited for: it sees the signal in its context. Any other is abandoned after the grace, since
// a read of standard input or of a FIFO, or opening one, cannot be interrupted. A second signal ends the program at once.
func (a *app) untilSignal(command func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan error, 1)
	host.Go(func() { ended <- command(ctx) })
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop() // from now on a signal does what it does to any program
	select {
	case err := <-ended:
		return err
	case <-time.After(grace):
	}
	if a.busy.Load() {
		return <-ended
	}
	return ctx.Err()
}

// begin is called before the first change outside this program that it takes back at its end: a lab, a login, a folder
// that is being built. From then on the command is waited for. After a signal it does not begin.
func (a *app) begin(ctx context.Context) error {
	a.busy.Store(true)
	return ctx.Err()
}
