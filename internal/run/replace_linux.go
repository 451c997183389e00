package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// replaceFile puts a whole file in place at once, and on the disk.
func replaceFile(path string, content []byte) error {
	return renameio.WriteFile(path, content, 0o644, renameio.WithTempDir(filepath.Dir(path)))
}

// swap puts the built folder in the place of the old one.
func swap(building, folder string) error {
	err := unix.Renameat2(unix.AT_FDCWD, building, unix.AT_FDCWD, folder, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOENT) {
		return os.Rename(building, folder)
	}
	if err != nil {
		return fmt.Errorf("folder %q: exchange with %q: %w", folder, building, err)
	}
	return nil // the old one has the other name now, and is removed with it
}
