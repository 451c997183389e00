package topology

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// File is a topology file to be judged.
type File struct {
	Name string // as told in findings
	Text []byte
	Cut  string // why Text is not all of it; empty: it is
}

// Lint judges topology files by what NCCL does with them. A failure of severity error is a file, or a part of
// one, that NCCL refuses or misreads; one of severity warning is what NCCL takes though it hardly can be meant.
// Each rule that looked and found nothing is a pass; none passes where the file was not read whole. Of
// several files, one a node, the rule topo-same compares the others with the first. parts tells how many
// links a GPU has; nil leaves that unknown.
func Lint(files []File, parts *catalog.Catalog) *fabric.Findings {
	out := &fabric.Findings{Meta: fabric.NewMeta("Findings")}
	var readings []*reading
	for _, f := range files {
		r := readFile(f)
		r.parts, r.devices = parts, r.document.withDevices()
		readings = append(readings, r)
		out.Findings = append(out.Findings, r.judge(lintRules())...)
	}
	out.Findings = append(out.Findings, compareFiles(readings)...)
	for _, f := range out.Findings {
		out.Summary.Count(f.Status)
	}
	return out
}

// LintStatus is the verdict of a Lint: Fail where NCCL refuses or misreads something; else Unknown where a file
// could not be read whole, or had nothing to judge; else Pass, with whatever warnings: NCCL takes the files. What a
// rule cannot judge because a whole file does not say it, such as which GPU it is of, is not applicable, with why.
func LintStatus(found *fabric.Findings) fabric.Status {
	status := fabric.Pass
	if found.Summary.Pass == 0 {
		status = fabric.Unknown
	}
	for _, f := range found.Findings {
		switch {
		case f.Status == fabric.Fail && f.Severity == fabric.SeverityError:
			return fabric.Fail
		case f.Status == fabric.Unknown:
			status = fabric.Unknown
		}
	}
	return status
}

// lintRules are all rules that judge one file, in the order in which they are told.
func lintRules() []lintRule {
	return slices.Concat(textRules(), attributeRules(), pciRules(), deviceRules(), systemRules())
}

// lintRule judges one thing. Where judge gives no verdict the rule has looked and found nothing.
type lintRule struct {
	id        string
	title     string
	expected  string
	cost      string // of a failure, where the verdict does not say it closer
	reference string
	scope     lintScope
	judge     func(*reading) []lintVerdict
}

// lintScope is what a rule needs to be sure of.
type lintScope uint8

const (
	scopeText   lintScope = iota // the text
	scopeValue                   // elements one by one
	scopeSystem                  // how elements are joined: nothing is known of that in a damaged file
)

// lintVerdict is what a rule says of one place.
type lintVerdict struct {
	status   fabric.Status
	severity fabric.Severity
	element  *Element // that it is about; nil: the file
	line     int
	text     string // as written
	expected string
	why      string
	cost     string
	fix      string
}

// reading is a file with what is known of it.
type reading struct {
	file     File
	document Document     // as NCCL has it; of a refused file as far as it could be made out
	devices  *Document    // the same with the <gpu> and <nic> that NCCL adds at load
	rejected *SyntaxError // nil: NCCL takes the file
	problems []problem
	notes    []Note
	// understood holds of a refused file where each of its errors could be mended: then it is known how its
	// devices are joined.
	understood bool
	partly     string // why not all of the file was judged
	parts      *catalog.Catalog
}

// readFile reads a file, first as NCCL does, then, where NCCL refuses it, as far as possible.
func readFile(f File) *reading {
	r := &reading{file: f, partly: f.Cut}
	d, err := Parse(f.Text)
	if err == nil {
		r.document, r.notes = *d, d.Notes
		if len(d.Notes) == noteLimit {
			r.partly = fmt.Sprintf("has more than %d things that NCCL ignores", noteLimit)
		}
		return r
	}
	errors.As(err, &r.rejected)
	again := recoverText(f.Text)
	if again.encoding != "" {
		r.problems = append(r.problems, problem{kind: kindEncoding, line: 1, stop: 1, text: again.encoding, says: r.rejected.Message, mended: "UTF-8"})
	}
	r.document = again.document
	r.problems = append(r.problems, again.problems...)
	if r.partly == "" && again.cut != "" {
		r.partly = again.cut
	}
	r.whole(isRCCL(again.text))
	r.adopt()
	r.understood = again.cut == "" && !slices.ContainsFunc(r.problems, func(p problem) bool { return p.mended == "" })
	return r
}

// whole adds what is wrong with a damaged file as a whole, which NCCL would tell after all the rest.
func (r *reading) whole(isRCCL bool) {
	roots := r.document.Roots
	if len(roots) == 0 {
		return
	}
	want := ncclVersion
	if isRCCL {
		want = rcclVersion
	}
	line := roots[0].Line
	if text, ok := roots[0].Get("version"); !ok {
		r.problems = append(r.problems, problem{kind: kindVersion, line: line, stop: line, text: excerpt(roots[0].text()), says: "Attribute version of node system not found", mended: "version added"})
	} else if got := int(int32(cInteger(text, 0))); got != want {
		r.problems = append(r.problems, problem{kind: kindVersion, line: line, stop: line, text: excerpt(roots[0].text()), says: fmt.Sprintf("XML Topology has wrong version %d, %d needed", got, want)})
	}
	if all := r.document.inOrder(); len(all) > elementLimit {
		line := all[elementLimit].Line
		r.problems = append(r.problems, problem{kind: kindLimit, line: line, stop: line, text: excerpt(all[elementLimit].text()), says: fmt.Sprintf("Error : XML parser is limited to %d nodes", elementLimit+1)})
	}
}

// adopt makes sure that NCCL's own message is told: by the problem that stops it, else as one of its own.
func (r *reading) adopt() {
	for i, p := range r.problems {
		if p.stop == r.rejected.Line && (p.kind == r.rejected.Kind || p.says == r.rejected.Message) {
			r.problems[i].says = r.rejected.Message
			return
		}
	}
	r.problems = append([]problem{{kind: r.rejected.Kind, line: r.rejected.Line, stop: r.rejected.Line, text: excerpt(lineOf(r.file.Text, r.rejected.Line)), says: r.rejected.Message}}, r.problems...)
}

func lineOf(text []byte, line int) string {
	for ; line > 1; line-- {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return string(first[:min(len(first), 2*excerptLimit)])
}

// lintFailures bounds how many failures of one rule a file gets findings for; the rest is counted.
const lintFailures = 64

// judge applies rules. Those that could not be sure of a pass share one finding, which names them.
func (r *reading) judge(rules []lintRule) []fabric.Finding {
	var out []fabric.Finding
	var unsure []string
	why := ""
	for _, rule := range rules {
		found := r.apply(rule)
		if len(found) > 0 {
			out = append(out, found...)
		} else if reason := r.unsure(rule.scope); reason != "" {
			unsure, why = append(unsure, rule.id), reason
		} else {
			out = append(out, r.finding(rule, lintVerdict{status: fabric.Pass}))
		}
	}
	if len(unsure) > 0 {
		rest := lintRule{id: ruleRest, title: "Nothing else is wrong", expected: "a pass of " + strings.Join(unsure, ", ")}
		out = append(out, r.finding(rest, lintVerdict{status: fabric.Unknown, why: why}))
	}
	return out
}

// apply gives the findings of one rule, none where it found nothing or did not look.
func (r *reading) apply(rule lintRule) []fabric.Finding {
	if !r.canJudge(rule.scope) {
		return nil
	}
	var out []fabric.Finding
	verdicts := rule.judge(r)
	for i, v := range verdicts {
		if i == lintFailures {
			v = lintVerdict{status: fabric.Fail, severity: v.severity, why: fmt.Sprintf("%d more of this kind are not listed.", len(verdicts)-i)}
			return append(out, r.finding(rule, v))
		}
		if v.status == fabric.NotApplicable && r.rejected != nil {
			continue // what the file seems not to have may be in its damage
		}
		out = append(out, r.finding(rule, v))
	}
	return out
}

// canJudge says whether what a rule would find is there.
func (r *reading) canJudge(scope lintScope) bool {
	switch scope {
	case scopeText:
		return true
	case scopeValue:
		return len(r.document.Roots) > 0
	default:
		return len(r.document.Roots) > 0 && r.partly == "" && (r.rejected == nil || r.understood)
	}
}

// unsure says why a rule that found nothing may have missed something.
func (r *reading) unsure(scope lintScope) string {
	switch {
	case r.partly != "":
		return "Nothing was found in what was read, but the file " + r.partly + "."
	case scope == scopeText:
		return ""
	case r.rejected != nil:
		return fmt.Sprintf("NCCL refuses the file at line %d. In what could be made out of it these rules found nothing, or had nothing to look at.", r.rejected.Line)
	case len(r.document.Roots) == 0:
		return "The file has no <system> that could be judged."
	}
	return ""
}

func (r *reading) finding(rule lintRule, v lintVerdict) fabric.Finding {
	f := fabric.Finding{
		ID: rule.id, Title: rule.title, Status: v.status, Severity: v.severity, Subject: r.subject(v.element),
		Expected: rule.expected, Why: v.why, Reference: rule.reference,
	}
	if v.expected != "" {
		f.Expected = v.expected
	}
	if v.line > 0 {
		f.Evidence = []fabric.Evidence{{Source: fmt.Sprintf("%s:%d", r.file.Name, v.line), Value: fabric.Printable(v.text)}}
	} else if v.text != "" {
		f.Evidence = []fabric.Evidence{{Source: r.file.Name, Value: fabric.Printable(v.text)}}
	}
	if v.status == fabric.Fail {
		f.Cost, f.Fix = v.cost, v.fix
		if v.cost == "" {
			f.Cost = rule.cost
		}
	}
	return f
}

// subject names what an element is of.
func (r *reading) subject(e *Element) fabric.Subject {
	s := fabric.Subject{Kind: "file", Node: r.file.Name}
	for ; e != nil; e = e.Parent {
		switch e.Name {
		case "net":
			if name, ok := e.Get("name"); ok {
				return fabric.NICSubject(r.file.Name, excerpt(fabric.Printable(name)))
			}
		case "gpu":
			if dev, ok := e.Get("dev"); ok {
				return fabric.Subject{Kind: "gpu", Node: r.file.Name, GPU: "GPU" + excerpt(fabric.Printable(dev))}
			}
		case "pci":
			if bus, ok := e.Get("busid"); ok {
				return fabric.PCISubject(r.file.Name, excerpt(fabric.Printable(bus)))
			}
		}
	}
	return s
}

// fixCommand mends what can be mended without guessing.
func (r *reading) fixCommand() string {
	name := r.file.Name
	if strings.ContainsAny(name, " \t'\"\\$`;&|<>*?()") {
		name = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return "railwright topo lint --fix " + name
}
