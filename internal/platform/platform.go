// Package platform lists which files each kind of machine and the switches of its fabric need, in which order:
// one Go file per platform, each a list. It is pure; package render writes the text.
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
	On         func(Part) bool    // on which nodes it is needed; nil: on all
	Check      func(Part) error   // why it cannot be rendered for a node, which Missing then says; nil: it can
	// Exactly one of the three is set.
	Render  func(Part) fabric.Artifact
	Several func(Part) []fabric.Artifact                  // none where Check has a reason
	EachNIC func(Part, fabric.NICAddress) fabric.Artifact // a file for each NIC
}

// Part is the part of a plan that concerns one node.
type Part struct {
	Transport  fabric.Transport
	Launcher   string // how processes get to it: ssh, slurm, kubernetes
	Node       fabric.Node
	Machine    fabric.NominalMachine // without an id where the plan names none
	MTU        int                   // bytes
	Scheme     fabric.Scheme
	Addresses  fabric.NodeAddresses // without NICs where the fabric has no addresses
	Neighbours int                  // addresses that the node can meet on its own subnets
	Ports      []fabric.NodePort    // where the machine's ports have twins
	Wiring     fabric.Wiring        // as Ports
	Nodes      int                  // of the cluster
	Serving    *fabric.Serving      // nil where the plan serves no model
	Traffic    *fabric.Traffic      // nil where the plan has no traffic classes
}

// SwitchFormat is one kind of file that a switch of a platform's fabric needs. Check says why it cannot be
// rendered for a switch; Render is called where it can.
type SwitchFormat struct {
	ID     string
	Doc    string // what it is for, in one line
	Check  func(fabric.Switch) error
	Render func(fabric.Switch, *fabric.Traffic) (a fabric.Artifact, ok bool)
}

// platform is where machines come from.
type platform struct {
	name     string // as the cluster file says it
	formats  []Format
	switches []SwitchFormat
	cluster  []ClusterFormat
	cloud    bool // gives its machines their addresses and what else they need: they get no files
}

// platforms are all platforms that a cluster file can name. One without formats is not rendered yet.
func platforms() []platform {
	return []platform{
		{name: "baremetal", formats: Baremetal(), switches: BaremetalSwitches(), cluster: Kubernetes()},
		{name: "vsphere", formats: VSphere(), cluster: VSphereCluster()},
		{name: "gke", cluster: GKE(), cloud: true},
		{name: "spark", formats: Spark(), switches: BaremetalSwitches()},
	}
}

// Artifacts returns the files of every node, then of every switch, in plan order, and then of the cluster, as they are asked
// for: those of 16,384 nodes are never in memory at once. The sequence can be walked again and gives the same
// bytes. A platform that has no formats in this version is an error, as are interface names that a file cannot
// carry and a plan whose addresses do not fit its nodes; nothing is rendered then. Missing lists the switches
// for which nothing is rendered.
func Artifacts(p *fabric.Plan) (iter.Seq[fabric.Artifact], error) {
	chosen, err := find(p.Platform, p.Transport)
	if err != nil {
		return nil, err
	}
	if err := chosen.checkNodes(p); err != nil {
		return nil, err
	}
	neighbours := countNeighbours(p.Addressing)
	return func(yield func(fabric.Artifact) bool) {
		_ = chosen.renderNodes(p, neighbours, yield) && chosen.renderSwitches(p, yield) && chosen.renderCluster(p, yield)
	}, nil
}

// renderNodes returns false once the reader has stopped.
func (l platform) renderNodes(p *fabric.Plan, neighbours neighbourCount, yield func(fabric.Artifact) bool) bool {
	machines := machinesOf(p)
	for i, node := range p.Nodes {
		part := Part{Transport: p.Transport, Launcher: p.Launcher, Node: node, Machine: machines[node.Machine], MTU: p.MTU, Scheme: p.Addressing.Scheme,
			Addresses: fabric.NodeAddresses{Node: node.Name}, Ports: p.PortsOf(node.Name), Wiring: p.Wiring(), Nodes: len(p.Nodes),
			Serving: p.Serving, Traffic: p.Traffic}
		if l.addressed(p) {
			part.Addresses = p.Addressing.Nodes[i]
			part.Neighbours = neighbours.of(part.Addresses)
		}
		for _, f := range l.formats {
			if !f.render(part, yield) {
				return false
			}
		}
	}
	return true
}

// machinesOf returns the machines of a plan by their id in the catalog.
func machinesOf(p *fabric.Plan) map[string]fabric.NominalMachine {
	machines := make(map[string]fabric.NominalMachine, len(p.Machines))
	for _, m := range p.Machines {
		machines[m.ID] = m
	}
	return machines
}

// render returns false once the reader has stopped.
func (f Format) render(p Part, yield func(fabric.Artifact) bool) bool {
	if f.On != nil && !f.On(p) {
		return true
	}
	if f.Render != nil {
		return yield(f.Render(p))
	}
	if f.Several != nil {
		for _, a := range f.Several(p) {
			if !yield(a) {
				return false
			}
		}
		return true
	}
	for _, nic := range p.Addresses.NICs {
		if !yield(f.EachNIC(p, nic)) {
			return false
		}
	}
	return true
}

func (l platform) renderSwitches(p *fabric.Plan, yield func(fabric.Artifact) bool) bool {
	for _, s := range p.Switches {
		for _, f := range l.switches {
			if a, ok := f.Render(s, p.Traffic); ok && !yield(a) {
				return false
			}
		}
	}
	return true
}

func (l platform) renderCluster(p *fabric.Plan, yield func(fabric.Artifact) bool) bool {
	for _, f := range l.cluster {
		if !f.render(p, func(a fabric.Artifact) bool {
			if a.Target == fabric.OnWorkstation {
				a.Doc = f.Doc
			}
			return yield(a)
		}) {
			return false
		}
	}
	return true
}

// missingCluster says what of a cluster is not rendered. Without Kubernetes there is nothing to claim.
func (l platform) missingCluster(p *fabric.Plan) (missing []fabric.Missing) {
	if p.Launcher != launchedByKubernetes && p.VSphere == nil {
		return nil
	}
	for _, f := range l.cluster {
		if f.Skip != nil && f.Skip(p) {
			continue
		}
		if err := f.Check(p); err != nil {
			missing = append(missing, fabric.Missing{What: "cluster " + p.Name, Source: f.ID, Reason: strings.ReplaceAll(err.Error(), "\n", "; ")})
		}
	}
	return missing
}

// Missing lists the nodes, the switches and the parts of the cluster for which a file cannot be rendered, and why. Nodes of one
// kind of machine lack the same, so that they share an entry.
func Missing(p *fabric.Plan) []fabric.Missing {
	chosen, err := find(p.Platform, p.Transport)
	if err != nil {
		return nil // then nothing is rendered: Artifacts returns the error
	}
	missing := chosen.missingNodes(p)
	for _, s := range p.Switches {
		for _, f := range chosen.switches {
			if err := f.Check(s); err != nil {
				missing = append(missing, fabric.Missing{What: s.Name, Source: f.ID, Reason: err.Error()})
			}
		}
	}
	return append(missing, chosen.missingCluster(p)...)
}

func (l platform) missingNodes(p *fabric.Plan) (missing []fabric.Missing) {
	machines, seen := machinesOf(p), make(map[string]bool)
	for _, n := range p.Nodes {
		if seen[n.Machine] {
			continue
		}
		seen[n.Machine] = true
		what := "nodes without a machine"
		if n.Machine != "" {
			what = "nodes of machine " + n.Machine
		}
		for _, f := range l.formats {
			if f.Check == nil {
				continue
			}
			if err := f.Check(Part{Transport: p.Transport, Node: n, Machine: machines[n.Machine], Serving: p.Serving, Traffic: p.Traffic}); err != nil {
				missing = append(missing, fabric.Missing{What: what, Source: f.ID, Reason: err.Error()})
			}
		}
	}
	return missing
}

// find returns a platform with its formats for a transport. Nothing to render is an error, not a success.
func find(name string, transport fabric.Transport) (platform, error) {
	var known, rendered []string
	for _, p := range platforms() {
		known = append(known, p.name)
		if len(p.formats)+len(p.cluster) > 0 {
			rendered = append(rendered, p.name)
		}
		if p.name != name || len(p.formats)+len(p.cluster) == 0 {
			continue
		}
		p.formats = slices.DeleteFunc(p.formats, func(f Format) bool { return !slices.Contains(f.Transports, transport) })
		if len(p.formats) == 0 && !p.cloud {
			return platform{}, fmt.Errorf("platform %q: no files are rendered for transport %q", name, transport)
		}
		return p, nil
	}
	if !slices.Contains(known, name) {
		return platform{}, fmt.Errorf("platform %q: unknown; known: %s", name, strings.Join(known, ", "))
	}
	return platform{}, fmt.Errorf("platform %q: no files are rendered for it in this version; rendered: %s", name, strings.Join(rendered, ", "))
}

// addressed reports whether the plan gives the interfaces of the fabric their addresses.
func (l platform) addressed(p *fabric.Plan) bool {
	return !l.cloud && (p.Transport == fabric.RoCE || p.Addressing.Pool.IsValid())
}

// checkNodes makes sure that rendering cannot fail halfway.
func (l platform) checkNodes(p *fabric.Plan) error {
	if !l.addressed(p) {
		return nil
	}
	if len(p.Addressing.Nodes) != len(p.Nodes) {
		return fmt.Errorf("plan %q: %d of %d nodes have addresses", p.Name, len(p.Addressing.Nodes), len(p.Nodes))
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
