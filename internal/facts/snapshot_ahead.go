package facts

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// ahead loads the files of a folder shortly before they are wanted, as many at once as there are processors: to decode the facts
// of a node takes about as long as to check them. What is wanted comes in its order, and no more is loaded than is about to be
// wanted, so that the facts of all nodes are never in memory together.
type ahead struct {
	l       *loader
	folder  string
	entries []fs.DirEntry
	loads   []chan loaded // of each entry, nil where it is not a plain file
	begun   int           // entries that were looked at
	running sync.WaitGroup
}

type loaded struct {
	facts *fabric.Facts
	err   error
}

func (l *loader) ahead(folder string, entries []fs.DirEntry) *ahead {
	return &ahead{l: l, folder: folder, entries: entries, loads: make([]chan loaded, len(entries))}
}

// of returns what an entry gives once it is loaded; nil where it is not a plain file. Its caller asks for one after the other.
func (a *ahead) of(i int) func() (*fabric.Facts, error) {
	for ; a.begun < len(a.entries) && a.begun <= i+runtime.GOMAXPROCS(0); a.begun++ {
		if a.entries[a.begun].Type().IsRegular() {
			a.begin(a.begun)
		}
	}
	load := a.loads[i]
	if load == nil {
		return nil
	}
	return func() (*fabric.Facts, error) {
		got := <-load
		return got.facts, got.err
	}
}

func (a *ahead) begin(i int) {
	done := make(chan loaded, 1)
	a.loads[i] = done
	path := filepath.Join(a.folder, a.entries[i].Name())
	a.running.Add(1)
	host.Go(func() {
		f, err := a.l.load(path)
		done <- loaded{f, err}
		a.running.Done() // not deferred: a panic ends the program
	})
}

// wait waits for what was begun and is not wanted any more.
func (a *ahead) wait() { a.running.Wait() }
