package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start runs a command on this machine, in a process group of its own.
func (Local) Start(ctx context.Context, c Command) (*Process, error) {
	cmd := command(ctx, c)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &Process{cmd: cmd, stderr: &tail{}}
	cmd.Stderr = p.stderr
	var err error
	if p.Stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.Stdout = stdout
	if c.Merged {
		cmd.Stderr = cmd.Stdout
	}
	cmd.Cancel = func() error {
		err := killGroup(cmd)
		// What has left the group may hold the other end open: nobody waits for it.
		_ = stdout.Close() // closed already where all was read
		return err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// killGroup ends a process and all that it has started and that has made no session of its own. To end
// the process alone is not enough: nsenter, for one, only waits for the program that it starts.
func killGroup(cmd *exec.Cmd) error {
	return Signal(-cmd.Process.Pid, unix.SIGKILL)
}

func (i Isolation) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	for _, f := range []struct {
		on   bool
		flag uintptr
	}{{i.User, unix.CLONE_NEWUSER}, {i.PID, unix.CLONE_NEWPID}, {i.Net, unix.CLONE_NEWNET}, {i.Mount, unix.CLONE_NEWNS}, {i.UTS, unix.CLONE_NEWUTS}} {
		if f.on {
			a.Cloneflags |= f.flag
		}
	}
	if i.User {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// Detach starts a command that outlives this process, in new namespaces where asked for, with standard
// error in a log file. What it prints comes back through the Process; the caller must not Wait for it.
func (Local) Detach(c Command, i Isolation, log string) (*Process, error) {
	stderr, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(cmd.Environ(), c.Env...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = i.attributes()
	p := &Process{cmd: cmd, stderr: &tail{}}
	if p.Stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Argv[0], err)
	}
	return p, nil
}

// Daemon starts a command in a session of its own with its output in a log file, and leaves it running.
func (Local) Daemon(c Command, log string) (pid int, err error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(cmd.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %q: %w", c.Argv[0], err)
	}
	pid = cmd.Process.Pid // Release forgets it
	return pid, cmd.Process.Release()
}

// Signal sends a signal to a process by its id; os.ErrProcessDone where there is none.
func Signal(pid int, s syscall.Signal) error {
	err := unix.Kill(pid, s)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// KillIf kills a process if it proves to be the expected one. It holds on to the process before it asks, so that the
// number cannot become another's in between (pidfd_open(2)). A process that is gone or is another is left alone.
func KillIf(pid int, expected func() bool) error {
	if pid <= 0 {
		return nil
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }() // nothing is known of it that could be lost
	if !expected() {
		return nil
	}
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// enterNetwork moves this thread into a network namespace.
func enterNetwork(namespace *os.File) error {
	return unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
}
