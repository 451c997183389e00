package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// replaceFile replaces a file atomically, and syncs it to disk.
func replaceFile(path string, content []byte) error {
	return renameio.WriteFile(path, content, 0o644, renameio.WithTempDir(filepath.Dir(path)))
}

// replacePrivate is replaceFile for a file that only its owner can read. renameio.WriteFile would keep the permissions of
// the file before it.
func replacePrivate(path string, content []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	return errors.Join(err, f.Cleanup())
}

// swap replaces the old folder with the one that was built.
func swap(building, folder string) error {
	err := unix.Renameat2(unix.AT_FDCWD, building, unix.AT_FDCWD, folder, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOENT) {
		return os.Rename(building, folder)
	}
	if err != nil {
		return fmt.Errorf("folder %q: exchange with %q: %w", folder, building, err)
	}
	return nil // the old one now has the temporary name, under which it is removed
}
