//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// Yardsticks are the least work that a command cannot do without, done by this process in the same run: a bar is a ratio of
// processor time to one of them, so that neither a slow machine nor other programs on it turn a bar red.

// cpuOfSelf is the processor time that a function takes in this process.
func cpuOfSelf(t *testing.T, f func() error) time.Duration {
	t.Helper()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		t.Fatal(err)
	}
	if err := f(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		t.Fatal(err)
	}
	return cpuOf(&after) - cpuOf(&before)
}

// decoding reads and decodes every file of facts in a folder.
func decoding(t *testing.T, folder string) time.Duration {
	return cpuOfSelf(t, func() error {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			f, err := os.Open(filepath.Join(folder, e.Name()))
			if err != nil {
				return err
			}
			in := json.NewDecoder(f)
			in.DisallowUnknownFields()
			if err := in.Decode(new(fabric.Facts)); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// splitting reads a file and cuts it into lines.
func splitting(t *testing.T, path string) time.Duration {
	return cpuOfSelf(t, func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			_ = lines.Text()
		}
		return lines.Err()
	})
}

// copying writes every file below a folder anew, into another that it makes.
func copying(t *testing.T, from, to string) time.Duration {
	return cpuOfSelf(t, func() error {
		return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			below, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			if e.IsDir() {
				return os.MkdirAll(filepath.Join(to, below), 0o755)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, below), text, 0o644)
		})
	})
}
