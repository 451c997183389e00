package results

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// maxSize is the largest message size that is accepted, 1 PiB: all memory of 8,000 GPUs of 140 GB.
const maxSize = int64(1) << 50

var (
	errNoNumber  = errors.New("not a number")
	errNegative  = errors.New("negative")
	errNotFinite = errors.New("not finite")
	errTooLarge  = errors.New("more than 1 PiB")
)

// measured reads a time, a rate or a bandwidth: finite and not negative.
func measured(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errNotFinite
	case err != nil || !decimal(s) && !math.IsNaN(v) && !math.IsInf(v, 0):
		return 0, errNoNumber
	}
	return checked(v)
}

func checked(v float64) (float64, error) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, errNotFinite
	case v < 0:
		return 0, errNegative
	}
	return v, nil
}

// decimal rejects the forms that only Go writes: 0x1p4 and 1_000.
func decimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; c == 'x' || c == 'X' || c == '_' {
			return false
		}
	}
	return s != ""
}

// size reads a number of bytes or elements.
func size(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && v > maxSize:
		return 0, errTooLarge
	case err != nil:
		return 0, errNoNumber
	case v < 0:
		return 0, errNegative
	}
	return v, nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// small reads a count such as a rank; it returns 0 for text that is not a count.
func small(s string) int {
	v, err := strconv.Atoi(s)
	if err != nil || v < 0 || v > math.MaxInt32 {
		return 0
	}
	return v
}

// cellError names a cell of a table without a usable number.
func cellError(column, text string, err error) string {
	return fmt.Sprintf("%s %q: %v", column, text, err)
}
