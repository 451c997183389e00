package run

import (
	"errors"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// newFile writes a new file. It asks the system for nothing else: os.WriteFile asks five times more for each file whether it
// can be waited for, which takes a third of the time of a large render.
func newFile(path string, content []byte, mode fs.FileMode) (err error) {
	fd, err := retried(func() (int, error) {
		return unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, uint32(mode.Perm()))
	})
	if err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: err}
	}
	defer func() {
		if failed := errors.Join(err, unix.Close(fd)); failed != nil {
			err = &fs.PathError{Op: "write", Path: path, Err: failed}
		}
	}()
	for len(content) > 0 {
		n, err := retried(func() (int, error) { return unix.Write(fd, content) })
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrShortWrite
		}
		content = content[n:]
	}
	return nil
}

// retried calls the system again where a signal interrupted it.
func retried(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
