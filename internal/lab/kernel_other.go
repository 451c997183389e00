//go:build !linux

package lab

import (
	"io/fs"
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

func ownerOf(fs.FileInfo) (int, bool) { return -1, false }

func writableByOthers(fs.FileInfo) bool { return true }

func openNoFollow(string, int) (*os.File, error) { return nil, host.ErrNeedsLinux }
