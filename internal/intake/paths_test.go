//go:build !windows

package intake

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"railwright.dev/railwright/internal/files"
)

func TestPaths(t *testing.T) {
	folder := write(t, map[string]string{"run/table.txt": table, "run/node1/deep/log.txt": table, "run/.hidden/x": table, "outside.txt": table, "run/program": "\x00\x01\x02\x03"})
	run := filepath.Join(folder, "run")
	if err := errors.Join(os.Symlink("table.txt", filepath.Join(run, "latest")), unix.Mkfifo(filepath.Join(run, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := read(t, run)
	if tables(c) != 2 || c.Open[0].Reason != "" {
		t.Errorf("%d tables, %+v", tables(c), c.Open)
	}
	if err := os.Symlink("../outside.txt", filepath.Join(run, "out")); err != nil {
		t.Fatal(err)
	}
	if c = read(t, run); tables(c) != 2 || !strings.Contains(c.Open[0].Reason, "leads out") {
		t.Errorf("%d tables, %+v", tables(c), c.Open)
	}
	if c = read(t, filepath.Join(folder, "nope"), run); !strings.Contains(c.Open[0].Reason, "no such file") {
		t.Errorf("%+v", c.Open)
	}
	if c = read(t, t.TempDir()); c.Open[0].Reason != "no files in this folder" {
		t.Errorf("%+v", c.Open)
	}
	if c = read(t, "/dev/zero"); !strings.Contains(c.Open[0].Reason, "device") {
		t.Errorf("%+v", c.Open)
	}
	if _, err := Read(t.Context(), files.Disk{}, []string{filepath.Join(folder, "nope"), filepath.Join(folder, "neither")}, nil, func(string) {}); err == nil || strings.Count(err.Error(), "no such file") != 2 {
		t.Errorf("%v", err)
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(filepath.Join(run, "table.txt"), 0); err != nil {
			t.Fatal(err)
		}
		if c = read(t, run); !strings.Contains(c.Open[0].Reason, "permission denied") {
			t.Errorf("%+v", c.Open)
		}
	}
}
