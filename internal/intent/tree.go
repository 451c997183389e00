package intent

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
)

const (
	// maxValues bounds what a file may hold after its aliases are followed, so that a few lines of
	// nested anchors cannot fill the memory. 10,000 hosts with a group each are 60,000.
	maxValues = 100_000
	// maxDepth bounds nesting. The schema itself is five levels deep.
	maxDepth = 32
)

// place is where a value stands: its own node, and its key where it has one.
type place struct {
	field string
	value *yaml.Node
	key   *yaml.Node
}

// document is a cluster file as plain values, with the place of each by its path.
type document struct {
	file     string
	value    any
	places   map[string]place // by pathKey
	problems Errors
	broken   map[string]bool // pathKeys of values with a problem
	shaken   map[string]bool // the same with all that they are part of
	count    int
	open     map[*yaml.Node]bool // anchors being followed
}

// newDocument converts YAML nodes to the values of JSON: map[string]any, []any, string, bool, int64,
// uint64, float64, nil.
func newDocument(file string, root *yaml.Node) *document {
	d := &document{file: file, places: map[string]place{}, broken: map[string]bool{}, shaken: map[string]bool{}, open: map[*yaml.Node]bool{}}
	d.value = d.convert(root, nil, nil, "", 0)
	return d
}

// pathKey writes a path as a JSON pointer (RFC 6901): /nodes/0/names, and nothing for the whole.
func pathKey(path []string) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if strings.ContainsAny(s, "~/") {
			s = strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
		}
		b.WriteString(s)
	}
	return b.String()
}

// tooLarge is true where values were left out because there are too many.
func (d *document) tooLarge() bool { return d.count > maxValues }

func (d *document) convert(n, key *yaml.Node, path []string, field string, depth int) any {
	d.count++
	if d.tooLarge() {
		if d.count == maxValues+1 {
			d.addNode(n, field, fmt.Sprintf("the file holds more than %d values, counting what aliases repeat", maxValues))
		}
		return nil
	}
	d.places[pathKey(path)] = place{field: field, value: n, key: key}
	if depth > maxDepth {
		return d.bad(n, path, field, fmt.Sprintf("nested deeper than %d levels", maxDepth))
	}
	switch n.Kind {
	case yaml.AliasNode:
		if d.open[n.Alias] {
			return d.bad(n, path, field, fmt.Sprintf("anchor %q contains itself", n.Value))
		}
		return d.convert(n.Alias, key, path, field, depth+1)
	case yaml.MappingNode:
		return d.mapping(n, path, field, depth)
	case yaml.SequenceNode:
		d.open[n] = true
		defer delete(d.open, n)
		list := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			list = append(list, d.convert(item, nil, step(path, strconv.Itoa(i)), fmt.Sprintf("%s[%d]", field, i), depth+1))
		}
		return list
	default:
		return d.scalar(n, path, field)
	}
}

func (d *document) mapping(n *yaml.Node, path []string, field string, depth int) any {
	d.open[n] = true
	defer delete(d.open, n)
	object := make(map[string]any, len(n.Content)/2)
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		switch {
		case key.Kind != yaml.ScalarNode:
			d.addNode(key, field, "a key must be plain text")
			continue
		case key.ShortTag() == "!!merge":
			d.addNode(key, field, "merge keys (<<) are not supported: write the fields out, or use an alias for the whole value")
			continue
		case lines[name] > 0:
			d.addNode(key, subfield(field, name), fmt.Sprintf("duplicate key: first on line %d", lines[name]))
			continue
		}
		lines[name] = key.Line
		object[name] = d.convert(value, key, step(path, name), subfield(field, name), depth+1)
	}
	return object
}

// scalar resolves a plain value by its YAML tag. A date stays text, as no field is a time.
func (d *document) scalar(n *yaml.Node, path []string, field string) any {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		if field == "fabric.kind" {
			return string(fabric.TransportNamed(n.Value))
		}
		return n.Value
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return d.bad(n, path, field, fmt.Sprintf("invalid %s %q", strings.TrimPrefix(tag, "!!"), n.Value))
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return d.bad(n, path, field, "must be a finite number")
		}
		return v
	default:
		return d.bad(n, path, field, fmt.Sprintf("unknown tag %q: remove it", n.Tag))
	}
}

// bad reports a value that has no plain form; null stands in its place.
func (d *document) bad(n *yaml.Node, path []string, field, message string) any {
	d.addNode(n, field, message)
	d.breakAt(path)
	return nil
}

func (d *document) addNode(n *yaml.Node, field, message string) {
	d.problems = append(d.problems, Problem{File: d.file, Line: n.Line, Column: n.Column, Field: field, Message: message})
}

// add reports a problem of the value at a path, or of the nearest value around it that is written.
func (d *document) add(path []string, message string) {
	d.breakAt(path)
	field := ""
	for i, s := range path {
		if p, ok := d.places[pathKey(path[:i+1])]; ok {
			field = p.field
		} else {
			field = subfield(field, s)
		}
	}
	for n := len(path); ; n-- {
		if p, ok := d.places[pathKey(path[:n])]; ok {
			d.addNode(p.value, field, message)
			return
		}
	}
}

func (d *document) breakAt(path []string) {
	d.broken[pathKey(path)] = true
	for n := range len(path) + 1 {
		d.shaken[pathKey(path[:n])] = true
	}
}

// sound reports whether no problem was found in the value at any of the paths, nor in one around it.
func (d *document) sound(paths ...[]string) bool {
	for _, path := range paths {
		if d.shaken[pathKey(path)] {
			return false
		}
		for n := range path {
			if d.broken[pathKey(path[:n])] {
				return false
			}
		}
	}
	return true
}

func step(path []string, s string) []string { return append(path[:len(path):len(path)], s) }

// subfield writes field.name, with a name that is no plain word in quotes and cut to a readable length.
func subfield(field, name string) string {
	if checkCharacters("field", name, "_-") != nil || len(name) > 64 {
		name = fabric.Quote(name)
	}
	if field == "" {
		return name
	}
	return field + "." + name
}
