package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

const module = "railwright.dev/railwright/"

// allowed is the import table: a package, then all packages of this module that its files may import.
// Test files are exempt. A package that is not in the list is a problem; a listed one that does not exist yet is not.
var allowed = map[string]string{
	"cmd/railwright":  "cli lategc",
	"test/tally":      "",
	"test/esxi/shell": "",
	"test/accuracy":   "fabric catalog collective diagnose files intake llm pipeline messages results serving sizing",

	"internal/archtest": "",

	// the doors outward
	"internal/linux":   "",
	"internal/lategc":  "",
	"internal/files":   "",
	"internal/pattern": "",
	"internal/host":    "fabric linux pattern",
	"internal/kube":    "",
	"internal/vcenter": "fabric",

	// the nouns and what is known of them
	"internal/fabric":   "",
	"internal/catalog":  "fabric pattern",
	"internal/intent":   "fabric catalog spark",
	"internal/nic":      "fabric pattern",
	"internal/switchos": "fabric switchos/switchtext switchos/sonic switchos/dell switchos/eos switchos/junos switchos/routeros pattern",

	"internal/switchos/switchtext": "fabric pattern",
	"internal/switchos/sonic":      "fabric switchos/switchtext pattern",
	"internal/switchos/dell":       "fabric switchos/switchtext switchos/sonic pattern",
	"internal/switchos/eos":        "fabric switchos/switchtext pattern",
	"internal/switchos/junos":      "fabric switchos/switchtext pattern",
	"internal/switchos/routeros":   "fabric switchos/switchtext pattern",

	"internal/messages": "fabric",
	"internal/causes":   "fabric",
	"internal/ncclenv":  "fabric",
	"internal/envtext":  "pattern",
	"internal/results":  "envtext fabric messages pattern",

	// a machine, and what NCCL makes of it
	"internal/topology":   "fabric catalog pattern",
	"internal/ncclxml":    "fabric catalog topology pattern",
	"internal/ncclgraph":  "fabric topology ncclxml",
	"internal/nccllint":   "fabric catalog topology ncclxml pattern",
	"internal/collective": "fabric catalog topology ncclenv ncclgraph",
	"internal/claims":     "fabric catalog topology",

	// a language model on machines
	"internal/llm":      "fabric files catalog",
	"internal/sizing":   "fabric catalog llm",
	"internal/serving":  "fabric catalog llm sizing",
	"internal/launch":   "fabric pattern",
	"internal/loadtest": "fabric pattern",

	// from facts and intent to a plan, and from a plan to systems
	"internal/esx":      "fabric pattern",
	"internal/prepare":  "fabric",
	"internal/facts":    "fabric esx files host linux kube nic pattern spark switchos vcenter",
	"internal/intake":   "fabric facts files host manifest results",
	"internal/bundle":   "fabric facts host",
	"internal/runbook":  "fabric catalog draw prepare",
	"internal/plan":     "fabric intent catalog llm topology sizing",
	"internal/render":   "fabric ncclxml nic switchos",
	"internal/platform": "fabric render render/kubernetes render/kubernetes/operators render/kubernetes/podtest render/kubernetes/serve render/vsphere",

	"internal/render/kubernetes":           "fabric",
	"internal/render/kubernetes/operators": "fabric render/kubernetes",
	"internal/render/kubernetes/podtest":   "fabric render/kubernetes",
	"internal/render/kubernetes/serve":     "fabric render/kubernetes",

	"internal/render/vsphere": "fabric catalog topology ncclxml",

	"internal/apply":   "fabric claims host kube vcenter prepare nic rollout switchos",
	"internal/rollout": "",

	// verdicts
	"internal/switchcheck": "fabric lossless",
	"internal/spark":       "fabric",
	"internal/cables":      "fabric",
	"internal/esxcheck":    "fabric pattern",

	"internal/manifest":      "fabric pattern",
	"internal/manifestcheck": "fabric manifest ncclenv pattern",

	"internal/check":    "fabric cables esxcheck topology nic spark switchcheck pattern",
	"internal/lossless": "fabric",
	"internal/bench":    "fabric host kube render results",
	"internal/evidence": "fabric messages results pattern",
	"internal/diagnose": "fabric causes evidence messages pattern collective topology",
	"internal/mesh":     "fabric cables",

	// for people
	"internal/draw":   "fabric topology",
	"internal/report": "fabric draw pattern",
	"internal/run":    "fabric",
	"internal/lab":    "fabric host",

	// all of it together
	"internal/fleet":    "fabric host intent",
	"internal/mcp":      "files host",
	"internal/pipeline": below,
	"internal/cli":      all,
}

const (
	all   = "*"
	below = "* but cli" // the command line is above everything
)

func checkImports(t *tree) (problems []string) {
	for _, f := range t.source() {
		row, known := allowed[f.dir]
		if !known {
			problems = append(problems, fmt.Sprintf("%s: package %s has no row in the import table", f.path, f.dir))
			continue
		}
		for _, spec := range f.Imports {
			pkg, ours := strings.CutPrefix(importPath(spec), module)
			if ours && !mayImport(row, pkg) {
				problems = append(problems, fmt.Sprintf("%s: %s may not import %s, only: %s", t.at(spec), f.dir, pkg, row))
			}
		}
	}
	return problems
}

func mayImport(row, pkg string) bool {
	name, internal := strings.CutPrefix(pkg, "internal/")
	if !internal {
		return false // programs and tests are not imported
	}
	switch row {
	case all:
		return true
	case below:
		return name != "cli"
	}
	return slices.Contains(strings.Fields(row), name)
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

// Calls that start a process or open a socket, by the path of their package.
var (
	processes = map[string][]string{
		"os":                    {"StartProcess"},
		"os/exec":               {"Command", "CommandContext", "Cmd"},
		"syscall":               {"Exec", "ForkExec", "StartProcess"},
		"golang.org/x/sys/unix": {"Exec"},
	}
	sockets = map[string][]string{
		"net":                   {"Dial", "DialTimeout", "Dialer", "DialIP", "Listen", "ListenPacket", "ListenIP", "ListenConfig"},
		"net/http":              {"Get", "Post", "Client", "Server", "ListenAndServe", "DefaultClient"},
		"syscall":               {"Socket"},
		"golang.org/x/sys/unix": {"Socket"},
	}
)

// Calls that read files by a name. What the tools of railwright mcp run reads them through files.Files instead, which
// keeps it below one folder.
var reads = map[string][]string{
	"os":            {"Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadFile", "ReadDir", "Stat", "Lstat", "Readlink", "DirFS"},
	"path/filepath": {"Walk", "WalkDir", "Glob", "EvalSymlinks"},
}

// Packages that the tools run, and the files in them that may read by name: those of commands that are no tools.
var (
	readByOpener = []string{
		"internal/cli", "internal/catalog", "internal/causes", "internal/check", "internal/claims", "internal/collective", "internal/diagnose", "internal/draw", "internal/envtext", "internal/evidence",
		"internal/facts", "internal/intake", "internal/intent", "internal/launch", "internal/llm", "internal/manifest", "internal/manifestcheck", "internal/mcp", "internal/messages", "internal/ncclenv", "internal/ncclgraph", "internal/nccllint", "internal/ncclxml",
		"internal/pipeline", "internal/plan", "internal/report", "internal/results", "internal/serving", "internal/sizing", "internal/topology",
	}
	mayReadByName = []string{
		"internal/cli/collect.go", "internal/cli/lab.go", "internal/cli/node.go", // collect --root, the hardware of a lab, the far end
		"internal/cli/page.go",          // looks at a file that --html would replace
		"internal/facts/captured.go",    // collect --text
		"internal/messages/coverage.go", // the formats of sources, for make accuracy
	}
)

// Who may open which door. Tests may: they run the real programs that judge what is rendered.
var (
	mayStart   = []string{"test/esxi/shell", "internal/host"}
	mayConnect = []string{"internal/host", "internal/bench"} // the mesh runs on the host that it tests: its raw ICMP is the test
)

func checkDoors(t *tree) (problems []string) {
	for _, f := range t.files {
		if f.isTest {
			continue
		}
		if !slices.Contains(mayStart, f.dir) {
			problems = append(problems, t.uses(f, processes, "starts processes: only internal/host does")...)
		}
		if !slices.Contains(mayConnect, f.dir) {
			problems = append(problems, t.uses(f, sockets, "opens sockets: only internal/host and the mesh do")...)
		}
		if slices.Contains(readByOpener, f.dir) && !slices.Contains(mayReadByName, f.path) {
			problems = append(problems, t.uses(f, reads, "reads by name: a tool of railwright mcp must not; use files.Files")...)
		}
	}
	return problems
}

// uses finds the calls of a list in a file, under whatever names it imports their packages.
func (t *tree) uses(f goFile, calls map[string][]string, why string) (problems []string) {
	names := map[string][]string{}
	for _, spec := range f.Imports {
		p := importPath(spec)
		names[localName(spec, p)] = calls[p]
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(names[x.Name], s.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s: %s.%s %s", t.at(s), x.Name, s.Sel.Name, why))
			}
		}
		return true
	})
	return problems
}

func localName(spec *ast.ImportSpec, importPath string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return importPath[strings.LastIndexByte(importPath, '/')+1:]
}
