package facts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestFactPaths holds rules and sources to one set of paths: a rule names facts by the constants of fabric, and each
// constant is one that a source here can give.
func TestFactPaths(t *testing.T) {
	given, asked := map[string]bool{}, map[string]bool{}
	for _, f := range goFiles(t, ".", func(name string) bool { return !strings.HasPrefix(name, "diff") && name != "captured.go" }) {
		factConstants(f, given)
	}
	for _, f := range goFiles(t, "../check", func(string) bool { return true }) {
		factConstants(f, asked)
		for _, call := range reasonCalls(f) {
			for _, argument := range call {
				if word := literal(argument); word != "" {
					t.Errorf("check: path %s of a fact is not a constant of fabric", word)
				}
			}
		}
	}
	if len(asked) < 20 {
		t.Fatalf("%d paths in the rules: the test does not find them", len(asked))
	}
	for _, f := range goFiles(t, "../fabric", func(name string) bool { return name == "fact_path.go" }) {
		for name := range f.Scope.Objects {
			if !given[name] {
				t.Errorf("fabric.%s: no source gives it", name)
			}
			delete(asked, name)
		}
	}
	for name := range asked {
		t.Errorf("fabric.%s is not in fact_path.go", name)
	}
}

func goFiles(t *testing.T, folder string, take func(name string) bool) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || !take(filepath.Base(name)) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// factConstants notes the constants fabric.Fact... that a file names.
func factConstants(f *ast.File, into map[string]bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Fact") && s.Sel.Name != "Facts" {
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "fabric" {
				into[s.Sel.Name] = true
			}
		}
		return true
	})
}

// reasonCalls returns the paths with which rules ask why a fact is missing.
func reasonCalls(f *ast.File) (paths [][]ast.Expr) {
	skipped := map[string]int{"missing": 0, "MissingReason": 0, "why": 1, "portWhy": 1, "pciWhy": 1} // arguments before the paths
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok {
			if first, ok := skipped[s.Sel.Name]; ok && len(call.Args) > first {
				paths = append(paths, call.Args[first:])
			}
		}
		return true
	})
	return paths
}

// literal is the text at the head of an expression, empty where a constant or a variable stands there.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.BinaryExpr:
		return literal(e.X)
	}
	return ""
}
