//go:build !linux

package lab

import (
	"os"

	"railwright.dev/railwright/internal/host"
)

func pause() error { return host.ErrNeedsLinux }

func setHostname(string) error { return host.ErrNeedsLinux }

func mounts() error { return host.ErrNeedsLinux }

func mountProc() error { return host.ErrNeedsLinux }

func lockExclusively(*os.File) error { return host.ErrNeedsLinux }

func notifyOrphans(chan<- os.Signal) {}

func bury() {}
