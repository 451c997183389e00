package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Namespace is a host made of the namespaces of one process: its network, mounts, host name and process
// ids. Commands enter through nsenter, because a Go program has threads and the kernel lets no such
// program into another user namespace.
type Namespace struct {
	Host string
	PID  int  // of a process in the namespaces, as this process sees it
	User bool // the namespaces belong to a user namespace of an ordinary user
}

// PlatformFile is where a lab host says that it is one: the file then holds "lab".
const PlatformFile = "/run/railwright/platform"

// HardwareFile is where a lab host finds the recording whose hardware it is to have.
const HardwareFile = "/run/railwright/hardware.txtar"

// Name is the name of the host.
func (n Namespace) Name() string { return n.Host }

// Start runs a command inside.
func (n Namespace) Start(ctx context.Context, c Command) (*Process, error) {
	if !Alive(n.PID) {
		return nil, fmt.Errorf("host %q: process %d, which holds its namespaces, is gone", n.Host, n.PID)
	}
	c.Argv = append(n.enter(), c.Argv...)
	return Local{}.Start(ctx, c)
}

// Attach runs a command inside on this process's own terminal and gives its exit status.
func (n Namespace) Attach(ctx context.Context, argv []string) (int, error) {
	cmd := command(ctx, Command{Argv: append(n.enter(), argv...)})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() >= 0 {
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, err
}

func (n Namespace) enter() []string {
	argv := []string{"nsenter", "--target", strconv.Itoa(n.PID), "--mount", "--uts", "--net", "--pid"}
	if n.User {
		argv = append(argv, "--user", "--preserve-credentials")
	}
	return append(argv, "--wd=/", "--")
}

// Isolation says which new namespaces a process gets.
type Isolation struct {
	User  bool // with this process's user as root inside
	PID   bool
	Net   bool
	Mount bool
	UTS   bool
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
	stderr, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
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

// PID is the process id, as this process sees it.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Alive says whether a process exists and is no zombie.
func Alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	after, found := afterName(string(stat))
	return found && !strings.HasPrefix(after, "Z")
}

// StartTime is when a process started, in clock ticks since boot: with the process id it names one process
// for good, because ids are used again.
func StartTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	after, _ := afterName(string(stat))
	fields := strings.Fields(after)
	const startTime = 22 - 3 // proc(5): field 22, and the first after the name is field 3
	if len(fields) <= startTime {
		return "", fmt.Errorf("/proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	return fields[startTime], nil
}

// afterName gives the fields of /proc/PID/stat behind the name, which may itself hold blanks and brackets.
func afterName(stat string) (fields string, ok bool) {
	at := strings.LastIndex(stat, ") ")
	if at < 0 {
		return "", false
	}
	return stat[at+2:], true
}

// Children maps the process ids that the children of a process have in their own process id namespace
// to those that this process sees.
func Children(pid int) (map[int]int, error) {
	// A child belongs to the thread that started it.
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	children := make(map[int]int)
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread ended
		}
		for _, field := range strings.Fields(string(text)) {
			outer, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			if inner, err := innermostPID(outer); err == nil {
				children[inner] = outer
			}
		}
	}
	return children, nil
}

func innermostPID(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(ids)
			return strconv.Atoi(fields[len(fields)-1])
		}
	}
	return 0, fmt.Errorf("/proc/%d/status: no NSpid", pid)
}

// Signal sends a signal to a process by its id.
func Signal(pid int, s unix.Signal) error { return unix.Kill(pid, s) }
