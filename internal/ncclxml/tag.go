package ncclxml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// open reads an opening or self-closing tag, from its name on; from is where it begins.
func (s *scanner) open(from int) *Tag {
	t := Tag{Line: s.lineOf(from), from: from, Changed: s.text[from] != '<'}
	if !attributeStart().Match(s.window(s.at, scanExcerpt)) {
		t.Name = s.identifier()
	}
	for t.Kind == TagNone {
		blanks := s.tagBlanks(&t)
		switch rest := s.text[s.at:]; {
		case len(rest) == 0:
			s.unended(&t, "XML Parse : Unexpected EOF")
		case s.at-from > scanTagSize, len(t.Attributes) > scanAttributes:
			s.unended(&t, "")
		case rest[0] == '>':
			s.trailing(&t, blanks)
			s.at++
			t.Kind = TagOpen
		case bytes.HasPrefix(rest, []byte("/>")):
			s.trailing(&t, blanks)
			s.at += len("/>")
			t.Kind = TagSingle
		case rest[0] == '<':
			s.insideTag(&t)
		case nameCharacter(rest[0]):
			s.attribute(&t, blanks)
		default:
			s.junk(&t)
		}
	}
	t.to = s.at
	s.tags = append(s.tags, t)
	return &s.tags[len(s.tags)-1]
}

func (s *scanner) identifier() string {
	from := s.at
	for s.at < len(s.text) && nameCharacter(s.text[s.at]) {
		s.at++
	}
	return string(s.text[from:s.at])
}

// tagBlanks ignores blanks in a tag and returns how many; a newline or a tab there is an error to NCCL, and
// a second blank creates an attribute without a name. It returns -1 where it has already reported them.
func (s *scanner) tagBlanks(t *Tag) (count int) {
	from, newline, tab := s.at, -1, -1
	for ; s.at < len(s.text) && (isBlank(s.text[s.at]) || s.text[s.at] == '\t'); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\t' && tab < 0:
			tab = s.at
		case (c == '\n' || c == '\r') && newline < 0:
			newline = s.at
		}
	}
	line := s.lineOf(max(newline, tab, 0))
	switch {
	case newline >= 0:
		s.problem(Problem{
			Kind: KindNewline, Line: line, Stop: line, Text: s.lineText(t.from),
			Message: fmt.Sprintf("XML Parse : expected >, got '%s'", s.text[newline:newline+1]), Fix: "one line",
		})
	case tab >= 0:
		s.problem(Problem{Kind: KindTab, Line: line, Stop: line, Text: s.lineText(t.from), Message: "XML Parse : expected >, got '\t'", Fix: "a blank instead"})
	default:
		return s.at - from
	}
	t.Changed = true
	return -1
}

// trailing reports blanks before the end of a tag.
func (s *scanner) trailing(t *Tag, blanks int) {
	if blanks > 0 {
		s.blank(t)
	}
}

func (s *scanner) blank(t *Tag) {
	t.Changed = true
	s.problem(Problem{Kind: KindBlank, Line: s.lineOf(s.at), Text: s.lineText(t.from), Detail: "NCCL reads the blank as an attribute without a name", Fix: "one blank between attributes, none before the end"})
}

// insideTag reads a < in a tag: a closing tag of no element of this format is an invalid insertion between attributes;
// anything else begins the next tag, and this one has lost its end.
func (s *scanner) insideTag(t *Tag) {
	m := foreignClose().FindSubmatch(s.window(s.at, scanExcerpt))
	if m == nil || IsElement(string(m[1])) {
		s.unended(t, "XML Parse : expected >, got '<'")
		return
	}
	line := s.lineOf(s.at)
	s.problem(Problem{
		Kind: KindText, Line: line, Stop: line, Text: string(m[0]), Detail: "invalid text inside the tag",
		Message: "XML Parse : expected >, got '<'", Fix: "removed",
	})
	t.Changed = true
	s.at += len(m[0])
}

var foreignClose = pattern.Plain(`^</?([A-Za-z0-9]{1,32})[ \t]*/?>`)

// unended reports a tag without its end. The kind of element determines what the end should have been.
func (s *scanner) unended(t *Tag, says string) {
	t.Kind, t.Changed = TagOpen, true
	end := ">"
	if isLeaf(t.Name) {
		t.Kind, end = TagSingle, "/>"
	}
	line := s.lineOf(max(s.at-1, 0))
	s.problem(Problem{Kind: KindCloseTag, Line: t.Line, Stop: line, Text: s.lineText(t.from), Detail: "the tag has no end", Message: says, Fix: end + " added"})
}

func (s *scanner) junk(t *Tag) {
	from := s.at
	for s.at < len(s.text) && !isBlank(s.text[s.at]) && s.text[s.at] != '\t' && s.text[s.at] != '<' && s.text[s.at] != '>' {
		s.at++
	}
	t.Changed = true
	line := s.lineOf(from)
	s.problem(Problem{Kind: KindText, Line: line, Stop: line, Text: Excerpt(string(s.text[from:s.at])), Detail: "invalid text inside the tag", Fix: fixIf(!hasContent(string(s.text[from:s.at])), "removed")})
}

func (s *scanner) attribute(t *Tag, blanks int) {
	from := s.at
	a := TagAttribute{Line: s.lineOf(from), Name: s.identifier()}
	switch {
	case blanks > 1:
		s.blank(t)
	case blanks == 0 && len(t.Attributes) > 0:
		t.Changed = true
		s.problem(Problem{
			Kind: KindQuote, Line: a.Line, Stop: a.Line, Text: s.lineText(t.from), Detail: "there is no blank before " + Excerpt(a.Name),
			Message: fmt.Sprintf("XML Parse : expected >, got '%s'", s.text[from:from+1]), Fix: "blank added",
		})
	}
	before := s.at
	s.skipBlanks()
	if s.at == len(s.text) || s.text[s.at] != '=' {
		s.at, a.bare = before, true
		t.Attributes = append(t.Attributes, a)
		return
	}
	loose := s.at > before
	s.at++
	equals := s.at
	s.skipBlanks()
	switch {
	case s.at > equals:
		t.Changed = true
		s.problem(Problem{
			Kind: KindQuote, Line: a.Line, Stop: a.Line, Text: s.lineText(t.from), Detail: "there is a blank after " + Excerpt(a.Name) + "=",
			Message: "XML Parse : Expected (double) quote.", Fix: "removed",
		})
	case loose:
		s.blank(t)
	}
	a.Value = s.value(t, a)
	t.Attributes = append(t.Attributes, a)
}

func (s *scanner) skipBlanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// curly are the quotes that word processors substitute for straight ones.
var curly = []string{"\u201c", "\u201d", "\u201e", "\u2018", "\u2019"}

// value reads a value up to its closing quote. A quote without a partner before the next newline or < has
// lost it: the value then ends like one without quotes.
func (s *scanner) value(t *Tag, a TagAttribute) string {
	rest := s.window(s.at, scanTagSize)
	says := "XML Parse : Expected (double) quote."
	for _, quote := range []string{`"`, `'`} {
		if !bytes.HasPrefix(rest, []byte(quote)) {
			continue
		}
		end := bytes.IndexAny(rest[1:], quote+"\n<")
		if end >= 0 && rest[1+end] == quote[0] {
			return s.quoted(t, a, string(rest[1:1+end]), quote)
		}
		s.at++
		says = ""
	}
	for _, quote := range curly {
		if bytes.HasPrefix(s.text[s.at:], []byte(quote)) {
			s.at += len(quote)
		}
	}
	from := s.at
	for s.at < len(s.text) && !isBlank(s.text[s.at]) && !strings.ContainsRune("\t<>\"'", rune(s.text[s.at])) && !bytes.HasPrefix(s.text[s.at:], []byte("/>")) {
		s.at++
	}
	value := string(s.text[from:s.at])
	for s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\'') {
		s.at++
	}
	for _, quote := range curly {
		value = strings.TrimSuffix(value, quote)
	}
	t.Changed = true
	s.problem(Problem{Kind: KindQuote, Line: a.Line, Stop: a.Line, Text: s.lineText(t.from), Detail: "the value of " + Excerpt(a.Name) + " is not in quotes", Message: says, Fix: "double quotes"})
	return value
}

func (s *scanner) quoted(t *Tag, a TagAttribute, value, quote string) string {
	s.at += 1 + len(value) + 1
	if quote == `'` {
		s.problem(Problem{Kind: KindSingleQuote, Line: a.Line, Text: a.Name + "='" + Excerpt(value) + "'", Fix: fixIf(!strings.Contains(value, `"`), "double quotes")})
		t.Changed = t.Changed || !strings.Contains(value, `"`)
	}
	if len(value) > TextLimit {
		s.problem(Problem{
			Kind: KindLimit, Line: a.Line, Stop: a.Line, Text: a.Name + `="` + Excerpt(value) + `"`, Detail: fmt.Sprintf("the value has %d bytes", len(value)),
			Message: fmt.Sprintf("Error : value %s too long (max %d)", value[:min(len(value), nameRoom)], nameRoom+1),
		})
	}
	return value
}

func fixIf(can bool, what string) string {
	if can {
		return what
	}
	return ""
}

// Has reports whether a tag has an attribute of this name.
func (t *Tag) Has(name string) bool {
	return slices.ContainsFunc(t.Attributes, func(a TagAttribute) bool { return a.Name == name })
}

// Element is a tag as the rules see it.
func (t *Tag) Element() *Element {
	e := &Element{Name: t.Name, Line: t.Line}
	for _, a := range t.Attributes {
		e.Attributes = append(e.Attributes, Attribute{a.Name, a.Value})
	}
	return e
}
