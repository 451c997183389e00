package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/bench"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
)

// Collect returns the facts of every machine, in order, and why there are none of some.
func Collect(ctx context.Context, f *fleet.Fleet) (nodes []*fabric.Facts, lost []fabric.Missing) {
	for _, o := range fleet.Ask[*fabric.Facts](ctx, f, "Facts", []string{"node", "collect"}, nil) {
		switch {
		case o.Err != nil:
			lost = append(lost, fabric.Missing{What: o.Name, Source: "collect", Reason: o.Err.Error()})
		case o.Value == nil || o.Value.Node == "":
			lost = append(lost, fabric.Missing{What: o.Name, Source: "collect", Reason: "its answer has no facts"})
		default:
			o.Value.Node = o.Name // its name in the plan, which may differ from its own
			nodes = append(nodes, o.Value)
		}
	}
	return nodes, lost
}

// Apply writes the rendered files of each machine, or with dryRun returns what that would change. Every target of
// the plan has a result: the machines, then the switches. folder is where the artifacts were rendered to, empty
// where they were not.
func Apply(ctx context.Context, f *fleet.Fleet, p *fabric.Plan, folder string, inLab, dryRun bool) ([]apply.Applied, error) {
	targets, bundle, err := bundles(p)
	if err != nil {
		return nil, err
	}
	dry := func(node string) apply.Bundle {
		b := bundle(node)
		b.DryRun = dryRun
		return b
	}
	results := make([]apply.Applied, 0, len(p.Nodes)+len(p.Switches))
	for _, o := range askApply(ctx, f, dry) {
		r, err := apply.Applied{}, o.Err
		if err == nil {
			r, err = dry(o.Name).Accept(o.Value)
		}
		if err != nil {
			r = notApplied(o.Name, err)
		}
		results = append(results, r)
	}
	return append(results, apply.Switches(p.Switches, targets, folder, inLab || apply.InLab())...), nil
}

// notApplied is the result of a node that did not answer. JSON has a list of changes of it too.
func notApplied(node string, err error) apply.Applied {
	return apply.Applied{Node: node, Changes: []apply.Change{}, Error: err.Error()}
}

// bundles returns the rendered files by target, and what each node needs of them.
func bundles(p *fabric.Plan) (targets map[string][]fabric.Artifact, bundle func(node string) apply.Bundle, err error) {
	if targets, err = byTarget(p); err != nil {
		return nil, nil, err
	}
	addresses := p.Addressing.ByNode()
	bare := make(map[string][]string)
	for _, port := range p.Ports {
		for _, t := range port.Twins {
			if t.Bare {
				bare[port.Node] = append(bare[port.Node], t.NIC)
			}
		}
	}
	return targets, func(node string) apply.Bundle {
		return apply.Bundle{
			Meta: fabric.NewMeta(apply.BundleKind),
			Node: node, MTU: p.MTU, Addresses: addresses[node].NICs, Bare: bare[node], Artifacts: targets[node],
		}
	}, nil
}

// askApply lets every machine work on its bundle.
func askApply(ctx context.Context, f *fleet.Fleet, bundle func(node string) apply.Bundle) []host.Outcome[apply.Result] {
	return fleet.Ask[apply.Result](ctx, f, apply.ResultKind, []string{"node", "apply"}, func(node string) ([]byte, error) {
		b := bundle(node)
		if len(b.Artifacts) == 0 {
			return nil, errors.New("no file was rendered for it")
		}
		return json.Marshal(b)
	})
}

// How long an echo may take, on each of two tries (a round trip through a fabric is some tens of
// microseconds, resolving a neighbour's address some more), and a node until it answers.
const (
	meshWait    = 500 * time.Millisecond
	meshTimeout = 30 * time.Second
)

// Mesh pings every NIC from every NIC of the other machines.
func Mesh(ctx context.Context, f *fleet.Fleet, p *fabric.Plan) (*fabric.Mesh, error) {
	reached := f.Reached()
	runners := make(map[string]host.Runner, len(reached))
	for name, m := range reached {
		runners[name] = m.Runner
	}
	return bench.Mesh(ctx, p, runners, bench.MeshOptions{
		Command: func(node string) []string { return []string{reached[node].Program, "node", "mesh"} },
		Wait:    meshWait, Timeout: meshTimeout,
	})
}
