//go:build !linux

package host

import (
	"errors"
	"fmt"
	"io/fs"
)

// linuxErrno is an error number of Linux, which a recording holds and this system numbers otherwise.
type linuxErrno int

func (n linuxErrno) Error() string { return fmt.Sprintf("errno %d of Linux", int(n)) }

// Is knows the errors that every system has (asm-generic/errno-base.h).
func (n linuxErrno) Is(target error) bool {
	switch n {
	case 1, 13: // EPERM, EACCES
		return target == fs.ErrPermission
	case 2: // ENOENT
		return target == fs.ErrNotExist
	default:
		return false
	}
}

// errnoOf returns the error number of Linux in an error; 0 where there is none, as in this system's own errors.
func errnoOf(err error) int {
	n, _ := errors.AsType[linuxErrno](err)
	return int(n)
}
