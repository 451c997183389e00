package topology

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Ids of the rules that are named in more than one place.
const (
	ruleWhole            = "topo-whole"
	ruleRest             = "topo-rest"
	ruleSystem           = "topo-system"
	ruleUnknownAttribute = "topo-unknown-attribute"
)

// ruleOf is the rule to which a problem of the text belongs.
func ruleOf(kind problemKind) string {
	switch kind {
	case kindEncoding:
		return "topo-encoding"
	case kindDeclaration:
		return "topo-declaration"
	case kindTab:
		return "topo-tab"
	case kindNewline:
		return "topo-newline"
	case kindText:
		return "topo-text"
	case kindQuote:
		return "topo-quote"
	case kindCloseTag:
		return "topo-close-tag"
	case kindVersion:
		return "topo-version"
	case kindLimit:
		return "topo-limit"
	case kindUnknownElement:
		return "topo-unknown-element"
	case kindBlank:
		return "topo-blank"
	case kindAttributes:
		return "topo-attributes"
	case kindSingleQuote:
		return "topo-single-quote"
	}
	return ruleWhole
}

const (
	parserSource = "NVIDIA/nccl 2.30, src/graph/xml.cc"
	modelSource  = "NVIDIA/nccl 2.30, src/graph/topo.cc and xml.cc"
	jobDies      = "the job dies: every process that reads the file gives up before it has sent a byte"
)

func textRules() []lintRule {
	refused := func(kind problemKind, title, expected string) lintRule {
		return lintRule{id: ruleOf(kind), title: title, expected: expected, cost: jobDies, reference: parserSource, judge: problemsOf(kind)}
	}
	return []lintRule{
		{id: ruleWhole, title: "The file was read whole", expected: "all of the file was read and judged", judge: judgeWhole},
		refused(kindEncoding, "The file is plain ASCII or UTF-8 without a mark", "no byte order mark, no UTF-16, no NUL bytes"),
		refused(kindDeclaration, "The file has no XML declaration", "neither <?xml ...?> nor <!DOCTYPE ...>: NCCL's parser knows none"),
		refused(kindTab, "The file has no tabs", "blanks: to NCCL a tab is no blank"),
		refused(kindNewline, "Each tag is on one line", "no newline between < and >"),
		refused(kindText, "There is nothing but tags and comments", "no text between tags and no junk in them"),
		refused(kindQuote, "Attributes are name=\"value\"", "double quotes around each value, one blank before each name, no = elsewhere"),
		refused(kindCloseTag, "Each element is closed by its own name", "</name> for each <name> that is not <name .../>"),
		refused(kindLimit, "The file is within NCCL's limits", fmt.Sprintf("at most %d elements, %d in one (640 from NCCL 2.30 on), %d bytes a value, %d attributes an element with those that NCCL adds", elementLimit, childLimit, textLimit, attributeLimit)),
		refused(kindVersion, "The format has the version that NCCL wants", `<system version="1">; of RCCL "2"`),
		{id: ruleSystem, title: "The file describes a system", expected: "one <system> with its <cpu>", reference: modelSource, judge: judgeSystem},
		{
			id: ruleOf(kindUnknownElement), title: "Each element is known where it stands", reference: parserSource, judge: judgeUnknownElements,
			expected: "system > cpu > pci > pci ... > gpu > nvlink, c2c; nic > net; pcilink",
			cost:     "the devices in it are not where the file says: NCCL looks for them itself, and in a VM finds them at the first CPU",
		},
		{id: ruleUnknownAttribute, title: "Each attribute is known", expected: "names that NCCL reads", reference: modelSource, judge: judgeAttributeNames},
		{
			id: ruleOf(kindBlank), title: "One blank stands before an attribute and none before the end of a tag", reference: parserSource, judge: notesOf(kindBlank, fabric.SeverityWarning,
				"A second blank, or one before > or />, makes an attribute without a name, which takes one of the sixteen places."),
			expected: "one blank before each attribute, none before > and />", cost: "nothing as long as there are places left",
		},
		{
			id: ruleOf(kindAttributes), title: "No element has more attributes than NCCL has places for", reference: parserSource, judge: judgeAttributeRoom,
			expected: fmt.Sprintf("at most %d, with those that NCCL adds", attributeLimit),
		},
		{
			id: ruleOf(kindSingleQuote), title: "Values are between double quotes", reference: "NVIDIA/nccl 2.19, src/graph/xml.cc (xmlGetValue reads to the next double quote), and 2.30 (to the same quote)",
			judge:    notesOf(kindSingleQuote, fabric.SeverityWarning, "NCCL up to 2.19 and RCCL begin a value at a single quote but end it at the next double one; later NCCL takes it."),
			expected: "double quotes", cost: "with an older NCCL or RCCL the job dies or what follows is taken for the value",
		},
	}
}

// problemsOf gives the problems of one kind. Those that stop NCCL are told with its own words.
func problemsOf(kind problemKind) func(*reading) []lintVerdict {
	return func(r *reading) []lintVerdict {
		var out []lintVerdict
		for _, p := range r.problems {
			if p.kind == kind {
				out = append(out, r.told(p))
			}
		}
		return out
	}
}

func (r *reading) told(p problem) lintVerdict {
	v := lintVerdict{status: fabric.Fail, line: p.line, text: p.text}
	if p.stop > 0 {
		v.why, v.cost = "NCCL stops here", jobDies
		if p.stop != p.line {
			v.why = fmt.Sprintf("NCCL stops at line %d", p.stop)
		}
		if p.stop != r.rejected.Line || p.says != r.rejected.Message {
			v.why += " once what is before it is mended"
		}
		if p.says != "" {
			v.why += ": " + fabric.Printable(p.says)
		}
		v.why += "."
	} else if p.says != "" {
		v.why = "NCCL reads on: " + fabric.Printable(p.says) + "."
	}
	if p.why != "" {
		v.why += " " + fabric.Printable(capital(p.why)) + "."
	}
	if p.mended != "" {
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

// notesOf gives what NCCL reads over without harm, or the same of a damaged file.
func notesOf(kind problemKind, severity fabric.Severity, why string) func(*reading) []lintVerdict {
	return func(r *reading) []lintVerdict {
		var out []lintVerdict
		for _, n := range r.notes {
			if n.Kind == kind {
				out = append(out, lintVerdict{status: fabric.Fail, severity: severity, line: n.Line, text: n.Text, why: why, fix: r.fixCommand()})
			}
		}
		for _, p := range r.problems {
			if p.kind == kind {
				out = append(out, lintVerdict{status: fabric.Fail, severity: severity, line: p.line, text: p.text, why: why, fix: r.fixCommand()})
			}
		}
		return out
	}
}

func judgeWhole(r *reading) []lintVerdict {
	if r.partly == "" {
		return nil
	}
	return []lintVerdict{{status: fabric.Unknown, why: "The file " + r.partly + ": nothing is said of the rest."}}
}

func judgeSystem(r *reading) []lintVerdict {
	roots := r.document.Roots
	switch {
	case len(roots) == 0 && r.rejected != nil:
		return []lintVerdict{{status: fabric.Unknown, why: "Nothing of a system could be made out."}}
	case len(roots) == 0 && len(r.notes) == 0:
		return []lintVerdict{{
			status: fabric.Fail, severity: fabric.SeverityWarning, text: fmt.Sprintf("%d bytes, no element", len(r.file.Text)),
			why: "NCCL takes the file, finds nothing in it and looks for itself, as without a file.", cost: "the file has no effect, and in a VM NCCL finds no PCIe switches",
		}}
	case len(roots) == 0:
		return []lintVerdict{{
			status: fabric.Fail, line: r.notes[0].Line, text: "<" + r.notes[0].Text + ">",
			why: "NCCL ignores all of the file without an error and looks for itself, as without a file.", cost: "the file has no effect, and in a VM NCCL finds no PCIe switches",
		}}
	case len(roots) > 1:
		return []lintVerdict{{
			status: fabric.Fail, line: roots[1].Line, text: "second <system>", why: "NCCL builds its system from the first only and says nothing of the other.",
			cost: "what is in the second is lost",
		}}
	case len(roots[0].Children) == 0:
		return []lintVerdict{{
			status: fabric.Fail, severity: fabric.SeverityWarning, line: roots[0].Line, text: "<system> without <cpu>",
			why: "NCCL fills an empty system by itself, as without a file.", cost: "the file has no effect",
		}}
	}
	return nil
}

func judgeUnknownElements(r *reading) []lintVerdict {
	var out []lintVerdict
	for _, p := range r.problems {
		if p.kind == kindUnknownElement {
			out = append(out, r.told(p))
		}
	}
	for _, n := range r.notes {
		if n.Kind != kindUnknownElement {
			continue
		}
		v := lintVerdict{status: fabric.Fail, line: n.Line, text: "<" + excerpt(n.Text) + ">", why: "NCCL reads over the element and all that is in it, and says no more than an INFO line"}
		if n.Message == "" {
			v.severity = fabric.SeverityWarning
			v.why = "NCCL reads over it without a word"
			v.cost = "nothing: no element is known below this one"
		} else {
			v.why += ": " + fabric.Printable(excerpt(n.Message))
		}
		v.why += "."
		out = append(out, v)
	}
	return out
}

// judgeAttributeRoom tells elements whose attributes, with those that NCCL sets, need more than sixteen places.
func judgeAttributeRoom(r *reading) []lintVerdict {
	var out []lintVerdict
	for _, n := range r.notes {
		if n.Kind == kindAttributes {
			out = append(out, lintVerdict{
				status: fabric.Fail, line: n.Line, text: n.Text, why: "NCCL reads over the attribute: " + n.Message + ".", cost: "what it says is lost",
			})
		}
	}
	for _, name := range []string{"cpu", "gpu", "net"} {
		for _, e := range r.document.all(name) {
			has := len(e.Attributes) + e.unnamed
			need := has
			for _, added := range addedAttributes(name) {
				if !slices.ContainsFunc(e.Attributes, func(a Attribute) bool { return a.Name == added }) {
					need++
				}
			}
			if need > attributeLimit {
				out = append(out, lintVerdict{
					status: fabric.Fail, element: e, line: e.Line, text: fmt.Sprintf("%d attributes, %d with those that NCCL sets", has, need),
					why: fmt.Sprintf("NCCL has no place for what it sets itself: Error : too many XML attributes (max %d).", attributeLimit), cost: jobDies,
				})
			}
		}
	}
	return out
}
