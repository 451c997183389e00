package check

import (
	"maps"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func factsCollected() Rule {
	return Rule{
		ID:        "facts-collected",
		Title:     "Facts of every node were collected",
		Doc:       "compares the nodes whose facts were collected with the plan: nothing is known about a node without facts",
		Severity:  fabric.SeverityError,
		Reference: "the plan",
		Cluster:   judgeFactsCollected,
	}
}

func judgeFactsCollected(in ClusterInput) []Verdict {
	var out []Verdict
	seen := make(map[string]bool, len(in.Nodes))
	for _, d := range in.Nodes {
		seen[d.Node] = true
		node := fabric.NodeSubject(d.Node)
		switch {
		case d.Nominal:
			out = append(out, unknown(node, "the facts of "+d.Node+" are nominal, from the catalog: the node itself was not checked"))
		case d.Repeats > 0:
			out = append(out, unknown(node, strconv.Itoa(d.Repeats+1)+" sets of facts for "+d.Node+"; only the first was evaluated"))
		case in.Plan != nil && in.index.node(d.Node) == nil:
			out = append(out, unknown(node, d.Node+" is not in the cluster file: it was not compared with a plan"))
		}
	}
	want := len(in.Nodes)
	for _, name := range slices.Sorted(maps.Keys(in.Lost)) {
		if m := in.Lost[name]; !seen[name] {
			seen[name] = true
			why := "no facts of " + name + ": " + m.Reason + " (" + m.Source + "); nothing is known about it"
			out = append(out, unknown(fabric.NodeSubject(name), why))
		}
	}
	if in.Plan != nil {
		want = len(in.Plan.Nodes)
		for _, n := range in.Plan.Nodes {
			if !seen[n.Name] {
				out = append(out, unknown(fabric.NodeSubject(n.Name), "no facts of "+n.Name+" were collected: nothing is known about it"))
			}
		}
	}
	if len(out) > 0 || want == 0 {
		return out
	}
	v := pass("facts of every node", saw("facts", "of "+strconv.Itoa(len(in.Nodes))+" nodes, "+strconv.Itoa(want)+" requested"))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}
