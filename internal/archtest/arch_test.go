package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// checks are all rules. Each gives its problems, one a line, and has testdata/NAME.txtar: a small
// repository that breaks it, with the problems to be found in the file "want".
var checks = []struct {
	name  string
	check func(*tree) []string
}{
	{"imports", checkImports},
	{"doors", checkDoors},
	{"names", checkNames},
	{"docs", checkDocs},
	{"sizes", checkSizes},
	{"state", checkState},
	{"nouns", checkNouns},
	{"pages", checkPages},
	{"places", checkPlaces},
	{"floors", checkFloors},
	{"racing", checkRacing},
}

func TestArchitecture(t *testing.T) {
	repository, err := readTree(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(repository.source()) == 0 {
		t.Fatal("no Go file found: looking in the wrong place")
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, problem := range c.check(repository) {
				t.Error(problem)
			}
		})
	}
}

// A rule that never rejects anything proves nothing.
func TestChecksRefuse(t *testing.T) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			archive, err := txtar.ParseFile(filepath.Join("testdata", c.name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			root := fstest.MapFS{".gitignore": {}}
			for _, f := range archive.Files {
				root[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			want, err := fs.ReadFile(root, "want")
			if err != nil || len(want) == 0 {
				t.Fatalf("no list of wanted problems: %v", err)
			}
			delete(root, "want")
			bad, err := readTree(root)
			if err != nil {
				t.Fatal(err)
			}
			check := c.check
			if c.name == "sizes" { // the same rule on an example that a person can read
				check = func(t *tree) []string { return longer(t, 8, 4) }
			}
			have := check(bad)
			slices.Sort(have)
			if text := strings.Join(have, "\n") + "\n"; text != string(want) {
				t.Errorf("have\n%s\nwant\n%s", text, want)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	root := fstest.MapFS{".gitignore": {}, "a/a.go": {Data: []byte("package a\nfunc {")}}
	if _, err := readTree(root); err == nil {
		t.Error("a file that does not parse was skipped")
	}
}

func TestIgnored(t *testing.T) {
	root := fstest.MapFS{
		".gitignore":      {Data: []byte("/bin/\n")},
		"bin/a.go":        {Data: []byte("package bin")},
		"sub/bin/a.go":    {Data: []byte("package bin")},
		"a/testdata/a.go": {Data: []byte("no Go at all")},
	}
	tree, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.files) != 1 || tree.files[0].path != "sub/bin/a.go" {
		t.Errorf("have %d Go files, want sub/bin/a.go alone", len(tree.files))
	}
	if _, ok := tree.text["a/testdata/a.go"]; !ok {
		t.Error("testdata is not seen as text")
	}
}
