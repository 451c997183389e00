//go:build !linux

package apply

import (
	"io/fs"
	"os"

	"railwright.dev/railwright/internal/host"
)

func lockFolder(string) (*os.File, error) { return nil, host.ErrNeedsLinux }

func owner(fs.FileInfo) (uid, gid int) { return 0, 0 }
