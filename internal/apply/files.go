package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"railwright.dev/railwright/internal/fabric"
)

// Kind is what happens to a file.
type Kind string

// The kinds of change.
const (
	Same    Kind = "same"
	Create  Kind = "create"
	Update  Kind = "update"
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

// Write writes the artifacts to this machine and saves the previous files in the journal folder.
// Each file is replaced at once, never half. When one cannot be written, those before it are put back,
// and the error says so. Nothing to do writes nothing, and no journal.
func Write(journal string, artifacts []fabric.Artifact) ([]Change, error) {
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
	entry, err := record(journal, todo)
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w: nothing was written", journal, err)
	}
	for _, a := range todo {
		if err := write(a); err != nil {
			return nil, errors.Join(fmt.Errorf("%q: %w: the files written before it are restored", a.Path, err), entry.undo())
		}
	}
	return changes, nil
}

func write(a fabric.Artifact) error {
	if err := os.MkdirAll(filepath.Dir(a.Path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(a.Mode)
	if err := replace(a.Path, a.Content, mode); err != nil {
		return err
	}
	// The state on the disk is what counts.
	if c := diff(a); c.Kind != Same {
		return fmt.Errorf("after writing, its state is %s (%s)", c.Kind, c.Reason)
	}
	return nil
}
