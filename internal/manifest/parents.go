package manifest

import "go.yaml.in/yaml/v3"

// parentOf is the mapping that holds a node, found from the root of the document; nil for the root.
func (w *podWalk) parentOf(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	return w.parents()[n]
}

// parents maps each mapping to the nearest mapping above it, once for a document.
func (d *document) parents() map[*yaml.Node]*yaml.Node {
	if d.above == nil {
		d.above = map[*yaml.Node]*yaml.Node{}
		d.note(d.root, nil)
	}
	return d.above
}

func (d *document) note(n, above *yaml.Node) {
	n = deref(n)
	if n == nil {
		return
	}
	if _, seen := d.above[n]; seen {
		return
	}
	d.above[n] = above
	if n.Kind == yaml.MappingNode {
		above = n
	}
	for _, c := range n.Content {
		d.note(c, above)
	}
}
