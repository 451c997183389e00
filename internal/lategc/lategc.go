// Package lategc puts the first garbage collection off, for a program that imports it. It needs little, so that it is
// initialised before what allocates much: libraries make 4 MiB while they are initialised, of which 1 MiB stays, and a command of some
// milliseconds would spend a quarter of its processor time on finding that out, twice.
package lategc

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent has the runtime, whose first garbage collection is at 4 MiB of heap times this, wait for 16 MiB.
const percent = 400

// The package has no name that is used: it is imported for this.
var _ = delay()

// delay lasts until the first collection, from which on the heap grows as it always does. Whoever sets GOGC decides.
func delay() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	usual := debug.SetGCPercent(percent)
	unused := new([]byte)
	runtime.AddCleanup(unused, func(percent int) { debug.SetGCPercent(percent) }, usual)
	return true
}
