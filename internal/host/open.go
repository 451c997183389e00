package host

import (
	"io"
	"os"
	"time"
)

// Opener is a Host whose files can be read piece by piece, for one that is larger than MaxFile
// (/proc/kallsyms). The caller bounds what it reads and closes the file.
type Opener interface {
	Open(name string) (io.ReadCloser, error)
}

// openPatience is how long an opened file may take to give its bytes if it is one that waits (a pipe):
// the largest file of interest, /proc/kallsyms, is read in less than a second.
const openPatience = 10 * time.Second

func patient(f *os.File, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	_ = f.SetReadDeadline(time.Now().Add(openPatience)) // a file that takes no deadline is one that does not wait
	return f, nil
}
