package diagnose

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// measureStop asks where a run stopped that did not end well: before its ranks knew each other, before the first result,
// or in the middle. Each takes another part of the system.
func (s *observed) measureStop() {
	stopped := slices.ContainsFunc(s.seen, func(e evidence.Evidence) bool {
		o, ok := e.(evidence.Outcome)
		return ok && (o.How == evidence.Hang || o.How == evidence.Crash && len(s.broken) > 0)
	})
	if !stopped || !s.whole || s.ended || len(s.logs) != 1 {
		return // of an excerpt, and of several logs, it is unknown where a run stopped; one with a footer did not
	}
	l := s.logs[0]
	absent := ""
	if n := len(l.GPUs); l.Ranks > 1 && n > 0 && n < l.Ranks && !l.Cut {
		absent = fmt.Sprintf("%d of %d ranks write to the log", n, l.Ranks)
	}
	switch {
	case s.rowsSeen > 0:
		s.showText("stopped after results", "run", fmt.Sprintf("the run gave %s and then stopped", fabric.Count(s.rowsSeen, "row")), fabric.Subject{})
	case l.Ready:
		s.showText("stopped before the first result", "run", "the communicator was completed and no result came", fabric.Subject{})
	case absent != "":
		s.showText("stopped with ranks absent", "run", "the communicator was not completed, and "+absent, fabric.Subject{})
	case l.Ranks > 1:
		s.showText("stopped before the ranks met", "run", "the communicator was not completed", fabric.Subject{})
	}
}
