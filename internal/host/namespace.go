package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// PID is the process id, as this process sees it.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Alive reports whether a process exists and is not a zombie.
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

// afterName returns the fields of /proc/PID/stat behind the name, which may itself hold blanks and brackets.
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
