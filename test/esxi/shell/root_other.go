//go:build !linux

package main

import (
	"errors"
	"os"
)

var errNoLinux = errors.New("a root of its own takes Linux")

func enter(string, bool, string) error { return errNoLinux }

func unlimited() error { return errNoLinux }

func lockFile(*os.File) error { return errNoLinux }

func cut() error { return errNoLinux }
