package host

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ReadLink reads a captured link, as it was.
func (t *Tree) ReadLink(name string) (string, error) {
	fd, err := t.lookUp(name, unix.O_PATH|unix.O_NOFOLLOW)
	if errors.Is(err, errNoLookUp) {
		return fs.ReadLink(t.root.FS(), inside(name))
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written through it
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", target)
	if errors.Is(err, unix.ENOENT) { // what an empty path gives for a file that is no link
		err = unix.EINVAL
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(target[:n]), nil
}

// open opens a file of the tree to be read, without waiting for a pipe's other end.
func (t *Tree) open(name string) (*os.File, error) {
	return t.openAs(name, unix.O_RDONLY|unix.O_NONBLOCK)
}

// openFolder opens a folder of the tree, and nothing else.
func (t *Tree) openFolder(name string) (*os.File, error) {
	return t.openAs(name, unix.O_RDONLY|unix.O_DIRECTORY)
}

func (t *Tree) openAs(name string, flags int) (*os.File, error) {
	fd, err := t.lookUp(name, flags)
	if errors.Is(err, errNoLookUp) {
		return t.root.OpenFile(inside(name), flags, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// errNoLookUp says that the kernel cannot look up a whole path below a folder.
var errNoLookUp = errors.New("no openat2 system call")

// lookUp lets the kernel walk the path, in one system call. os.Root keeps inside the tree too, by a system
// call or two for every element; sysfs is deep and made of links, so that it costs five times as much.
// The kernel has the call since Linux 5.6; some sandboxes refuse it.
func (t *Tree) lookUp(name string, flags int) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	const tries = 8 // EAGAIN: something was renamed while the kernel walked through ".."
	for range tries {
		fd, err = unix.Openat2(int(t.top.Fd()), inside(name), &how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return -1, errNoLookUp
	}
	return fd, err
}
