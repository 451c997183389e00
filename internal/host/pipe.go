package host

import (
	"errors"
	"os"
	"syscall"
)

// isBrokenPipe reports that the other side stopped reading, which its exit status will explain.
func isBrokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}
