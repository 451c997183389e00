package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// JournalFolder is where a host keeps the files that each apply replaced.
const JournalFolder = "/var/lib/railwright/journal"

// ErrNoJournal means that there is nothing to roll back.
var ErrNoJournal = errors.New("nothing was applied here that could be rolled back")

// entry is one apply: every path that it changed, as it was.
type entry struct {
	folder  string
	Folders []string `json:"folders,omitempty"` // made for it, outermost first
	Files   []saved  `json:"files"`
}

type saved struct {
	Path    string      `json:"path"`
	Mode    fs.FileMode `json:"mode,omitempty"` // with type bits; 0: there was nothing
	UID     int         `json:"uid,omitempty"`
	GID     int         `json:"gid,omitempty"`
	ModTime time.Time   `json:"mod_time,omitzero"`
	Link    string      `json:"link,omitempty"` // target of a symbolic link
	Wrote   string      `json:"wrote"`          // SHA-256 of what apply put there
}

const entryFile = "entry.json"

// record saves what is at the paths of the artifacts, on the disk before it returns.
func record(journal string, artifacts []fabric.Artifact) (*entry, error) {
	if err := os.MkdirAll(journal, 0o700); err != nil {
		return nil, err
	}
	folder, err := nextFolder(journal)
	if err != nil {
		return nil, err
	}
	e := &entry{folder: folder}
	if err := e.fill(artifacts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return e, nil
}

// nextFolder makes the folder of the next entry. Entries are numbered, because clocks are set back.
func nextFolder(journal string) (string, error) {
	entries, err := os.ReadDir(journal)
	if err != nil {
		return "", err
	}
	number := 1
	if len(entries) > 0 {
		last := entries[len(entries)-1].Name()
		if number, err = strconv.Atoi(last); err != nil {
			return "", fmt.Errorf("journal entry %q: invalid number: %w", last, err)
		}
		number++
	}
	folder := filepath.Join(journal, fmt.Sprintf("%06d", number))
	return folder, os.Mkdir(folder, 0o700) // of two concurrent runs one fails here
}

// fill saves what is at the paths, and the entry itself last.
func (e *entry) fill(artifacts []fabric.Artifact) error {
	for i, a := range artifacts {
		s, err := save(a.Path, e.saveName(i))
		if err != nil {
			return err
		}
		s.Wrote = digest(a.Content)
		e.Files = append(e.Files, s)
		e.noteFolders(filepath.Dir(a.Path))
	}
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(e.folder, entryFile), text, 0o600)
}

func (e *entry) saveName(i int) string { return filepath.Join(e.folder, strconv.Itoa(i)) }

// noteFolders records the folders that have to be created above a file.
func (e *entry) noteFolders(folder string) {
	var made []string
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(folder); err == nil || folder == filepath.Dir(folder) {
			break
		}
		made = append(made, folder)
	}
	slices.Reverse(made)
	for _, f := range made {
		if !slices.Contains(e.Folders, f) {
			e.Folders = append(e.Folders, f)
		}
	}
}

func save(path, copyTo string) (saved, error) {
	s := saved{Path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Mode, s.ModTime = info.Mode(), info.ModTime()
	s.UID, s.GID = owner(info)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		s.Link, err = os.Readlink(path)
		return s, err
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		if err != nil {
			return s, err
		}
		return s, replace(copyTo, content, 0o600)
	default:
		return s, fmt.Errorf("%q is a %s: only files and links are replaced", path, info.Mode().Type())
	}
}

// Rollback restores the state before the last apply: content, mode, owner, time of change, links,
// and the absence of files and folders. A file that was changed since is left alone, and is an error
// before anything is touched.
func Rollback(journal string) ([]Change, error) {
	e, err := last(journal)
	if err != nil {
		return nil, err
	}
	for i, s := range e.Files {
		known, err := s.known(e.saveName(i))
		if err != nil {
			return nil, fmt.Errorf("%q: %w: nothing was rolled back", s.Path, err)
		}
		if !known {
			return nil, fmt.Errorf("%q: changed since it was applied: nothing was rolled back; the previous files are in %q", s.Path, e.folder)
		}
	}
	changes := make([]Change, 0, len(e.Files))
	for _, s := range e.Files {
		kind := Restore
		if s.Mode == 0 {
			kind = Remove
		}
		changes = append(changes, Change{Path: s.Path, Kind: kind})
	}
	return changes, e.undo()
}

// known reports whether a path is as apply wrote it, or as it was before: an apply or a rollback that was
// killed in the middle leaves some of each, and can be rolled back again.
func (s saved) known(copyAt string) (bool, error) {
	now, err := os.Lstat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.Mode == 0, nil
	}
	if err != nil {
		return false, err
	}
	if s.Link != "" && now.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(s.Path)
		return link == s.Link, err
	}
	content, err := os.ReadFile(s.Path)
	if err != nil {
		return false, err
	}
	if digest(content) == s.Wrote {
		return true, nil
	}
	if s.Mode == 0 || s.Link != "" {
		return false, nil
	}
	old, err := os.ReadFile(copyAt)
	return err == nil && digest(content) == digest(old), err
}

func last(journal string) (*entry, error) {
	entries, err := os.ReadDir(journal)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil, fmt.Errorf("journal %q: %w", journal, ErrNoJournal)
	}
	if err != nil {
		return nil, err
	}
	e := &entry{folder: filepath.Join(journal, entries[len(entries)-1].Name())}
	text, err := os.ReadFile(filepath.Join(e.folder, entryFile))
	if err != nil {
		return nil, fmt.Errorf("journal %q: cut short before anything was written: remove it: %w", e.folder, err)
	}
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("journal %q: %w", e.folder, err)
	}
	return e, nil
}

// undo restores everything and removes the entry. It continues after a failure, and then keeps the entry.
func (e *entry) undo() error {
	var errs []error
	for i, s := range e.Files {
		if err := s.restore(e.saveName(i)); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", s.Path, err))
		}
	}
	for _, folder := range slices.Backward(e.Folders) {
		// A folder that now has other files stays.
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("roll back: %w: the previous files are in %q", errors.Join(errs...), e.folder)
	}
	return os.RemoveAll(e.folder)
}

func (s saved) restore(from string) error {
	if s.Mode == 0 {
		err := os.Remove(s.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if s.Link != "" {
		return replaceLink(s.Link, s.Path)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := replace(s.Path, content, s.Mode.Perm()); err != nil {
		return err
	}
	if err := os.Chown(s.Path, s.UID, s.GID); err != nil {
		return err
	}
	// After chown, which takes set-id bits away.
	if err := os.Chmod(s.Path, s.Mode); err != nil {
		return err
	}
	return os.Chtimes(s.Path, time.Time{}, s.ModTime)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
