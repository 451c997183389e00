package portable

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listedPackage is what `go list -json` says of a package: GoFiles are those of the system that was asked for. ImportMap
// leads from the path in an import to the package that is meant, where they differ: for vendored packages and for those
// that are built once more with their tests.
type listedPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct {
		Main      bool
		GoVersion string
	}
}

// ours reports whether a package is part of this program.
func (p listedPackage) ours() bool { return p.Module != nil && p.Module.Main }

// checker holds the packages that were checked, by their import paths.
type checker struct {
	fset   *token.FileSet
	sizes  types.Sizes
	done   map[string]*types.Package
	parsed map[string]*ast.File // a file is of a package, and of the same one with its tests
}

// check type-checks the packages of a list: what is declared of all, and the bodies of the functions of this program's.
func check(s system, listed []listedPackage) (checked int, problems []string) {
	c := &checker{
		fset: token.NewFileSet(), sizes: types.SizesFor("gc", s.arch),
		done: map[string]*types.Package{"unsafe": types.Unsafe}, parsed: map[string]*ast.File{},
	}
	for _, p := range listed {
		// go test itself writes the main package of a test.
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		if p.ours() {
			checked++
		}
		for _, err := range c.check(p) {
			problems = append(problems, p.ImportPath+": "+err.Error())
		}
	}
	return checked, problems
}

func (c *checker) check(p listedPackage) (problems []error) {
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := c.parse(filepath.Join(p.Dir, name), p.ours())
		if err != nil {
			return []error{err}
		}
		parsed = append(parsed, f)
	}
	config := types.Config{
		Importer:         imports{c, p},
		Sizes:            c.sizes,
		IgnoreFuncBodies: !p.ours(),
		Error:            func(err error) { problems = append(problems, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // "P [P.test]" is P with its tests
	c.done[p.ImportPath], _ = config.Check(path, c.fset, parsed, nil)
	return problems
}

func (c *checker) parse(path string, ours bool) (*ast.File, error) {
	if f := c.parsed[path]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
	if err == nil && ours {
		c.parsed[path] = f
	}
	return f, err
}

// imports finds what one package imports.
type imports struct {
	*checker
	of listedPackage
}

func (i imports) Import(path string) (*types.Package, error) {
	if mapped, ok := i.of.ImportMap[path]; ok {
		path = mapped
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, &os.PathError{Op: "import", Path: path, Err: os.ErrNotExist}
}

// The check finds what a compiler would: a call that one system alone has, a wrong type, a value that is not used.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"right.go":  "package p\n\nfunc F() int { return 1 }\n",
		"type.go":   "package p\n\nfunc G() string { return F() }\n",
		"absent.go": "package p\n\nfunc H() int { return onlyElsewhere() }\n",
		"unused.go": "package p\n\nfunc I() { x := 1 }\n",
		"import.go": "package p\n\nimport \"absent\"\n\nvar J = absent.J\n",
		"syntax.go": "package p\n\nfunc K( {}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"", "type.go", "absent.go", "unused.go", "import.go", "syntax.go"} {
		p := listedPackage{ImportPath: "p", Dir: folder, GoFiles: []string{"right.go"}}
		p.Module = &struct {
			Main      bool
			GoVersion string
		}{true, "1.26"}
		if other != "" {
			p.GoFiles = append(p.GoFiles, other)
		}
		checked, problems := check(system{"linux", "arm64"}, []listedPackage{p})
		if checked != 1 || (len(problems) > 0) != (other != "") {
			t.Errorf("with %q: %d packages, %q", other, checked, problems)
		}
	}
}
