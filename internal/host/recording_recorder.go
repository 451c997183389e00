package host

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"sync"
	"time"
)

// Recorder is a host that notes what it is asked and what it answers, errors included: that a file is absent
// or closed to us is a fact too. What is asked again is answered from the notes, so that facts collected
// through a Recorder are those that its recording gives. It is safe for several goroutines.
type Recorder struct {
	host Host
	mu   sync.Mutex
	r    recording
	size int
}

// maxAnswer bounds what is kept of one answer, in bytes: the kernel's log of a large node is some MiB.
const maxAnswer = 16 << 20

// NewRecorder records a host. The tool version and the time, to the second, stand in the recording; the same
// time is to be given to whoever collects facts.
func NewRecorder(h Host, tool string, now time.Time) *Recorder {
	return &Recorder{host: h, r: recording{
		heading: heading{tool: tool, host: h.Name(), time: now.UTC().Truncate(time.Second)},
		answers: make(map[question]answer),
	}}
}

// Archive writes what was recorded, as txtar. The same answers give the same bytes.
func (r *Recorder) Archive() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.r.format()
}

// Name is the name of the recorded host.
func (r *Recorder) Name() string { return r.r.host }

// ReadFile reads a file of the recorded host.
func (r *Recorder) ReadFile(name string) ([]byte, error) {
	return r.ask(pathQuestion(opRead, name), func() ([]byte, error) { return r.host.ReadFile(path.Clean("/" + name)) })
}

// ReadDir lists a directory of the recorded host.
func (r *Recorder) ReadDir(name string) ([]string, error) {
	data, err := r.ask(pathQuestion(opList, name), func() ([]byte, error) {
		names, err := r.host.ReadDir(path.Clean("/" + name))
		if err != nil && names == nil {
			return nil, err
		}
		return encodeNames(names), err
	})
	return listed(data, err)
}

// ReadLink reads a symbolic link of the recorded host.
func (r *Recorder) ReadLink(name string) (string, error) {
	data, err := r.ask(pathQuestion(opLink, name), func() ([]byte, error) {
		l, ok := r.host.(Linker)
		if !ok {
			return nil, ErrNotSupported
		}
		target, err := l.ReadLink(path.Clean("/" + name))
		if err != nil {
			return nil, err
		}
		return []byte(target), nil
	})
	return string(data), err
}

// Dump asks the recorded host's kernel for a table.
func (r *Recorder) Dump(ctx context.Context, messageType uint16, family uint8) ([]byte, error) {
	return r.ask(question{opDump, dumpKey(messageType, family)}, func() ([]byte, error) {
		n, ok := r.host.(Netlinker)
		if !ok {
			return nil, ErrNotSupported
		}
		return n.Dump(ctx, messageType, family)
	})
}

// Output runs a command on the recorded host. What a command is given to read is not recorded, so one that
// is given something is refused.
func (r *Recorder) Output(ctx context.Context, c Command) ([]byte, error) {
	if c.Stdin != nil {
		return nil, fmt.Errorf("command %q with standard input: %w", runQuestion(c).key, ErrNotRecorded)
	}
	return r.ask(runQuestion(c), func() ([]byte, error) {
		runner, ok := r.host.(Commander)
		if !ok {
			return nil, ErrNotSupported
		}
		return runner.Output(ctx, c)
	})
}

// ask answers from the notes, or asks the host and notes it.
func (r *Recorder) ask(q question, do func() ([]byte, error)) ([]byte, error) {
	if a, ok := r.noted(q); ok {
		return a.replay()
	}
	data, err := do()
	if len(data) > maxAnswer {
		data, err = nil, fmt.Errorf("%d bytes do not fit into a recording: %w", len(data), ErrTooLarge)
	}
	return r.note(q, answer{data: bytes.Clone(data), given: err == nil || len(data) > 0, fault: noteFault(err)}).replay()
}

func (r *Recorder) noted(q question) (answer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.r.answers[q]
	return a, ok
}

// note keeps the first answer to a question. One that makes the recording too large becomes an error.
func (r *Recorder) note(q question, a answer) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.r.answers[q]; ok {
		return first
	}
	// Hexadecimal takes two bytes a byte and a newline a line; half of the whole is left for heads and errors.
	if r.size += 2*len(a.data) + len(a.data)/hexLine; a.given && r.size > MaxRecording/2 {
		a = answer{fault: noteFault(fmt.Errorf("recording is full: %w", ErrTooLarge))}
	}
	r.r.answers[q] = a
	return a
}

// replay returns a recorded answer.
func (a answer) replay() ([]byte, error) {
	var data []byte
	if a.given {
		data = append([]byte{}, a.data...)
	}
	if a.fault != nil {
		return data, a.fault.err()
	}
	return data, nil
}

func listed(data []byte, err error) ([]string, error) {
	names, bad := decodeNames(data)
	if bad != nil {
		return nil, bad
	}
	return names, err
}
