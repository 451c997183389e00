package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// racing finds the list of the Makefile.
var racing = regexp.MustCompile(`(?m)^RACING := (.*)$`)

// checkRacing: the Makefile names exactly the packages that start goroutines, so that `make test` runs each of them under
// the race detector, together with all that their goroutines call.
func checkRacing(t *tree) (problems []string) {
	var listed []string
	if found := racing.FindStringSubmatch(t.text["Makefile"]); found != nil {
		listed = strings.Fields(found[1])
	}
	starts := map[string]string{} // where a package starts its first goroutine, by its path below internal/
	for _, f := range t.source() {
		name, ours := strings.CutPrefix(f.dir, "internal/")
		ast.Inspect(f.File, func(n ast.Node) bool {
			if ours && starts[name] == "" && startsGoroutine(n) {
				starts[name] = t.at(n)
			}
			return true
		})
	}
	for name, at := range starts {
		if !slices.Contains(listed, name) {
			problems = append(problems, fmt.Sprintf("%s: starts a goroutine: add %s to RACING in the Makefile", at, name))
		}
	}
	for _, name := range listed {
		if starts[name] == "" {
			problems = append(problems, fmt.Sprintf("Makefile: RACING names %s, which starts no goroutine", name))
		}
	}
	slices.Sort(problems)
	return problems
}

// startsGoroutine knows go, and by their names host.Go, host.Each, the Go of a WaitGroup or an errgroup, and AfterFunc.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok {
			return slices.Contains([]string{"Go", "Each", "AfterFunc"}, f.Sel.Name)
		}
	}
	return false
}
