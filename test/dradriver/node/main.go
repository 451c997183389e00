// Command node plays two programs of a Kubernetes node, for the tests in the folder above: a DRA driver that gives pods
// network interfaces, in the manner of DraNet, and the kubelet with its container runtime. Both speak the real protocols:
// registration of plugins, DRA and NRI. They are a module of their own, so that railwright's does not see what they need.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "kubelet" {
		return serveKubelet(ctx, folder(args[1]), os.Stdin, os.Stdout)
	}
	if len(args) == 5 && args[0] == "driver" {
		return serveDriver(ctx, driverOptions{folder: folder(args[1]), node: args[2], slices: args[3], returns: returning(args[4])})
	}
	return fmt.Errorf("usage: node kubelet FOLDER | node driver FOLDER NODE SLICES.json RETURN (%s, %s or %s)", returnWhole, returnNamed, returnBare)
}

// driverName is the driver whose devices this one gives out, as in the slices that it reads.
const driverName = "dra.net"

// folder is where the programs of one node meet: sockets and claims.
type folder string

func (f folder) registry() string { return string(f) + "/registry" } // where drivers announce themselves
func (f folder) plugins() string  { return string(f) + "/plugin" }   // the driver's own
func (f folder) runtime() string  { return string(f) + "/nri.sock" } // of the container runtime, for NRI
func (f folder) api() string      { return string(f) + "/api.sock" }
func (f folder) claims() string   { return string(f) + "/claims" } // NAMESPACE.NAME.json each
func (f folder) prepared() string { return string(f) + "/prepared.json" }
