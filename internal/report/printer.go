package report

import (
	"io"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// ANSI escape sequences (ECMA-48, 8.3.117).
const (
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[1;31m"
	green  = "\x1b[1;32m"
	yellow = "\x1b[1;33m"
	plain  = "\x1b[0m"
)

// Columns: the width of a terminal that does not say, the narrowest at which text still wraps well, and
// the indent of a field's text.
const (
	usualWidth  = 80
	leastWidth  = 40
	fieldIndent = 12
)

// printer collects lines for a terminal.
type printer struct {
	b strings.Builder
	o TextOptions
}

func newPrinter(o TextOptions) *printer { return &printer{o: o} }

func (p *printer) width() int {
	if p.o.Width == 0 {
		return usualWidth
	}
	return max(p.o.Width, leastWidth)
}

func (p *printer) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, strings.TrimLeft(p.b.String(), "\n"))
	return err
}

func (p *printer) line(text string) { p.b.WriteString(text + "\n") }
func (p *printer) blank()           { p.b.WriteByte('\n') }

func (p *printer) paint(color, text string) string {
	if !p.o.Color {
		return text
	}
	return color + text + plain
}

func (p *printer) heading(text string) {
	p.blank()
	p.line(p.paint(bold, text))
	p.line(p.paint(faint, strings.Repeat("-", min(utf8.RuneCountInString(text), p.width()))))
}

// status writes the head of a block: the word, who, and on the next line what, wrapped.
func (p *printer) status(word, color, who, what string) {
	head := fabric.Printable(what)
	if who != "" {
		head = fabric.Printable(who) + "  " + head
	}
	lines := wrap(head, p.width()-len(word)-2)
	indent := strings.Repeat(" ", len(word)+2)
	for i, l := range lines {
		if i == 0 {
			p.line(p.paint(color, word) + "  " + p.paint(bold, l))
		} else {
			p.line(indent + p.paint(bold, l))
		}
	}
}

// field writes a label and its text, wrapped and indented.
func (p *printer) field(label, text string) {
	if text == "" {
		return
	}
	for i, l := range wrap(fabric.Printable(text), p.width()-fieldIndent) {
		if i > 0 {
			label = ""
		}
		p.line(p.label(label) + l)
	}
}

// Fields writes labels of at most nine characters, each with its text, wrapped to the width of the terminal.
func Fields(w io.Writer, o TextOptions, all [][2]string) error {
	p := newPrinter(o)
	for _, f := range all {
		p.field(f[0], f[1])
	}
	return p.writeTo(w)
}

// Paragraph writes a text wrapped to the width of the terminal.
func Paragraph(w io.Writer, o TextOptions, text string) error {
	p := newPrinter(o)
	for _, l := range wrap(fabric.Printable(text), p.width()) {
		p.line(l)
	}
	return p.writeTo(w)
}

func (p *printer) fields(label string, texts []string) {
	for _, t := range texts {
		p.field(label, t)
		label = ""
	}
}

// commands are never wrapped, so that they can be copied.
func (p *printer) commands(label string, commands []string) {
	for _, c := range commands {
		for l := range strings.Lines(c) {
			p.line(p.label(label) + fabric.Printable(strings.TrimSuffix(l, "\n")))
			label = ""
		}
	}
}

func (p *printer) label(label string) string {
	label = fabric.Printable(label)
	return "  " + p.paint(faint, label) + strings.Repeat(" ", max(fieldIndent-2-len(label), 1))
}

// wrap breaks text at blanks into lines of at most width columns; a longer word keeps its own line.
// Runs of blanks within a line stay.
func wrap(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for _, word := range strings.SplitAfter(text, " ") {
		m := utf8.RuneCountInString(strings.TrimRight(word, " "))
		if n > 0 && n+m > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line, n = "", 0
			if word == " " {
				continue
			}
		}
		line += word
		n += utf8.RuneCountInString(word)
	}
	return append(lines, strings.TrimRight(line, " "))
}
