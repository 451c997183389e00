// Package platform knows which files each kind of machine needs, in which order: one Go file a platform,
// each a list. It is pure; package render writes the text.
package platform

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

// Format is one kind of file that a node of a platform needs.
type Format struct {
	ID         string
	Doc        string             // what it is for, in one line
	Transports []fabric.Transport // on which fabrics it is needed
	Render     func(Part) fabric.Artifact
}

// Part is what of a plan concerns one node.
type Part struct {
	MTU        int // bytes
	Scheme     fabric.Scheme
	Addresses  fabric.NodeAddresses // without NICs where the fabric has no addresses
	Neighbours int                  // addresses that the node can meet on its own subnets
}

// platform is where machines come from.
type platform struct {
	name    string // as the cluster file says it
	formats []Format
}

// platforms are all platforms that a cluster file can name. One without artifacts is not rendered yet.
func platforms() []platform {
	return []platform{
		{name: "baremetal", formats: Baremetal()},
		{name: "vsphere"},
		{name: "gke"},
		{name: "spark"},
	}
}

// Artifacts gives the files of every node, node by node in plan order, as they are asked for: those of
// 16,384 nodes never stand in memory at once. The sequence can be walked again and gives the same bytes.
// A platform that has no artifacts in this version is an error, as are interface names that a file cannot
// carry and a plan whose addresses do not fit its nodes; nothing is rendered then.
func Artifacts(p *fabric.Plan) (iter.Seq[fabric.Artifact], error) {
	list, err := artifactsOf(p.Platform, p.Transport)
	if err != nil {
		return nil, err
	}
	if err := checkNodes(p); err != nil {
		return nil, err
	}
	neighbours := countNeighbours(p.Addressing)
	return func(yield func(fabric.Artifact) bool) {
		for i, node := range p.Nodes {
			part := Part{MTU: p.MTU, Scheme: p.Addressing.Scheme, Addresses: fabric.NodeAddresses{Node: node.Name}}
			if p.Transport == fabric.RoCE {
				part.Addresses = p.Addressing.Nodes[i]
				part.Neighbours = neighbours.of(part.Addresses)
			}
			for _, a := range list {
				if !yield(a.Render(part)) {
					return
				}
			}
		}
	}, nil
}

// artifactsOf picks a platform's artifacts for a transport. Nothing to render is an error, not a success.
func artifactsOf(name string, transport fabric.Transport) ([]Format, error) {
	var known, rendered []string
	for _, p := range platforms() {
		known = append(known, p.name)
		if len(p.formats) > 0 {
			rendered = append(rendered, p.name)
		}
		if p.name != name || len(p.formats) == 0 {
			continue
		}
		var list []Format
		for _, a := range p.formats {
			if slices.Contains(a.Transports, transport) {
				list = append(list, a)
			}
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("platform %q: has no artifacts for transport %q", name, transport)
		}
		return list, nil
	}
	if !slices.Contains(known, name) {
		return nil, fmt.Errorf("platform %q: is not one of %s", name, strings.Join(known, ", "))
	}
	return nil, fmt.Errorf("platform %q: has no artifacts in this version: rendered are %s", name, strings.Join(rendered, ", "))
}

// checkNodes makes sure that rendering cannot fail on the way.
func checkNodes(p *fabric.Plan) error {
	if p.Transport != fabric.RoCE {
		return nil
	}
	if len(p.Addressing.Nodes) != len(p.Nodes) {
		return fmt.Errorf("plan %q: %d nodes with addresses of %d", p.Name, len(p.Addressing.Nodes), len(p.Nodes))
	}
	for i, n := range p.Addressing.Nodes {
		if n.Node != p.Nodes[i].Name || len(n.NICs) != len(p.Nodes[i].NICs) {
			return fmt.Errorf("plan %q: node %q has the addresses of %d NICs of %q", p.Name, p.Nodes[i].Name, len(n.NICs), n.Node)
		}
		for _, nic := range n.NICs {
			if err := render.CheckNICName(nic.NIC); err != nil {
				return fmt.Errorf("node %q: %w", n.Node, err)
			}
			if !nic.Address.IsValid() {
				return fmt.Errorf("node %q: interface %q has no address", n.Node, nic.NIC)
			}
		}
	}
	return nil
}
