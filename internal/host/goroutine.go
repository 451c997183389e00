package host

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// ExitFault is the exit status of an internal error of this program. A Go program that panics exits with 2,
// which would read as "unknown".
const ExitFault = 70

// Recovered is to be deferred at the top of main and of every goroutine.
func Recovered(stderr io.Writer) {
	if fault := recover(); fault != nil {
		fmt.Fprintf(stderr, "railwright: internal error, please report it: %v\n%s", fault, debug.Stack())
		os.Exit(ExitFault)
	}
}

// Go runs f in a goroutine whose panic ends the program with ExitFault.
func Go(f func()) {
	go func() {
		defer Recovered(os.Stderr)
		f()
	}()
}

// Each runs f for every item at once, at most limit at a time, and returns when all are done.
func Each[T any](items []T, limit int, f func(T)) {
	slots := make(chan struct{}, limit)
	for _, item := range items {
		slots <- struct{}{}
		Go(func() {
			f(item)
			<-slots // not deferred: after a panic nobody may go on as if all were done
		})
	}
	for range limit {
		slots <- struct{}{}
	}
}
