package ncclxml

import (
	"bytes"
	"fmt"
	"strings"
)

// TagKind is the kind of a tag.
type TagKind uint8

// The kinds of tags.
const (
	TagNone TagKind = iota // the end of the file
	TagOpen
	TagClose
	TagSingle
)

type parsedTag struct {
	kind       TagKind
	name       string
	line       int
	attributes []Attribute
	unnamed    int
}

// tag reads the next tag, skipping blanks and comments.
func (p *parser) tag() (parsedTag, error) {
	for {
		for p.at < len(p.text) && isBlank(p.text[p.at]) {
			p.next()
		}
		if p.at == len(p.text) {
			return parsedTag{}, nil
		}
		c := p.text[p.at]
		p.next()
		if c != '<' {
			return parsedTag{}, p.fail(strayKind(p.text[p.at-1:]), "XML Parse error : expecting '<', got '%s'", []byte{c})
		}
		t := parsedTag{line: p.line}
		name, end, err := p.word("")
		if err != nil {
			return t, err
		}
		if strings.HasPrefix(name, "!--") {
			if err := p.comment(name[len("!--"):], end); err != nil {
				return t, err
			}
			continue
		}
		t.name = name
		if name == "" && end == '/' {
			return p.closing(t)
		}
		return p.opening(t, end)
	}
}

func (p *parser) closing(t parsedTag) (parsedTag, error) {
	t.kind = TagClose
	name, end, err := p.word("")
	if err != nil {
		return t, err
	}
	t.name = name
	if end != '>' {
		return t, p.fail(KindCloseTag, "XML Parse error : unexpected trailing %s in closing tag %s", []byte{end}, name)
	}
	return t, nil
}

func (p *parser) opening(t parsedTag, end byte) (parsedTag, error) {
	t.kind = TagOpen
	count := 0
	for end == ' ' {
		line := p.line
		a, last, err := p.attribute()
		if err != nil {
			return t, err
		}
		end = last
		switch {
		case count == AttributeLimit:
			if len(p.notes) < NoteLimit {
				p.note(Note{Kind: KindAttributes, Line: line, Text: a.Name + `="` + a.Value + `"`, Message: fmt.Sprintf("XML Parse : Ignoring extra attributes (max %d)", AttributeLimit)})
			}
			continue
		case a.Name == "":
			t.unnamed++
			p.note(Note{Kind: KindBlank, Line: line, Text: "<" + t.name + " ..."})
		default:
			t.attributes = append(t.attributes, a)
		}
		count++
	}
	if end == '/' {
		t.kind = TagSingle
		_, last, err := p.word("")
		if err != nil {
			return t, err
		}
		end = last
	}
	if end != '>' {
		return t, p.fail(tagEndKind(end), "XML Parse : expected >, got '%s'", []byte{end})
	}
	return t, nil
}

// attribute reads name="value" and the following character. A name alone has an empty value.
func (p *parser) attribute() (Attribute, byte, error) {
	var a Attribute
	name, end, err := p.word("=")
	a.Name = name
	if err != nil || end != '=' {
		return a, end, err
	}
	a.Value, end, err = p.value()
	return a, end, err
}

// word reads a name up to a blank, a newline, / or >, and with also "=" up to =; NCCL accepts no =
// in the name of an element.
func (p *parser) word(also string) (name string, end byte, err error) {
	start := p.at
	for n := 0; ; n++ {
		c, err := p.char()
		if err != nil {
			return "", 0, err
		}
		if c == '=' {
			name = cString(p.text[start : start+n])
			if also == "" {
				return "", 0, p.fail(KindQuote, "XML Parse : Unexpected value with name %s", name)
			}
			return name, c, nil
		}
		if n == nameRoom {
			return "", 0, p.fail(KindLimit, "Error : name %s too long (max %d)", cString(p.text[start:start+n]), nameRoom+1)
		}
		if isBlank(c) || c == '>' || c == '/' {
			return cString(p.text[start : start+n]), c, nil
		}
	}
}

// nameRoom is NCCL's limit of a name or a value in bytes, including its terminator (MAX_STR_LEN - 1).
const nameRoom = TextLimit + 1

func (p *parser) value() (value string, end byte, err error) {
	quote, err := p.char()
	if err != nil {
		return "", 0, err
	}
	if quote != '"' && quote != '\'' {
		return "", 0, p.fail(KindQuote, "XML Parse : Expected (double) quote.")
	}
	start, line := p.at, p.line
	for n := 0; ; n++ {
		c, err := p.char()
		if err != nil {
			return "", 0, err
		}
		if n == nameRoom {
			return "", 0, p.fail(KindLimit, "Error : value %s too long (max %d)", cString(p.text[start:start+n]), nameRoom+1)
		}
		if c == quote {
			value = cString(p.text[start : start+n])
			if quote == '\'' {
				p.note(Note{Kind: KindSingleQuote, Line: line, Text: "'" + value + "'"})
			}
			end, err = p.char()
			return value, end, err
		}
	}
}

// comment reads up to -->. Its first word was read as a name: it may contain part of the end, or all of it.
func (p *parser) comment(read string, next byte) error {
	const end = "-->"
	tail := append([]byte(read), next)
	for range end {
		if bytes.HasSuffix(tail, []byte(end)) {
			return nil
		}
		if p.at == len(p.text) {
			return p.fail(KindCloseTag, "XML Parse error : unterminated comment")
		}
		tail = append(tail, p.text[p.at])
		p.next()
	}
	from := p.at - len(end) // all of it was in the first word
	i := bytes.Index(p.text[from:], []byte(end))
	to := len(p.text)
	if i >= 0 {
		to = from + i + len(end)
	}
	p.line += bytes.Count(p.text[p.at:to], []byte("\n"))
	p.at = to
	if i < 0 {
		return p.fail(KindCloseTag, "XML Parse error : unterminated comment")
	}
	return nil
}

// char returns the next byte; the end of the file is an error inside a tag.
func (p *parser) char() (byte, error) {
	if p.at == len(p.text) {
		return 0, p.fail(KindCloseTag, "XML Parse : Unexpected EOF")
	}
	c := p.text[p.at]
	p.next()
	return c, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' }

// cString is the part of a text that C sees: everything before the first NUL.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// tagEndKind classifies a byte where NCCL expects the end of a tag.
func tagEndKind(end byte) Kind {
	switch end {
	case '\n', '\r':
		return KindNewline
	case '\t':
		return KindTab
	case '?':
		return KindDeclaration
	case '<':
		return KindText
	}
	return KindQuote
}
