//go:build !linux

package host

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// ReadFile is ErrNeedsLinux here.
func (Local) ReadFile(string) ([]byte, error) { return nil, ErrNeedsLinux }

// ReadDir is ErrNeedsLinux here.
func (Local) ReadDir(string) ([]string, error) { return nil, ErrNeedsLinux }

// ReadLink is ErrNeedsLinux here.
func (Local) ReadLink(string) (string, error) { return "", ErrNeedsLinux }

// Open is ErrNeedsLinux here.
func (Local) Open(string) (io.ReadCloser, error) { return nil, ErrNeedsLinux }

// Dump is ErrNeedsLinux here.
func (Local) Dump(context.Context, uint16, uint8) ([]byte, error) { return nil, ErrNeedsLinux }

// Start is ErrNeedsLinux here.
func (Local) Start(context.Context, Command) (*Process, error) { return nil, ErrNeedsLinux }

// Detach is ErrNeedsLinux here.
func (Local) Detach(Command, Isolation, string) (*Process, error) { return nil, ErrNeedsLinux }

// Daemon is ErrNeedsLinux here.
func (Local) Daemon(Command, string) (int, error) { return 0, ErrNeedsLinux }

// Signal is ErrNeedsLinux here.
func Signal(int, syscall.Signal) error { return ErrNeedsLinux }

// KillIf is ErrNeedsLinux here.
func KillIf(int, func() bool) error { return ErrNeedsLinux }

func killGroup(*exec.Cmd) error { return ErrNeedsLinux }

func enterNetwork(*os.File) error { return ErrNeedsLinux }
