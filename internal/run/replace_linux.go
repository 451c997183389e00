package run

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// replacePrivate replaces a file atomically by one that only its owner may read, and syncs it to disk.
func replacePrivate(path string, content []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(fileMode))
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Cleanup())
	}
	return errors.Join(f.CloseAtomicallyReplace(), f.Cleanup())
}

// replaceFile replaces a file atomically, and syncs it to disk. It keeps the permissions of the old one.
func replaceFile(path string, content []byte) error {
	return renameio.WriteFile(path, content, 0o644, renameio.WithTempDir(filepath.Dir(path)))
}

// place gives a new folder its name, which nothing has yet.
func place(building, folder string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, building, unix.AT_FDCWD, folder, unix.RENAME_NOREPLACE); err != nil {
		return fmt.Errorf("folder %q: %w", folder, err)
	}
	return nil
}

// swap exchanges two folders at once.
func swap(building, folder string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, building, unix.AT_FDCWD, folder, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("folder %q: exchange with %q: %w", folder, building, err)
	}
	return nil
}
