//go:build !linux

package host

import (
	"io/fs"
	"os"
)

// ReadLink reads a captured link, as it was.
func (t *Tree) ReadLink(name string) (string, error) { return fs.ReadLink(t.root.FS(), inside(name)) }

func (t *Tree) open(name string) (*os.File, error) { return t.root.Open(inside(name)) }

func (t *Tree) openFolder(name string) (*os.File, error) { return t.root.Open(inside(name)) }
