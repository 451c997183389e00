package run

import (
	"io/fs"
	"runtime"
	"sync"

	"railwright.dev/railwright/internal/fabric"
)

// writers write files below a folder while the next are rendered: to create a file takes the system longer than to render it.
type writers struct {
	queue   chan numbered
	running sync.WaitGroup

	mu    sync.Mutex
	err   error // of the first artifact that could not be written, in their order
	first int   // its number
	begun int   // artifacts so far
}

type numbered struct {
	fabric.Artifact
	number int
}

func newWriters(folder string, cleared fs.FileMode) *writers {
	const ahead = 64 // files, some 100 KB: who renders does not wait for each
	w := &writers{queue: make(chan numbered, ahead)}
	for range runtime.GOMAXPROCS(0) {
		w.running.Go(func() {
			for a := range w.queue {
				if err := writeArtifact(folder, a.Artifact, cleared); err != nil {
					w.fail(a.number, err)
				}
			}
		})
	}
	return w
}

func (w *writers) fail(number int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil || number < w.first {
		w.err, w.first = err, number
	}
}

// write begins to write an artifact. It is false once one could not be written.
func (w *writers) write(a fabric.Artifact) bool {
	w.queue <- numbered{a, w.begun}
	w.begun++
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err == nil
}

// wait waits until all are written.
func (w *writers) wait() error {
	close(w.queue)
	w.running.Wait()
	return w.err
}
