package files

import (
	"io/fs"
	"path/filepath"
)

// Without shows folders without some files, which are named as ReadDir's folder and their name give them.
func Without(from Files, hidden map[string]bool) Files {
	if len(hidden) == 0 {
		return from
	}
	return without{from, hidden}
}

type without struct {
	Files
	hidden map[string]bool
}

// ReadDir lists what of a folder is not hidden.
func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := w.Files.ReadDir(name)
	var out []fs.DirEntry
	for _, e := range all {
		if !w.hidden[filepath.Join(name, e.Name())] {
			out = append(out, e)
		}
	}
	return out, err
}
