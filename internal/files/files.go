// Package files is where commands read their input: the whole file system of the user, or one folder of it with bounds.
package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Files opens the files that arguments and flags name. Names are those of the operating system.
type Files interface {
	Open(name string) (fs.File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error) // in the order of names
	OpenRoot(name string) (*os.Root, error)     // a folder whose links may not lead out of it
	Abs(name string) (string, error)            // the absolute path; the file need not exist
	OpenNow(name string) (fs.File, error)       // as Open, but a FIFO is not waited for
	Resolve(name string) (string, error)        // the absolute path without links; only to compare, never to open
}

// Disk is the whole file system.
type Disk struct{}

// OpenNow opens a file or a folder; one that is a FIFO is open before anybody writes into it.
func (Disk) OpenNow(name string) (fs.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // not f, as in Open
	}
	return f, nil
}

// Resolve returns the absolute path without links.
func (Disk) Resolve(name string) (string, error) {
	resolved, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(resolved)
}

// Open opens a file or a folder for reading.
func (Disk) Open(name string) (fs.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err // not f: a nil *os.File is not a nil fs.File
	}
	return f, nil
}

// Stat describes a file, or what a link leads to.
func (Disk) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// ReadDir lists a folder.
func (Disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// OpenRoot opens a folder.
func (Disk) OpenRoot(name string) (*os.Root, error) { return os.OpenRoot(name) }

// Abs returns the absolute path.
func (Disk) Abs(name string) (string, error) { return filepath.Abs(name) }
