package host

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
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
	return NewTree(name, root)
}

// NewTree is OpenTree of a folder that is open. Close closes it, and so does an error.
func NewTree(name string, root *os.Root) (*Tree, error) {
	top, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Tree{name: name, root: root, top: top}, nil
}

// Close closes the folder.
func (t *Tree) Close() error { return errors.Join(t.top.Close(), t.root.Close()) }

// Name is the name given at opening.
func (t *Tree) Name() string { return t.name }

// ReadFile reads a captured file.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}

// ReadDir lists a captured directory.
func (t *Tree) ReadDir(name string) ([]string, error) {
	f, err := t.openFolder(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Open opens a captured file.
func (t *Tree) Open(name string) (io.ReadCloser, error) {
	f, err := t.open(name)
	return patient(f, err)
}

// inside makes an absolute path of the machine one under the tree.
func inside(name string) string {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if name == "" {
		return "."
	}
	return name
}
