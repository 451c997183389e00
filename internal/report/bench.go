package report

import (
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// BenchCommands writes the commands of tests as a person would type them, each with the machine on which it runs. Those of a
// machine that wait are in the background.
func BenchCommands(w io.Writer, tests []fabric.BenchTest, o TextOptions) error {
	p := newPrinter(o)
	suite := ""
	for _, t := range tests {
		if t.Suite != suite {
			suite = t.Suite
			p.heading(suite)
		}
		p.blank()
		p.line(p.paint(faint, "# "+fabric.Printable(t.Title)))
		for _, c := range t.Commands {
			line := fabric.Printable(c.Node) + "$ " + shellLine(c)
			if c.Wait {
				line += " &"
			}
			p.line(line)
		}
		if t.Kind == fabric.GatherAll {
			p.line(p.paint(faint, "# railwright bench lowers -e where its three buffers are more than a quarter of the free memory of a machine."))
		}
	}
	return p.writeTo(w)
}

// shellLine is a command for a shell.
func shellLine(c fabric.BenchCommand) string {
	var words []string
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		words = append(words, name+"="+fabric.ShellWord(value))
	}
	for _, word := range c.Argv {
		words = append(words, shellArgument(word))
	}
	return strings.Join(words, " ")
}

// shellArgument leaves NAME=VALUE readable: '=' has a meaning to a shell only in the first word.
func shellArgument(word string) string {
	name, value, ok := strings.Cut(word, "=")
	if !ok || fabric.ShellWord(name) != name || fabric.ShellWord(strings.TrimPrefix(value, "=")) != strings.TrimPrefix(value, "=") {
		return fabric.ShellWord(word)
	}
	return word
}

// BenchText writes what tests found: the answer, a block for each, failed ones first, and where their outputs are. Tests that
// measured nothing for the same reason share a block.
func BenchText(w io.Writer, b *fabric.Bench, folder string, o TextOptions) error {
	p := newPrinter(o)
	answer := benchAnswer(b)
	p.line(answer)
	for _, s := range []fabric.Status{fabric.Fail, fabric.Unknown, fabric.Pass} {
		said := make(map[string]bool)
		for i, t := range b.Tests {
			switch {
			case t.Verdict.Status != s || said[t.Verdict.Why] && t.Verdict.Measured == "":
			case t.Verdict.Measured != "" || t.Verdict.Why == "":
				p.benchTest(t, nil)
			default:
				said[t.Verdict.Why] = true
				p.benchTest(t, sameReason(t, b.Tests[i+1:]))
			}
		}
	}
	p.blank()
	if folder != "" {
		p.line("Outputs: " + fabric.Printable(folder))
	}
	p.line(answer)
	return p.writeTo(w)
}

// sameReason are the titles of later tests that measured nothing for the same reason.
func sameReason(t fabric.BenchResult, later []fabric.BenchResult) (titles []string) {
	for _, other := range later {
		if v := other.Verdict; v.Measured == "" && v.Status == t.Verdict.Status && v.Why == t.Verdict.Why {
			titles = append(titles, other.Title)
		}
	}
	return titles
}

func benchAnswer(b *fabric.Bench) string {
	s := b.Summary
	return fmt.Sprintf("%s: of %s %d passed, %d failed, %d unknown", strings.ToUpper(s.Status().String()), fabric.Count(len(b.Tests), "test"), s.Pass, s.Fail, s.Unknown)
}

func (p *printer) benchTest(t fabric.BenchResult, also []string) {
	v := t.Verdict
	p.blank()
	word, color := "pass", green
	switch v.Status {
	case fabric.Fail:
		word, color = "FAIL", red
	case fabric.Unknown:
		word, color = "unknown", yellow
	}
	who := ""
	if v.Cause != "" {
		who = string(v.Cause)
	}
	p.status(word, color, who, t.Title)
	p.fields("also", also)
	p.field("measured", v.Measured)
	p.field("expected", v.Expected)
	p.field("why", v.Why)
	if v.Fix != "" {
		p.field("fix", v.Fix)
	}
	if v.Status != fabric.Pass || p.o.Verbose {
		for _, e := range v.Evidence {
			p.field("seen", e.Source+": "+e.Value)
		}
	}
}
