// Package files is where commands read their input: the whole file system of the user, or one folder of it with bounds.
package files

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Files opens the files that arguments and flags name. Names are those of the operating system.
type Files interface {
	Open(name string) (fs.File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error) // in the order of names
	OpenRoot(name string) (*os.Root, error)     // a folder whose links may not lead out of it
	Abs(name string) (string, error)            // the absolute path; the file need not exist
}

// Disk is the whole file system.
type Disk struct{}

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
