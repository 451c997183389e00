package host

import (
	"context"
	"time"
)

// Outcome is the result of one host.
type Outcome[T any] struct {
	Name  string
	Value T // the zero value where Err is set
	Err   error
	Took  time.Duration
}

// parting is how long a host whose time is up may take to report its state; then it is abandoned.
const parting = 500 * time.Millisecond

// RunAll runs one function for each of many hosts, at most parallel at a time, each with a context that
// ends after the timeout. The outcomes are in the order of the names. A function that does not heed
// its context is left behind, so no host takes longer than the timeout and half a second; its outcome is
// a *NoAnswerError. When the context ends, hosts that did not have their turn get its error.
func RunAll[T any](ctx context.Context, names []string, parallel int, timeout time.Duration, one func(context.Context, string) (T, error)) []Outcome[T] {
	outcomes := make([]Outcome[T], len(names))
	order := make([]int, len(names))
	for i := range names {
		order[i] = i
	}
	Each(order, max(parallel, 1), func(i int) {
		start := time.Now()
		outcomes[i] = runOne(ctx, names[i], timeout, one)
		outcomes[i].Took = time.Since(start)
	})
	return outcomes
}

func runOne[T any](ctx context.Context, name string, timeout time.Duration, one func(context.Context, string) (T, error)) Outcome[T] {
	if ctx.Err() != nil {
		return Outcome[T]{Name: name, Err: context.Cause(ctx)}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &NoAnswerError{timeout})
	defer cancel()
	done := make(chan Outcome[T], 1)
	Go(func() {
		value, err := one(ctx, name)
		if err != nil {
			var none T
			value = none
		}
		done <- Outcome[T]{Name: name, Value: value, Err: err}
	})
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o
	case <-time.After(parting):
		return Outcome[T]{Name: name, Err: context.Cause(ctx)}
	}
}
