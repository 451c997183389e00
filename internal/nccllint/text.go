package nccllint

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// Ids of the rules that are named in more than one place.
const (
	ruleWhole            = "topo-whole"
	ruleRest             = "topo-rest"
	ruleSystem           = "topo-system"
	ruleUnknownAttribute = "topo-unknown-attribute"
)

// ruleOf is the rule for a kind of problem in the text.
func ruleOf(kind ncclxml.Kind) string {
	switch kind {
	case ncclxml.KindEncoding:
		return "topo-encoding"
	case ncclxml.KindDeclaration:
		return "topo-declaration"
	case ncclxml.KindTab:
		return "topo-tab"
	case ncclxml.KindNewline:
		return "topo-newline"
	case ncclxml.KindText:
		return "topo-text"
	case ncclxml.KindQuote:
		return "topo-quote"
	case ncclxml.KindCloseTag:
		return "topo-close-tag"
	case ncclxml.KindVersion:
		return "topo-version"
	case ncclxml.KindLimit:
		return "topo-limit"
	case ncclxml.KindUnknownElement:
		return "topo-unknown-element"
	case ncclxml.KindBlank:
		return "topo-blank"
	case ncclxml.KindAttributes:
		return "topo-attributes"
	case ncclxml.KindSingleQuote:
		return "topo-single-quote"
	}
	return ruleWhole
}

const (
	parserSource = "NVIDIA/nccl 2.30, src/graph/xml.cc"
	modelSource  = "NVIDIA/nccl 2.30, src/graph/topo.cc and xml.cc"
	jobDies      = "the job aborts: every process that reads the file exits before it sends a byte"
)

func textRules() []rule {
	refused := func(kind ncclxml.Kind, title, expected string) rule {
		return rule{id: ruleOf(kind), title: title, expected: expected, cost: jobDies, reference: parserSource, check: problemsOf(kind)}
	}
	return []rule{
		{id: ruleWhole, title: "The file was read whole", expected: "the whole file was read and checked", check: checkWhole},
		refused(ncclxml.KindEncoding, "The file is ASCII, or UTF-8 without a byte order mark", "no byte order mark, no UTF-16, no NUL bytes"),
		refused(ncclxml.KindDeclaration, "The file has no XML declaration", "neither <?xml ...?> nor <!DOCTYPE ...>: NCCL's parser does not support them"),
		refused(ncclxml.KindTab, "The file has no tabs", "blanks only: NCCL does not accept tabs"),
		refused(ncclxml.KindNewline, "Each tag is on one line", "no newline between < and >"),
		refused(ncclxml.KindText, "The file has only tags and comments", "no text between tags and no invalid characters in them"),
		refused(ncclxml.KindQuote, "Attributes are name=\"value\"", "double quotes around each value, one blank before each name, no = elsewhere"),
		refused(ncclxml.KindCloseTag, "Each element has a matching end tag", "</name> for each <name> that is not <name .../>"),
		refused(ncclxml.KindLimit, "The file is within NCCL's limits", fmt.Sprintf("at most %d elements, %d in one (640 from NCCL 2.30 on), %d bytes per value, %d attributes per element including those that NCCL adds", ncclxml.ElementLimit, ncclxml.ChildLimit, ncclxml.TextLimit, ncclxml.AttributeLimit)),
		refused(ncclxml.KindVersion, "The format has the version that NCCL requires", `<system version="1">; for RCCL "2"`),
		{id: ruleSystem, title: "The file describes a system", expected: "one <system> with at least one <cpu>", reference: modelSource, check: checkSystem},
		{
			id: ruleOf(ncclxml.KindUnknownElement), title: "Each element is in a valid place", reference: parserSource, check: checkUnknownElements,
			expected: "system > cpu > pci > pci ... > gpu > nvlink, c2c; nic > net; pcilink",
			cost:     "the devices in it are not where the file puts them: NCCL detects them itself, and in a VM finds them at the first CPU",
		},
		{id: ruleUnknownAttribute, title: "Each attribute is known to NCCL", expected: "names that NCCL reads", reference: modelSource, check: checkAttributeNames},
		{
			id: ruleOf(ncclxml.KindBlank), title: "One blank before each attribute and none before the end of a tag", reference: parserSource, check: notesOf(ncclxml.KindBlank, remark,
				"A second blank, or one before > or />, creates an attribute without a name, which occupies one of the sixteen slots."),
			expected: "one blank before each attribute, none before > and />", cost: "nothing as long as slots are free",
		},
		{
			id: ruleOf(ncclxml.KindAttributes), title: "No element has more attributes than NCCL has slots", reference: parserSource, check: checkAttributeRoom,
			expected: fmt.Sprintf("at most %d, with those that NCCL adds", ncclxml.AttributeLimit),
		},
		{
			id: ruleOf(ncclxml.KindSingleQuote), title: "Values are in double quotes", reference: "NVIDIA/nccl 2.19, src/graph/xml.cc (xmlGetValue reads to the next double quote), and 2.30 (to the same quote)",
			check:    notesOf(ncclxml.KindSingleQuote, remarkUnlessRCCL, "NCCL up to 2.19 and RCCL start a value at a single quote but end it at the next double quote; later NCCL accepts it."),
			expected: "double quotes", cost: "with an older NCCL or RCCL the job aborts or the following text becomes part of the value",
		},
	}
}

// problemsOf returns the problems of one kind. Those that stop NCCL are reported with its own messages.
func problemsOf(kind ncclxml.Kind) func(*parsedFile) []verdict {
	return func(r *parsedFile) []verdict {
		var out []verdict
		for _, p := range r.problems {
			if p.Kind == kind {
				out = append(out, r.verdictOf(p))
			}
		}
		return out
	}
}

func (r *parsedFile) verdictOf(p ncclxml.Problem) verdict {
	v := verdict{status: fabric.Fail, line: p.Line, text: p.Text}
	if p.Stop > 0 {
		v.why, v.cost = "NCCL stops here", jobDies
		if p.Stop != p.Line {
			v.why = fmt.Sprintf("NCCL stops at line %d", p.Stop)
		}
		if p.Stop != r.rejected.Line || p.Message != r.rejected.Message {
			v.why += " once the earlier problems are fixed"
		}
		if p.Message != "" {
			v.why += ": " + fabric.Printable(p.Message)
		}
		v.why += "."
	} else if p.Message != "" {
		v.why = "NCCL continues: " + fabric.Printable(p.Message) + "."
	}
	if p.Detail != "" {
		v.why += " " + fabric.Printable(capital(p.Detail)) + "."
	}
	if p.Fix != "" {
		v.fix = r.fixCommand()
	}
	return v
}

func capital(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

func remark(_ *parsedFile, v verdict) verdict { return v.remark() }

// remarkUnlessRCCL is for what NCCL from 2.20 on takes and RCCL does not.
func remarkUnlessRCCL(r *parsedFile, v verdict) verdict {
	if ncclxml.IsRCCL(r.file.Text) {
		v.severity = fabric.SeverityWarning
		return v
	}
	return v.remark()
}

// notesOf returns what NCCL ignores without harm, or the same of a damaged file.
func notesOf(kind ncclxml.Kind, graded func(*parsedFile, verdict) verdict, why string) func(*parsedFile) []verdict {
	return func(r *parsedFile) []verdict {
		var out []verdict
		for _, n := range r.notes {
			if n.Kind == kind {
				out = append(out, graded(r, verdict{status: fabric.Fail, line: n.Line, text: n.Text, why: why, fix: r.fixCommand()}))
			}
		}
		for _, p := range r.problems {
			if p.Kind == kind {
				out = append(out, graded(r, verdict{status: fabric.Fail, line: p.Line, text: p.Text, why: why, fix: r.fixCommand()}))
			}
		}
		return out
	}
}

func checkWhole(r *parsedFile) []verdict {
	if r.incomplete == "" {
		return nil
	}
	return []verdict{{status: fabric.Unknown, why: "The file " + r.incomplete + ": the rest was not checked."}}
}

func checkSystem(r *parsedFile) []verdict {
	roots := r.document.Roots
	switch {
	case r.foreign != "":
		return []verdict{{
			status: fabric.Fail, line: 1, text: ncclxml.Excerpt(lineOf(r.file.Text, 1)),
			why: fmt.Sprintf("Not an NCCL topology file: %s. NCCL stops at line %d: %s.", r.foreign, r.rejected.Line, fabric.Printable(r.rejected.Message)), cost: jobDies,
		}}
	case len(roots) == 0 && r.rejected != nil:
		return []verdict{{status: fabric.Unknown, why: "No system could be recognised."}}
	case len(roots) == 0 && len(r.notes) == 0:
		return []verdict{{
			status: fabric.Unknown, text: fmt.Sprintf("%d bytes, no elements", len(r.file.Text)),
			why: "Not an NCCL topology file: it has no elements. NCCL accepts it, finds nothing in it and detects the system, as without a file.",
		}}
	case len(roots) == 0:
		return []verdict{{
			status: fabric.Fail, line: r.notes[0].Line, text: "<" + r.notes[0].Text + ">",
			why: "Not an NCCL topology file: it has no <system>. NCCL ignores the whole file without an error and detects the system, as without a file.", cost: "the file has no effect, and in a VM NCCL finds no PCIe switches",
		}}
	case len(roots) > 1:
		return []verdict{{
			status: fabric.Fail, line: roots[1].Line, text: "second <system>", why: "NCCL builds its system from the first and silently ignores the other.",
			cost: "the content of the second is lost",
		}}
	case len(roots[0].Children) == 0:
		return []verdict{{
			status: fabric.Fail, severity: fabric.SeverityWarning, line: roots[0].Line, text: "<system> without <cpu>",
			why: "NCCL detects the system, as without a file.", cost: "the file has no effect",
		}}
	}
	return nil
}

func checkUnknownElements(r *parsedFile) []verdict {
	var out []verdict
	for _, p := range r.problems {
		if p.Kind == ncclxml.KindUnknownElement {
			out = append(out, r.verdictOf(p))
		}
	}
	for _, n := range r.notes {
		if n.Kind != ncclxml.KindUnknownElement {
			continue
		}
		v := verdict{status: fabric.Fail, line: n.Line, text: "<" + ncclxml.Excerpt(n.Text) + ">", why: "NCCL ignores the element and its content, with only an INFO line"}
		if n.Message == "" {
			v.why = "NCCL silently ignores it"
		} else {
			v.why += ": " + fabric.Printable(ncclxml.Excerpt(n.Message))
		}
		v.why += "."
		switch {
		case n.Lost == "nvlink" || n.Lost == "xgmi" || n.Lost == "c2c":
			v.cost = "nothing on the machine itself, where NCCL queries the driver for links; the file does not have them"
			v = v.remark()
		case n.Lost == "":
			v.cost = "nothing: it has no element that NCCL knows"
			v = v.remark()
		case n.Lost != n.Text:
			v.why += fmt.Sprintf(" Its content has <%s>.", n.Lost)
		}
		out = append(out, v)
	}
	return out
}

// checkAttributeRoom reports elements whose attributes, with those that NCCL sets, need more than sixteen slots.
func checkAttributeRoom(r *parsedFile) []verdict {
	var out []verdict
	for _, n := range r.notes {
		if n.Kind == ncclxml.KindAttributes {
			out = append(out, verdict{
				status: fabric.Fail, line: n.Line, text: n.Text, why: "NCCL ignores the attribute: " + n.Message + ".", cost: "its value is lost",
			})
		}
	}
	for _, name := range []string{"cpu", "gpu", "net"} {
		for _, e := range r.document.All(name) {
			has := len(e.Attributes) + e.Unnamed
			need := has
			for _, added := range ncclxml.AddedAttributes(name) {
				if !slices.ContainsFunc(e.Attributes, func(a ncclxml.Attribute) bool { return a.Name == added }) {
					need++
				}
			}
			if need > ncclxml.AttributeLimit {
				out = append(out, verdict{
					status: fabric.Fail, element: e, line: e.Line, text: fmt.Sprintf("%d attributes, %d with those that NCCL sets", has, need),
					why: fmt.Sprintf("NCCL has no slot for the attributes that it sets itself: Error : too many XML attributes (max %d).", ncclxml.AttributeLimit), cost: jobDies,
				})
			}
		}
	}
	return out
}
