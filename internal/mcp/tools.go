package mcp

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a command that a client can call.
type tool struct {
	name    string
	command string // the words of the command line
	title   string
	about   string
	textAs  textPlace
	anyOf   []string // arguments of which at least one is to be given; nil: none is
	oneOf   bool     // and no more than one
}

// addTools offers the tools whose commands there are.
func (s *Server) addTools(commands []string) {
	add[explainInput](s, commands, tool{name: "explain", command: "explain", title: "Explain measured bandwidth", anyOf: []string{"paths", "text"},
		about: "Explain what is wrong with measured bandwidth or a failed run, and why: output of nccl-tests, rccl-tests, perftest or OSU, debug logs of NCCL and RCCL " +
			"with what launchers, MPI, CUDA and kernels print beside them. Give everything of one run in one call, a slow table with its log, and state the hardware where the texts do not. " +
			"Answers with a status for each result, its healthy band, and ranked causes, each with evidence, confidence, confirmation and fix."})
	add[checkInput](s, commands, tool{name: "check", command: "check", title: "Check saved facts", textAs: asSnapshot, anyOf: []string{"snapshot", "text", "switch"},
		about: "Check saved facts of machines (made with railwright collect), and texts of switches, by the rules for GPUDirect RDMA, with a cluster file also against its plan. It reaches no machine. " +
			"Answers with findings: pass, fail, unknown or not applicable, each with what was seen, what was expected, why, its cost and its fix."})
	add[diffInput](s, commands, tool{name: "diff", command: "diff", title: "Compare two machines",
		about: "Compare saved facts of two machines, or of one at two times: a good node with a bad one. The worst difference comes first; what could not be read is unknown, never a difference."})
	add[predictInput](s, commands, tool{name: "predict", command: "predict", title: "Predict bandwidth",
		about: "Predict time and bandwidth of a collective on healthy machines, size by size, with the healthy band, what NCCL chooses, what each NIC carries, and the physical bound. " +
			"Describe the machines by machine and nodes, by gpu, or by one file. Ask for few sizes where few are needed."})
	add[sizeInput](s, commands, tool{name: "size", command: "size", title: "Size servers for a model",
		about: "How many servers a language model needs, which parallelism the engine accepts there, what each GPU then holds, how many tokens and requests fit, how fast it is, and what the network is worth."})
	add[claimsInput](s, commands, tool{name: "claims", command: "claims", title: "Try DRA claims of pods", textAs: asClaims, anyOf: []string{"cluster", "claims", "text"},
		about: "Which GPUs and NICs the claims of pods (Dynamic Resource Allocation of Kubernetes) would get, by the scheduler's own allocator, before the pods exist: the pairs of each pod that share a PCIe root, " +
			"whether the claims keep them together or only the order of the devices does, the bandwidth of a collective over the pods, and why a claim cannot be satisfied. " +
			"Slices are those of files, of saved facts, or nominal ones of a machine of the catalog or of the cluster file. Ask for few nodes and pods: one machine shows what many do."})
	add[topoShowInput](s, commands, tool{name: "topo_show", command: "topo show", title: "Show a host's topology", anyOf: []string{"path", "text", "snapshot", "machine"}, oneOf: true,
		about: "The topology of a host: sockets, switches, GPUs and NICs with their links and distances, and which GPU uses which NIC. Of a machine of the catalog, saved facts, an NCCL topology file, or the output of nvidia-smi topo -m."})
	add[topoLintInput](s, commands, tool{name: "topo_lint", command: "topo lint", title: "Check NCCL topology files", anyOf: []string{"paths", "text"},
		about: "Check NCCL topology files (NCCL_TOPO_FILE) by what NCCL does with them: what it refuses, what it silently misreads and what that costs."})
	add[planInput](s, commands, tool{name: "plan", command: "plan", title: "Plan a cluster", textAs: asFile, anyOf: []string{"cluster", "text"}, oneOf: true,
		about: "The plan that follows from a cluster file: addresses, cables, switches, routes and traffic classes. A mistake in the file is an error with its line."})
	add[catalogInput](s, commands, tool{name: "catalog", command: "catalog", title: "Look up a part",
		about: "What is known of GPUs, NICs, machines, switches, fabrics and models: every figure with its unit and source. Its names are the values of the arguments of other tools."})
	add[causeInput](s, commands, tool{name: "cause", command: "cause", title: "Look up a cause",
		about: "What a cause is that explain or check names: its meaning, what confirms it and what fixes it."})
	add[ruleInput](s, commands, tool{name: "rule", command: "rule", title: "Look up a rule of check",
		about: "A rule of check by its id: what it checks and why, which facts it reads, where it applies, which cause a failure names, and its source."})
}

// add offers a tool with the input In, if its command is among these.
func add[In any](s *Server, commands []string, t tool) {
	if !slices.Contains(commands, t.command) {
		return
	}
	no := false
	valid := validator[In]()
	s.server.AddTool(&sdk.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: schemaOf[In](s.words),
		Annotations: &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		in, err := decode[In](request.Params.Arguments, valid)
		if err != nil {
			return failed("railwright: arguments: " + err.Error()), nil
		}
		if problem := t.refuses(in); problem != "" {
			return failed(problem), nil
		}
		return s.call(ctx, t.line(in)), nil
	})
}

// decode reads the arguments of a call.
func decode[In any](arguments json.RawMessage, valid *jsonschema.Resolved) (in In, err error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}") // they are optional
	}
	var object any
	if err := json.Unmarshal(arguments, &object); err != nil {
		return in, err
	}
	if err := valid.Validate(object); err != nil {
		return in, err
	}
	return in, json.Unmarshal(arguments, &in)
}

// validator is what arguments must conform to: the schema without the words of closed sets. The command knows more names
// for some of them, and says which one is near.
func validator[In any]() *jsonschema.Resolved {
	r, err := schemaOf[In](func(string) []string { return nil }).Resolve(nil)
	if err != nil {
		panic(err) // a schema that this package wrote
	}
	return r
}

// refuses says which argument is missing or one too many, or that a text is too long; empty: none is.
func (t tool) refuses(in any) string {
	given, long := 0, false
	fields(reflect.ValueOf(in), func(name, kind string, v reflect.Value) {
		if !v.IsZero() && slices.Contains(t.anyOf, name) {
			given++
		}
		long = long || kind == text && v.Len() > maxText
	})
	names := strings.Join(t.anyOf, ", ")
	switch {
	case long:
		return "railwright: argument text: longer than 4 MiB: put it into a file below the root folder"
	case given == 0 && t.anyOf != nil:
		return "railwright: arguments " + names + ": give one of them"
	case given > 1 && t.oneOf:
		return "railwright: arguments " + names + ": give only one of them"
	}
	return ""
}

// schemaOf is the schema of an input: its type, the words of arguments that take one of a closed set, and that numbers of
// things are above zero.
func schemaOf[In any](words func(flag string) []string) *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // a type of this package that has no schema
	}
	least := 1.0
	var zero In
	fields(reflect.ValueOf(zero), func(name, kind string, v reflect.Value) {
		p := s.Properties[name]
		if v.Kind() == reflect.Slice {
			p.Type, p.Types = "array", nil // never null
		}
		flag := name
		if kind != operand && kind != text {
			flag = flagOf(name, kind)
		}
		if v.Kind() == reflect.String {
			for _, word := range words(flag) {
				p.Enum = append(p.Enum, word)
			}
		}
		if v.CanInt() {
			p.Minimum = &least
		}
	})
	return s
}
