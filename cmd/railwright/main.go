// Command railwright takes a GPU cluster with GPUDirect RDMA networking from bare nodes to a verified one.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"railwright.dev/railwright/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	collectLate()
	os.Exit(cli.Main(version, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// latePercent has the runtime, whose first garbage collection is at 4 MiB of heap times this, wait for 16 MiB.
const latePercent = 400

// collectLate puts the first garbage collection off. Nearly 4 MiB are there when the program has started, and stay: a command
// of some milliseconds would spend a fifth of its processor time on finding that out. From the first one on the heap
// grows as it always does. Whoever sets GOGC decides.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(latePercent)
	unused := new([]byte)
	runtime.AddCleanup(unused, func(percent int) { debug.SetGCPercent(percent) }, usual)
}
