package bench

import (
	"cmp"
	"context"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Machines are those that take part in tests.
type Machines struct {
	Nodes    map[string]host.Runner // by name; as root
	Absent   map[string]string      // why others cannot be reached
	Progress func(format string, args ...any)

	// Limits; 0: the usual ones below.
	Settle   time.Duration // for a server to listen
	Perftest time.Duration // for a test of perftest
	Gather   time.Duration // for an all-gather
	Grace    time.Duration // for the far end to end what is over, and for the answer
}

// How long the parts of a test may take.
const (
	askWithin    = 20 * time.Second
	listenWithin = 5 * time.Second
	// perftestWithin is for a test of bandwidthSeconds, and to connect.
	perftestWithin = (bandwidthSeconds + 20) * time.Second
	// gatherWithin is for an all-gather: nccl-tests runs each size 25 times out of place and in place, some 375 GiB together.
	// What moves less than 2 GB/s need not be waited for.
	gatherWithin = 5 * time.Minute
	grace        = 15 * time.Second
)

// Judge says what a test means.
type Judge func(fabric.BenchResult) fabric.BenchVerdict

// Run runs tests one after the other, since they share cables, and lets each be judged. When the context ends, the tests that did
// not have their turn are missing.
func Run(ctx context.Context, tests []fabric.BenchTest, m Machines, judge Judge) []fabric.BenchResult {
	m.Settle, m.Perftest = cmp.Or(m.Settle, listenWithin), cmp.Or(m.Perftest, perftestWithin)
	m.Gather, m.Grace = cmp.Or(m.Gather, gatherWithin), cmp.Or(m.Grace, grace)
	var results []fabric.BenchResult
	for i, t := range tests {
		m.progress("%d of %d: %s", i+1, len(tests), t.Title)
		started := time.Now()
		r := one(ctx, t, m)
		r.Seconds = time.Since(started).Seconds()
		r.Verdict = judge(r)
		results = append(results, r)
	}
	return results
}

func (m Machines) progress(format string, args ...any) {
	if m.Progress != nil {
		m.Progress(format, args...)
	}
}

// one runs a test. What cannot be run is missing, with its reason.
func one(ctx context.Context, t fabric.BenchTest, m Machines) fabric.BenchResult {
	r := fabric.BenchResult{BenchTest: t}
	if ctx.Err() != nil {
		lack(&r, t.ID, "bench", "interrupted before its turn")
		return r
	}
	for _, n := range t.Nodes {
		if m.Nodes[n] != nil {
			continue
		}
		why := m.Absent[n]
		if why == "" {
			why = "no command can be run on it from here"
		}
		lack(&r, n, "ssh", why)
	}
	if len(r.Missing) > 0 {
		return r
	}
	switch t.Kind {
	case fabric.LibraryFits:
		readLibraries(ctx, &r, m)
	case fabric.GatherAll:
		runGather(ctx, &r, m)
	default:
		runPerftest(ctx, &r, m)
	}
	return r
}

// lack records what could not be run or read.
func lack(r *fabric.BenchResult, what, source, reason string) {
	r.Missing = append(r.Missing, fabric.Missing{What: what, Source: source, Reason: reason})
}

// ask runs a short command and returns what it prints.
func (m Machines) ask(ctx context.Context, node string, argv ...string) (string, error) {
	out, _, err := m.run(ctx, fabric.BenchCommand{Node: node, Argv: argv}, askWithin, true)
	return out, err
}

// run runs a command to its end, at most so long, and gives what it printed, also with an error.
func (m Machines) run(ctx context.Context, c fabric.BenchCommand, within time.Duration, owner bool) (text string, printed fabric.BenchPrinted, err error) {
	s, err := start(ctx, m.Nodes[c.Node], bounded(c, within, owner))
	if err != nil {
		return "", fabric.BenchPrinted{Node: c.Node}, err
	}
	out, err := s.end(within + m.Grace)
	return string(out), fabric.BenchPrinted{Node: c.Node, Text: string(out)}, err
}
