package run

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"railwright.dev/railwright/internal/fabric"
)

// WriteArtifacts writes rendered files below the folder as they come, and the text that index returns for them
// next to them. It builds everything under another name first: a folder that cannot be completed does not
// appear. An existing folder is replaced only if it is empty, or a render with nothing else in it: what its index lists,
// unchanged.
func WriteArtifacts(folder string, artifacts iter.Seq[fabric.Artifact], index func(iter.Seq[fabric.Artifact]) ([]byte, error)) (err error) {
	folder = filepath.Clean(folder)
	if base := filepath.Base(folder); base == "." || base == ".." {
		return fmt.Errorf("folder %q: cannot be replaced from inside: name a folder in it", folder)
	}
	old, err := openRender(folder)
	if err != nil {
		return err
	}
	if old != nil {
		defer func() { err = errors.Join(err, old.root.Close()) }()
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	building, err := os.MkdirTemp(filepath.Dir(folder), "."+filepath.Base(folder)+"-*")
	if err != nil {
		return err
	}
	if err := build(building, artifacts, index); err != nil {
		return errors.Join(err, os.RemoveAll(building))
	}
	placed, err := old.replaceWith(building, folder)
	if !placed {
		return errors.Join(err, os.RemoveAll(building))
	}
	return err
}

// build writes the files and the index into an empty folder.
func build(folder string, artifacts iter.Seq[fabric.Artifact], index func(iter.Seq[fabric.Artifact]) ([]byte, error)) error {
	cleared, err := clearedIn(folder)
	if err != nil {
		return err
	}
	w := newWriters(folder, cleared)
	text, err := index(func(yield func(fabric.Artifact) bool) {
		for a := range artifacts {
			if !w.write(a) || !yield(a) {
				return
			}
		}
	})
	if err := errors.Join(w.wait(), err); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, IndexFile), text, 0o644); err != nil {
		return err
	}
	return os.Chmod(folder, 0o755)
}

// writeArtifact writes a file below a folder. cleared are the permissions that a new file there does not get.
func writeArtifact(folder string, a fabric.Artifact, cleared fs.FileMode) error {
	if !filepath.IsLocal(a.File) {
		return fmt.Errorf("artifact %q of %q: file %q leads out of the folder", a.Path, a.Target, a.File)
	}
	name, mode := filepath.Join(folder, a.File), fs.FileMode(a.Mode)
	err := newFile(name, a.Content, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(name)); err != nil {
			return err
		}
		err = newFile(name, a.Content, mode)
	}
	if err != nil || mode&cleared == 0 {
		return err
	}
	return os.Chmod(name, mode)
}

// makeFolder makes a folder, most often in one that is there: os.MkdirAll asks first, for this one and for those above.
func makeFolder(folder string) error {
	err := os.Mkdir(folder, 0o755)
	if err == nil || errors.Is(err, fs.ErrExist) { // made for another file
		return nil
	}
	return os.MkdirAll(folder, 0o755)
}

// clearedIn returns the permissions that the system takes from a new file in a folder: the umask, or those of the folder.
func clearedIn(folder string) (fs.FileMode, error) {
	probe := filepath.Join(folder, IndexFile) // which is written last
	if err := newFile(probe, nil, fs.ModePerm); err != nil {
		return 0, err
	}
	info, err := os.Lstat(probe)
	if err := errors.Join(err, os.Remove(probe)); err != nil {
		return 0, err
	}
	return fs.ModePerm &^ info.Mode(), nil
}
