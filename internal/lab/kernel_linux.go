package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

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
	// not even through an overlay. The two folders are those that rendered files go to.
	for _, folder := range []string{"/etc", "/usr/local/sbin"} {
		own := "/run/railwright" + folder
		if err := copyTree(folder, own); err != nil {
			return err // without its own folder a lab host would write to that of this machine
		}
		if err := mount(own, folder, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
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

// ownerOf returns the user that a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(stat.Uid), true
}

// writableByOthers reports whether someone besides the owner may write. The group that has the number of its user is
// that user's own (user private groups, useradd(8)).
func writableByOthers(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Mode&unix.S_IWOTH != 0 || stat.Mode&unix.S_IWGRP != 0 && stat.Gid != stat.Uid
}

// openNoFollow opens a file, but no link, and waits for nobody.
func openNoFollow(name string, flags int) (*os.File, error) {
	return os.OpenFile(name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
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
