package report

import (
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// RunText writes a whole run: the answer, what failed, why pairs failed, what was not checked, the mesh, how the hosts
// got their configuration, the path of its page with the exit status, and the answer again.
func RunText(w io.Writer, r Run, o TextOptions) error {
	p := newPrinter(o)
	answer := r.answer()
	p.answerLine(answer)
	if r.Findings != nil {
		p.failed(groups(r.Findings.Findings, fabric.Fail), r.Findings.Summary)
	}
	p.pairs(r)
	p.causes(r)
	p.caveats(r.caveats(textLines))
	if err := p.mesh(r); err != nil {
		return err
	}
	if r.Bench != nil {
		p.heading("Bandwidth")
		p.benchTests(r.Bench)
	}
	p.pods(r)
	p.applied(r)
	p.proofs(r)
	p.next(r)
	if all := missingCaveats(r.Missing, textLines, false); p.o.Verbose && len(all) > 0 {
		p.heading("Facts that were not read")
		p.caveatList(all)
	}
	if r.Findings != nil {
		p.verboseGroups(groups(r.Findings.Findings, fabric.Pass), groups(r.Findings.Findings, fabric.NotApplicable))
	}
	p.blank()
	if r.Findings != nil {
		p.notApplicable(groups(r.Findings.Findings, fabric.NotApplicable))
	}
	p.notRead(r.Missing)
	if r.Findings != nil {
		p.line("Rules: " + counts(r.Findings.Summary))
	}
	if r.Mesh != nil {
		s := r.Mesh.Summary()
		line := fmt.Sprintf("Mesh: %s passed, %d failed, %d unknown", fabric.Count(s.Pass, "pair"), s.Fail, s.Unknown)
		if s.NotApplicable > 0 {
			line += fmt.Sprintf(", %d not applicable (in different subnets, of which nothing is routed)", s.NotApplicable)
		}
		if measured(s) {
			line += ", in " + seconds(r.Mesh.Seconds)
		}
		p.hanging("", line)
	}
	if r.Lab != "" {
		p.line("This was a lab " + printable(r.Lab) + ".")
	}
	if r.Page != "" {
		p.line("report: " + fabric.Printable(r.Page))
	}
	p.end(exitMeaning(r.Status()), answer)
	return p.writeTo(w)
}

// pairs writes the failed pairs of the mesh by what is wrong with them.
func (p *printer) pairs(r Run) {
	rows, more := r.pairRows()
	if len(rows) == 0 {
		return
	}
	p.heading("Failed: pairs of the mesh")
	for _, x := range rows {
		p.status("FAIL", red, "", fmt.Sprintf("%s from %s to %s", fabric.Count(x.Pairs, "pair"), x.From, x.To))
		p.field("why", x.Reason)
	}
	if more > 0 {
		p.line(fmt.Sprintf("... and %d more reasons", more))
	}
}

func (p *printer) mesh(r Run) error {
	if r.Mesh == nil || len(r.Mesh.Pairs) == 0 {
		return nil // it is among what was not checked
	}
	p.heading("Mesh")
	p.blank()
	var b strings.Builder
	if err := draw.MeshText(&b, r.Mesh, p.width()); err != nil {
		return err
	}
	for l := range strings.Lines(b.String()) {
		p.line(strings.TrimSuffix(l, "\n")) // MeshText cleans its names itself
	}
	return nil
}

func (p *printer) causes(r Run) {
	if r.Causes == nil || len(r.Causes.Causes) == 0 {
		return
	}
	p.heading("Why pairs failed, most likely first")
	for i, c := range r.Causes.Causes {
		if i == textGroups && !p.o.Verbose {
			p.blank()
			p.line(fmt.Sprintf("... and %d more; -v writes them all", len(r.Causes.Causes)-i))
			return
		}
		p.blank()
		p.status("CAUSE", red, c.Subjects(), string(c.ID))
		p.field("explains", share(c.Confidence))
		for _, e := range c.Evidence {
			p.field("seen", e.Value+" ("+e.Source+")")
		}
		for _, e := range c.Against {
			p.field("against", e.Value+" ("+e.Source+")")
		}
		p.commands("confirm", oneLine(c.Confirm))
		p.commands("fix", oneLine(c.Fix))
	}
}

// share writes a confidence as Cause defines it.
func share(confidence float64) string {
	return fmt.Sprintf("%.0f %% of what was observed", 100*confidence)
}

func oneLine(command string) []string {
	if command == "" {
		return nil
	}
	return []string{command}
}

func (p *printer) applied(r Run) {
	if len(r.Applied) == 0 {
		return
	}
	p.heading("How the hosts were configured")
	for _, a := range r.appliedGroups() {
		text := a.Nodes + ": " + orElse(a.How, "not configured")
		if a.Reason != "" {
			text += " (" + a.Reason + ")"
		}
		p.field("", text)
	}
}
