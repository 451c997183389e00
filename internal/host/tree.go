package host

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Tree is the captured root of a machine: its files and nothing else. Links that lead out of it are errors.
type Tree struct {
	name string
	root *os.Root
}

// OpenTree opens a folder that holds what was /sys, /proc, /etc and so on of a machine.
func OpenTree(name, folder string) (*Tree, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &Tree{name: name, root: root}, nil
}

// Close lets go of the folder.
func (t *Tree) Close() error { return t.root.Close() }

// Name is the name given at opening.
func (t *Tree) Name() string { return t.name }

// ReadFile reads a captured file.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	f, err := t.root.Open(inside(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}

// ReadDir lists a captured directory.
func (t *Tree) ReadDir(name string) ([]string, error) {
	f, err := t.root.Open(inside(name))
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
	target, err := fs.ReadLink(t.root.FS(), inside(name))
	return target, err
}

// inside makes an absolute path of the machine one under the tree.
func inside(name string) string {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if name == "" {
		return "."
	}
	return name
}
