package host

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// isBrokenPipe tells that the other side stopped reading, which its exit status will explain.
func isBrokenPipe(err error) bool {
	return errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed)
}
