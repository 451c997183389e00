package main

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// most is what a file may have, in bytes.
const most = 1 << 30

// enter becomes the shell of the host, in its root. On a host whose memory is full no byte more goes into any file.
func enter(folder string, full bool, command string) error {
	if err := syscall.Chroot(folder); err != nil {
		return err
	}
	if err := syscall.Chdir("/"); err != nil {
		return err
	}
	if full {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 0, Max: most}); err != nil {
			return err
		}
	}
	env := []string{"PATH=/bin", "HOME=/"}
	if os.Getenv("SSH_CONNECTION") != "" {
		env = append(env, sessionVariable+"="+strconv.Itoa(os.Getppid()))
	}
	return syscall.Exec("/bin/sh", []string{"sh", "-c", command}, env)
}

// unlimited is for the programs of ESX, which keep the state of the host.
func unlimited() error {
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most})
}

func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// cut ends the connection over which the host was told to go down; without sshd there is none.
func cut() error {
	pid, err := strconv.Atoi(os.Getenv(sessionVariable))
	if err != nil || pid < 2 {
		return nil
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}
