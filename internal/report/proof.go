package report

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// proofRow is files of which the same was proved, on the same targets.
type proofRow struct {
	Kind, Word string // of the page, and in words
	Paths      []string
	Targets    string
	Count      int // of targets
	By, Reason string
	level      fabric.ProofLevel
}

// proofRows are what was proved furthest first.
func (r Run) proofRows() []proofRow {
	var rows []proofRow
	at := make(map[string]int)
	for _, p := range r.Proofs {
		row := proofRow{
			Kind: "unknown", Word: r.provedWord(p.Level), Paths: []string{p.Path}, level: p.Level, Count: len(p.Targets),
			Targets: draw.Names(p.Targets, pageTerms), By: strings.Join(p.By, "; "), Reason: p.Reason,
		}
		if p.Level == fabric.Run {
			row.Kind = "pass"
		}
		key := strings.Join([]string{row.Word, row.Targets, row.By, row.Reason}, "\x00")
		if i, seen := at[key]; seen {
			rows[i].Paths = append(rows[i].Paths, p.Path)
			continue
		}
		at[key] = len(rows)
		rows = append(rows, row)
	}
	order := []fabric.ProofLevel{fabric.Run, fabric.Parsed, fabric.Rendered}
	slices.SortStableFunc(rows, func(a, b proofRow) int { return slices.Index(order, a.level) - slices.Index(order, b.level) })
	return rows
}

// provedWord says where a file was proved.
func (r Run) provedWord(level fabric.ProofLevel) string {
	switch {
	case level == fabric.Run && r.Lab != "":
		return "run in the lab"
	case level == fabric.Run:
		return "run on the machines"
	case level == fabric.Parsed:
		return "parsed by a real parser, not run"
	default:
		return "rendered, not run"
	}
}

// stepPlaces groups the steps by where they ran, in their order.
func (r Run) stepPlaces() (places []string, steps map[string][]string) {
	steps = make(map[string][]string)
	for _, s := range r.Steps {
		if s.Where == "" {
			continue
		}
		if steps[s.Where] == nil {
			places = append(places, s.Where)
		}
		steps[s.Where] = append(steps[s.Where], s.Name)
	}
	return places, steps
}

// proofs writes where each step was proved, and each rendered file.
func (p *printer) proofs(r Run) {
	places, steps := r.stepPlaces()
	rows := r.proofRows()
	if len(places)+len(rows) == 0 {
		return
	}
	p.heading("Where each step was proved")
	for _, place := range places {
		p.field("steps", place+": "+strings.Join(steps[place], ", "))
	}
	rows, more := bounded(rows, textGroups)
	for _, row := range rows {
		p.field("files", row.Word+": "+strings.Join(row.Paths, ", ")+" of "+row.Targets)
		p.field("  by", row.By)
		p.field("  why not", row.Reason)
	}
	if more > 0 {
		p.field("", fabric.Count(more, "more group")+" of files; the page lists them")
	}
}
