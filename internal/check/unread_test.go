package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestFactsOfRules: a fact of whose absence a rule speaks is declared by a rule. One that is not would be taken for a
// fact that no rule reads.
func TestFactsOfRules(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, used := map[string]bool{}, map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Facts" {
					eachFact(n.Value, func(fact string) { declared[fact] = true })
					return false
				}
			case *ast.SelectorExpr:
				if name != "unread.go" { // which lists the roots of all facts
					eachFact(n, func(fact string) { used[fact] = name })
				}
			}
			return true
		})
	}
	// The list as a whole is missing where one of its facts could be: what is declared below it covers it.
	above := map[string]bool{"FactKernel": true}
	for fact, file := range used {
		if !declared[fact] && !above[fact] {
			t.Errorf("%s: fabric.%s is looked up, and no rule declares it in Facts", file, fact)
		}
	}
	if len(used) < 40 || len(declared) < 40 {
		t.Errorf("%d facts used, %d declared: the test looks past them", len(used), len(declared))
	}
}

func eachFact(n ast.Node, visit func(string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "fabric" && strings.HasPrefix(s.Sel.Name, "Fact") && s.Sel.Name != "Facts" {
				visit(s.Sel.Name)
			}
		}
		return true
	})
}
