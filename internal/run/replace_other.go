//go:build !linux

package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// replaceFile replaces a file atomically: os.Rename does so on every system, on Windows by
// MoveFileEx, where renameio offers nothing.
func replaceFile(path string, content []byte) error { return replaceAs(path, content, 0o644) }

// replacePrivate is replaceFile for a file that only its owner can read.
func replacePrivate(path string, content []byte) error { return replaceAs(path, content, 0o600) }

// replaceAs is replaceFile with the permissions of the file.
func replaceAs(path string, content []byte, mode os.FileMode) (err error) {
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

// swap replaces the old folder with the one that was built. Only Linux can exchange two folders atomically: here the old
// one is renamed first, and restored if the new one cannot take its place.
func swap(building, folder string) error {
	old := building + ".old"
	if err := os.Rename(folder, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("folder %q: move aside: %w", folder, err)
	}
	if err := os.Rename(building, folder); err != nil {
		back := os.Rename(old, folder)
		if errors.Is(back, os.ErrNotExist) {
			back = nil
		}
		return errors.Join(fmt.Errorf("folder %q: %w", folder, err), back)
	}
	return os.RemoveAll(old)
}
