package ncclxml

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
	"railwright.dev/railwright/internal/fabric"
)

// SyntaxError is why NCCL refuses a file: every process that reads it exits with the message.
type SyntaxError struct {
	Line    int    // where its parser stops
	Message string // NCCL's own message
	Kind    Kind
}

// Error returns line and message.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Line, fabric.Printable(e.Message))
}

// Kind is the kind of a problem in a text, or of what is ignored in it.
type Kind uint8

// The kinds of problems.
const (
	KindNone           Kind = iota
	KindEncoding            // a byte order mark, UTF-16, a NUL
	KindDeclaration         // <?xml ...?>, <!DOCTYPE ...>
	KindTab                 // a tab, which NCCL does not accept as a blank
	KindNewline             // a newline inside a tag
	KindText                // text between tags, invalid characters in them
	KindQuote               // an attribute that is not name="value"
	KindCloseTag            // a tag or an element without its end
	KindVersion             // a version of the format that NCCL does not accept
	KindLimit               // more than NCCL's limits
	KindUnknownElement      // an element that NCCL does not know at this place
	KindBlank               // a blank that creates an attribute without a name
	KindAttributes          // an attribute for which NCCL has no slot
	KindSingleQuote         // a value in single quotes
)

// NoteLimit bounds the notes of a Document: a file of 100 MB can hold ten million things to ignore.
const NoteLimit = 1000

// Versions of the format that the two libraries accept (src/graph/xml.h, NCCL_TOPO_XML_VERSION).
const (
	NCCLVersion = 1
	RCCLVersion = 2
)

// Parse reads a topology file by the rules of NCCL's parser (NVIDIA/nccl 2.28 to 2.30, src/graph/xml.cc),
// which is not an XML parser: it supports no declaration, no entities, no text, only blanks between attributes.
// What it refuses is a *SyntaxError, what it ignores is in Notes. A file without any <system>, such as an
// empty one, is not an error: NCCL then detects the system. A file with <xgmi> elements is read as RCCL
// does. Time is linear in the text; memory is bounded by NCCL's own limit of 255 elements.
func Parse(text []byte) (*Document, error) {
	p := &parser{text: text, line: 1, version: NCCLVersion}
	if IsRCCL(text) {
		p.version = RCCLVersion
	}
	if err := p.children(nil); err != nil {
		return nil, err
	}
	return &Document{Roots: p.roots, Notes: p.notes}, nil
}

// IsRCCL recognises RCCL's form by what only it has: xgmi elements, or the gcn attribute of a GPU.
func IsRCCL(text []byte) bool {
	return bytes.Contains(text, []byte("<xgmi")) || bytes.Contains(text, []byte(` gcn="`))
}

type parser struct {
	text    []byte
	at      int
	line    int
	version int
	kept    int // elements that occupy a slot in NCCL's array
	roots   []*Element
	notes   []Note
}

// children reads the content of head up to its closing tag; head nil is the file. Elements that NCCL does not
// know there are ignored with their content.
func (p *parser) children(head *Element) error {
	parent := ""
	if head != nil {
		parent = head.Name
	}
	for {
		if p.kept == ElementLimit+1 {
			return p.fail(KindLimit, "Error : XML parser is limited to %d nodes", ElementLimit+1)
		}
		t, err := p.tag()
		switch {
		case err != nil:
			return err
		case t.kind == TagNone && head == nil:
			return nil
		case t.kind == TagNone:
			return p.fail(KindCloseTag, "XML Parse : unterminated %s", head.Name)
		case t.kind == TagClose && head != nil:
			if t.name != head.Name {
				return p.fail(KindCloseTag, "XML Mismatch : %s / %s", head.Name, t.name)
			}
			return nil
		case keptBelow(parent, t.name) && t.name != "graphs":
			if head != nil && len(head.Children) == ChildLimit {
				return p.fail(KindLimit, "Error : XML parser is limited to %d subnodes", ChildLimit)
			}
			err = p.keep(head, t)
		default:
			err = p.ignore(parent, t)
		}
		if err != nil {
			return err
		}
	}
}

// keep adds an element that NCCL knows. At the top level a closing tag counts as an opening one.
func (p *parser) keep(head *Element, t parsedTag) error {
	e := &Element{Name: t.name, Line: t.line, Attributes: t.attributes, Parent: head, Unnamed: t.unnamed}
	if head == nil {
		p.roots = append(p.roots, e)
	} else {
		head.Children = append(head.Children, e)
	}
	p.kept++
	if head == nil {
		if err := p.checkVersion(e); err != nil {
			return err
		}
	}
	if t.kind == TagSingle {
		return nil
	}
	return p.children(e)
}

func (p *parser) checkVersion(system *Element) error {
	text, ok := system.Get("version")
	if !ok {
		return p.fail(KindVersion, "Attribute version of node system not found")
	}
	if got := int(int32(Strtol(text, 0))); got != p.version {
		return p.fail(KindVersion, "XML Topology has wrong version %d, %d needed", got, p.version)
	}
	return nil
}

// ignore ignores an element with its content. NCCL keeps the names of such elements in one buffer,
// so any closing tag ends the innermost of them, whatever its name.
func (p *parser) ignore(parent string, t parsedTag) error {
	noted := len(p.notes) < NoteLimit
	if noted {
		note := Note{Kind: KindUnknownElement, Line: t.line, Text: t.name, Lost: meantElement(t.name)}
		if !isLeaf(parent) { // below those it ignores silently
			note.Message = "Ignoring element " + t.name
		}
		p.note(note)
	}
	if t.kind == TagSingle {
		return nil
	}
	notes := p.notes // nothing below it is reported
	lost := ""
	for depth := 1; depth > 0; {
		inner, err := p.tag()
		if err != nil {
			return err
		}
		switch inner.kind {
		case TagNone:
			return p.fail(KindCloseTag, "XML Parse : unterminated ")
		case TagOpen:
			depth++
		case TagClose:
			depth--
		}
		if inner.kind != TagClose && lost == "" {
			lost = meantElement(inner.name)
		}
	}
	p.notes = notes
	if own := len(notes) - 1; noted && notes[own].Lost == "" {
		notes[own].Lost = lost
	}
	return nil
}

// meantElement is the element that NCCL knows by a name, or by one that differs from it by a letter or in case; empty
// where there is none.
func meantElement(name string) string {
	name = strings.ToLower(name)
	for _, known := range ElementNames() {
		if name == known {
			return known
		}
	}
	for _, known := range ElementNames() {
		if len(known) > 2 && levenshtein.Distance(name, known, nil) == 1 {
			return known
		}
	}
	return ""
}

func (p *parser) next() {
	if p.text[p.at] == '\n' {
		p.line++
	}
	p.at++
}

// fail creates the error at the byte that was read last, or that stops the parser.
func (p *parser) fail(kind Kind, format string, values ...any) error {
	line := p.line
	if p.at > 0 && p.text[p.at-1] == '\n' {
		line-- // the newline itself is what stops it
	}
	return &SyntaxError{Line: line, Message: fmt.Sprintf(format, values...), Kind: kind}
}

func (p *parser) note(n Note) {
	if len(p.notes) < NoteLimit {
		p.notes = append(p.notes, n)
	}
}

// strayKind classifies a text where NCCL expects a <.
func strayKind(text []byte) Kind {
	switch {
	case text[0] == '\t':
		return KindTab
	case bytes.HasPrefix(text, []byte(byteOrderMark)), text[0] == 0, text[0] >= 0xfe:
		return KindEncoding
	}
	return KindText
}
