//go:build !linux

package apply

import (
	"io/fs"

	"railwright.dev/railwright/internal/host"
)

func replace(string, []byte, fs.FileMode) error { return host.ErrNeedsLinux }

func replaceLink(string, string) error { return host.ErrNeedsLinux }

func owner(fs.FileInfo) (uid, gid int) { return 0, 0 }
