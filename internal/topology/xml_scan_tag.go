package topology

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// open reads a tag that opens or stands alone, from its name on; from is where it begins.
func (s *scanner) open(from int) *scanTag {
	t := scanTag{line: s.lineOf(from), from: from, changed: s.text[from] != '<'}
	if !attributeStart.Match(s.window(s.at, scanExcerpt)) {
		t.name = s.identifier()
	}
	for t.kind == tagNone {
		blanks := s.tagBlanks(&t)
		switch rest := s.text[s.at:]; {
		case len(rest) == 0:
			s.unended(&t, "XML Parse : Unexpected EOF")
		case s.at-from > scanTagSize, len(t.attributes) > scanAttributes:
			s.unended(&t, "")
		case rest[0] == '>':
			s.trailing(&t, blanks)
			s.at++
			t.kind = tagOpen
		case bytes.HasPrefix(rest, []byte("/>")):
			s.trailing(&t, blanks)
			s.at += len("/>")
			t.kind = tagSingle
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

// tagBlanks reads over blanks in a tag and gives how many; a newline or a tab there is an error to NCCL, and
// a second blank makes an attribute without a name. It gives -1 where it has told them already.
func (s *scanner) tagBlanks(t *scanTag) (count int) {
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
		s.problem(problem{
			kind: kindNewline, line: line, stop: line, text: s.lineText(t.from),
			says: fmt.Sprintf("XML Parse : expected >, got '%s'", s.text[newline:newline+1]), mended: "one line",
		})
	case tab >= 0:
		s.problem(problem{kind: kindTab, line: line, stop: line, text: s.lineText(t.from), says: "XML Parse : expected >, got '\t'", mended: "a blank instead"})
	default:
		return s.at - from
	}
	t.changed = true
	return -1
}

// trailing tells blanks before the end of a tag.
func (s *scanner) trailing(t *scanTag, blanks int) {
	if blanks > 0 {
		s.blank(t)
	}
}

func (s *scanner) blank(t *scanTag) {
	t.changed = true
	s.problem(problem{kind: kindBlank, line: s.lineOf(s.at), text: s.lineText(t.from), why: "NCCL makes an attribute without a name of the blank", mended: "one blank between attributes, none before the end"})
}

// insideTag reads a < in a tag: a closing tag of no element of this format is junk between attributes;
// anything else begins the next tag, and this one has lost its end.
func (s *scanner) insideTag(t *scanTag) {
	m := foreignClose.FindSubmatch(s.window(s.at, scanExcerpt))
	if m == nil || isElement(string(m[1])) {
		s.unended(t, "XML Parse : expected >, got '<'")
		return
	}
	line := s.lineOf(s.at)
	s.problem(problem{
		kind: kindText, line: line, stop: line, text: string(m[0]), why: "junk inside the tag",
		says: "XML Parse : expected >, got '<'", mended: "taken out",
	})
	t.changed = true
	s.at += len(m[0])
}

var foreignClose = regexp.MustCompile(`^</?([A-Za-z0-9]{1,32})[ \t]*/?>`)

// unended tells a tag without its end. What it should have been is told by its kind of element.
func (s *scanner) unended(t *scanTag, says string) {
	t.kind, t.changed = tagOpen, true
	end := ">"
	if isLeaf(t.name) {
		t.kind, end = tagSingle, "/>"
	}
	line := s.lineOf(max(s.at-1, 0))
	s.problem(problem{kind: kindCloseTag, line: t.line, stop: line, text: s.lineText(t.from), why: "the tag has no end", says: says, mended: end + " added"})
}

func (s *scanner) junk(t *scanTag) {
	from := s.at
	for s.at < len(s.text) && !isBlank(s.text[s.at]) && s.text[s.at] != '\t' && s.text[s.at] != '<' && s.text[s.at] != '>' {
		s.at++
	}
	t.changed = true
	line := s.lineOf(from)
	s.problem(problem{kind: kindText, line: line, stop: line, text: excerpt(string(s.text[from:s.at])), why: "junk inside the tag", mended: mendedIf(!hasContent(string(s.text[from:s.at])), "taken out")})
}

func (s *scanner) attribute(t *scanTag, blanks int) {
	from := s.at
	a := scanAttribute{line: s.lineOf(from), name: s.identifier()}
	switch {
	case blanks > 1:
		s.blank(t)
	case blanks == 0 && len(t.attributes) > 0:
		t.changed = true
		s.problem(problem{
			kind: kindQuote, line: a.line, stop: a.line, text: s.lineText(t.from), why: "there is no blank before " + excerpt(a.name),
			says: fmt.Sprintf("XML Parse : expected >, got '%s'", s.text[from:from+1]), mended: "blank added",
		})
	}
	before := s.at
	s.skipBlanks()
	if s.at == len(s.text) || s.text[s.at] != '=' {
		s.at, a.bare = before, true
		t.attributes = append(t.attributes, a)
		return
	}
	loose := s.at > before
	s.at++
	equals := s.at
	s.skipBlanks()
	switch {
	case s.at > equals:
		t.changed = true
		s.problem(problem{
			kind: kindQuote, line: a.line, stop: a.line, text: s.lineText(t.from), why: "there is a blank behind " + excerpt(a.name) + "=",
			says: "XML Parse : Expected (double) quote.", mended: "taken out",
		})
	case loose:
		s.blank(t)
	}
	a.value = s.value(t, a)
	t.attributes = append(t.attributes, a)
}

func (s *scanner) skipBlanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// curly are the quotes that word processors make of straight ones.
var curly = []string{"\u201c", "\u201d", "\u201e", "\u2018", "\u2019"}

// value reads a value up to its closing quote. A quote that has no partner before the next newline or < has
// lost it: the value then ends like one without quotes.
func (s *scanner) value(t *scanTag, a scanAttribute) string {
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
	t.changed = true
	s.problem(problem{kind: kindQuote, line: a.line, stop: a.line, text: s.lineText(t.from), why: "the value of " + excerpt(a.name) + " is not between quotes", says: says, mended: "double quotes"})
	return value
}

func (s *scanner) quoted(t *scanTag, a scanAttribute, value, quote string) string {
	s.at += 1 + len(value) + 1
	if quote == `'` {
		s.problem(problem{kind: kindSingleQuote, line: a.line, text: a.name + "='" + excerpt(value) + "'", mended: mendedIf(!strings.Contains(value, `"`), "double quotes")})
		t.changed = t.changed || !strings.Contains(value, `"`)
	}
	if len(value) > textLimit {
		s.problem(problem{
			kind: kindLimit, line: a.line, stop: a.line, text: a.name + `="` + excerpt(value) + `"`, why: fmt.Sprintf("the value has %d bytes", len(value)),
			says: fmt.Sprintf("Error : value %s too long (max %d)", value[:min(len(value), nameRoom)], nameRoom+1),
		})
	}
	return value
}

func mendedIf(can bool, what string) string {
	if can {
		return what
	}
	return ""
}

func (t *scanTag) has(name string) bool {
	return slices.ContainsFunc(t.attributes, func(a scanAttribute) bool { return a.name == name })
}

// element is a tag as the rules see it.
func (t *scanTag) element() *Element {
	e := &Element{Name: t.name, Line: t.line}
	for _, a := range t.attributes {
		e.Attributes = append(e.Attributes, Attribute{a.name, a.value})
	}
	return e
}
