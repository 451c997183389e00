package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteOutput writes the file that a flag of a command names. A regular file is replaced at once or not at all, also
// behind a symbolic link. A device, a FIFO and this program's own standard output are opened and written, never
// replaced. A folder is refused; so is a file in a folder that does not exist.
func WriteOutput(path string, content []byte) error { return output(path, content, replaceFile) }

// WritePrivate is WriteOutput for what others on the machine must not read, such as kernel logs: a regular file is
// readable by its owner only, from the first byte on.
func WritePrivate(path string, content []byte) error { return output(path, content, replacePrivate) }

// replacer replaces a regular file.
type replacer func(path string, content []byte) error

func output(path string, content []byte, replace replacer) error {
	if err := writeOutput(path, content, replace); err != nil {
		return fmt.Errorf("%q: %w", path, cause(err))
	}
	return nil
}

func writeOutput(path string, content []byte, replace replacer) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(path, content, replace)
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a directory")
	}
	for _, stream := range []*os.File{os.Stdout, os.Stderr} {
		if open, err := stream.Stat(); err == nil && os.SameFile(open, info) {
			_, err := stream.Write(content)
			return err
		}
	}
	if !info.Mode().IsRegular() {
		return writeThrough(path, content)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	return replace(path, content)
}

// create writes a file that does not exist.
func create(path string, content []byte, replace replacer) error {
	if _, err := os.Lstat(path); err == nil {
		return errors.New("is a symbolic link to a file that does not exist")
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder %q does not exist", filepath.Dir(path))
	}
	return replace(path, content)
}

// writeThrough writes to a device or a FIFO.
func writeThrough(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// cause is an error of the file system without the names in it, which may be those of temporary files.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	default:
		return err
	}
}
