package nccllint

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// File is a topology file to be checked.
type File struct {
	Name string // as shown in findings
	Text []byte
	Cut  string // why Text is incomplete; empty: it is complete
}

// Check checks topology files by what NCCL does with them. A failure of severity error is a file, or a part of
// one, that NCCL refuses or misreads; one of severity warning is something that NCCL accepts as written though it is
// probably a mistake that costs something. What is unusual and costs nothing is a pass of severity info that says why:
// a remark. Each rule that was checked and found nothing is a pass; none passes where the file was not read whole. Of
// several files, one per node, the rule topo-same compares the others with the first. parts states how many
// links a GPU has; nil leaves that unknown. The verdict is that of the summary: any failure fails, and a rule that a whole
// file gives nothing to check, such as the model of a GPU, is not applicable, with the reason.
func Check(files []File, parts *catalog.Catalog) *fabric.Findings {
	out := &fabric.Findings{Meta: fabric.NewMeta("Findings")}
	var parsed []*parsedFile
	for _, f := range files {
		r := parseFile(f)
		r.parts, r.devices = parts, r.document.WithDevices()
		parsed = append(parsed, r)
		checked := rules()
		if r.foreign != "" {
			checked = slices.DeleteFunc(checked, func(rule rule) bool { return rule.id != ruleSystem && rule.id != ruleWhole })
		}
		out.Findings = append(out.Findings, r.check(checked)...)
	}
	out.Findings = append(out.Findings, compareFiles(parsed)...)
	for _, f := range out.Findings {
		out.Summary.Count(f.Status)
	}
	return out
}

// IsRemark reports whether a finding is a pass with something to say: NCCL takes what is written, at no cost.
func IsRemark(f fabric.Finding) bool {
	return f.Status == fabric.Pass && f.Severity == fabric.SeverityInfo && f.Why != ""
}

// rules are all rules that check one file, in the order in which they are reported.
func rules() []rule {
	return slices.Concat(textRules(), attributeRules(), pciRules(), deviceRules(), systemRules())
}

// rule checks one thing. A rule without a verdict was checked and found nothing.
type rule struct {
	id        string
	title     string
	expected  string
	cost      string // of a failure, unless the verdict is more specific
	reference string
	scope     scope
	check     func(*parsedFile) []verdict
}

// scope is what a rule must have read for a pass.
type scope uint8

const (
	scopeText   scope = iota // the text
	scopeValue               // elements one by one
	scopeSystem              // how elements are connected: unknown in a damaged file
)

// verdict is the result of a rule at one place.
type verdict struct {
	status   fabric.Status
	severity fabric.Severity
	element  *ncclxml.Element // the element concerned; nil: the file
	line     int
	text     string // as written
	expected string
	why      string
	cost     string
	fix      string
}

// remark is the verdict on what NCCL takes as it is meant, at no cost: a pass that says what was seen.
func (v verdict) remark() verdict {
	v.status, v.severity = fabric.Pass, fabric.SeverityInfo
	return v
}

// parsedFile is a file with everything known about it.
type parsedFile struct {
	file     File
	document ncclxml.Document     // as NCCL reads it; of a refused file as far as it could be recovered
	devices  *ncclxml.Document    // the same with the <gpu> and <nic> that NCCL adds at load
	rejected *ncclxml.SyntaxError // nil: NCCL accepts the file
	problems []ncclxml.Problem
	notes    []ncclxml.Note
	// understood is set for a refused file where each of its errors could be fixed: then it is known how its
	// devices are connected.
	understood bool
	incomplete string // why not all of the file was checked
	foreign    string // what the file seems to be instead of a topology file; empty: it has elements of one
	parts      *catalog.Catalog
}

// parseFile reads a file, first as NCCL does, then, where NCCL refuses it, as far as possible.
func parseFile(f File) *parsedFile {
	r := &parsedFile{file: f, incomplete: f.Cut}
	d, err := ncclxml.Parse(f.Text)
	if err == nil {
		r.document, r.notes = *d, d.Notes
		if len(d.Notes) == ncclxml.NoteLimit {
			r.incomplete = fmt.Sprintf("has more than %d parts that NCCL ignores", ncclxml.NoteLimit)
		}
		return r
	}
	errors.As(err, &r.rejected)
	again := ncclxml.Recover(f.Text)
	if again.Encoding != "" {
		r.problems = append(r.problems, ncclxml.Problem{Kind: ncclxml.KindEncoding, Line: 1, Stop: 1, Text: again.Encoding, Message: r.rejected.Message, Fix: "UTF-8"})
	}
	r.document = again.Document
	if r.incomplete == "" && again.Cut != "" {
		r.incomplete = again.Cut
	}
	if r.foreign = foreign(again); r.foreign != "" {
		return r // in a text of another language each word would be a problem
	}
	r.problems = append(r.problems, again.Problems...)
	r.addWhole(ncclxml.IsRCCL(again.Text))
	r.addRejection()
	r.understood = again.Cut == "" && !slices.ContainsFunc(r.problems, func(p ncclxml.Problem) bool { return p.Fix == "" })
	return r
}

// addWhole adds what is wrong with a damaged file as a whole, which NCCL would report last.
func (r *parsedFile) addWhole(isRCCL bool) {
	roots := r.document.Roots
	if len(roots) == 0 {
		return
	}
	want := ncclxml.NCCLVersion
	if isRCCL {
		want = ncclxml.RCCLVersion
	}
	line := roots[0].Line
	if text, ok := roots[0].Get("version"); !ok {
		r.problems = append(r.problems, ncclxml.Problem{Kind: ncclxml.KindVersion, Line: line, Stop: line, Text: ncclxml.Excerpt(roots[0].Tag()), Message: "Attribute version of node system not found", Fix: "version added"})
	} else if got := int(int32(ncclxml.Strtol(text, 0))); got != want {
		r.problems = append(r.problems, ncclxml.Problem{Kind: ncclxml.KindVersion, Line: line, Stop: line, Text: ncclxml.Excerpt(roots[0].Tag()), Message: fmt.Sprintf("XML Topology has wrong version %d, %d needed", got, want)})
	}
	if all := r.document.InOrder(); len(all) > ncclxml.ElementLimit {
		line := all[ncclxml.ElementLimit].Line
		r.problems = append(r.problems, ncclxml.Problem{Kind: ncclxml.KindLimit, Line: line, Stop: line, Text: ncclxml.Excerpt(all[ncclxml.ElementLimit].Tag()), Message: fmt.Sprintf("Error : XML parser is limited to %d nodes", ncclxml.ElementLimit+1)})
	}
}

// addRejection makes sure that NCCL's own message is reported: by the problem that stops it, else as one of its own.
func (r *parsedFile) addRejection() {
	for i, p := range r.problems {
		if p.Stop == r.rejected.Line && (p.Kind == r.rejected.Kind || p.Message == r.rejected.Message) {
			r.problems[i].Message = r.rejected.Message
			return
		}
	}
	r.problems = append([]ncclxml.Problem{{Kind: r.rejected.Kind, Line: r.rejected.Line, Stop: r.rejected.Line, Text: ncclxml.Excerpt(lineOf(r.file.Text, r.rejected.Line)), Message: r.rejected.Message}}, r.problems...)
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
	return string(first[:min(len(first), 2*ncclxml.ExcerptLimit)])
}

// maxFailures bounds how many failures of one rule per file get a finding; the rest is counted.
const maxFailures = 64

// check applies rules. Those that could not be certain of a pass share one finding, which names them.
func (r *parsedFile) check(rules []rule) []fabric.Finding {
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
			out = append(out, r.finding(rule, verdict{status: fabric.Pass}))
		}
	}
	if len(unsure) > 0 {
		rest := rule{id: ruleRest, title: "Nothing else is wrong", expected: "a pass of " + strings.Join(unsure, ", ")}
		out = append(out, r.finding(rest, verdict{status: fabric.Unknown, why: why}))
	}
	return out
}

// apply returns the findings of one rule, none where it found nothing or was not checked.
func (r *parsedFile) apply(rule rule) []fabric.Finding {
	if !r.canCheck(rule.scope) {
		return nil
	}
	var out []fabric.Finding
	verdicts := rule.check(r)
	for i, v := range verdicts {
		if i == maxFailures {
			v = worst(verdicts[i:])
			v = verdict{status: v.status, severity: v.severity, why: fmt.Sprintf("%d more findings of this rule are not listed.", len(verdicts)-i)}
			return append(out, r.finding(rule, v))
		}
		if v.status == fabric.NotApplicable && r.rejected != nil {
			continue // what seems to be missing may be in the damaged part
		}
		if reason := r.unsure(rule.scope); v.status == fabric.Pass && reason != "" {
			v.status, v.severity, v.why = fabric.Unknown, fabric.SeverityError, v.why+" "+reason
		}
		out = append(out, r.finding(rule, v))
	}
	return out
}

// worst returns the verdict of the first failure of the worst severity, else the first one.
func worst(verdicts []verdict) verdict {
	found := verdicts[0]
	for _, v := range verdicts {
		if v.status == fabric.Fail && (found.status != fabric.Fail || v.severity < found.severity) {
			found = v
		}
	}
	return found
}

// canCheck reports whether the subject of a rule is in the file.
func (r *parsedFile) canCheck(scope scope) bool {
	switch scope {
	case scopeText:
		return true
	case scopeValue:
		return len(r.document.Roots) > 0
	default:
		return len(r.document.Roots) > 0 && r.incomplete == "" && (r.rejected == nil || r.understood)
	}
}

// unsure returns why a rule that found nothing may have missed something.
func (r *parsedFile) unsure(scope scope) string {
	switch {
	case r.incomplete != "":
		return "No fault was found in the part that was read, but the file " + r.incomplete + "."
	case scope == scopeText:
		return ""
	case r.rejected != nil:
		return fmt.Sprintf("NCCL refuses the file at line %d. These rules found no fault in the part that could be read, or had nothing to check.", r.rejected.Line)
	case len(r.document.Roots) == 0:
		return "The file has no <system> to check."
	}
	return ""
}

func (r *parsedFile) finding(rule rule, v verdict) fabric.Finding {
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
	if v.status == fabric.Fail || IsRemark(f) {
		f.Cost, f.Fix = v.cost, v.fix
		if v.cost == "" {
			f.Cost = rule.cost
		}
	}
	return f
}

// subject is the name of an element in findings.
func (r *parsedFile) subject(e *ncclxml.Element) fabric.Subject {
	s := fabric.Subject{Kind: "file", Node: r.file.Name}
	for ; e != nil; e = e.Parent {
		switch e.Name {
		case "net":
			if name, ok := e.Get("name"); ok {
				return fabric.NICSubject(r.file.Name, ncclxml.Excerpt(fabric.Printable(name)))
			}
		case "gpu":
			if dev, ok := e.Get("dev"); ok {
				return fabric.Subject{Kind: "gpu", Node: r.file.Name, GPU: "GPU" + ncclxml.Excerpt(fabric.Printable(dev))}
			}
		case "pci":
			if bus, ok := e.Get("busid"); ok {
				return fabric.PCISubject(r.file.Name, ncclxml.Excerpt(fabric.Printable(bus)))
			}
		}
	}
	return s
}

// fixCommand is the command that fixes what can be fixed without guessing.
func (r *parsedFile) fixCommand() string {
	name := r.file.Name
	if strings.ContainsAny(name, " \t'\"\\$`;&|<>*?()") {
		name = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return "railwright topo lint --fix " + name
}
