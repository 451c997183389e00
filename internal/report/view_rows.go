package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

type pairRow struct {
	Pairs            int
	From, To, Reason string
}

type artifactRow struct {
	Target, Path, Mode, SHA256 string
}

type ruleRow struct {
	Title, Rule, Subjects, Why string
	Count                      int
}

type stepRow struct {
	Name, Seconds, Kind, Word, Where, Note string
}

type benchRow struct {
	Title, Kind, Word, Measured, Expected, Why string
}

func (r Run) pairRows() ([]pairRow, int) {
	if r.Mesh == nil {
		return nil, 0
	}
	var failed []fabric.Measurement
	for _, p := range r.Mesh.Pairs {
		if p.Status() == fabric.Fail {
			failed = append(failed, p)
		}
	}
	all, more := bounded(pairsByReason(failed), pageTerms)
	var rows []pairRow
	for _, g := range all {
		rows = append(rows, pairRow{g.pairs, subjects(placesOf(g.from), pageTerms), subjects(placesOf(g.to), pageTerms), g.reason})
	}
	return rows, more
}

// artifactRows lists every file of a small cluster; of a large one it counts the targets of each path.
func (r Run) artifactRows() (rows []artifactRow, note string) {
	if r.Artifacts == nil {
		return nil, "This run did not render any."
	}
	list := r.Artifacts.Artifacts
	if len(list) == 0 {
		return nil, "The index is empty."
	}
	if len(list) <= pageRows {
		for _, a := range list {
			rows = append(rows, artifactRow{a.Target, a.Path, mode(a.Mode), a.SHA256})
		}
		return rows, fabric.Count(len(list), "file") + "."
	}
	type key struct {
		path string
		mode uint32
	}
	targets, sums := map[key][]string{}, map[key]map[string]bool{}
	for _, a := range list {
		k := key{a.Path, a.Mode}
		if sums[k] == nil {
			sums[k] = map[string]bool{}
		}
		targets[k] = append(targets[k], a.Target)
		sums[k][a.SHA256] = true
	}
	for k, t := range targets {
		rows = append(rows, artifactRow{draw.Names(t, pageTerms), k.path, mode(k.mode), sumText(sums[k])})
	}
	slices.SortFunc(rows, func(a, b artifactRow) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Mode, b.Mode))
	})
	rows, more := bounded(rows, pageRows)
	note = fmt.Sprintf("%d files, too many to list individually: each row is one path on its targets. The index of the run lists every file.", len(list))
	if more > 0 {
		note += fmt.Sprintf(" %d more paths are not shown.", more)
	}
	return rows, note
}

func mode(m uint32) string { return fmt.Sprintf("%04o", m) }

func sumText(sums map[string]bool) string {
	if len(sums) > 1 {
		return fmt.Sprintf("%d different", len(sums))
	}
	for s := range sums {
		return s
	}
	return ""
}

// ruleRows are the rules that gave a status, with their subjects as ranges, or the number of their nodes.
func ruleRows(all []group) []ruleRow {
	var rows []ruleRow
	for _, g := range all {
		row := ruleRow{Title: g.first.Title, Rule: g.first.ID, Subjects: g.spread.text(pageTerms), Count: g.count}
		if len(g.spread.nodes) == 0 && g.node == "" {
			row.Subjects = "cluster"
		} else if len(g.spread.nodes) == 0 {
			row.Subjects = fabric.Count(g.nodes, "node")
		}
		if g.first.Status == fabric.NotApplicable {
			row.Why = g.reason()
		}
		rows = append(rows, row)
	}
	rows, _ = bounded(rows, pageRows)
	return rows
}
