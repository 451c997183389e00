package apply

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// tree describes a folder exactly: type, permissions, owner-independent, time of change, content or target.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	seen := make(map[string]string)
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += " " + info.ModTime().Format(time.RFC3339Nano) + " " + string(content)
		case !d.IsDir():
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += " -> " + target
		}
		seen[strings.TrimPrefix(name, root)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func put(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
}

func artifact(path, content string, mode uint32) fabric.Artifact {
	return fabric.Artifact{Path: path, Mode: mode, SHA256: digest([]byte(content)), Content: []byte(content)}
}

// write writes artifacts as Node does.
func write(folder string, artifacts []fabric.Artifact) ([]Change, error) {
	j, err := openJournal(folder)
	if err != nil {
		return nil, err
	}
	changes, err := j.write(artifacts)
	return changes, errors.Join(err, j.close())
}

func TestRollbackRestoresExactState(t *testing.T) {
	root, journal := t.TempDir(), t.TempDir()
	put(t, root+"/etc/changed.yaml", "old\n", 0o640)
	put(t, root+"/etc/same.conf", "same\n", 0o644)
	put(t, root+"/etc/mode.conf", "mode\n", 0o666)
	put(t, root+"/etc/target", "behind the link\n", 0o644)
	if err := os.Symlink("target", root+"/etc/link.conf"); err != nil {
		t.Fatal(err)
	}
	before := tree(t, root)
	artifacts := []fabric.Artifact{
		artifact(root+"/etc/changed.yaml", "new\n", 0o600),
		artifact(root+"/etc/same.conf", "same\n", 0o644),
		artifact(root+"/etc/mode.conf", "mode\n", 0o644),
		artifact(root+"/etc/link.conf", "no link\n", 0o644),
		artifact(root+"/etc/new/deep/file", "created\n", 0o755),
	}
	changes, err := write(journal, artifacts)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	for _, c := range changes {
		kinds = append(kinds, c.Kind)
	}
	if diff := cmp.Diff([]Kind{Update, Same, Update, Update, Create}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	for _, c := range Diff(artifacts) {
		if c.Kind != Same {
			t.Errorf("after Write %s is %s: %s", c.Path, c.Kind, c.Reason)
		}
	}
	if _, err := Rollback(journal); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("after Rollback (-before +after):\n%s", diff)
	}
	if _, err := Rollback(journal); !errors.Is(err, ErrNoJournal) {
		t.Errorf("second Rollback: %v, want ErrNoJournal", err)
	}
}

func TestRollbackUndoesOneApplyAtATime(t *testing.T) {
	root, journal := t.TempDir(), t.TempDir()
	name := root + "/f"
	for _, content := range []string{"one", "two", "two", "three"} {
		if _, err := write(journal, []fabric.Artifact{artifact(name, content, 0o644)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"two", "one"} {
		if _, err := Rollback(journal); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := Rollback(journal); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file is still there: %v", err)
	}
}

func TestFailedWriteRestoresFiles(t *testing.T) {
	root, journal := t.TempDir(), t.TempDir()
	put(t, root+"/first", "old\n", 0o600)
	put(t, root+"/blocker", "a file where a folder is wanted\n", 0o644)
	before := tree(t, root)
	_, err := write(journal, []fabric.Artifact{
		artifact(root+"/first", "new\n", 0o600),
		artifact(root+"/made/for/it", "x\n", 0o600),
		artifact(root+"/folder/file", "y\n", 0o600),
		artifact(root+"/late/"+strings.Repeat("n", 300), "name too long\n", 0o600),
	})
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("something stayed behind (-before +after):\n%s", diff)
	}
}

func TestWriteTouchesNothingThatItCannotRead(t *testing.T) {
	root, journal := t.TempDir(), t.TempDir()
	put(t, root+"/file", "x\n", 0o644)
	before := tree(t, root)
	_, err := write(journal, []fabric.Artifact{
		artifact(root+"/new", "y\n", 0o644),
		artifact(root+"/file/below", "z\n", 0o644),
	})
	if err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestRollbackKeepsForeignChanges(t *testing.T) {
	root, journal := t.TempDir(), t.TempDir()
	put(t, root+"/a", "old\n", 0o644)
	if _, err := write(journal, []fabric.Artifact{artifact(root+"/a", "new\n", 0o644), artifact(root+"/b", "new\n", 0o644)}); err != nil {
		t.Fatal(err)
	}
	put(t, root+"/b", "edited by hand\n", 0o644)
	before := tree(t, root)
	if _, err := Rollback(journal); err == nil || !strings.Contains(err.Error(), "changed since") {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
