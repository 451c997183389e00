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

// WriteArtifacts writes rendered files below the folder one at a time, and the text that index returns for them
// next to them. It builds everything under another name first: a folder that cannot be completed does not
// appear. An existing folder is replaced only if it is a render itself or empty.
func WriteArtifacts(folder string, artifacts iter.Seq[fabric.Artifact], index func(iter.Seq[fabric.Artifact]) ([]byte, error)) (err error) {
	folder = filepath.Clean(folder)
	if err := replaceable(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	building, err := os.MkdirTemp(filepath.Dir(folder), "."+filepath.Base(folder)+"-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(building)) }()
	var writeErr error
	text, err := index(func(yield func(fabric.Artifact) bool) {
		for a := range artifacts {
			if writeErr = writeArtifact(building, a); writeErr != nil || !yield(a) {
				return
			}
		}
	})
	if err := errors.Join(writeErr, err); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(building, IndexFile), text, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(building, 0o755); err != nil {
		return err
	}
	return swap(building, folder)
}

func writeArtifact(folder string, a fabric.Artifact) error {
	if !filepath.IsLocal(a.File) {
		return fmt.Errorf("artifact %q of %q: file %q leads out of the folder", a.Path, a.Target, a.File)
	}
	name := filepath.Join(folder, a.File)
	err := os.WriteFile(name, a.Content, fs.FileMode(a.Mode))
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		err = os.WriteFile(name, a.Content, fs.FileMode(a.Mode))
	}
	if err != nil {
		return err
	}
	return os.Chmod(name, fs.FileMode(a.Mode)) // the umask has cleared bits
}

// replaceable reports whether a folder may be replaced by a render.
func replaceable(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, IndexFile)); err != nil {
		return fmt.Errorf("folder %q: holds something that is not a render (no %s): choose another folder, or empty it", folder, IndexFile)
	}
	return nil
}
