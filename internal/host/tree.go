package host

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is the captured root of a machine: its files and nothing else. Links that lead out of it are errors.
type Tree struct {
	name string
	root *os.Root
	top  *os.File // the same folder, for the kernel to look up paths below
}

// OpenTree opens a folder that holds what was /sys, /proc, /etc and so on of a machine.
func OpenTree(name, folder string) (*Tree, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	top, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Tree{name: name, root: root, top: top}, nil
}

// Close lets go of the folder.
func (t *Tree) Close() error { return errors.Join(t.top.Close(), t.root.Close()) }

// Name is the name given at opening.
func (t *Tree) Name() string { return t.name }

// ReadFile reads a captured file.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	f, err := t.open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}

// ReadDir lists a captured directory.
func (t *Tree) ReadDir(name string) ([]string, error) {
	f, err := t.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

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

// open opens a file of the tree to be read.
func (t *Tree) open(name string, flags int) (*os.File, error) {
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

// inside makes an absolute path of the machine one under the tree.
func inside(name string) string {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if name == "" {
		return "."
	}
	return name
}
