package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	return slices.Values([]fabric.Artifact{
		{Target: "host1", Path: "/etc/a", File: "host1/etc__a", Mode: 0o600, SHA256: digest, Content: []byte(content)},
		{Target: "host2", Path: "/etc/deep/b", File: "host2/etc__deep__b", Mode: 0o644, SHA256: digest, Content: []byte(content)},
	})
}

func index(seq iter.Seq[fabric.Artifact]) ([]byte, error) {
	i := fabric.Index{Meta: fabric.NewMeta("Index")}
	for a := range seq {
		a.Content = nil
		i.Artifacts = append(i.Artifacts, a)
	}
	return json.Marshal(i)
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

// A folder that holds anything but an unchanged render is left exactly as it is.
func TestWriteArtifactsKeepsForeignFolders(t *testing.T) {
	put := func(name, content string) func(t *testing.T, folder string) {
		return func(t *testing.T, folder string) {
			t.Helper()
			path := filepath.Join(folder, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(target, name string) func(t *testing.T, folder string) {
		return func(t *testing.T, folder string) {
			t.Helper()
			path := filepath.Join(folder, name)
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	const listing = `{"apiVersion":"railwright.dev/v1alpha1","kind":"Index","artifacts":[{"target":"x","path":"/x","mode":0,"sha256":"","file":"%s"}]}`
	for _, c := range []struct {
		name     string
		rendered bool // it is a render at first
		change   func(t *testing.T, folder string)
		err      string
	}{
		{"a thesis", false, put("thesis.tex", "ten years"), "no index.json"},
		{"a site with an index.json", false, put("index.json", `{"pages":["a"]}`), `index.json: is kind ""`},
		{"an empty index.json", false, put("index.json", ""), "index.json: line 1: unexpected end"},
		{"null", false, put("index.json", "null"), `index.json: is kind ""`},
		{"another document of ours", false, put("index.json", `{"apiVersion":"railwright.dev/v1alpha1","kind":"Plan"}`), `is kind "Plan"`},
		{"an index that leads out", false, put("index.json", fmt.Sprintf(listing, "../outside")), `lists file "../outside"`},
		{"an index of an absolute path", false, put("index.json", fmt.Sprintf(listing, "/etc/passwd")), `lists file "/etc/passwd"`},
		{"an index of itself", false, put("index.json", fmt.Sprintf(listing, "index.json")), `lists file "index.json"`},
		{"a render with a file of somebody", true, put("notes.txt", "mine"), `its index.json does not list "notes.txt"`},
		{"a render with a file of somebody inside", true, put("host1/notes.txt", "mine"), `does not list "host1/notes.txt"`},
		{"a render with a hidden file", true, put(".git/config", "mine"), `does not list ".git/"`},
		{"a render with an empty folder of somebody", true, func(t *testing.T, folder string) {
			t.Helper()
			if err := os.Mkdir(filepath.Join(folder, "mine"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, `does not list "mine/"`},
		{"a render that was edited", true, put("host1/etc__a", "edited"), `file "host1/etc__a" was changed since it was rendered`},
		{"a file became a link", true, link("../outside/precious", "host1/etc__a"), `does not list "host1/etc__a"`},
		{"a folder became a link", true, link("../outside", "host1"), `does not list "host1"`},
		{"the index became a link", true, link("host1/etc__a", "index.json"), "index.json is not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := t.TempDir()
			put("outside/precious", "do not touch")(t, base)
			folder := filepath.Join(base, "out")
			if c.rendered {
				if err := WriteArtifacts(folder, artifacts("x"), index); err != nil {
					t.Fatal(err)
				}
			}
			c.change(t, folder)
			before := names(t, base)
			err := WriteArtifacts(folder, artifacts("y"), index)
			if err == nil || !strings.Contains(err.Error(), "holds something that is not a render") || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(before, names(t, base)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			if text, err := os.ReadFile(filepath.Join(base, "outside/precious")); err != nil || string(text) != "do not touch" {
				t.Errorf("behind the link: %q, %v", text, err)
			}
		})
	}
}

func TestWriteArtifactsInTheCurrentFolder(t *testing.T) {
	base := t.TempDir()
	t.Chdir(base)
	for _, name := range []string{".", "./", "..", "x/.."} {
		t.Run(name, func(t *testing.T) {
			if err := WriteArtifacts(name, artifacts("x"), index); err == nil || !strings.Contains(err.Error(), "cannot be replaced from inside") {
				t.Errorf("%v", err)
			}
		})
	}
	if left := names(t, base); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A link to a folder is not replaced, nor followed.
func TestWriteArtifactsDoesNotFollowALink(t *testing.T) {
	base := t.TempDir()
	folder, link := filepath.Join(base, "out"), filepath.Join(base, "link")
	if err := errors.Join(WriteArtifacts(folder, artifacts("x"), index), os.Symlink("out", link)); err != nil {
		t.Fatal(err)
	}
	before := names(t, base)
	for _, name := range []string{link, link + "/"} {
		if err := WriteArtifacts(name, artifacts("y"), index); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, names(t, base)); diff != "" {
		t.Error(diff)
	}
	if target, err := os.Readlink(link); err != nil || target != "out" {
		t.Errorf("%q, %v", target, err)
	}
}

// What came into the folder while the new one was built is not deleted.
func TestWriteArtifactsKeepsWhatComesMeanwhile(t *testing.T) {
	base := t.TempDir()
	folder := filepath.Join(base, "out")
	if err := WriteArtifacts(folder, artifacts("x"), index); err != nil {
		t.Fatal(err)
	}
	late := func(seq iter.Seq[fabric.Artifact]) ([]byte, error) {
		if err := os.WriteFile(filepath.Join(folder, "host1/late"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		return index(seq)
	}
	err := WriteArtifacts(folder, artifacts("y"), late)
	if err == nil || !strings.Contains(err.Error(), "is complete, but what it replaced is left in") {
		t.Errorf("%v", err)
	}
	found := names(t, base)
	if !slices.ContainsFunc(found, func(n string) bool { return strings.HasSuffix(n, "/host1/late") }) || !slices.Contains(found, "out/host1/etc__a") {
		t.Errorf("%v", found)
	}
}

// A folder that appears while the new one is built is not replaced.
func TestWriteArtifactsKeepsAFolderThatAppears(t *testing.T) {
	for _, c := range []struct {
		name     string
		rendered bool
	}{{"where none was", false}, {"where a render was", true}} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "out")
			if c.rendered {
				if err := WriteArtifacts(folder, artifacts("x"), index); err != nil {
					t.Fatal(err)
				}
			}
			late := func(seq iter.Seq[fabric.Artifact]) ([]byte, error) {
				if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "mine"), []byte("mine"), 0o600)); err != nil {
					t.Fatal(err)
				}
				return index(seq)
			}
			if err := WriteArtifacts(folder, artifacts("y"), late); err == nil {
				t.Error("was replaced")
			}
			if diff := cmp.Diff([]string{"out/mine"}, names(t, filepath.Dir(folder))); diff != "" {
				t.Error(diff)
			}
		})
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
