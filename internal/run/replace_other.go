//go:build !linux

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replacePrivate replaces a file atomically by one that only its owner may read.
func replacePrivate(path string, content []byte) error { return replace(path, content, fileMode) }

// replaceFile replaces a file atomically.
func replaceFile(path string, content []byte) error { return replace(path, content, 0o644) }

// replace replaces a file atomically: os.Rename does so on every system, on Windows by MoveFileEx, where renameio offers
// nothing.
func replace(path string, content []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), mode); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// place gives a new folder its name, which nothing has yet.
func place(building, folder string) error { return os.Rename(building, folder) }

// swap exchanges two folders. Only Linux can do so at once: here the old one is renamed first, and restored if the new one
// cannot take its place.
func swap(building, folder string) error {
	old := building + ".old"
	if err := os.Rename(folder, old); err != nil {
		return fmt.Errorf("folder %q: move aside: %w", folder, err)
	}
	if err := os.Rename(building, folder); err != nil {
		return errors.Join(fmt.Errorf("folder %q: %w", folder, err), os.Rename(old, folder))
	}
	return os.Rename(old, building)
}
