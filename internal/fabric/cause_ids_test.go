package fabric_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// CauseIDs has every constant of cause.go, and no other.
func TestCauseIDs(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []fabric.CauseID
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "CauseID" {
			id, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fabric.CauseID(id))
		}
		return true
	})
	if len(want) < 60 {
		t.Fatalf("%d constants were found in cause.go", len(want))
	}
	got := slices.Clone(fabric.CauseIDs)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("CauseIDs is %v, the constants are %v", got, want)
	}
}
