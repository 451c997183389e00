package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// laid writes a folder with a file, a folder, links that stay inside and links that lead out, and a file beside it.
func laid(t *testing.T) (folder, outside string) {
	t.Helper()
	top := t.TempDir()
	folder, outside = filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, dir := range []string{filepath.Join(folder, "sub"), outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{filepath.Join(folder, "a"): "1234567890", filepath.Join(folder, "sub", "b"): "b", filepath.Join(outside, "secret"): "secret"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"near": "sub/b", "far": "../out/secret", "absolute": filepath.Join(outside, "secret"), "folder": "../out", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("mkfifo", filepath.Join(folder, "fifo")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return folder, outside
}

func opened(t *testing.T, folder string) *Folder {
	t.Helper()
	f, err := OpenFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// wide are limits that no file of these tests reaches.
func wide() Limits { return Limits{File: 1 << 20, Total: 1 << 20, Names: 1 << 10} }

func readAll(f Files, name string) (string, error) {
	file, err := f.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	return string(text), err
}

func TestInside(t *testing.T) {
	folder, _ := laid(t)
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(folder, alias); err != nil {
		t.Fatal(err)
	}
	b := opened(t, alias).For(t.Context(), wide(), map[string]string{"given": "a text"})
	for name, want := range map[string]string{
		"a": "1234567890", "sub/b": "b", "./sub/../a": "1234567890", "near": "b", "given": "a text",
		filepath.Join(alias, "a"): "1234567890", filepath.Join(folder, "sub", "b"): "b",
	} {
		if got, err := readAll(b, name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if info, err := b.Stat(name); err != nil || info.IsDir() || info.Size() != int64(len(want)) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	entries, err := b.ReadDir(".")
	if err != nil || len(entries) != 8 || entries[0].Name() != "a" || entries[7].Name() != "sub" {
		t.Errorf("%v, %v", entries, err)
	}
	if path, err := b.Abs("sub"); err != nil || path != filepath.Join(alias, "sub") {
		t.Errorf("%q, %v", path, err)
	}
	if at, err := b.Resolve("near"); err != nil || filepath.Base(at) != "b" {
		t.Errorf("%q, %v", at, err)
	}
	root, err := b.OpenRoot("sub")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.Stat("../a"); err == nil {
		t.Error("a folder below leads out of it")
	}
}

// No name leads out, by no method, and none that is refused is there for the asking: the error is not "does not exist".
func TestOutside(t *testing.T) {
	folder, outside := laid(t)
	b := opened(t, folder).For(t.Context(), wide(), nil)
	secret := filepath.Join(outside, "secret")
	for _, name := range []string{
		"../out/secret", "sub/../../out/secret", "..", "far", "absolute", "folder/secret", secret, "/etc/passwd", "/", folder + "/../out/secret", folder + "x",
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := readAll(b, name); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("read: %q, %v", text, err)
			}
			if _, err := b.Stat(name); err == nil {
				t.Error("described")
			}
			if _, err := b.ReadDir(name); err == nil {
				t.Error("listed")
			}
			if _, err := b.OpenRoot(name); err == nil {
				t.Error("opened as a folder")
			}
			if at, err := b.Resolve(name); err == nil {
				t.Errorf("resolved to %q", at)
			}
		})
	}
	for _, name := range []string{"", "none", "fifo", "loop"} {
		t.Run("not a file: "+name, func(t *testing.T) {
			if text, err := readAll(b, name); err == nil {
				t.Errorf("read: %q", text)
			}
		})
	}
}

// What is missing or outside is described as the operating system does it.
func TestSameWordsAsDisk(t *testing.T) {
	folder, _ := laid(t)
	b := opened(t, folder).For(t.Context(), wide(), nil)
	t.Chdir(folder)
	_, want := Disk{}.Stat("none")
	if _, err := b.Stat("none"); err.Error() != want.Error() {
		t.Errorf("%v, not %v", err, want)
	}
	_, want = Disk{}.Open("none")
	if _, err := b.Open("none"); err.Error() != want.Error() {
		t.Errorf("%v, not %v", err, want)
	}
	_, want = Disk{}.ReadDir("none")
	if _, err := b.ReadDir("none"); err.Error() != want.Error() {
		t.Errorf("%v, not %v", err, want)
	}
}

func TestLimits(t *testing.T) {
	folder, _ := laid(t)
	of := opened(t, folder)
	for name, c := range map[string]struct {
		limits Limits
		want   string
	}{
		"a file":   {Limits{File: 9, Total: 100, Names: 100}, "is larger than 9 bytes"},
		"together": {Limits{File: 100, Total: 19, Names: 100}, "more than 19 bytes are read"},
		"names":    {Limits{File: 100, Total: 100, Names: 1}, "more than 1 files and folders"},
		"the rest": {Limits{File: 10, Total: 20, Names: 100}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := of.For(t.Context(), c.limits, nil)
			_, first := readAll(b, "a")
			_, second := readAll(b, "a")
			err := errors.Join(first, second)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := of.For(t.Context(), Limits{File: 100, Total: 100, Names: 5}, nil).ReadDir("."); err == nil || !strings.Contains(err.Error(), "more than 5") {
		t.Errorf("a folder with more names than allowed: %v", err)
	}
	f, err := of.For(t.Context(), Limits{File: 7, Total: 100, Names: 100}, nil).Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	part := make([]byte, 4)
	if n, err := f.(io.ReaderAt).ReadAt(part, 6); n != 4 || err != nil || string(part) != "7890" {
		t.Errorf("a part: %q, %v", part[:n], err)
	}
	if n, err := f.(io.ReaderAt).ReadAt(part, 6); n != 0 || err == nil {
		t.Errorf("parts are not bounded: %d, %v", n, err)
	}
	if _, err := readAll(of.For(t.Context(), Limits{File: 3, Total: 100, Names: 100}, map[string]string{"text": "1234"}), "text"); err == nil {
		t.Error("a text is not bounded")
	}
}

func TestEndedContext(t *testing.T) {
	folder, _ := laid(t)
	ctx, cancel := context.WithCancel(t.Context())
	b := opened(t, folder).For(ctx, wide(), nil)
	f, err := b.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cancel()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read on: %v", err)
	}
	if _, err := b.Open("a"); !errors.Is(err, context.Canceled) {
		t.Errorf("opened: %v", err)
	}
}
