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
func replaceFile(path string, content []byte) error { return replaceAs(path, content, 0o644) }

// replaceAs is replaceFile with the permissions of the file.
func replaceAs(path string, content []byte, mode os.FileMode) error {
	return renameio.WriteFile(path, content, mode, renameio.WithTempDir(filepath.Dir(path)))
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
