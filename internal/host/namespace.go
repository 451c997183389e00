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

// ProcessInfo is what tells a process from others: ids are used again.
type ProcessInfo struct {
	Start            string   // in clock ticks since boot: with the process id it names one process for good
	UID              int      // effective user, as this process sees it
	Argv             []string // an empty word of a kernel thread, and for a moment of a process that is executing a program
	FirstInNamespace bool     // it is process 1 of a process id namespace below that of this process
}

// Describe reads what the kernel says of a process; an error where there is none, or only a zombie.
func Describe(pid int) (ProcessInfo, error) {
	if pid <= 0 || !Alive(pid) {
		return ProcessInfo{}, os.ErrProcessDone
	}
	start, err := startTime(pid)
	if err != nil {
		return ProcessInfo{}, err
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ProcessInfo{}, err
	}
	users, err := statusFields(pid, "Uid")
	if err != nil {
		return ProcessInfo{}, err
	}
	ids, err := statusFields(pid, "NSpid")
	if err != nil {
		return ProcessInfo{}, err
	}
	if len(users) < 2 { // real, effective, saved, file system
		return ProcessInfo{}, fmt.Errorf("/proc/%d/status: %d user ids", pid, len(users))
	}
	return ProcessInfo{
		Start: start, UID: users[1], Argv: strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"),
		FirstInNamespace: len(ids) > 1 && ids[len(ids)-1] == 1,
	}, nil
}

func startTime(pid int) (string, error) {
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
	ids, err := statusFields(pid, "NSpid")
	if err != nil {
		return 0, err
	}
	return ids[len(ids)-1], nil
}

// statusFields returns the numbers of a line of /proc/PID/status, at least one.
func statusFields(pid int, name string) ([]int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(status)) {
		rest, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		var numbers []int
		for _, field := range strings.Fields(rest) {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("/proc/%d/status: %s: %w", pid, name, err)
			}
			numbers = append(numbers, n)
		}
		if len(numbers) > 0 {
			return numbers, nil
		}
	}
	return nil, fmt.Errorf("/proc/%d/status: no %s", pid, name)
}
