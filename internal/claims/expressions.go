package claims

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// compilerFeatures are what expressions may use: all that the newest API knows, since a cluster may have it on.
func compilerFeatures() cel.Features {
	return cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}
}

// verdict is what the compiler says of an expression.
type verdict struct {
	reason       string // empty: the server takes it
	line, column int    // of the fault in the expression, from 1; 0: of the whole
}

// verdicts are those of expressions that were compiled: thousands of claims have the same few.
type verdicts map[string]verdict

func (known verdicts) of(expression string) verdict {
	if v, ok := known[expression]; ok {
		return v
	}
	var v verdict
	compiled := cel.GetCompiler(compilerFeatures()).CompileCELExpression(expression, cel.Options{})
	switch {
	case compiled.Error != nil:
		v.reason, v.line, v.column = compileError(compiled.Error.Detail)
		v.reason = "is not a CEL expression: " + v.reason
	case compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost:
		v.reason = fmt.Sprintf("is too costly to evaluate for each device: estimated at %d, at most %d", compiled.MaxCost, uint64(resourceapi.CELSelectorExpressionMaxCost))
	}
	known[expression] = v
	return v
}

// selectorFaults compiles the expressions of selectors, as the server does before it stores them.
func (known verdicts) selectorFaults(selectors []resourceapi.DeviceSelector, path []any) (fs []fault) {
	for i, s := range selectors {
		at := append(append([]any{}, path...), i, "cel", "expression")
		field := fieldPath(at)
		switch {
		case s.CEL == nil || strings.TrimSpace(s.CEL.Expression) == "":
			fs = append(fs, refuse(field, "is missing"))
			continue
		case len(s.CEL.Expression) > resourceapi.CELSelectorExpressionMaxLength:
			fs = append(fs, refuse(field, "is longer than %d characters", resourceapi.CELSelectorExpressionMaxLength))
			continue
		}
		if v := known.of(s.CEL.Expression); v.reason != "" {
			fs = append(fs, fault{field: field, reason: v.reason, refused: true, line: v.line, column: v.column, path: at})
		}
	}
	return fs
}

// compileError takes the first error of the compiler's text apart: "ERROR: <input>:LINE:COLUMN: message".
func compileError(text string) (reason string, line, column int) {
	m := regexp.MustCompile(`ERROR: <input>:(\d+):(\d+): ([^\n]*)`).FindStringSubmatch(text)
	if m == nil {
		return strings.TrimPrefix(text, "compilation failed: "), 1, 1
	}
	line, _ = strconv.Atoi(m[1])
	column, _ = strconv.Atoi(m[2])
	return fmt.Sprintf("line %d, column %d of the expression: %s", line, column, strings.TrimSuffix(m[3], "'")), line, column
}

func fieldPath(path []any) string {
	var b strings.Builder
	for _, p := range path {
		if i, isIndex := p.(int); isIndex {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, p)
	}
	return b.String()
}

// position is where a place in an expression stands in its file, from 1. Where the text folds lines or escapes
// characters, the column is that of the expression's beginning.
func position(s source, f fault) (line, column int) {
	var root yaml.Node
	if yaml.Unmarshal(s.text, &root) != nil || len(root.Content) == 0 {
		return s.line, 0
	}
	n := root.Content[0]
	for _, p := range append(append([]any{}, s.path...), f.path...) {
		if n = below(n, p); n == nil {
			return s.line, 0
		}
	}
	base := s.line - 1
	switch {
	case n.Style&yaml.LiteralStyle != 0: // the text begins on the next line, indented
		return base + n.Line + f.line, f.column + indent(s.text, n.Line+f.line)
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && f.line == 1 && oneLine(s.text, n):
		return base + n.Line, n.Column + f.column
	case n.Style == 0 && f.line == 1 && oneLine(s.text, n):
		return base + n.Line, n.Column + f.column - 1
	}
	return base + n.Line, n.Column
}

func below(n *yaml.Node, key any) *yaml.Node {
	if i, isIndex := key.(int); isIndex {
		if n.Kind != yaml.SequenceNode || i >= len(n.Content) {
			return nil
		}
		return n.Content[i]
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// indent is the number of blanks before a line, counted from 1.
func indent(text []byte, line int) int {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return 0
	}
	return len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " "))
}

// oneLine tells an expression that stands in its line as it is, without escapes or folds.
func oneLine(text []byte, n *yaml.Node) bool {
	lines := bytes.Split(text, []byte("\n"))
	return n.Line <= len(lines) && bytes.Contains(lines[n.Line-1], []byte(n.Value))
}
