package ncclxml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// The reader of damaged files. Where NCCL's parser stops at the first error, this one continues: it infers the
// probable meaning of a tag without its <, a value without its quotes, invalid text between attributes. Its result
// is never more than a proposal: only Parse decides what NCCL accepts.

// Limits of the reader of damaged files: a valid file is below 3 MB even where every value has its full length.
const (
	RecoverLimit     = 16 << 20 // bytes that Recover reads
	scanTagLimit     = 1 << 16
	scanProblemLimit = 1 << 10
)

// Tag is a tag or comment of the text. from is where it begins, to the first byte after it.
type Tag struct {
	Kind       TagKind
	Comment    string // text to be written; empty for a tag
	Name       string
	Line       int
	from, to   int
	Attributes []TagAttribute
	Changed    bool // was edited: Rewrite writes it instead of the text
	added      bool // was not in the text
}

// TagAttribute is an attribute of a Tag as written.
type TagAttribute struct {
	Name, Value string
	Line        int
	bare        bool // without = and value
}

// Problem is one problem of the text. Several problems of one tag are separate.
type Problem struct {
	Kind    Kind
	Line    int    // where it is
	Stop    int    // line at which NCCL would stop for it; 0: it continues
	Text    string // as written
	Message string // NCCL's message for it
	Detail  string // description, where the kind is not enough
	Fix     string // how it can be fixed: "double quotes", "< added"; empty: only by guessing
}

type scanner struct {
	text     []byte
	at       int
	newlines []int32 // offsets, ascending, of the text before counted
	counted  int
	tags     []Tag
	problems []Problem
	more     int    // problems beyond the limit
	cut      string // why it did not read to the end
}

// scanText splits text into tags and reports all problems at once.
func scanText(text []byte) *scanner {
	s := &scanner{text: text}
	if len(text) > RecoverLimit {
		s.text, s.cut = text[:RecoverLimit], fmt.Sprintf("is larger than %d MiB", RecoverLimit>>20)
	}
	if rest, isBOM := bytes.CutPrefix(s.text, []byte(byteOrderMark)); isBOM {
		s.at = len(s.text) - len(rest)
		s.stray(KindEncoding, 0, byteOrderMark)
	}
	for s.at < len(s.text) {
		if len(s.tags) == scanTagLimit || len(s.problems) == scanProblemLimit {
			s.cut = fmt.Sprintf("has more than %d tags or %d errors", scanTagLimit, scanProblemLimit)
			break
		}
		switch c := s.text[s.at]; {
		case isBlank(c):
			s.at++
		case c == '\t':
			s.tabs()
		case c == '<':
			s.markup()
		default:
			s.betweenTags()
		}
	}
	return s
}

const byteOrderMark = "\xef\xbb\xbf"

// lineOf returns the line of an offset; a newline belongs to the line that it ends. Newlines are counted up to the
// highest offset requested: most of a hostile text is never read.
func (s *scanner) lineOf(offset int) int {
	for s.counted < offset {
		i := bytes.IndexByte(s.text[s.counted:offset], '\n')
		if i < 0 {
			s.counted = offset
			break
		}
		s.newlines = append(s.newlines, int32(s.counted+i)) // below scanTextLimit
		s.counted += i + 1
	}
	before, _ := slices.BinarySearch(s.newlines, int32(offset))
	return before + 1
}

func (s *scanner) problem(p Problem) {
	if len(s.problems) >= scanProblemLimit {
		s.more++
		return
	}
	s.problems = append(s.problems, p)
}

// stray reports text where NCCL expects a <.
func (s *scanner) stray(kind Kind, offset int, text string) {
	line := s.lineOf(offset)
	s.problem(Problem{
		Kind: kind, Line: line, Stop: line, Text: text,
		Message: fmt.Sprintf("XML Parse error : expecting '<', got '%s'", s.text[offset:offset+1]),
		Fix:     "removed",
	})
}

// hasContent reports whether text may be a part of an element.
func hasContent(text string) bool { return strings.ContainsAny(text, `="'`) }

func (s *scanner) tabs() {
	from := s.at
	for s.at < len(s.text) && (s.text[s.at] == '\t' || s.text[s.at] == ' ') {
		s.at++
	}
	line := s.lineOf(from)
	s.problem(Problem{
		Kind: KindTab, Line: line, Stop: line, Text: s.lineText(from),
		Message: "XML Parse error : expecting '<', got '\t'", Fix: "blanks instead",
	})
}

// lineText returns the text from an offset to the end of its line, shortened.
func (s *scanner) lineText(from int) string {
	line, _, _ := bytes.Cut(s.window(from, 2*ExcerptLimit), []byte("\n"))
	return Excerpt(string(line))
}

// tagStart is the beginning of a tag that has lost its <.
var tagStart = pattern.Plain(`^(?:system|cpu|pci|gpu|nic|net|nvlink|xgmi|c2c|pcilink)(?:[ \t]+[a-z_]+=|[ \t]*/?>)`)

// attributeStart is the beginning of an attribute.
var attributeStart = pattern.Plain(`^[A-Za-z_][A-Za-z0-9_]*[ \t]*=[ \t]*["']`)

// betweenTags reads text where NCCL accepts only a tag.
func (s *scanner) betweenTags() {
	segment := s.window(s.at, scanExcerpt)
	if i := bytes.IndexAny(segment, "<\n"); i >= 0 {
		segment = segment[:i]
	}
	switch {
	case tagStart().Match(segment):
		at := s.at
		t := s.open(s.at)
		s.problem(Problem{
			Kind: KindText, Line: t.Line, Stop: t.Line, Text: s.lineText(at), Detail: fmt.Sprintf("the < before %s is missing", t.Name),
			Message: fmt.Sprintf("XML Parse error : expecting '<', got '%s'", s.text[at:at+1]), Fix: "< added",
		})
	case attributeStart().Match(segment) && s.headless():
	default:
		end := len(s.text)
		if i := bytes.IndexAny(s.text[s.at:], "<\n"); i >= 0 {
			end = s.at + i
		}
		s.stray(strayKind(segment), s.at, Excerpt(string(bytes.TrimRight(segment, " \t\r"))))
		if hasContent(string(s.text[s.at:end])) {
			s.problems[len(s.problems)-1].Fix = ""
		}
		s.at = end
	}
}

// How many bytes are examined: to classify a piece of text, and to find the end of a value or tag. NCCL has
// room for 16 attributes of 2 times 254 bytes; what it ignores may be longer.
const (
	scanExcerpt    = 1 << 10 // bytes
	scanTagSize    = 1 << 16 // bytes
	scanAttributes = 64      // of a tag
)

// window returns at most size bytes from an offset on.
func (s *scanner) window(from, size int) []byte { return s.text[from:min(len(s.text), from+size)] }

// headless reads attributes and an end whose beginning is lost, such as the arch="x86_64" ...> that is left of
// a <cpu>. It returns false, without reading anything, where the element is ambiguous.
func (s *scanner) headless() bool {
	at, tags, problems := s.at, len(s.tags), len(s.problems)
	t := s.open(s.at)
	name := elementOf(t)
	if name == "" || t.Kind == TagNone {
		s.at, s.tags, s.problems = at, s.tags[:tags], s.problems[:problems]
		return false
	}
	t = &s.tags[len(s.tags)-1]
	t.Name = name
	s.problem(Problem{
		Kind: KindText, Line: t.Line, Stop: t.Line, Text: s.lineText(at), Detail: fmt.Sprintf("the beginning of <%s is missing", name),
		Message: fmt.Sprintf("XML Parse error : expecting '<', got '%s'", s.text[at:at+1]), Fix: fmt.Sprintf("<%s added", name),
	})
	return true
}

// elementOf recognises an element by its attributes, where they are unambiguous and name the device: a switch that
// has lost its busid cannot be recovered.
func elementOf(t *Tag) string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(t.Attributes, func(a TagAttribute) bool { return slices.Contains(names, a.Name) })
	}
	switch {
	case t.Kind == TagOpen && has("familyid", "modelid", "numaid", "affinity") && has("arch", "vendor"):
		return "cpu"
	case t.Kind == TagOpen && has("busid") && has("class", "link_speed", "link_width"):
		return "pci"
	case t.Kind == TagSingle && has("name") && has("maxconn", "guid", "speed"):
		return "net"
	case has("dev") && has("sm", "rank"):
		return "gpu"
	}
	return ""
}

// markup reads what begins with <.
func (s *scanner) markup() {
	rest := s.text[s.at:]
	from := s.at
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		s.comment()
	case bytes.HasPrefix(rest, []byte("<?")), bytes.HasPrefix(rest, []byte("<!")):
		s.at += declarationEnd(rest)
		line := s.lineOf(from)
		says := "XML Parse : expected >, got '?'"
		if rest[1] == '!' {
			says = ""
		}
		s.problem(Problem{Kind: KindDeclaration, Line: line, Stop: line, Text: s.lineText(from), Message: says, Fix: "removed"})
	case bytes.HasPrefix(rest, []byte("</")):
		s.close()
	case len(rest) > 1 && nameCharacter(rest[1]):
		s.at++
		s.open(from)
	default:
		s.stray(KindText, from, "<")
		s.problems[len(s.problems)-1].Message = ""
		s.at++
	}
}

// declarationEnd is the offset after the > of <?...?> or <!...>, including what is in brackets.
func declarationEnd(text []byte) int {
	depth := 0
	for i, c := range text {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == '>' && depth <= 0:
			return i + 1
		}
	}
	return len(text)
}

func (s *scanner) comment() {
	from, line := s.at, s.lineOf(s.at)
	const begin, end = "<!--", "-->"
	i := bytes.Index(s.text[from+len(begin):], []byte(end))
	if i < 0 {
		s.at = len(s.text)
		s.problem(Problem{Kind: KindCloseTag, Line: line, Stop: s.lineOf(len(s.text)), Text: s.lineText(from), Detail: "the comment has no end", Message: "XML Parse error : unterminated comment"})
		return
	}
	s.at += len(begin) + i + len(end)
	t := Tag{Comment: string(s.text[from:s.at]), Line: line, from: from, to: s.at}
	word := t.Comment[1:]
	if i := strings.IndexAny(word, " \n\r>/="); i >= 0 && word[i] == '=' || i > TextLimit {
		s.problem(Problem{
			Kind: KindQuote, Line: line, Stop: line, Text: s.lineText(from), Detail: "NCCL reads the first word of a comment as the name of an element: it must be short and contain no =",
			Message: "XML Parse : Unexpected value with name " + word[:min(i, TextLimit)], Fix: "a blank after <!--",
		})
		t.Comment, t.Changed = begin+" "+t.Comment[len(begin):], true
	}
	s.tags = append(s.tags, t)
}

func (s *scanner) close() {
	t := Tag{Kind: TagClose, Line: s.lineOf(s.at), from: s.at}
	s.at += len("</")
	from := s.at
	for s.at < len(s.text) && nameCharacter(s.text[s.at]) {
		s.at++
	}
	t.Name = string(s.text[from:s.at])
	behind := s.at
	for s.at < len(s.text) && (isBlank(s.text[s.at]) || s.text[s.at] == '\t') {
		s.at++
	}
	isEnd := s.at < len(s.text) && s.text[s.at] == '>'
	if isEnd {
		s.at++
	}
	if !isEnd || s.at > behind+1 {
		t.Changed = true
		s.problem(Problem{
			Kind: KindCloseTag, Line: t.Line, Stop: t.Line, Text: s.lineText(t.from), Detail: "a closing tag is a name and >, with nothing between or after them",
			Message: closeSays(s.text[behind:], t.Name), Fix: "</" + t.Name + ">",
		})
		if !isEnd {
			s.at = behind
		}
	}
	t.to = s.at
	s.tags = append(s.tags, t)
}

func closeSays(behind []byte, name string) string {
	if len(behind) > 0 && isBlank(behind[0]) {
		return fmt.Sprintf("XML Parse error : unexpected trailing %s in closing tag %s", behind[:1], name)
	}
	return ""
}

// ExcerptLimit bounds what a message quotes of a file, in bytes.
const ExcerptLimit = 160

// Excerpt shortens text for a finding.
func Excerpt(text string) string {
	if len(text) > ExcerptLimit {
		return text[:ExcerptLimit] + "..."
	}
	return text
}

// IsDamage reports whether a problem shows that text was lost or added, not only written in another way: then any character may
// be wrong.
func (p Problem) IsDamage() bool { return p.Kind == KindText || p.Kind == KindCloseTag }
