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
	Begun   []prepare.Step `json:"begun"`             // in their order; their Undo takes them back
	Entered bool           `json:"entered"`           // maintenance mode, by this program
	Pending bool           `json:"pending"`           // something that was begun waits for a start of the host
	Restart *time.Time     `json:"restart,omitempty"` // the start of the host before the one that is waited for

	file string
	lock *os.File
}

func (e ESX) openJournal() (*esxJournal, error) {
	if e.Host != filepath.Base(e.Host) {
		return nil, fmt.Errorf("host %q: is not a name", e.Host)
	}
	folder := filepath.Join(e.Folder, e.Host)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w", folder, err)
	}
	j := &esxJournal{file: filepath.Join(folder, "journal.json"), lock: lock}
	text, err := os.ReadFile(j.file)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(text, j)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %q: %w", j.file, err), lock.Close())
	}
	return j, nil
}

func (j *esxJournal) begin(s prepare.Step) error {
	j.Begun = append(j.Begun, s)
	j.Entered = j.Entered || s.ID == "maintenance-enter"
	return j.save()
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
		return err
	}
	if err := os.Rename(beside, j.file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(j.file))
}
