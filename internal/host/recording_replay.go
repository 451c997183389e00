package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"
)

// Replay is a recorded host. It answers what the host answered, errors included; what was not asked then is
// ErrNotRecorded: unknown, not absent. It is safe for several goroutines.
type Replay struct{ r *recording }

// LoadRecording reads a recording of at most MaxRecording bytes. Errors: ErrNotRecording, ErrCut, another
// recordingVersion, a change after it was written, and entries that are there twice or not understood.
func LoadRecording(in io.Reader) (*Replay, error) {
	r, err := readRecording(in)
	if err != nil {
		return nil, err
	}
	for q, a := range r.answers {
		if q.op != opList {
			continue
		}
		if _, err := decodeNames(a.data); err != nil {
			return nil, fmt.Errorf("recording entry list %s: %w", shortened(q.key), err)
		}
	}
	return &Replay{r}, nil
}

// IsRecording reports by its first bytes whether a file claims to be a recording, of any recordingVersion.
func IsRecording(head []byte) bool { return bytes.HasPrefix(head, []byte(recordingMagic)) }

// Name is the name of the recorded host.
func (p *Replay) Name() string { return p.r.host }

// Time is when the host was recorded, in UTC.
func (p *Replay) Time() time.Time { return p.r.time }

// Tool is the version of the program that recorded.
func (p *Replay) Tool() string { return p.r.tool }

// ReadFile returns a file as it was.
func (p *Replay) ReadFile(name string) ([]byte, error) { return p.file(opRead, name) }

// ReadDir returns the names that were in a directory.
func (p *Replay) ReadDir(name string) ([]string, error) { return listed(p.file(opList, name)) }

// ReadLink returns a symbolic link as it was. Links are answers: nothing here follows them.
func (p *Replay) ReadLink(name string) (string, error) {
	target, err := p.file(opLink, name)
	return string(target), err
}

// Dump returns what the kernel answered.
func (p *Replay) Dump(_ context.Context, messageType uint16, family uint8) ([]byte, error) {
	q := question{opDump, dumpKey(messageType, family)}
	if a, ok := p.r.answers[q]; ok {
		return a.replay()
	}
	return nil, fmt.Errorf("netlink dump %d: %w", messageType, ErrNotRecorded)
}

// Output returns what the command printed, and how it ended.
func (p *Replay) Output(_ context.Context, c Command) ([]byte, error) {
	q := runQuestion(c)
	if a, ok := p.r.answers[q]; ok && c.Stdin == nil {
		return a.replay()
	}
	return nil, fmt.Errorf("command %q: %w", q.key, ErrNotRecorded)
}

func (p *Replay) file(op operation, name string) ([]byte, error) {
	if a, ok := p.r.answers[pathQuestion(op, name)]; ok {
		return a.replay()
	}
	return nil, &fs.PathError{Op: string(op), Path: path.Clean("/" + name), Err: ErrNotRecorded}
}
