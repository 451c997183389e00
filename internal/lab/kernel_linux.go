package lab

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// pause waits for signals and returns only with an error.
func pause() error {
	for {
		if err := unix.Pause(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func setHostname(name string) error { return unix.Sethostname([]byte(name)) }

func mounts() error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	// networkd waits for udev unless /sys is read-only (man systemd-networkd: containers).
	if err := mount("sysfs", "/sys", "sysfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	for _, folder := range []string{"/run", "/var/lib"} {
		if err := mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
			return err
		}
	}
	// A copy rather than an overlay: in a user namespace nobody may write to folders of the real root,
	// not even through an overlay.
	const etc = "/run/railwright/etc"
	if err := copyTree("/etc", etc); err != nil {
		return err
	}
	return mount(etc, "/etc", "", unix.MS_BIND, "")
}

// mountProc mounts, for a new process id namespace its own /proc.
func mountProc() error {
	return errors.Join(mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), mount("proc", "/proc", "proc", 0, ""))
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", kind, target, err)
	}
	return nil
}

// lockExclusively locks a file for this process alone; it does not wait.
func lockExclusively(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// notifyOrphans says when a child ended.
func notifyOrphans(ended chan<- os.Signal) { signal.Notify(ended, unix.SIGCHLD) }

// bury reaps children that ended.
func bury() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
