package report

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// mostSources is how many files are listed, without and with Verbose.
const mostSources, mostSourcesVerbose = 8, 500

// sources writes a line for each file that was not understood whole, and with Verbose the lines of it that nobody
// claims. What the files hold is listed where it is not a result that is shown anyway.
func (p *printer) sources(all []fabric.Source) {
	most := mostSources
	if p.o.Verbose {
		most = mostSourcesVerbose
	}
	var open []fabric.Source
	for _, s := range all {
		if s.Error != "" || s.Unclaimed > 0 {
			open = append(open, s)
		}
	}
	if len(open) == 0 {
		return
	}
	p.blank()
	shown, more := bounded(open, most)
	for i, s := range shown {
		label := ""
		if i == 0 {
			label = "read"
		}
		p.field(label, nameOf(fabric.Explained{File: s.File})+"  "+sourceText(s))
		if p.o.Verbose {
			for _, l := range s.Samples {
				p.field("", fmt.Sprintf("  line %d: %s", l.Line, short(l.Text, p.width())))
			}
		}
	}
	if more > 0 {
		p.field("", fmt.Sprintf("... and %s; %s", fabric.Count(more, "more file"), p.where()))
	}
}

// sourceText says what was made of a file.
func sourceText(s fabric.Source) string {
	var parts []string
	if s.Error != "" {
		parts = append(parts, s.Error)
	}
	if s.Unclaimed > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s not understood", s.Unclaimed, fabric.Count(s.Lines, "line")))
	}
	if len(s.Holds) > 0 {
		parts = append(parts, "holds "+strings.Join(s.Holds, ", "))
	}
	return strings.Join(parts, "; ")
}
