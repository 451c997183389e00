package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var namedPackage = regexp.MustCompile("internal/[a-z]+")

// checkPages: docs/layout.md names packages that exist or are planned, and docs/dependencies.md
// has a row for each module that is imported, and no other.
func checkPages(t *tree) (problems []string) {
	const layout, dependencies = "docs/layout.md", "docs/dependencies.md"
	for _, pkg := range namedPackage.FindAllString(t.text[layout], -1) {
		if _, known := allowed[pkg]; !known {
			problems = append(problems, fmt.Sprintf("%s: %s has no row in the import table", layout, pkg))
		}
	}
	imported := map[string]bool{}
	for _, f := range t.files {
		for _, spec := range f.Imports {
			p := importPath(spec)
			host, _, _ := strings.Cut(p, "/")
			if strings.Contains(host, ".") && !strings.HasPrefix(p, module) {
				imported[p] = true
			}
		}
	}
	listed := rows(t.text[dependencies])
	for p := range imported {
		if !slices.ContainsFunc(listed, func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") }) {
			problems = append(problems, fmt.Sprintf("%s: no row with a reason for %s", dependencies, p))
		}
	}
	for _, m := range listed {
		used := false
		for p := range imported {
			used = used || p == m || strings.HasPrefix(p, m+"/")
		}
		if !used {
			problems = append(problems, fmt.Sprintf("%s: nothing imports %s", dependencies, m))
		}
	}
	return problems
}

// rows are the first cells of a table, where they are code.
func rows(markdown string) (names []string) {
	for line := range strings.Lines(markdown) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(cell, "`")
			names = append(names, name)
		}
	}
	return names
}
