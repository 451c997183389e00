package run

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func artifacts(content string) iter.Seq[fabric.Artifact] {
	return slices.Values([]fabric.Artifact{
		{Target: "host1", Path: "/etc/a", File: "host1/etc__a", Mode: 0o600, Content: []byte(content)},
		{Target: "host2", Path: "/etc/deep/b", File: "host2/etc__deep__b", Mode: 0o644, Content: []byte(content)},
	})
}

func index(seq iter.Seq[fabric.Artifact]) ([]byte, error) {
	var names []string
	for a := range seq {
		names = append(names, a.Target+a.Path)
	}
	return []byte(strings.Join(names, "\n")), nil
}

func names(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, strings.TrimPrefix(name, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWriteArtifacts(t *testing.T) {
	base := t.TempDir()
	folder := filepath.Join(base, "out")
	for _, content := range []string{"first", "second"} {
		if err := WriteArtifacts(folder, artifacts(content), index); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(folder, "host2/etc__deep__b")); err != nil || string(got) != content {
			t.Errorf("content %q, %v, want %q", got, err, content)
		}
	}
	want := []string{"out/host1/etc__a", "out/host2/etc__deep__b", "out/index.json"}
	if diff := cmp.Diff(want, names(t, base)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(folder, "host1/etc__a"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteArtifactsIsAtomic(t *testing.T) {
	base := t.TempDir()
	failing := func(seq iter.Seq[fabric.Artifact]) ([]byte, error) {
		for range seq {
			return nil, errors.New("stopped in the middle")
		}
		return nil, nil
	}
	escaping := slices.Values([]fabric.Artifact{{Target: "../../x", Path: "/etc/a", File: "../../x/etc__a"}})
	if err := WriteArtifacts(filepath.Join(base, "out"), artifacts("x"), failing); err == nil {
		t.Error("no error from a failing index")
	}
	if err := WriteArtifacts(filepath.Join(base, "out"), escaping, index); err == nil {
		t.Error("no error from a target outside the folder")
	}
	if left := names(t, base); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteArtifactsKeepsForeignFolders(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "thesis.tex"), []byte("ten years"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteArtifacts(folder, artifacts("x"), index); err == nil || !strings.Contains(err.Error(), "not a render") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"thesis.tex"}, names(t, folder)); diff != "" {
		t.Error(diff)
	}
}

func TestNewNamesEachRunOnce(t *testing.T) {
	base := t.TempDir()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var got []string
	for range 2 {
		f, err := New(base, "pod1", now)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.Base(string(f)))
	}
	if diff := cmp.Diff([]string{"20260102-030405-pod1", "20260102-030405-pod1-2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRead(t *testing.T) {
	f := Folder(t.TempDir())
	if err := f.WriteFacts(&fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: "host1"}); err != nil {
		t.Fatal(err)
	}
	var facts fabric.Facts
	if err := f.Read("facts/host1.json", "Facts", &facts); err != nil || facts.Node != "host1" {
		t.Errorf("facts %+v, %v", facts, err)
	}
	for name, content := range map[string]string{
		"cut.json":   `{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"ho`,
		"kind.json":  `{"apiVersion":"railwright.dev/v1alpha1","kind":"Plan","node":"h"}`,
		"field.json": `{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"h","colour":1}`,
		"two.json":   `{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"h"}{"kind":"Facts"}`,
	} {
		if err := f.WriteFile(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := f.Read(name, "Facts", &facts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
	if err := f.Read("none.json", "Facts", &facts); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}
