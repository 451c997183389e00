// Command railwright takes a GPU cluster with GPUDirect RDMA networking from bare nodes to a verified one.
package main

import (
	"os"

	"railwright.dev/railwright/internal/cli"
	_ "railwright.dev/railwright/internal/lategc" // before all that is initialised
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(cli.Main(version, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
