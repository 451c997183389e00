package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// banned are names that do not describe the contents, so that everything ends up inside.
var banned = []string{"common", "helper", "helpers", "manager", "managers", "misc", "type", "types", "util", "utils"}

func checkNames(t *tree) (problems []string) {
	for _, f := range t.files {
		for _, word := range strings.Split(f.path, "/") {
			for _, part := range strings.FieldsFunc(strings.TrimSuffix(word, ".go"), func(r rune) bool { return strings.ContainsRune("_-.", r) }) {
				if slices.Contains(banned, part) {
					problems = append(problems, fmt.Sprintf("%s: %q is not descriptive; name the noun", f.path, part))
				}
			}
		}
		if slices.Contains(banned, strings.TrimSuffix(f.Name.Name, "_test")) {
			problems = append(problems, fmt.Sprintf("%s: package %q is not descriptive; name the noun", f.path, f.Name.Name))
		}
	}
	return problems
}

// checkDocs: one package comment a package, in the form that go doc expects. A package that is tests
// and nothing else has its comment in one of them.
func checkDocs(t *tree) (problems []string) {
	hasSource := map[string]bool{}
	for _, f := range t.source() {
		hasSource[f.dir] = true
	}
	count := map[string]int{}
	for _, f := range t.files {
		count[f.dir] += 0
		if f.Doc == nil {
			continue
		}
		if f.isTest && hasSource[f.dir] {
			problems = append(problems, f.path+": the package comment is in a test file")
			continue
		}
		count[f.dir]++
		if want := "Package " + f.Name.Name + " "; f.Name.Name != "main" && !strings.HasPrefix(f.Doc.Text(), want) {
			problems = append(problems, fmt.Sprintf("%s: the package comment does not begin with %q", f.path, want))
		}
	}
	for dir, n := range count {
		if n != 1 {
			problems = append(problems, fmt.Sprintf("%s: %d package comments, want one", dir, n))
		}
	}
	return problems
}

// Where a reader's grasp ends, in lines. Aim at 400 a file and 60 a function.
const (
	maxFile     = 600
	maxFunction = 100
)

// tooLong lists files and functions (as path or path:name) that may be longer. Keep it empty.
var tooLong = []string{}

func checkSizes(t *tree) []string { return longer(t, maxFile, maxFunction) }

func longer(t *tree, file, function int) (problems []string) {
	for _, f := range t.source() {
		if f.generated {
			continue
		}
		if f.lines > file && !slices.Contains(tooLong, f.path) {
			problems = append(problems, fmt.Sprintf("%s: %d lines, at most %d: split it by topic", f.path, f.lines, file))
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
			if lines > function && !slices.Contains(tooLong, f.path+":"+fn.Name.Name) {
				problems = append(problems, fmt.Sprintf("%s: func %s has %d lines, at most %d", t.at(fn), fn.Name.Name, lines, function))
			}
		}
	}
	return problems
}

// nouns are the nouns of the program. Each is one struct, in internal/fabric. Other words are free:
// what a Rule is in one package may be something else in another.
var nouns = []string{
	"Artifact", "Cause", "Cluster", "Facts", "Finding", "GID", "GPU", "HCA", "Layout", "Link", "Measurement", "Model",
	"NIC", "Node", "PCIDevice", "Partition", "Plan", "Port", "Prediction", "Rail", "Route", "Subnet", "Switch",
	"TrafficClass", "Transport",
}

// namesakes are structs that have the name of a noun and another meaning.
var namesakes = []string{
	"internal/collective.Cluster", // machines and links as the model of time sees them
	"internal/intent.Cluster",     // the cluster file
	"internal/llm.Model",          // a checkpoint, tensor by tensor; fabric's is the model that a plan serves
	"internal/topology.GPU",       // a leaf of a host's tree with its links; fabric's is a fact of a node
	"internal/topology.NIC",       // likewise, one per port
}

func checkNouns(t *tree) (problems []string) {
	const home = "internal/fabric"
	for _, f := range t.source() {
		for _, s := range structs(f) {
			name := s.Name.Name
			if f.dir != home && slices.Contains(nouns, name) && !slices.Contains(namesakes, f.dir+"."+name) {
				problems = append(problems, fmt.Sprintf("%s: a second struct %s: the noun is %s.%s", t.at(s), name, path.Base(home), name))
			}
		}
	}
	return problems
}

func structs(f goFile) (found []*ast.TypeSpec) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			if _, ok := s.Type.(*ast.StructType); ok {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}
