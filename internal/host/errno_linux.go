package host

import (
	"errors"
	"syscall"
)

// linuxErrno is an error number of Linux.
type linuxErrno = syscall.Errno

// errnoOf returns the error number of Linux in an error; 0 where there is none.
func errnoOf(err error) int {
	n, _ := errors.AsType[linuxErrno](err)
	return int(n)
}
