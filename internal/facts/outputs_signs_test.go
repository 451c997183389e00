package facts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of every line of every capture in the repository the signs of a form are there where its output begins.
func TestSigns(t *testing.T) {
	began, lines := map[string]bool{}, 0
	look := func(where, line string) {
		lines++
		got, want := toolOf(beginningForm(line, new(lineSigns().In(line)))), toolOf(firstForm(line))
		if got != want {
			t.Errorf("%s: %q begins the output of %q, want %q", where, line, got, want)
		}
		began[want] = true
	}
	look("lspci -t", "-[0000:00]-+-00.0")
	look("the samples of CUDA", "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]")
	for _, root := range []string{"testdata", "../nic/testdata", "../esx/testdata", "../results/testdata", "../diagnose/testdata", "../intake/testdata", "../cli/testdata", "../../test/script"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" {
					look(path, line)
				}
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	for _, f := range forms() {
		if f.signs != nil && !began[f.tool] {
			t.Errorf("of %d lines none begins the output of %s", lines, f.tool)
		}
	}
}

func toolOf(f *outputForm) string {
	if f == nil {
		return ""
	}
	return f.tool
}

// firstForm is beginningForm without the signs.
func firstForm(line string) *outputForm {
	all := forms()
	for i := range all {
		if all[i].begins(line) {
			return &all[i]
		}
	}
	return nil
}
