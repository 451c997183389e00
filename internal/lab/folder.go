package lab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The files of a lab's folder. The state names processes to enter and to kill and holds keys, and a root lab restores
// limits of the machine from it: so nobody but the user of the lab may write there, or read.
const (
	stateFile = "lab.json"
	lockFile  = "lock"
	logFile   = "keeper.log"
)

// lock keeps others from starting a lab in the same folder at the same time. It makes the folder.
func lock(folder string) (unlock func(), err error) {
	if err := makeFolder(folder); err != nil {
		return nil, err
	}
	f, err := openOwn(filepath.Join(folder, lockFile), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	if err := lockExclusively(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: another one is being started in %q", ErrRunning, folder), f.Close())
	}
	held, err := f.Stat()
	if now, nowErr := os.Lstat(f.Name()); err != nil || nowErr != nil || !os.SameFile(held, now) {
		// Another start ended between our open and our lock, and removed what we have locked.
		return nil, errors.Join(fmt.Errorf("%w: another one was being started in %q: try again", ErrRunning, folder), f.Close())
	}
	return func() {
		if _, err := os.Lstat(filepath.Join(folder, stateFile)); errors.Is(err, fs.ErrNotExist) {
			_ = removeFolder(folder) // no lab was started
		}
		_ = f.Close() // the kernel unlocks with it
	}, nil
}

// makeFolder makes the folder of a lab; an existing one must belong to this user alone.
func makeFolder(folder string) error {
	if err := checkParents(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return checkFolder(folder)
}

// checkFolder checks that a folder belongs to this user and cannot be replaced by others, and makes it private.
func checkFolder(folder string) error {
	if err := checkParents(folder); err != nil {
		return err
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	uid, known := ownerOf(info)
	switch {
	case !info.IsDir():
		return fmt.Errorf("lab: folder %q: is not a folder", folder)
	case !known || uid != os.Geteuid():
		return fmt.Errorf("lab: folder %q: belongs to user %d: set RAILWRIGHT_LAB to a folder of your own", folder, uid)
	case writableByOthers(info):
		return fmt.Errorf("lab: folder %q: is writable by other users (mode %#o): remove it, or set RAILWRIGHT_LAB to another one", folder, info.Mode().Perm())
	case info.Mode().Perm() != 0o700:
		return os.Chmod(folder, 0o700)
	}
	return nil
}

// checkParents checks that no other user can replace a folder above a lab's folder, or a link to one, as sshd does for a
// key file. A sticky folder such as /tmp is safe: only the owner of an entry can replace it.
func checkParents(folder string) error {
	full, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil && resolved != filepath.Dir(full) {
		if err := checkParents(filepath.Join(resolved, filepath.Base(full))); err != nil {
			return err
		}
	}
	for at := filepath.Dir(full); ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("lab: %w", err)
		}
		if err == nil {
			if err := checkOwner(at, info); err != nil {
				return fmt.Errorf("lab: folder %q: %w: set RAILWRIGHT_LAB to another one", folder, err)
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func checkOwner(path string, info fs.FileInfo) error {
	uid, known := ownerOf(info)
	switch {
	case !known || uid != os.Geteuid() && uid != administrator():
		return fmt.Errorf("%q belongs to user %d", path, uid)
	case info.Mode()&fs.ModeSymlink == 0 && info.Mode()&fs.ModeSticky == 0 && writableByOthers(info):
		return fmt.Errorf("%q can be replaced by other users: mode %#o", path, info.Mode().Perm())
	}
	return nil
}

// administrator is the user who owns the root folder: 0, but in a user namespace without that user.
func administrator() int {
	info, err := os.Lstat("/")
	if err != nil {
		return 0
	}
	uid, _ := ownerOf(info)
	return uid
}

// openOwn opens a regular file of this user in a lab's folder. A link is never followed.
func openOwn(name string, flags int) (*os.File, error) {
	f, err := openNoFollow(name, flags)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if uid, known := ownerOf(info); !known || uid != os.Geteuid() || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%q: is not a file of this user", name), f.Close())
	}
	return f, nil
}

// readState reads the state of a lab; fs.ErrNotExist where there is none.
func readState(folder string) ([]byte, error) {
	if _, err := os.Lstat(folder); err != nil {
		return nil, err
	}
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	f, err := openOwn(filepath.Join(folder, stateFile), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// writeState replaces the state of a lab.
func writeState(folder string, text []byte) error {
	name := filepath.Join(folder, stateFile)
	if err := os.Remove(name + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := openOwn(name+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// removeState removes all files of a lab but the lock.
func removeState(folder string) error {
	return removeFiles(folder, stateFile, stateFile+".new", logFile)
}

// removeFolder removes the folder of a lab that has no state any more. One that holds files of others stays.
func removeFolder(folder string) error {
	if err := removeFiles(folder, lockFile); err != nil {
		return err
	}
	if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}

func removeFiles(folder string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
