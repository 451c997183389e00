package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// fault is an error as a recording keeps it: what it says, and what errors.Is and errors.As find in it.
type fault struct {
	Text   string    `json:"text,omitempty"`   // absent where Op or Exit say it all
	Op     string    `json:"op,omitempty"`     // of a *fs.PathError
	Path   string    `json:"path,omitempty"`   // likewise
	Reason string    `json:"reason,omitempty"` // likewise, the text of its cause
	Errno  int       `json:"errno,omitempty"`  // of Linux
	Is     []string  `json:"is,omitempty"`     // names of the list of sentinels
	Exit   *exitNote `json:"exit,omitempty"`
}

// exitNote is an *ExitError.
type exitNote struct {
	Command string `json:"command"`
	Status  int    `json:"status"`
	Stderr  string `json:"stderr,omitempty"`
}

// sentinels are the errors that readers of facts tell apart.
func sentinels() []struct {
	name string
	err  error
} {
	return []struct {
		name string
		err  error
	}{
		{"absent", fs.ErrNotExist},
		{"denied", fs.ErrPermission},
		{"unsupported", ErrNotSupported},
		{"too-large", ErrTooLarge},
		{"no-program", exec.ErrNotFound},
		{"deadline", context.DeadlineExceeded},
		{"io-deadline", os.ErrDeadlineExceeded},
		{"cancelled", context.Canceled},
		{"not-recorded", ErrNotRecorded},
	}
}

// noteFault takes down an error; nil stays nil.
func noteFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		f.Op, f.Path, f.Reason = validText(p.Op), validText(p.Path), validText(p.Err.Error())
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		f.Exit = &exitNote{Command: validText(e.Command), Status: e.Status, Stderr: validText(e.Stderr)}
	}
	f.Errno = errnoOf(err)
	for _, s := range sentinels() {
		if errors.Is(err, s.err) {
			f.Is = append(f.Is, s.name)
		}
	}
	if text := validText(err.Error()); f.err().Error() != text {
		f.Text = text
	}
	return f
}

// validText is the text as JSON holds it: every byte that is no UTF-8 becomes a replacement character.
func validText(text string) string { return string([]rune(text)) }

// err converts back to an error.
func (f *fault) err() error {
	var causes []error
	if f.Errno != 0 {
		causes = append(causes, linuxErrno(f.Errno))
	}
	for _, s := range sentinels() {
		for _, name := range f.Is {
			if name == s.name {
				causes = append(causes, s.err)
			}
		}
	}
	var err error = &replayedError{f.Reason, causes}
	if f.Op != "" {
		err = &fs.PathError{Op: f.Op, Path: f.Path, Err: err}
	}
	if f.Exit != nil {
		exit := &ExitError{Command: f.Exit.Command, Status: f.Exit.Status, Stderr: f.Exit.Stderr}
		if err = exit; f.Op != "" || len(causes) > 0 {
			err = &replayedError{exit.Error(), append(causes, exit)}
		}
	}
	if f.Text != "" {
		err = &replayedError{f.Text, []error{err}}
	}
	return err
}

// replayedError has the text of an error of the recorded host, and matches the same sentinels.
type replayedError struct {
	text   string
	causes []error
}

func (e *replayedError) Error() string   { return e.text }
func (e *replayedError) Unwrap() []error { return e.causes }

// text is one line of JSON.
func (f *fault) text() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return fmt.Appendf(nil, `{"text":%q}`, err.Error()) // strings and numbers always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func parseFault(content []byte) (*fault, error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	var f fault
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("error entry: %w", err)
	}
	if string(f.text())+"\n" != string(content) {
		return nil, errors.New("error entry is not in canonical form")
	}
	if f.err().Error() == "" {
		return nil, errors.New("error entry is empty")
	}
	for _, name := range f.Is {
		if !isSentinel(name) {
			return nil, fmt.Errorf("error entry: kind %q: unknown", shortened(name))
		}
	}
	return &f, nil
}

func isSentinel(name string) bool {
	for _, s := range sentinels() {
		if s.name == name {
			return true
		}
	}
	return false
}
