package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"railwright.dev/railwright/internal/prepare"
)

// esxJournal is what was begun on an ESX host, on the machine from which it is done. It is written before each step.
type esxJournal struct {
	UUID    string      `json:"uuid"`              // of the host
	Begun   []begun     `json:"begun"`             // in their order; their Undo takes them back
	Entered bool        `json:"entered"`           // maintenance mode, by this program
	Pending bool        `json:"pending"`           // something that was begun waits for a start of the host
	Restart *esxRestart `json:"restart,omitempty"` // the start that is waited for
	Back    bool        `json:"back,omitempty"`    // a rollback was begun
	Shown   bool        `json:"shown,omitempty"`   // and the host was started so that mst shows what was taken out of passthrough

	file string
	lock *os.File
}

// begun is a step that was begun.
type begun struct {
	prepare.Step
	Done    bool `json:"done"`              // its commands ended, and its check passed
	Started bool `json:"started,omitempty"` // the host was started after it, and its check passed again
	Undone  bool `json:"undone,omitempty"`
}

// esxRestart is how a host is known to have been started: what it lost with it.
type esxRestart struct {
	Token  string    `json:"token"`  // in a file that a start takes away
	Uptime int64     `json:"uptime"` // in microseconds, before
	Asked  time.Time `json:"asked"`  // by the clock of this machine
}

func (e ESX) journalFolder() (string, error) {
	if e.Host == "" || e.Host != filepath.Base(e.Host) || e.Host[0] == '.' {
		return "", fmt.Errorf("host %q: is not a name", e.Host)
	}
	return filepath.Join(e.Folder, e.Host), nil
}

func (e ESX) openJournal() (*esxJournal, error) {
	folder, err := e.journalFolder()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w", folder, err)
	}
	j, err := readESXJournal(folder)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	j.lock = lock
	return j, nil
}

// readESXJournal reads a journal as it is; an empty one where there is none.
func readESXJournal(folder string) (*esxJournal, error) {
	j := &esxJournal{file: filepath.Join(folder, "journal.json")}
	text, err := os.ReadFile(j.file)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(text, j)
	}
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w", j.file, err)
	}
	return j, nil
}

// begin writes a step down; done is called when it is done.
func (j *esxJournal) begin(s prepare.Step) (done func() error, err error) {
	j.Begun = append(j.Begun, begun{Step: s})
	j.Pending = j.Pending || s.Starts
	i := len(j.Begun) - 1
	return func() error {
		j.Begun[i].Done = true
		return j.save()
	}, j.save()
}

// save writes beside the file and renames, so that a kill leaves the one or the other.
func (j *esxJournal) save() error {
	text, err := json.MarshalIndent(j, "", " ")
	if err != nil {
		return err
	}
	beside := j.file + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(beside, text, 0o600); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := os.Rename(beside, j.file); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return syncFolder(filepath.Dir(j.file))
}
