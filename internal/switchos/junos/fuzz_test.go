package junos

import (
	"os"
	"path/filepath"
	"testing"

	"railwright.dev/railwright/internal/switchos/switchtext"
)

// FuzzReadJunos looks for texts that end the program, and for lines that are not of the text.
func FuzzReadJunos(f *testing.F) {
	files, err := filepath.Glob("testdata/read/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	more, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(qoS))
	f.Add([]byte("set apply-groups [ a a ]\nset groups a apply-groups a\ndeactivate groups\ndelete groups a apply-groups a\nup 3\ntop set x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		OS{}.Recognizes(text)
		lines := 1
		for _, c := range text {
			if c == '\n' {
				lines++
			}
		}
		c := OS{}.Read("leaf1", []switchtext.Text{{File: "f", Bytes: text}})
		for _, p := range c.Problems {
			if p.At.Number < 0 || p.At.Number > lines || p.Kind == "" || p.What == "" {
				t.Errorf("problem %+v of %d lines", p, lines)
			}
		}
		for _, u := range c.Unread {
			if u.Number < 1 || u.Number > lines {
				t.Errorf("unread %+v of %d lines", u, lines)
			}
		}
		for _, p := range c.Ports {
			if p.PFC != nil && p.PFC.Is == nil {
				t.Errorf("%s: PFC is no list", p.Name)
			}
		}
	})
}
