package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	core "k8s.io/api/core/v1"

	"railwright.dev/railwright/internal/fabric"
)

// strict checks a pod spec against the types of the API: fields that it does not have, and values of another type than it wants.
// The API server refuses both with the field validation that kubectl asks for (fieldValidation=Strict, since 1.25).
func (w *podWalk) strict(n *yaml.Node, path string) {
	w.fields(n, reflect.TypeFor[core.PodSpec](), path)
}

func (w *podWalk) fields(n *yaml.Node, t reflect.Type, path string) {
	n = deref(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n == nil || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || strings.Contains(n.Value, hole) || strings.Contains(n.Value, "HOLE")) {
		return
	}
	switch {
	case ownJSON(t): // quantities, ports and times have forms of their own
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		known := jsonFields(t)
		for _, p := range pairs(n) {
			name := p[0].Value
			if inner, ok := known[name]; ok {
				w.fields(p[1], inner, join(path, name))
			} else if !strings.Contains(name, "HOLE") {
				w.unknownField(p[0], name, known, path)
			}
		}
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, c := range items(n) {
			w.fields(c, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case t.Kind() == reflect.Map && n.Kind == yaml.MappingNode:
		for _, p := range pairs(n) {
			w.fields(p[1], t.Elem(), join(path, p[0].Value))
		}
	default:
		if want := wrongType(n, t); want != "" {
			w.file.Problems = append(w.file.Problems, Problem{
				Line: w.line(n), Where: w.named() + ": " + path, Refused: true, Expected: want,
				What: fmt.Sprintf("%s is %s where the API wants %s", shown(n), kindOf(n), want),
			})
		}
	}
}

func (w *podWalk) unknownField(key *yaml.Node, name string, known map[string]reflect.Type, path string) {
	var names []string
	for k := range known {
		names = append(names, k)
	}
	slices.Sort(names)
	w.file.Problems = append(w.file.Problems, Problem{
		Line: w.line(key), Where: w.named() + ": " + join(path, name), Refused: true,
		What:     strings.TrimSpace(fmt.Sprintf("field %s: unknown to the API; %s", fabric.Quote(name), fabric.DidYouMean(name, names))),
		Expected: "a field that the API has there, at this indentation",
	})
}

// ownJSON reports whether a type reads its JSON by itself.
func ownJSON(t reflect.Type) bool {
	_, ok := reflect.PointerTo(t).MethodByName("UnmarshalJSON")
	return ok
}

// jsonFields are the fields of a struct by their names in JSON, embedded ones included.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for k, v := range jsonFields(f.Type) {
				out[k] = v
			}
		case name != "" && name != "-":
			out[name] = f.Type
		}
	}
	return out
}

// wrongType is what the API wants where a value is of another type; empty where it is right.
func wrongType(n *yaml.Node, t reflect.Type) string {
	scalar := n.Kind == yaml.ScalarNode
	switch t.Kind() {
	case reflect.String:
		if !scalar || n.Tag != "!!str" && n.Tag != "!!timestamp" && n.Tag != "!!binary" {
			return "a string, in quotes"
		}
	case reflect.Bool:
		if !scalar || n.Tag != "!!bool" {
			return "true or false, without quotes"
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if !scalar || n.Tag != "!!int" {
			return "a whole number, without quotes"
		}
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	}
	return ""
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return map[string]string{"!!int": "a number", "!!float": "a number", "!!bool": "true or false"}[n.Tag] + map[bool]string{true: "a string"}[n.Tag == "!!str"]
}

// shown is a value as evidence; long ones and those of many lines are cut, and never a value that may be secret: only its type is
// wrong.
func shown(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || len(n.Value) > 32 || n.Tag == "!!str" {
		return "what stands there"
	}
	return n.Value
}
