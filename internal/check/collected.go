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
		Title:     "Every node was looked at",
		Doc:       "counts the nodes whose facts came in against the plan: of a node without facts nothing is known",
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
			out = append(out, unknown(node, "the facts of "+d.Node+" are nominal, from the catalog: nobody looked at the node"))
		case d.Repeats > 0:
			out = append(out, unknown(node, strconv.Itoa(d.Repeats+1)+" sets of facts came for "+d.Node+", and only the first was judged"))
		case in.Plan != nil && in.index.node(d.Node) == nil:
			out = append(out, unknown(node, d.Node+" is not in the cluster file: it was not compared with any plan"))
		}
	}
	want := len(in.Nodes)
	for _, name := range slices.Sorted(maps.Keys(in.Lost)) {
		if m := in.Lost[name]; !seen[name] {
			seen[name] = true
			why := "no facts of " + name + " came in: " + m.Reason + " (" + m.Source + "); nothing about it is known"
			out = append(out, unknown(fabric.NodeSubject(name), why))
		}
	}
	if in.Plan != nil {
		want = len(in.Plan.Nodes)
		for _, n := range in.Plan.Nodes {
			if !seen[n.Name] {
				out = append(out, unknown(fabric.NodeSubject(n.Name), "no facts of "+n.Name+" came in: nothing about it is known"))
			}
		}
	}
	if len(out) > 0 || want == 0 {
		return out
	}
	v := pass("facts of every node", saw("facts", "of "+strconv.Itoa(len(in.Nodes))+" nodes, "+strconv.Itoa(want)+" asked for"))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}
