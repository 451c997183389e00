package report

import (
	"strings"
	"unicode/utf8"
)

// column is a column of a table on a terminal, with its unit under its name.
type column struct {
	name, unit string
	cells      []string
	left       bool // text; numbers are right-aligned
	drop       int  // higher ones are dropped first where the terminal is narrow; 0 is never dropped
}

// columnGap is the blanks between two columns.
const columnGap = 2

func (c column) width() int {
	n := max(utf8.RuneCountInString(c.name), utf8.RuneCountInString(c.unit))
	for _, cell := range c.cells {
		n = max(n, utf8.RuneCountInString(cell))
	}
	return n
}

func (c column) pad(text string) string {
	blanks := strings.Repeat(" ", max(c.width()-utf8.RuneCountInString(text), 0))
	if c.left {
		return text + blanks
	}
	return blanks + text
}

// fold drops columns until the rest fits; it returns the names of those that went.
func fold(all []column, width int) (kept []column, dropped []string) {
	for {
		total, worst := 0, -1
		for i, c := range all {
			total += columnGap + c.width()
			if c.drop > 0 && (worst < 0 || c.drop > all[worst].drop) {
				worst = i
			}
		}
		if total <= width || worst < 0 {
			return all, dropped
		}
		dropped = append(dropped, all[worst].name)
		all = append(append([]column{}, all[:worst]...), all[worst+1:]...)
	}
}

// table writes the columns that fit, and names those that do not.
func (p *printer) table(all []column) {
	all, dropped := fold(all, p.width())
	row := func(of func(column) string) string {
		var b strings.Builder
		for _, c := range all {
			b.WriteString(strings.Repeat(" ", columnGap) + c.pad(of(c)))
		}
		return strings.TrimRight(b.String(), " ")
	}
	p.line(p.paint(bold, row(func(c column) string { return c.name })))
	if units := row(func(c column) string { return c.unit }); units != "" {
		p.line(p.paint(faint, units))
	}
	for i := range all[0].cells {
		p.line(row(func(c column) string { return c.cells[i] }))
	}
	if len(dropped) > 0 {
		p.line(p.paint(faint, "  a wider terminal also has: "+strings.Join(dropped, ", ")))
	}
}
