//go:build linux

package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// within fails a test whose f has not returned in time: what hangs must not hang the test.
func within(t *testing.T, patience time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("not done in %s", patience)
	}
}

func put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// readers are the two hosts that read files of this machine, over the same folder.
func readers(t *testing.T, root string) map[string]func(name string) Host {
	t.Helper()
	tree, err := OpenTree("captured", root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return map[string]func(string) Host{
		"local": func(string) Host { return below{root} },
		"tree":  func(string) Host { return tree },
	}
}

// below is Local with paths below a folder.
type below struct{ root string }

func (b below) Name() string                          { return "below" }
func (b below) ReadFile(name string) ([]byte, error)  { return Local{}.ReadFile(b.root + name) }
func (b below) ReadDir(name string) ([]string, error) { return Local{}.ReadDir(b.root + name) }
func (b below) ReadLink(name string) (string, error)  { return Local{}.ReadLink(b.root + name) }

func TestReadFileIsBounded(t *testing.T) {
	root := t.TempDir()
	put(t, root+"/exact", bytes.Repeat([]byte("x"), MaxFile))
	put(t, root+"/larger", bytes.Repeat([]byte("x"), MaxFile+1))
	for kind, open := range readers(t, root) {
		t.Run(kind, func(t *testing.T) {
			h := open(root)
			if b, err := h.ReadFile("/exact"); err != nil || len(b) != MaxFile {
				t.Errorf("file of MaxFile: %d bytes, %v", len(b), err)
			}
			b, err := h.ReadFile("/larger")
			if !errors.Is(err, ErrTooLarge) || b != nil {
				t.Errorf("file of MaxFile+1: %d bytes, %v, want ErrTooLarge", len(b), err)
			}
			if err != nil && !strings.Contains(err.Error(), "larger: larger than 4194304 bytes") {
				t.Errorf("error %q does not name the file", err)
			}
		})
	}
}

func TestReadFileThatNeverEnds(t *testing.T) {
	within(t, 30*time.Second, func() {
		if _, err := (Local{}).ReadFile("/dev/zero"); !errors.Is(err, ErrTooLarge) {
			t.Errorf("/dev/zero: %v, want ErrTooLarge", err)
		}
	})
}

// A pipe without a writer is empty; one whose writer is silent ends with an error, and soon.
func TestNamedPipeDoesNotHang(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"/lonely", "/silent"} {
		if err := syscall.Mkfifo(root+name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writer, err := os.OpenFile(root+"/silent", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	for kind, open := range readers(t, root) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := open(root)
			within(t, 10*time.Second, func() {
				if b, err := h.ReadFile("/lonely"); err != nil || len(b) != 0 {
					t.Errorf("pipe without a writer: %q, %v", b, err)
				}
				if _, err := h.ReadFile("/silent"); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("pipe with a silent writer: %v, want a deadline", err)
				}
				if _, err := h.ReadDir("/lonely"); !errors.Is(err, syscall.ENOTDIR) {
					t.Errorf("pipe read as a folder: %v, want ENOTDIR", err)
				}
			})
		})
	}
}

func TestReadDirAndLinks(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"/sys/b", "/sys/a", "/sys/c/d"} {
		put(t, root+name, []byte(" text \n"))
	}
	symlink(t, "../c/d", root+"/sys/links/inside")
	symlink(t, "loop", root+"/sys/links/loop")
	symlink(t, "nowhere", root+"/sys/links/dangling")
	for kind, open := range readers(t, root) {
		t.Run(kind, func(t *testing.T) {
			h := open(root)
			names, err := h.ReadDir("/sys")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a", "b", "c", "links"}, names); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if text, err := ReadString(h, "/sys/links/inside"); err != nil || text != "text" {
				t.Errorf("through a link: %q, %v", text, err)
			}
			if base, err := LinkBase(h, "/sys/links/inside"); err != nil || base != "d" {
				t.Errorf("LinkBase = %q, %v", base, err)
			}
			if _, err := h.ReadFile("/sys/links/loop"); err == nil || IsAbsent(err) {
				t.Errorf("a loop of links: %v, want an error that is not absence", err)
			}
			for _, name := range []string{"/sys/links/dangling", "/sys/none", "/sys/none/at/all"} {
				if _, err := h.ReadFile(name); !IsAbsent(err) {
					t.Errorf("%s: %v, want absent", name, err)
				}
			}
			if _, err := h.ReadDir("/none"); !IsAbsent(err) {
				t.Errorf("absent folder: %v", err)
			}
			if _, err := LinkBase(h, "/sys/a"); err == nil {
				t.Error("LinkBase of a file is no error")
			}
		})
	}
}

func TestTreeKeepsInside(t *testing.T) {
	outside := t.TempDir()
	put(t, outside+"/secret", []byte("secret"))
	root := t.TempDir()
	put(t, root+"/in", []byte("in"))
	symlink(t, outside+"/secret", root+"/absolute")
	symlink(t, "../"+filepath.Base(outside)+"/secret", root+"/relative")
	symlink(t, outside, root+"/folder")
	tree, err := OpenTree("captured", root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for _, name := range []string{"/absolute", "/relative", "/folder/secret", "../" + filepath.Base(outside) + "/secret"} {
		if b, err := tree.ReadFile(name); err == nil || IsAbsent(err) {
			t.Errorf("%s: %q, %v, want an error that is not absence", name, b, err)
		}
	}
	if names, err := tree.ReadDir("/folder"); err == nil {
		t.Errorf("/folder: %v: lists what is outside", names)
	}
	if target, err := tree.ReadLink("/absolute"); err != nil || target != outside+"/secret" {
		t.Errorf("ReadLink = %q, %v, want the link as it was", target, err)
	}
	// As on the machine, the root has no parent.
	if b, err := tree.ReadFile("/../../in"); err != nil || string(b) != "in" {
		t.Errorf("/../../in: %q, %v", b, err)
	}
	if names, err := tree.ReadDir("/"); err != nil || len(names) != 4 {
		t.Errorf("/: %v, %v", names, err)
	}
}

func TestOpenTreeAbsent(t *testing.T) {
	if _, err := OpenTree("captured", t.TempDir()+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestTreeHasNoKernel(t *testing.T) {
	tree, err := OpenTree("captured", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	var h Host = tree
	if _, ok := h.(Netlinker); ok {
		t.Error("a captured tree answers netlink")
	}
	if _, ok := h.(Runner); ok {
		t.Error("a captured tree starts processes")
	}
	if _, err := LinkBase(onlyFiles{}, "/x"); !errors.Is(err, ErrNotSupported) {
		t.Errorf("LinkBase of a host without links: %v", err)
	}
}

// onlyFiles is a Host that can do no more than one must.
type onlyFiles struct{}

func (onlyFiles) Name() string                     { return "only" }
func (onlyFiles) ReadFile(string) ([]byte, error)  { return nil, fs.ErrNotExist }
func (onlyFiles) ReadDir(string) ([]string, error) { return nil, fs.ErrNotExist }

func TestUnreadableIsNotAbsent(t *testing.T) {
	if IsAbsent(context.Canceled) || IsAbsent(fs.ErrPermission) || !IsAbsent(fs.ErrNotExist) {
		t.Error("IsAbsent mistakes one error for another")
	}
}
