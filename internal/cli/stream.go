package cli

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"time"

	"railwright.dev/railwright/internal/host"
)

// outputGrace is how long a write may still take after an interrupt, so that what explains it arrives where somebody reads.
const outputGrace = 200 * time.Millisecond

// unlessInterrupted does something that may wait for ever, as opening a FIFO without a reader does, but not after the
// context has ended: what is left of it then ends with the process.
func unlessInterrupted(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	host.Go(func() { done <- do() })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(outputGrace):
		return ctx.Err()
	}
}

// interruptible returns a writer that gives up when the context ends, if w is one that may wait for a reader: a pipe, a
// FIFO or a socket. Any other is returned as it is.
func interruptible(ctx context.Context, w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	if info, err := f.Stat(); err != nil || !waits(info) {
		return w
	}
	return interruptibleWriter{ctx, f}
}

// waits reports whether writing may wait until somebody reads.
func waits(info fs.FileInfo) bool { return info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 }

type interruptibleWriter struct {
	ctx context.Context
	w   io.Writer
}

func (i interruptibleWriter) Write(p []byte) (int, error) {
	own := bytes.Clone(p) // the caller has its buffer back when the context ends
	err := unlessInterrupted(i.ctx, func() error {
		_, err := i.w.Write(own)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
