package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// CatalogKinds writes the kinds of parts, with their number and what they are.
func CatalogKinds(w io.Writer, kinds []fabric.CatalogKind, o TextOptions) error {
	p := newPrinter(o)
	wide := 0
	for _, k := range kinds {
		wide = max(wide, utf8.RuneCountInString(k.Name))
	}
	for _, k := range kinds {
		p.hanging(fmt.Sprintf("%-*s  %4d  ", wide, k.Name, k.Count), k.Title)
	}
	p.blank()
	p.line(p.paint(faint, "railwright catalog KIND lists one kind, railwright catalog NAME shows a part with its sources"))
	return p.writeTo(w)
}

// CatalogTable writes the parts of a kind with the figures that distinguish them; a dash is a figure that the catalog
// does not have.
func CatalogTable(w io.Writer, k fabric.CatalogKind, parts []fabric.CatalogPart, o TextOptions) error {
	p := newPrinter(o)
	columns := []column{{name: "name", left: true}}
	for i, name := range k.Columns {
		columns = append(columns, column{name: strings.TrimPrefix(name, "config "), drop: i + 1})
	}
	columns = append(columns, column{name: "title", left: true, drop: len(k.Columns) + 1})
	for _, part := range parts {
		columns[0].cells = append(columns[0].cells, part.Name)
		for i, name := range k.Columns {
			columns[i+1].add(part.Figure(name))
		}
		columns[len(columns)-1].cells = append(columns[len(columns)-1].cells, fabric.Printable(part.Title))
	}
	p.table(columns)
	return p.writeTo(w)
}

// add adds one column per figure; text is left-aligned.
func (c *column) add(f fabric.CatalogFigure) {
	c.cells = append(c.cells, orElse(fabric.Printable(quantity(f)), "-"))
	c.left = c.left || f.Unit == "" && strings.Trim(f.Value, "0123456789") != ""
}

// quantity writes a figure with its unit; a count has its unit in its name.
func quantity(f fabric.CatalogFigure) string {
	switch f.Unit {
	case "GPU", "NIC", "generation", "link", "node", "port", "ratio", "switch", "":
		return f.Value
	default:
		return f.Value + " " + f.Unit
	}
}

// CatalogPart writes every figure of a part with its source, and the names by which it is found.
func CatalogPart(w io.Writer, part fabric.CatalogPart, o TextOptions) error {
	p := newPrinter(o)
	p.line(p.paint(bold, part.Name) + "  " + fabric.Printable(part.Title))
	if len(part.Aliases) > 0 {
		p.hanging("  also   ", strings.Join(part.Aliases, ", "))
	}
	for i, use := range part.Uses {
		label := "         "
		if i == 0 {
			label = "  for    "
		}
		p.hanging(label, strings.ReplaceAll(use, "NAME", part.Name))
	}
	if part.Note != "" {
		p.hanging("  note   ", part.Note)
	}
	p.blank()
	wide := 0
	for _, f := range part.Figures {
		wide = max(wide, utf8.RuneCountInString(f.Name))
	}
	indent := strings.Repeat(" ", wide+2)
	for _, f := range part.Figures {
		p.hanging(fmt.Sprintf("%-*s  ", wide, f.Name), quantity(f))
		if f.Source != "" {
			p.faintly(indent+"  ", f.Source)
		}
	}
	if part.Source != "" {
		p.blank()
		p.hanging("source of the rest  ", part.Source)
	}
	return p.writeTo(w)
}

// hanging writes a label and its text, which is wrapped behind the label.
func (p *printer) hanging(label, text string) {
	p.wrapped(label, text, func(line string) string { return line })
}

// faintly writes wrapped text behind an indent.
func (p *printer) faintly(indent, text string) {
	p.wrapped(indent, text, func(line string) string { return p.paint(faint, line) })
}

func (p *printer) wrapped(label, text string, paint func(string) string) {
	width := utf8.RuneCountInString(label)
	for i, line := range wrap(fabric.Printable(text), max(p.width()-width, leastWidth/2)) {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		p.line(label + paint(line))
	}
}
