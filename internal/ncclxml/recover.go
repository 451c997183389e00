package ncclxml

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/agext/levenshtein"
)

// Recovered is the probable meaning of a damaged text: its tags in an order that nests, and the elements.
type Recovered struct {
	Text     []byte // in UTF-8
	Encoding string // of the file, if it is UTF-16; else empty
	Tags     []Tag
	Document Document
	Problems []Problem
	Cut      string // why it is incomplete
}

// frame is an open element.
type frame struct {
	element *Element // nil of one that NCCL ignores
	name    string
	alias   string // the misspelt name in the file
	tag     int    // its index among the tags
	implied int    // 1 + index of the problem that reports it; 0 for one that is in the file
	at      int    // line
}

type recovery struct {
	Recovered
	stack []frame
}

// Recover reads as much of a damaged text as possible.
func Recover(text []byte) Recovered {
	plain, encoding := plainText(text)
	s := scanText(plain)
	r := recovery{Recovered: Recovered{Text: plain, Encoding: encoding, Problems: s.problems, Cut: s.cut}}
	if s.more > 0 {
		r.Cut = fmt.Sprintf("has more than %d errors", scanProblemLimit)
	}
	for _, t := range s.tags {
		if len(r.stack) > MaxDepth {
			r.Cut = fmt.Sprintf("has elements nested more than %d deep", MaxDepth)
			break
		}
		switch {
		case t.Comment != "":
			r.Tags = append(r.Tags, t)
		case t.Kind == TagClose:
			r.close(t)
		default:
			r.open(t)
		}
	}
	if r.Cut == "" && len(r.stack) > 0 {
		r.finish(s.lineOf(len(s.text)))
	}
	slices.SortStableFunc(r.Problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.Recovered
}

func (r *recovery) top() frame {
	if len(r.stack) == 0 {
		return frame{}
	}
	return r.stack[len(r.stack)-1]
}

// ignoring reports whether the innermost open element is one that NCCL does not know.
func (r *recovery) ignoring() bool { return len(r.stack) > 0 && r.top().element == nil }

func (r *recovery) open(t Tag) {
	alias := t.Name
	if !r.ignoring() && !r.fits(t.Name) {
		t = r.place(t)
	}
	known := !r.ignoring() && r.fits(t.Name)
	f := frame{name: t.Name, alias: alias, tag: len(r.Tags), at: t.Line}
	if known {
		f.element = r.add(t)
	} else if !r.ignoring() {
		r.problem(Problem{Kind: KindUnknownElement, Line: t.Line, Text: "<" + Excerpt(t.Name) + ">", Detail: misplaced(t.Name, r.top().name), Message: "Ignoring element " + Excerpt(t.Name)})
	}
	r.Tags = append(r.Tags, t)
	if t.Kind == TagOpen {
		r.stack = append(r.stack, f)
	}
}

func misplaced(name, parent string) string {
	switch {
	case !IsElement(name):
		return fmt.Sprintf("<%s> is not an element of a topology file", Excerpt(name))
	case parent == "":
		return fmt.Sprintf("<%s> is outside of <system>", name)
	default:
		return fmt.Sprintf("<%s> is not a child of <%s>", name, Excerpt(parent))
	}
}

func (r *recovery) fits(name string) bool { return name != "graphs" && keptBelow(r.top().name, name) }

// add creates the element of a tag below the innermost open one.
func (r *recovery) add(t Tag) *Element {
	e := &Element{Name: t.Name, Line: t.Line}
	for _, a := range t.Attributes {
		e.Attributes = append(e.Attributes, Attribute{a.Name, a.Value})
		e.lines = append(e.lines, a.Line)
	}
	if e.Parent = r.top().element; e.Parent == nil {
		r.Document.Roots = append(r.Document.Roots, e)
	} else {
		e.Parent.Children = append(e.Parent.Children, e)
	}
	return e
}

// place finds the probable meaning of a tag that does not fit below the innermost open element: its name is
// misspelt, an element between them has lost its beginning, or open ones their end.
func (r *recovery) place(t Tag) Tag {
	if name := r.spelling(t.Name); name != "" {
		r.problem(Problem{Kind: KindUnknownElement, Line: t.Line, Text: "<" + Excerpt(t.Name) + ">", Detail: misplaced(t.Name, r.top().name), Message: "Ignoring element " + Excerpt(t.Name), Fix: "<" + name + ">"})
		t.Name, t.Changed = name, true
		return t
	}
	parent := r.top().name
	switch {
	case t.Name == "net" && (parent == "pci" || parent == "cpu"):
		r.imply("nic", t)
		return t
	case t.Name == "cpu" && parent == "" && len(r.Document.Roots) == 0:
		r.imply("system", t)
		r.stack[0].element.Set("version", "1")
		r.Tags[r.stack[0].tag].Attributes = []TagAttribute{{Name: "version", Value: "1"}}
		return t
	}
	for i := len(r.stack) - 2; i >= 0; i-- { // an outer one accepts it: those in between are not closed
		if keptBelow(r.stack[i].name, t.Name) {
			r.unwind(i+1, t.Line, 0)
			break
		}
	}
	return t
}

// spelling returns the element that fits here and differs by one letter from the name; empty where none or two do.
func (r *recovery) spelling(name string) string {
	if IsElement(name) {
		return ""
	}
	var found []string
	for _, known := range ElementNames() {
		if r.fits(known) && levenshtein.Distance(name, known, nil) == 1 {
			found = append(found, known)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// imply opens an element whose beginning is missing from the file, before the tag t.
func (r *recovery) imply(name string, t Tag) {
	r.problem(Problem{Kind: KindUnknownElement, Line: t.Line, Text: "<" + t.Name + ">", Detail: misplaced(t.Name, r.top().name) + fmt.Sprintf(": <%s> is missing", name), Message: "Ignoring element " + t.Name, Fix: fmt.Sprintf("<%s> added", name)})
	implied := Tag{Kind: TagOpen, Name: name, Line: t.Line, added: true, Changed: true}
	f := frame{name: name, alias: name, tag: len(r.Tags), implied: len(r.Problems), at: t.Line}
	f.element = r.add(implied)
	f.element.Line = 0
	r.Tags = append(r.Tags, implied)
	r.stack = append(r.stack, f)
}

// close ends the innermost open element of this name, and those that are open inside it.
func (r *recovery) close(t Tag) {
	place := -1
	for i := len(r.stack) - 1; i >= 0 && place < 0; i-- {
		if r.stack[i].name == t.Name || r.stack[i].alias == t.Name {
			place = i
		}
	}
	if place < 0 {
		r.closeUnknown(t)
		return
	}
	r.unwind(place+1, t.Line, t.Line)
	f := r.top()
	if f.implied > 0 { // its end exists: NCCL reads it while another element is open
		r.Problems[f.implied-1].Stop = t.Line
		r.Problems[f.implied-1].Message = fmt.Sprintf("XML Mismatch : %s / %s", r.outer(), t.Name)
	}
	r.end(t, f)
}

// outer is the name of the element around the innermost open one.
func (r *recovery) outer() string {
	if len(r.stack) < 2 {
		return ""
	}
	return r.stack[len(r.stack)-2].name
}

// end writes the closing tag of the innermost open element.
func (r *recovery) end(t Tag, f frame) {
	if t.Name != f.name {
		t.Name, t.Changed = f.name, true
	}
	r.Tags = append(r.Tags, t)
	r.stack = r.stack[:len(r.stack)-1]
}

// closeUnknown ends the innermost open element if the name is nearly its own; any other closing tag is removed.
func (r *recovery) closeUnknown(t Tag) {
	f := r.top()
	p := Problem{Kind: KindCloseTag, Line: t.Line, Stop: t.Line, Text: "</" + Excerpt(t.Name) + ">"}
	if f.name != "" {
		p.Message = fmt.Sprintf("XML Mismatch : %s / %s", f.name, Excerpt(t.Name))
	}
	if f.name == "" || levenshtein.Distance(t.Name, f.name, nil) > max(1, len(f.name)/3) {
		p.Detail, p.Fix = "no element of this name is open", "removed"
		r.problem(p)
		return
	}
	p.Detail, p.Fix = fmt.Sprintf("<%s> of line %d is open", f.name, f.at), "</"+f.name+">"
	r.problem(p)
	t.Changed = true
	r.end(t, f)
}

// unwind closes the elements from a position of the stack on, which have no end before a line.
// stop is the line of the closing tag that NCCL reads instead, 0 where it reads an opening one.
func (r *recovery) unwind(place, line, stop int) {
	for len(r.stack) > place {
		f := r.top()
		switch {
		case f.implied > 0 && stop > 0: // NCCL has not read its beginning either: it misses no end
		case isLeaf(f.name) && f.tag == len(r.Tags)-1:
			r.Tags[f.tag].Kind, r.Tags[f.tag].Changed = TagSingle, true
			r.problem(Problem{Kind: KindCloseTag, Line: f.at, Stop: line, Text: "<" + f.name + " ...>", Detail: "the element is not closed", Message: "XML Mismatch : " + f.name, Fix: "/> instead of >"})
			r.stack = r.stack[:len(r.stack)-1]
			continue
		default:
			r.problem(Problem{
				Kind: KindCloseTag, Line: line, Stop: line, Text: "<" + Excerpt(f.name) + "> of line " + fmt.Sprint(f.at), Detail: fmt.Sprintf("</%s> is missing before this line", Excerpt(f.name)),
				Message: r.missingEnd(f, place), Fix: "</" + Excerpt(f.name) + "> added",
			})
		}
		r.Tags = append(r.Tags, Tag{Kind: TagClose, Name: f.name, Line: line, added: true, Changed: true})
		r.stack = r.stack[:len(r.stack)-1]
	}
}

func (r *recovery) missingEnd(f frame, place int) string {
	if place == 0 {
		return "XML Parse : unterminated " + Excerpt(f.name)
	}
	return fmt.Sprintf("XML Mismatch : %s / %s", Excerpt(f.name), Excerpt(r.stack[place-1].name))
}

// finish reports what is open at the end of the text. The end of the file may be lost, and devices with it.
func (r *recovery) finish(line int) {
	f := r.stack[0]
	r.Cut = fmt.Sprintf("ends before </%s> of line %d: it may be truncated", Excerpt(f.name), f.at)
	r.problem(Problem{
		Kind: KindCloseTag, Line: line, Stop: line, Text: "<" + Excerpt(f.name) + "> of line " + fmt.Sprint(f.at), Detail: "the file ends before its end tag",
		Message: "XML Parse : unterminated " + Excerpt(r.top().name),
	})
}

func (r *recovery) problem(p Problem) { r.Problems = append(r.Problems, p) }

// plainText decodes UTF-16 with a byte order mark; encoding is empty where the text is bytes.
func plainText(text []byte) (plain []byte, encoding string) {
	var at func(i int) uint16
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		at = func(i int) uint16 { return uint16(text[i]) | uint16(text[i+1])<<8 }
		encoding = "UTF-16, little endian"
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		at = func(i int) uint16 { return uint16(text[i+1]) | uint16(text[i])<<8 }
		encoding = "UTF-16, big endian"
	default:
		return text, ""
	}
	var units []uint16
	for i := 2; i+1 < min(len(text), 2*RecoverLimit); i += 2 {
		units = append(units, at(i))
	}
	return []byte(string(utf16.Decode(units))), encoding
}
