package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// checkState: no init, and package variables that are values: a table, a sentinel error, a compiled
// pattern, an embedded file. Nothing assigns to them, and none is made to be filled later.
func checkState(t *tree) (problems []string) {
	vars := map[string]map[string]bool{} // names of package variables, by folder
	for _, f := range t.source() {
		if vars[f.dir] == nil {
			vars[f.dir] = map[string]bool{}
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				problems = append(problems, t.declared(g, vars[f.dir])...)
			}
		}
	}
	for _, f := range t.source() {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if fn.Name.Name == "init" && fn.Recv == nil {
				problems = append(problems, t.at(fn)+": func init: write the list out where it is used")
			}
			problems = append(problems, t.assigned(fn, vars[f.dir])...)
		}
	}
	return problems
}

// declared records the names of a var declaration and finds those that look like state.
func (t *tree) declared(g *ast.GenDecl, names map[string]bool) (problems []string) {
	for _, s := range g.Specs {
		spec := s.(*ast.ValueSpec)
		for i, name := range spec.Names {
			if name.Name == "_" {
				continue
			}
			names[name.Name] = true
			why := ""
			switch {
			case isEmbed(g.Doc) || isEmbed(spec.Doc):
			case len(spec.Values) == 0:
				why = "has no value, so something sets it later"
			case i < len(spec.Values):
				why = mutable(spec.Values[i])
			}
			if why != "" {
				problems = append(problems, fmt.Sprintf("%s: package variable %s %s", t.at(name), name.Name, why))
			}
		}
	}
	return problems
}

func isEmbed(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// mutable returns why a value is mutable.
func mutable(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return "is a pointer"
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && (f.Name == "make" || f.Name == "new") {
			return "is made empty, so something fills it later"
		}
	case *ast.CompositeLit:
		if s, ok := e.Type.(*ast.SelectorExpr); ok {
			if p, ok := s.X.(*ast.Ident); ok && (p.Name == "sync" || p.Name == "atomic") {
				return "is a lock or a counter"
			}
		}
	}
	return ""
}

// assigned finds what a function does to package variables: =, op=, ++, delete, clear. A name that the
// function also declares itself is skipped, so this finds less than there may be, never more.
func (t *tree) assigned(fn *ast.FuncDecl, names map[string]bool) (problems []string) {
	local := locals(fn)
	report := func(e ast.Expr) {
		if id := root(e); id != nil && names[id.Name] && !local[id.Name] {
			problems = append(problems, fmt.Sprintf("%s: func %s changes package variable %s", t.at(e), fn.Name.Name, id.Name))
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					report(e)
				}
			}
		case *ast.IncDecStmt:
			report(n.X)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
				report(n.Args[0])
			}
		}
		return true
	})
	return problems
}

// root is the variable at the bottom of x.f[i].g, or nil.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// locals are all names that a function declares anywhere: receiver, parameters, results, := and var.
func locals(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			names[id.Name] = true
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		}
		return true
	})
	return names
}
