package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// deref follows aliases, and documents to their content.
func deref(n *yaml.Node) *yaml.Node {
	for depth := 0; n != nil && depth < 8; depth++ {
		switch {
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
			n = n.Content[0]
		default:
			return n
		}
	}
	return n
}

// mostNodes is how many values a document may have with its aliases followed: a rendered object for 10,000 pods has some million.
const mostNodes = 8 << 20

// endless reports whether aliases of a document refer to themselves, or to each other so often that it has too many values.
func endless(n *yaml.Node) bool {
	left := mostNodes
	within := map[*yaml.Node]bool{}
	var follow func(n *yaml.Node) bool
	follow = func(n *yaml.Node) bool {
		if left--; left < 0 || within[n] {
			return true
		}
		if n.Kind == yaml.AliasNode {
			return n.Alias == nil || follow(n.Alias)
		}
		if n.Anchor != "" {
			within[n] = true
			defer delete(within, n)
		}
		for _, c := range n.Content {
			if follow(c) {
				return true
			}
		}
		return false
	}
	return follow(n)
}

// get returns the value of a key, through a path of keys; nil where one is missing.
func get(n *yaml.Node, path ...string) *yaml.Node {
	n = deref(n)
	for _, key := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1] // of two, the last
			}
		}
		n = deref(found)
	}
	return n
}

// pairs are the keys and values of a mapping, merge keys resolved.
func pairs(n *yaml.Node) (out [][2]*yaml.Node) {
	n = deref(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			out = append(out, pairs(n.Content[i+1])...)
			continue
		}
		out = append(out, [2]*yaml.Node{n.Content[i], deref(n.Content[i+1])})
	}
	return out
}

// items are the values of a sequence.
func items(n *yaml.Node) (out []*yaml.Node) {
	n = deref(n)
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	for _, c := range n.Content {
		out = append(out, deref(c))
	}
	return out
}

// text is a scalar as a value with its line; the zero value where there is none.
func (d *document) text(n *yaml.Node) Text {
	n = deref(n)
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return Text{}
	}
	return Text{Value: n.Value, Line: d.line(n), Open: open(n.Value)}
}

// open reports whether a value has parts that a template or envsubst fills in.
func open(value string) bool {
	return strings.Contains(value, hole) || strings.Contains(value, "${") || strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">")
}

func (d *document) line(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	return d.first + n.Line - 1
}

func value(n *yaml.Node) string {
	if n = deref(n); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

func truth(n *yaml.Node) bool { return value(n) == "true" }

// number reads a count; ok is false where there is none, or one that is filled in later.
func number(n *yaml.Node) (int, bool) {
	v, err := strconv.Atoi(value(n))
	return v, err == nil
}

// words are the scalars of a mapping.
func stringsOf(n *yaml.Node) map[string]string {
	out := map[string]string{}
	for _, p := range pairs(n) {
		out[p[0].Value] = value(p[1])
	}
	return out
}
