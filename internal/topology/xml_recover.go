package topology

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/agext/levenshtein"
)

// recovered is what a damaged text may have meant: its tags in an order that nests, and the elements.
type recovered struct {
	text     []byte // in UTF-8
	encoding string // of the file, where it is UTF-16; else empty
	tags     []scanTag
	document Document
	problems []problem
	cut      string // why it is not all of the file
}

// frame is an element that is open.
type frame struct {
	element *Element // nil of one that NCCL ignores
	name    string
	alias   string // the misspelt name that the file has
	tag     int    // its place among the tags
	implied int    // 1 + place of the problem that tells it; 0 of one that the file has
	at      int    // line
}

type recovery struct {
	recovered
	stack []frame
}

// recoverText reads a text as far as it makes any sense, and beyond.
func recoverText(text []byte) recovered {
	plain, encoding := plainText(text)
	s := scanText(plain)
	r := recovery{recovered: recovered{text: plain, encoding: encoding, problems: s.problems, cut: s.cut}}
	if s.more > 0 {
		r.cut = fmt.Sprintf("has more than %d errors", scanProblemLimit)
	}
	for _, t := range s.tags {
		if len(r.stack) > documentDepth {
			r.cut = fmt.Sprintf("has elements in more than %d others", documentDepth)
			break
		}
		switch {
		case t.comment != "":
			r.tags = append(r.tags, t)
		case t.kind == tagClose:
			r.close(t)
		default:
			r.open(t)
		}
	}
	if r.cut == "" && len(r.stack) > 0 {
		r.finish(s.lineOf(len(s.text)))
	}
	slices.SortStableFunc(r.problems, func(a, b problem) int { return a.line - b.line })
	return r.recovered
}

func (r *recovery) top() frame {
	if len(r.stack) == 0 {
		return frame{}
	}
	return r.stack[len(r.stack)-1]
}

// ignoring holds inside an element that NCCL does not know.
func (r *recovery) ignoring() bool { return len(r.stack) > 0 && r.top().element == nil }

func (r *recovery) open(t scanTag) {
	alias := t.name
	if !r.ignoring() && !r.fits(t.name) {
		t = r.place(t)
	}
	known := !r.ignoring() && r.fits(t.name)
	f := frame{name: t.name, alias: alias, tag: len(r.tags), at: t.line}
	if known {
		f.element = r.add(t)
	} else if !r.ignoring() {
		r.problem(problem{kind: kindUnknownElement, line: t.line, text: "<" + excerpt(t.name) + ">", why: misplaced(t.name, r.top().name), says: "Ignoring element " + excerpt(t.name)})
	}
	r.tags = append(r.tags, t)
	if t.kind == tagOpen {
		r.stack = append(r.stack, f)
	}
}

func misplaced(name, parent string) string {
	switch {
	case !isElement(name):
		return fmt.Sprintf("<%s> is no element of a topology file", excerpt(name))
	case parent == "":
		return fmt.Sprintf("<%s> is outside of <system>", name)
	default:
		return fmt.Sprintf("<%s> is no child of <%s>", name, excerpt(parent))
	}
}

func (r *recovery) fits(name string) bool { return name != "graphs" && keptBelow(r.top().name, name) }

// add makes the element of a tag below the innermost open one.
func (r *recovery) add(t scanTag) *Element {
	e := &Element{Name: t.name, Line: t.line}
	for _, a := range t.attributes {
		e.Attributes = append(e.Attributes, Attribute{a.name, a.value})
		e.lines = append(e.lines, a.line)
	}
	if e.Parent = r.top().element; e.Parent == nil {
		r.document.Roots = append(r.document.Roots, e)
	} else {
		e.Parent.Children = append(e.Parent.Children, e)
	}
	return e
}

// place finds how a tag that does not fit below the innermost open element may have been meant: its name is
// misspelt, an element between them has lost its beginning, or open ones their end.
func (r *recovery) place(t scanTag) scanTag {
	if name := r.spelling(t.name); name != "" {
		r.problem(problem{kind: kindUnknownElement, line: t.line, text: "<" + excerpt(t.name) + ">", why: misplaced(t.name, r.top().name), says: "Ignoring element " + excerpt(t.name), mended: "<" + name + ">"})
		t.name, t.changed = name, true
		return t
	}
	parent := r.top().name
	switch {
	case t.name == "net" && (parent == "pci" || parent == "cpu"):
		r.imply("nic", t)
		return t
	case t.name == "cpu" && parent == "" && len(r.document.Roots) == 0:
		r.imply("system", t)
		r.stack[0].element.Set("version", "1")
		r.tags[r.stack[0].tag].attributes = []scanAttribute{{name: "version", value: "1"}}
		return t
	}
	for i := len(r.stack) - 2; i >= 0; i-- { // an outer one takes it: those in between are not closed
		if keptBelow(r.stack[i].name, t.name) {
			r.unwind(i+1, t.line, 0)
			break
		}
	}
	return t
}

// spelling gives the element that fits here and is one letter from the name; empty where none or two are.
func (r *recovery) spelling(name string) string {
	if isElement(name) {
		return ""
	}
	var found []string
	for _, known := range elementNames() {
		if r.fits(known) && levenshtein.Distance(name, known, nil) == 1 {
			found = append(found, known)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// imply opens an element that the file has lost the beginning of, before the tag t.
func (r *recovery) imply(name string, t scanTag) {
	r.problem(problem{kind: kindUnknownElement, line: t.line, text: "<" + t.name + ">", why: misplaced(t.name, r.top().name) + fmt.Sprintf(": <%s> is missing", name), says: "Ignoring element " + t.name, mended: fmt.Sprintf("<%s> added", name)})
	implied := scanTag{kind: tagOpen, name: name, line: t.line, added: true, changed: true}
	f := frame{name: name, alias: name, tag: len(r.tags), implied: len(r.problems), at: t.line}
	f.element = r.add(implied)
	f.element.Line = 0
	r.tags = append(r.tags, implied)
	r.stack = append(r.stack, f)
}

// close ends the innermost open element of this name, and those that are open in it.
func (r *recovery) close(t scanTag) {
	place := -1
	for i := len(r.stack) - 1; i >= 0 && place < 0; i-- {
		if r.stack[i].name == t.name || r.stack[i].alias == t.name {
			place = i
		}
	}
	if place < 0 {
		r.closeUnknown(t)
		return
	}
	r.unwind(place+1, t.line, t.line)
	f := r.top()
	if f.implied > 0 { // its end is there: NCCL meets it while another element is open
		r.problems[f.implied-1].stop = t.line
		r.problems[f.implied-1].says = fmt.Sprintf("XML Mismatch : %s / %s", r.outer(), t.name)
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
func (r *recovery) end(t scanTag, f frame) {
	if t.name != f.name {
		t.name, t.changed = f.name, true
	}
	r.tags = append(r.tags, t)
	r.stack = r.stack[:len(r.stack)-1]
}

// closeUnknown ends the innermost open element where the name is nearly its own; any other is taken out.
func (r *recovery) closeUnknown(t scanTag) {
	f := r.top()
	p := problem{kind: kindCloseTag, line: t.line, stop: t.line, text: "</" + excerpt(t.name) + ">"}
	if f.name != "" {
		p.says = fmt.Sprintf("XML Mismatch : %s / %s", f.name, excerpt(t.name))
	}
	if f.name == "" || levenshtein.Distance(t.name, f.name, nil) > max(1, len(f.name)/3) {
		p.why, p.mended = "nothing of this name is open", "taken out"
		r.problem(p)
		return
	}
	p.why, p.mended = fmt.Sprintf("<%s> of line %d is open", f.name, f.at), "</"+f.name+">"
	r.problem(p)
	t.changed = true
	r.end(t, f)
}

// unwind closes the elements from a place of the stack on, which have no end of their own before a line.
// stop is the line of the closing tag that NCCL meets instead, 0 where it meets an opening one.
func (r *recovery) unwind(place, line, stop int) {
	for len(r.stack) > place {
		f := r.top()
		switch {
		case f.implied > 0 && stop > 0: // NCCL has not seen its beginning either: it misses no end
		case isLeaf(f.name) && f.tag == len(r.tags)-1:
			r.tags[f.tag].kind, r.tags[f.tag].changed = tagSingle, true
			r.problem(problem{kind: kindCloseTag, line: f.at, stop: line, text: "<" + f.name + " ...>", why: "the element is not closed", says: "XML Mismatch : " + f.name, mended: "/> instead of >"})
			r.stack = r.stack[:len(r.stack)-1]
			continue
		default:
			r.problem(problem{
				kind: kindCloseTag, line: line, stop: line, text: "<" + excerpt(f.name) + "> of line " + fmt.Sprint(f.at), why: fmt.Sprintf("</%s> is missing before this line", excerpt(f.name)),
				says: r.missingEnd(f, place), mended: "</" + excerpt(f.name) + "> added",
			})
		}
		r.tags = append(r.tags, scanTag{kind: tagClose, name: f.name, line: line, added: true, changed: true})
		r.stack = r.stack[:len(r.stack)-1]
	}
}

func (r *recovery) missingEnd(f frame, place int) string {
	if place == 0 {
		return "XML Parse : unterminated " + excerpt(f.name)
	}
	return fmt.Sprintf("XML Mismatch : %s / %s", excerpt(f.name), excerpt(r.stack[place-1].name))
}

// finish tells what is open at the end of the text. The end of the file may be lost, and devices with it.
func (r *recovery) finish(line int) {
	f := r.stack[0]
	r.cut = fmt.Sprintf("ends before </%s> of line %d: it may be cut", excerpt(f.name), f.at)
	r.problem(problem{
		kind: kindCloseTag, line: line, stop: line, text: "<" + excerpt(f.name) + "> of line " + fmt.Sprint(f.at), why: "the file ends before its end tag",
		says: "XML Parse : unterminated " + excerpt(r.top().name),
	})
}

func (r *recovery) problem(p problem) { r.problems = append(r.problems, p) }

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
	for i := 2; i+1 < min(len(text), 2*scanTextLimit); i += 2 {
		units = append(units, at(i))
	}
	return []byte(string(utf16.Decode(units))), encoding
}
