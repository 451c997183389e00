package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// checkFloors: docs/layout.md draws the packages as floors of a house, each above all that it imports, and the
// drawing is true.
func checkFloors(t *tree) []string {
	const layout = "docs/layout.md"
	_, after, _ := strings.Cut(t.text[layout], "```floors\n")
	drawn, _, _ := strings.Cut(after, "```")
	if want := floors(t); drawn != want {
		return []string{fmt.Sprintf("%s: the block ```floors is to be\n%s", layout, want)}
	}
	return nil
}

// floors writes the packages under internal/, one floor per line, the highest first.
func floors(t *tree) string {
	imports := map[string][]string{}
	for _, f := range t.source() {
		pkg, ours := strings.CutPrefix(f.dir, "internal/")
		if !ours || pkg == "archtest" {
			continue
		}
		imports[pkg] = append(imports[pkg], "")
		for _, spec := range f.Imports {
			if p, ours := strings.CutPrefix(importPath(spec), module+"internal/"); ours {
				imports[pkg] = append(imports[pkg], p)
			}
		}
	}
	byFloor := map[int][]string{}
	highest := 0
	for pkg := range imports {
		n := floorOf(pkg, imports)
		byFloor[n] = append(byFloor[n], pkg)
		highest = max(highest, n)
	}
	var b strings.Builder
	for n := highest; n > 0; n-- {
		slices.Sort(byFloor[n])
		fmt.Fprintf(&b, "%d  %s\n", n, strings.Join(byFloor[n], " "))
	}
	return b.String()
}

// floorOf is 1 for a package that imports none of ours. Go has no import cycles, so this ends.
func floorOf(pkg string, imports map[string][]string) int {
	floor := 0
	for _, below := range imports[pkg] {
		if below != "" {
			floor = max(floor, floorOf(below, imports))
		}
	}
	return floor + 1
}
