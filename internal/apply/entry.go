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
	"strings"
	"syscall"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// entry is one apply: every path that it changed, as it was.
type entry struct {
	folder string
	number int
	state  string // "", open or draft
	fabric.Meta
	Folders []string `json:"folders,omitempty"` // made for it, outermost first
	Files   []saved  `json:"files"`
}

// saved is a path as it was before an apply.
type saved struct {
	Path    string      `json:"path"`
	Mode    fs.FileMode `json:"mode,omitempty"` // with type bits; 0: there was nothing
	UID     int         `json:"uid,omitempty"`
	GID     int         `json:"gid,omitempty"`
	ModTime time.Time   `json:"mod_time,omitzero"`
	Link    string      `json:"link,omitempty"` // target of a symbolic link
	Was     string      `json:"was,omitempty"`  // SHA-256 of a file's content, of which the entry has a copy
	Wrote   string      `json:"wrote"`          // SHA-256 of what apply put there
}

const (
	entryFile = "entry.json"
	entryKind = "JournalEntry"
)

// become changes the state of an entry, on the disk before it returns.
func (e *entry) become(state string) error {
	folder := strings.TrimSuffix(e.folder, e.state) + state
	if err := os.Rename(e.folder, folder); err != nil {
		return err
	}
	e.folder, e.state = folder, state
	return syncFolder(filepath.Dir(folder))
}

// fill saves what is at the paths of the artifacts, and the entry itself last.
func (e *entry) fill(artifacts []fabric.Artifact) error {
	e.Meta = fabric.NewMeta(entryKind)
	for i, a := range artifacts {
		s, err := save(a.Path, e.copyOf(i))
		if err != nil {
			return err
		}
		s.Wrote = digest(a.Content)
		e.Files = append(e.Files, s)
		e.noteFolders(filepath.Dir(a.Path))
	}
	if err := e.validate(); err != nil {
		return err // what could not be read back is not written
	}
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return err
	}
	if err := writeNew(filepath.Join(e.folder, entryFile), text, 0o600); err != nil {
		return err
	}
	return syncFolder(e.folder)
}

// copyOf returns where the copy of a file is.
func (e *entry) copyOf(i int) string { return filepath.Join(e.folder, strconv.Itoa(i)) }

// noteFolders records the folders that have to be made above a file.
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
		s.Was = digest(content)
		return s, writeNew(copyTo, content, 0o600)
	default:
		return s, fmt.Errorf("%q is a %s: only files and links are replaced", path, info.Mode().Type())
	}
}

// load reads the entry. One of another kind or shape is an error: nothing is restored by guessing.
func (e *entry) load() error {
	text, err := os.ReadFile(filepath.Join(e.folder, entryFile))
	if err == nil {
		err = fabric.Decode(text, entryKind, e)
	}
	if err == nil {
		err = e.validate()
	}
	if err != nil {
		return fmt.Errorf("journal entry %q: %w", e.folder, err)
	}
	return nil
}

func (e *entry) validate() error {
	if len(e.Files) == 0 {
		return errors.New("has no files")
	}
	for i, s := range e.Files {
		regular, link := s.Mode != 0 && s.Mode.IsRegular(), s.Mode.Type() == fs.ModeSymlink
		switch {
		case !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path:
			return fmt.Errorf("path %q: not an absolute path", s.Path)
		case slices.ContainsFunc(e.Files[:i], func(o saved) bool { return o.Path == s.Path }):
			return fmt.Errorf("path %q: listed twice", s.Path)
		case !isDigest(s.Wrote) || regular != isDigest(s.Was) || link != (s.Link != "") || s.Mode != 0 && !regular && !link:
			return fmt.Errorf("path %q: is not described completely", s.Path)
		}
	}
	for _, f := range e.Folders {
		if !filepath.IsAbs(f) || filepath.Clean(f) != f {
			return fmt.Errorf("folder %q: not an absolute path", f)
		}
	}
	return nil
}

// changes describes what undoing the entry does to each path.
func (e *entry) changes() []Change {
	changes := make([]Change, 0, len(e.Files))
	for _, s := range e.Files {
		kind := Restore
		if s.Mode == 0 {
			kind = Remove
		}
		changes = append(changes, Change{Path: s.Path, Kind: kind})
	}
	return changes
}

// check is an error if a path is neither as it was nor as apply wrote it: somebody changed it since.
func (e *entry) check() error {
	for _, s := range e.Files {
		known, err := s.known()
		if err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("%q: changed since it was applied", s.Path)
		}
	}
	return nil
}

// known reports whether a path is as apply wrote it, or as it was before.
func (s saved) known() (bool, error) {
	now, err := os.Lstat(s.Path)
	switch {
	case absent(err):
		return s.Mode == 0, nil
	case err != nil:
		return false, err
	case now.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(s.Path)
		return s.Link != "" && link == s.Link, err
	case !now.Mode().IsRegular():
		return false, nil
	}
	content, err := os.ReadFile(s.Path)
	sum := digest(content)
	return err == nil && (sum == s.Wrote || sum == s.Was), err
}

// absent reports whether an error of a path means that there is nothing, and could not be.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// restored reports whether a path is exactly as it was.
func (s saved) restored() (bool, error) {
	now, err := os.Lstat(s.Path)
	if absent(err) {
		return s.Mode == 0, nil
	}
	if err != nil || now.Mode() != s.Mode {
		return false, err
	}
	if s.Link != "" {
		link, err := os.Readlink(s.Path)
		return link == s.Link, err
	}
	uid, gid := owner(now)
	if uid != s.UID || gid != s.GID || !now.ModTime().Equal(s.ModTime) {
		return false, nil
	}
	content, err := os.ReadFile(s.Path)
	return err == nil && digest(content) == s.Was, err
}

// undo restores everything and deletes the entry, which is open. What has to be restored is first written beside its
// path, so that a full disk changes nothing; what never changed is left alone. touched says of an error that some paths were
// restored: the entry then stays open.
func (e *entry) undo() (touched bool, err error) {
	if touched, err = e.restore(); err != nil {
		return touched, err
	}
	if err := e.become(draft); err != nil {
		return true, err
	}
	return true, os.RemoveAll(e.folder)
}

// restore puts every path back. It continues after one that it cannot.
func (e *entry) restore() (touched bool, err error) {
	if err := e.clear(); err != nil {
		return false, err
	}
	todo, err := e.changed()
	if err != nil {
		return false, err
	}
	for _, i := range todo {
		if err := e.Files[i].stage(e.copyOf(i)); err != nil {
			return false, errors.Join(fmt.Errorf("%q: %w", e.Files[i].Path, err), e.clear())
		}
	}
	var errs []error
	for _, i := range todo {
		s := e.Files[i]
		if s.Mode == 0 {
			err = os.Remove(s.Path)
		} else {
			err = os.Rename(stagingName(s.Path), s.Path)
		}
		touched = touched || err == nil
		if err := errors.Join(err, syncFolder(filepath.Dir(s.Path))); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", s.Path, err))
		}
	}
	errs = append(errs, e.clear(), e.removeFolders())
	return touched, errors.Join(errs...)
}

// changed returns which files are not as they were, by index.
func (e *entry) changed() (todo []int, err error) {
	for i, s := range e.Files {
		restored, err := s.restored()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.Path, err)
		}
		if !restored {
			todo = append(todo, i)
		}
	}
	return todo, nil
}

// clear deletes the temporary files of an interrupted run.
func (e *entry) clear() error {
	for _, s := range e.Files {
		if err := os.Remove(stagingName(s.Path)); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// removeFolders removes the folders that were made; one that has other files by now stays.
func (e *entry) removeFolders() error {
	for _, folder := range slices.Backward(e.Folders) {
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// stage writes a path as it was beside it; nothing where nothing was.
func (s saved) stage(copyAt string) error {
	name := stagingName(s.Path)
	switch {
	case s.Mode == 0:
		return nil
	case s.Link != "":
		return errors.Join(os.Symlink(s.Link, name), s.own(name))
	}
	content, err := os.ReadFile(copyAt)
	if err != nil {
		return err
	}
	if digest(content) != s.Was {
		return fmt.Errorf("its copy %q is damaged", copyAt)
	}
	if err := writeNew(name, content, 0o600); err != nil {
		return err
	}
	if err := s.own(name); err != nil {
		return err
	}
	// After chown, which takes set-id bits away.
	if err := os.Chmod(name, s.Mode); err != nil {
		return err
	}
	return os.Chtimes(name, time.Time{}, s.ModTime)
}

// own gives a file the user and group that the path had.
func (s saved) own(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	// An ordinary user may not even ask for what the file has already.
	if uid, gid := owner(info); uid == s.UID && gid == s.GID {
		return nil
	}
	return os.Lchown(name, s.UID, s.GID)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func isDigest(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}
