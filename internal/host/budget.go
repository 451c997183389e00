package host

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// Bounds of what Output keeps, in bytes.
const (
	maxOutput  = 256 << 20 // of a command of this machine: a kernel log is some MiB
	freeAnswer = 1 << 20   // of one machine: the facts of a large node are some hundred KiB
	maxOne     = 16 << 20  // of one machine while others answer as well
)

// Budget bounds what commands on many machines print, all together: one that prints without an end costs this machine
// no more than its share, and all that do so no more than the budget. A short answer is always taken.
type Budget struct {
	left atomic.Int64 // bytes, for what is longer than freeAnswer
}

// NewBudget returns a budget of so many bytes, besides the short answers.
func NewBudget(bytes int64) *Budget {
	b := &Budget{}
	b.left.Store(bytes)
	return b
}

// readAll reads what a command prints to its end. More than is allowed is an error.
func (b *Budget) readAll(r io.Reader) ([]byte, error) {
	if b == nil {
		return readMost(r, maxOutput)
	}
	out, err := readMost(r, freeAnswer)
	if !isTooLong(err) {
		return out, err
	}
	for {
		const step = 1 << 20 // bytes
		if len(out) > maxOne {
			return nil, tooLongError(fmt.Sprintf("prints more than %d bytes", maxOne))
		}
		if b.left.Add(-step) < 0 {
			return nil, tooLongError("prints too much: together with the answers of other machines it exceeds what is kept of all")
		}
		more, err := readMost(r, step)
		out = append(out, more...)
		if !isTooLong(err) {
			return out, err
		}
	}
}

// tooLongError says that more was printed than is kept.
type tooLongError string

func (e tooLongError) Error() string { return string(e) }

func isTooLong(err error) bool {
	var long tooLongError
	return errors.As(err, &long)
}

// readMost reads to the end, or to one byte more than the limit, which is a tooLongError.
func readMost(r io.Reader, most int) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(out) > most {
		err = tooLongError(fmt.Sprintf("prints more than %d bytes", most))
	}
	return out, err
}
