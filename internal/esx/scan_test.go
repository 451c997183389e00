package esx

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of every line of every capture in the repository, and of the texts in the tests here, the form that begins is the first that would take it.
func TestBeginnings(t *testing.T) {
	began := 0
	for _, root := range []string{".", "../facts/testdata", "../results/testdata", "../diagnose/testdata", "../../test/script"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if line = plain(line); line != "" {
					began += begin(t, path, line)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if began == 0 {
		t.Error("no line begins anything")
	}
}

// begin compares what a line begins on an ESX host with the first form that takes it, and counts it.
func begin(t *testing.T, path, line string) (began int) {
	t.Helper()
	at, may := place{esx: true}, beginnings().In(line)
	want := ""
	for _, f := range forms() {
		if f.begins(line, at) {
			want, began = f.name, 1
			break
		}
	}
	got := ""
	if f := formOf(line, at, &may); f != nil {
		got = f.name
	}
	if got != want {
		t.Errorf("%s: %q begins %q, want %q", path, line, got, want)
	}
	return began
}
