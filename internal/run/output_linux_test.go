package run

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWriteOutput(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	content := func(t *testing.T, name string) string {
		t.Helper()
		text, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	t.Run("a new file", func(t *testing.T) {
		if err := WriteOutput(in("new"), []byte("one")); err != nil || content(t, "new") != "one" {
			t.Error(err)
		}
	})
	t.Run("an existing file", func(t *testing.T) {
		if err := WriteOutput(in("new"), []byte("two")); err != nil || content(t, "new") != "two" {
			t.Error(err)
		}
	})
	t.Run("a link to a file", func(t *testing.T) {
		if err := errors.Join(os.Symlink("new", in("link")), WriteOutput(in("link"), []byte("three"))); err != nil || content(t, "new") != "three" {
			t.Error(err)
		}
		if info, err := os.Lstat(in("link")); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("the link was replaced: %v, %v", info, err)
		}
	})
	t.Run("private, new and over a file that all can read", func(t *testing.T) {
		for _, name := range []string{"private", "new"} {
			if err := WritePrivate(in(name), []byte("log")); err != nil || content(t, name) != "log" {
				t.Error(err)
			}
			if info, err := os.Stat(in(name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	})
	for name, test := range map[string]struct{ path, want string }{
		"a folder":                {folder, `: is a directory`},
		"no parent":               {in("no/such/page.html"), `folder "` + in("no/such") + `" does not exist`},
		"a parent that is none":   {in("new/page.html"), "not a directory"},
		"a name that is too long": {in(strings.Repeat("x", 300)), "file name too long"},
	} {
		t.Run(name, func(t *testing.T) {
			err := WriteOutput(test.path, []byte("x"))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Count(err.Error(), filepath.Base(test.path)) > 1 && name != "a folder" {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	t.Run("a link to nothing", func(t *testing.T) {
		if err := errors.Join(os.Symlink("nothing", in("dangling")), WriteOutput(in("dangling"), []byte("x"))); err == nil {
			t.Error("was written")
		}
	})
}

// A FIFO is written, not replaced.
func TestWriteOutputToFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link := path + "-link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.OpenFile(path, os.O_RDWR, 0) // with a writer of our own, opening waits for nobody
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := WriteOutput(name, []byte("page")); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
				t.Fatalf("%v, %v", info, err)
			}
			got := make([]byte, 4)
			if _, err := io.ReadFull(f, got); err != nil || string(got) != "page" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A device that is always full gives its error, and stays a device.
func TestWriteOutputToDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full")
	if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 7))); err != nil {
		t.Skipf("a device node cannot be made here: %v", err)
	}
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Skipf("a device node cannot be opened here: %v", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	err := WriteOutput(path, []byte("page"))
	if !errors.Is(err, syscall.ENOSPC) || err.Error() != `"`+path+`": no space left on device` {
		t.Errorf("%v", err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// An error names the file that was asked for, not a temporary one.
func TestWriteFileErrorHasNoTemporaryName(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "report.html"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := Folder(folder).WriteFile("report.html", []byte("x"))
	if err == nil || strings.Contains(err.Error(), "/.") || !strings.HasPrefix(err.Error(), `"`+filepath.Join(folder, "report.html")+`": `) {
		t.Errorf("%v", err)
	}
}
