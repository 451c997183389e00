package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// JournalFolder is where a host keeps the files that each apply replaced.
const JournalFolder = "/var/lib/railwright/journal"

// ErrNoJournal means that there is nothing to roll back.
var ErrNoJournal = errors.New("nothing was applied here that could be rolled back")

// ErrBusy means that another process holds the journal.
var ErrBusy = errors.New("another apply or rollback is running on this host")

// The entries of a journal are folders. Renaming one is what changes its state, so that a process that is killed
// between any two instructions leaves one of these:
//
//	000007        applied: the files are as the entry wrote them, and it can be rolled back
//	000007.open   its files are being replaced, or restored: some are as before, some as written
//	000007.draft  no file depends on it: it is not complete yet, or it was undone; the next run deletes it
const (
	open  = ".open"
	draft = ".draft"
)

// journal is the journal of this host, locked.
type journal struct {
	folder string
	lock   *os.File
	// undone are the changes that ended an apply or a rollback that was interrupted; nil: none was.
	undone []Change
}

// openJournal locks the journal and ends what an interrupted process left: what it was replacing or restoring is
// restored, and its temporary files are deleted.
func openJournal(folder string) (*journal, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w", folder, err)
	}
	j := &journal{folder: folder, lock: lock}
	if err := j.recover(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// close gives up the lock; so does the end of the process.
func (j *journal) close() error { return j.lock.Close() }

func (j *journal) recover() error {
	entries, err := listEntries(j.folder)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(entries) {
		switch e.state {
		case draft:
			err = os.RemoveAll(e.folder)
		case open:
			err = j.end(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end undoes an entry whose process was killed.
func (j *journal) end(e *entry) error {
	err := e.load()
	if err == nil {
		err = e.check()
	}
	if err == nil {
		_, err = e.undo()
	}
	if err != nil {
		return fmt.Errorf("an apply or rollback was interrupted, and cannot be undone: %w; the previous files are in %q: "+
			"remove that folder to keep the files as they are now", err, e.folder)
	}
	j.undone = append(j.undone, e.changes()...)
	return nil
}

// Interrupted reports whether an entry is open: an apply or a rollback was killed, or is running. It changes nothing.
func Interrupted(folder string) (bool, error) {
	entries, err := listEntries(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(entries, func(e *entry) bool { return e.state == open }), err
}

// listEntries returns the entries of a journal in their order, without their content.
func listEntries(folder string) ([]*entry, error) {
	names, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var entries []*entry
	for _, n := range names {
		number, state, _ := strings.Cut(n.Name(), ".")
		if state != "" {
			state = "." + state
		}
		i, err := strconv.Atoi(number)
		if err != nil || i < 1 || !n.IsDir() || !slices.Contains([]string{"", open, draft}, state) {
			return nil, fmt.Errorf("journal %q: %q is not an entry of a journal: move it away", folder, n.Name())
		}
		entries = append(entries, &entry{folder: filepath.Join(folder, n.Name()), number: i, state: state})
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return a.number - b.number })
	return entries, nil
}

// newEntry makes the folder of the next entry. Entries are numbered, because clocks are set back.
func (j *journal) newEntry() (*entry, error) {
	entries, err := listEntries(j.folder)
	if err != nil {
		return nil, err
	}
	number := 1
	if len(entries) > 0 {
		number = entries[len(entries)-1].number + 1
	}
	e := &entry{folder: filepath.Join(j.folder, fmt.Sprintf("%06d%s", number, draft)), number: number, state: draft}
	return e, os.Mkdir(e.folder, 0o700)
}

// last returns the entry of the last apply.
func (j *journal) last() (*entry, error) {
	entries, err := listEntries(j.folder)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("journal %q: %w", j.folder, ErrNoJournal)
	}
	e := entries[len(entries)-1]
	return e, e.load()
}

// Rollback restores the state before the last apply: content, mode, owner, time of change, links, and the absence of
// files and folders. A file that was changed since is left alone, and is an error before anything is touched. After an
// apply or a rollback that was interrupted, it restores the state before that one.
func Rollback(folder string) (changes []Change, err error) {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("journal %q: %w", folder, ErrNoJournal)
	}
	j, err := openJournal(folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	if j.undone != nil {
		return j.undone, nil
	}
	e, err := j.last()
	if err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("%w: nothing was rolled back; the previous files are in %q", err, e.folder)
	}
	if err := e.become(open); err != nil {
		return nil, err
	}
	touched, err := e.undo()
	switch {
	case err == nil:
		return e.changes(), nil
	case touched:
		return nil, fmt.Errorf("%w: rolled back in part: repeat railwright rollback; the previous files are in %q", err, e.folder)
	default:
		return nil, errors.Join(fmt.Errorf("%w: nothing was rolled back", err), e.become(""))
	}
}
