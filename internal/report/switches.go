package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// switches writes what was read of each switch, those that are alike in one line, and what a proof from texts leaves open.
func (p *printer) switches(all []fabric.SwitchSummary, note string) {
	if len(all) == 0 {
		return
	}
	p.heading("Switches as they were read")
	alike := switchesAlike(all)
	for i, s := range alike {
		if i == textGroups && !p.o.Verbose {
			p.line(fmt.Sprintf("... and %d more; -v writes them all", len(alike)-i))
			break
		}
		p.status("READ", faint, s.Names, s.Words)
	}
	if note != "" {
		p.field("Note", note)
	}
}

// switchRow is switches of which the same was read.
type switchRow struct{ Names, Words string }

func switchesAlike(all []fabric.SwitchSummary) []switchRow {
	var order []string
	names := map[string][]string{}
	for _, s := range all {
		text := switchWords(s)
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], printable(s.Name))
	}
	rows := make([]switchRow, len(order))
	for i, text := range order {
		rows[i] = switchRow{draw.Names(names[text], 0), text}
	}
	return rows
}

func switchWords(s fabric.SwitchSummary) string {
	if len(s.Texts) == 0 && s.Lost != "" {
		return "nothing was read"
	}
	out := []string{s.OS, fabric.Count(s.Ports, "port")}
	if s.MTU != nil {
		out = append(out, "MTU "+strconv.Itoa(*s.MTU))
	}
	if s.Trust != "" {
		out = append(out, "trust "+s.Trust)
	}
	switch {
	case s.PFC != nil:
		out = append(out, "PFC on "+fabric.Ranges(*s.PFC, "no priority"))
	case len(s.PFCByPort) > 0:
		out = append(out, "PFC differs from port to port")
	case s.Ports > 0:
		out = append(out, "PFC not read")
	}
	var priorities []int
	for priority := range s.Lossless {
		priorities = append(priorities, priority)
	}
	slices.Sort(priorities)
	for _, priority := range priorities {
		out = append(out, fmt.Sprintf("DSCP %s paused by %d", fabric.Ranges(s.Lossless[priority], "none"), priority))
	}
	for _, m := range s.Marks {
		out = append(out, strings.TrimSpace(fmt.Sprintf("queue %d marks %s", m.Queue, m.Said)))
	}
	if len(s.Strict) > 0 {
		out = append(out, "strict "+fabric.Ranges(s.Strict, ""))
	}
	if s.Lines > 0 {
		out = append(out, fabric.Count(s.Lines, "line")+" not understood")
	}
	return printable(strings.Join(out, "; "))
}
