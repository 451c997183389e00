package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// tree is the repository as the checks see it: its text files, and the Go among them parsed.
type tree struct {
	text  map[string]string // by path from the root
	files []goFile          // sorted by path
	fset  *token.FileSet
}

// goFile is a Go file of the repository.
type goFile struct {
	path, dir string // slash-separated, from the root
	isTest    bool
	generated bool
	lines     int
	*ast.File
}

// readTree reads a repository. Folders that .gitignore names, .git and binary files are left out;
// Go files under testdata are text and no more, as they are for the go command; a folder with a go.mod of its own is
// another program.
func readTree(root fs.FS) (*tree, error) {
	t := &tree{text: map[string]string{}, fset: token.NewFileSet()}
	ignored, err := ignoredFolders(root)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains(ignored, name) || name != "." && hasModule(root, name)) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := fs.ReadFile(root, name)
		if err != nil || !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
			return err
		}
		t.text[name] = string(b)
		return t.parse(name, b)
	})
	return t, err
}

func hasModule(root fs.FS, folder string) bool {
	_, err := fs.Stat(root, path.Join(folder, "go.mod"))
	return err == nil
}

func ignoredFolders(root fs.FS) ([]string, error) {
	b, err := fs.ReadFile(root, ".gitignore")
	if err != nil {
		return nil, err
	}
	folders := []string{".git"}
	for _, line := range strings.Fields(string(b)) {
		if strings.HasPrefix(line, "/") && strings.HasSuffix(line, "/") {
			folders = append(folders, strings.Trim(line, "/"))
		}
	}
	return folders, nil
}

func (t *tree) parse(name string, b []byte) error {
	if path.Ext(name) != ".go" || slices.Contains(strings.Split(name, "/"), "testdata") {
		return nil
	}
	f, err := parser.ParseFile(t.fset, name, b, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("cannot be judged: %w", err)
	}
	t.files = append(t.files, goFile{
		path: name, dir: path.Dir(name), isTest: strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(f), lines: bytes.Count(b, []byte("\n")), File: f,
	})
	return nil
}

// source returns the files that are compiled into a binary.
func (t *tree) source() []goFile {
	return slices.DeleteFunc(slices.Clone(t.files), func(f goFile) bool { return f.isTest })
}

// at returns a place as path:line.
func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
