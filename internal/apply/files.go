package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Kind is what happens to a file.
type Kind string

// UnmarshalText reads a kind; another word is an error, never a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	*k = Kind(text)
	if known := []Kind{Same, Create, Update, Replace, Restore, Remove, Unknown}; !slices.Contains(known, *k) {
		return fmt.Errorf("kind %q: unknown; known: %q", text, known)
	}
	return nil
}

// The kinds of change.
const (
	Same    Kind = "same"
	Create  Kind = "create"
	Update  Kind = "update"
	Replace Kind = "replace" // an object that cannot be changed is deleted and made anew
	Restore Kind = "restore"
	Remove  Kind = "remove"
	Unknown Kind = "unknown" // the existing file could not be read
)

// Change is what happens, or would happen, to a file.
type Change struct {
	Path   string `json:"path"`
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason,omitempty"`
}

// Diff returns what writing the artifacts would change on this machine. It changes nothing.
func Diff(artifacts []fabric.Artifact) []Change {
	changes := make([]Change, 0, len(artifacts))
	for _, a := range artifacts {
		changes = append(changes, diff(a))
	}
	return changes
}

func diff(a fabric.Artifact) Change {
	info, err := os.Lstat(a.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Change{Path: a.Path, Kind: Create}
	}
	if err != nil {
		return Change{Path: a.Path, Kind: Unknown, Reason: err.Error()}
	}
	if !info.Mode().IsRegular() {
		return Change{Path: a.Path, Kind: Update, Reason: "is not a regular file"}
	}
	content, err := os.ReadFile(a.Path)
	switch {
	case err != nil:
		return Change{Path: a.Path, Kind: Unknown, Reason: err.Error()}
	case !bytes.Equal(content, a.Content):
		return Change{Path: a.Path, Kind: Update, Reason: "content differs"}
	case info.Mode().Perm() != fs.FileMode(a.Mode):
		return Change{Path: a.Path, Kind: Update, Reason: fmt.Sprintf("mode is %04o instead of %04o", info.Mode().Perm(), a.Mode)}
	default:
		return Change{Path: a.Path, Kind: Same}
	}
}

// write writes the artifacts to this machine and saves the previous files in the journal. Every new file is on the disk
// beside its path before the first one is replaced, so that a full disk changes nothing; each is replaced at once, never
// half. When one cannot be, those before it are restored, and the error says so. Nothing to do writes no entry.
func (j *journal) write(artifacts []fabric.Artifact) ([]Change, error) {
	var todo []fabric.Artifact
	changes := Diff(artifacts)
	for i, c := range changes {
		switch c.Kind {
		case Unknown:
			return nil, fmt.Errorf("%q: %s: nothing was written", c.Path, c.Reason)
		case Create, Update:
			todo = append(todo, artifacts[i])
		}
	}
	if len(todo) == 0 {
		return changes, nil
	}
	e, err := j.newEntry()
	if err == nil {
		if err = e.fill(todo); err != nil {
			err = errors.Join(err, os.RemoveAll(e.folder))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w: nothing was written", j.folder, err)
	}
	if err := e.become(open); err != nil {
		return nil, fmt.Errorf("%w: nothing was written", err)
	}
	if err := replaceAll(todo); err != nil {
		if _, undo := e.undo(); undo != nil {
			return nil, fmt.Errorf("%w: and what was written could not be undone: %w: repeat railwright apply or rollback; the previous files are in %q", err, undo, e.folder)
		}
		return nil, fmt.Errorf("%w: nothing was written", err)
	}
	return changes, e.become("")
}

// replaceAll writes every artifact beside its path, then replaces one after the other.
func replaceAll(artifacts []fabric.Artifact) error {
	for _, a := range artifacts {
		err := os.MkdirAll(filepath.Dir(a.Path), 0o755)
		if err == nil {
			err = writeNew(stagingName(a.Path), a.Content, fs.FileMode(a.Mode))
		}
		if err != nil {
			return fmt.Errorf("%q: %w", a.Path, err)
		}
	}
	for _, a := range artifacts {
		err := os.Rename(stagingName(a.Path), a.Path)
		if err == nil {
			err = syncFolder(filepath.Dir(a.Path))
		}
		// The state on the disk is what counts.
		if c := diff(a); err == nil && c.Kind != Same {
			err = fmt.Errorf("after writing, its state is %s (%s)", c.Kind, c.Reason)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", a.Path, err)
		}
	}
	return nil
}

// stagingName is where a file is written before it replaces a path. Programs that read a folder of settings pass over
// names that begin with a dot. It is the same each time, so that the next run finds what a killed one left.
func stagingName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".railwright")
}

// writeNew writes a file that does not exist yet, of exactly this mode, and syncs it to the disk.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// syncFolder makes the names in a folder last.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
