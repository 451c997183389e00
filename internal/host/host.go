// Package host is the door to machines: their files, their processes, their netlink tables; here, in a
// network namespace, or in a captured tree. It is the only package that starts processes.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Host is a machine whose files can be read. Paths are absolute, as on that machine.
type Host interface {
	// Name returns the name of the machine in messages and facts.
	Name() string
	// ReadFile reads a whole file of at most MaxFile bytes.
	ReadFile(name string) ([]byte, error)
	// ReadDir lists the names in a directory, sorted.
	ReadDir(name string) ([]string, error)
}

// Linker is a Host that can read symbolic links (sysfs is made of them).
type Linker interface {
	ReadLink(name string) (string, error)
}

// Netlinker is a Host whose kernel answers netlink requests.
type Netlinker interface {
	// Dump asks NETLINK_ROUTE for a table (an RTM_GET* type) of an address family and returns the
	// raw messages of the answer, one after the other, as the kernel sent them.
	Dump(ctx context.Context, messageType uint16, family uint8) ([]byte, error)
}

// Runner is a Host on which processes can be started.
type Runner interface {
	Start(ctx context.Context, c Command) (*Process, error)
}

// ErrNotSupported means that this kind of host lacks the operation: a captured tree has no kernel.
var ErrNotSupported = errors.New("not supported on this kind of host")

// MaxFile bounds what ReadFile reads, in bytes: the largest file of interest under /sys and /proc is a
// PCI configuration space or a module list, far below it; a file that never ends stops here.
const MaxFile = 4 << 20

// ErrTooLarge says that a file is longer than MaxFile.
var ErrTooLarge = fmt.Errorf("larger than %d bytes", MaxFile)

// readPatience is how long a file may take to give its bytes. Those of a disk and of /sys and /proc give
// them at once; a pipe or a log waits until somebody writes.
const readPatience = 2 * time.Second

// readBounded reads a file that was opened without blocking.
func readBounded(f *os.File) ([]byte, error) {
	// A file that takes no deadline is one that does not wait.
	if err := f.SetReadDeadline(time.Now().Add(readPatience)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(b) > MaxFile {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: ErrTooLarge}
	}
	return b, err
}

// ReadString reads a file and trims the white space around its text.
func ReadString(h Host, name string) (string, error) {
	b, err := h.ReadFile(name)
	return strings.TrimSpace(string(b)), err
}

// LinkBase returns the last element of a symbolic link's target, as sysfs uses it for driver, subsystem
// and group.
func LinkBase(h Host, name string) (string, error) {
	l, ok := h.(Linker)
	if !ok {
		return "", fmt.Errorf("%q: %w", name, ErrNotSupported)
	}
	target, err := l.ReadLink(name)
	if err != nil {
		return "", err
	}
	return path.Base(target), nil
}

// IsAbsent reports whether an error means that a file does not exist, rather than that it could not be read.
func IsAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
