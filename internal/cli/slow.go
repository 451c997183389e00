package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/host"
)

// When a command that has said nothing says what it waits for, and how often it repeats that. What has no name, only
// computing, is said later where no person looks on.
const (
	silence  = time.Second
	unnamed  = 2 * time.Second
	repeat   = 10 * time.Second
	computes = "working"
)

// activity is what a command does now, and when it last said something.
type activity struct {
	mu    sync.Mutex
	task  string
	since time.Time // of the last message
}

func (s *activity) set(task string, said bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task = task
	if said {
		s.since = time.Now()
	}
}

// due returns the task where nothing was said for that long, or longer where the task has no name.
func (s *activity) due(after, unnamed time.Duration) (task string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.task == computes {
		after = max(after, unnamed)
	}
	return s.task, time.Since(s.since) >= after
}

// doing names what the command waits for from now on; it is shown only if that takes longer than a second.
func (a *app) doing(format string, args ...any) { a.activity.set(fmt.Sprintf(format, args...), false) }

// doingSSH names the machines that are waited for.
func (a *app) doingSSH(what string, names []string) {
	a.doing("%s %s over SSH; a host that does not answer takes 10 s", what, draw.Names(names, 4))
}

// watch says on standard error what a command waits for, once it has been silent for a second and then every ten, until
// stop is called. Quiet says nothing.
func (a *app) watch(c *cobra.Command) (stop func()) {
	if a.quiet || a.unwatched {
		return func() {}
	}
	began := time.Now()
	a.activity.set(computes, true)
	later := unnamed
	if isLookedOn() {
		later = silence
	}
	done, gone := make(chan struct{}), make(chan struct{})
	host.Go(func() {
		defer close(gone)
		limit := silence
		tick := time.NewTicker(silence / 4)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if task, ok := a.activity.due(limit, later); ok {
				fmt.Fprintf(a.stderr, "%s: %s (%.0f s so far)\n", c.CommandPath(), strings.TrimRight(task, "\n"), time.Since(began).Seconds())
				a.activity.set(task, true)
				limit = repeat
			}
		}
	})
	return func() {
		close(done)
		<-gone
	}
}
