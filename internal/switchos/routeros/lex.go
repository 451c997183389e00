package routeros

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// line is a line of a text, as the console sees it: what an export broke is one again.
type line struct {
	fabric.Line
	command string // joined, without blanks at its ends
	raw     string // as it stands, for tables: blanks at its beginning count
	open    bool   // a quote, a bracket or a line that goes on is open at the end of the text
}

// lines splits a text. A line that ends with a backslash goes on with what follows the blanks of the next one; braces that are
// open go on, too.
func lines(t switchtext.Text) []line {
	raw := strings.Split(string(t.Bytes), "\n")
	var out []line
	for i := 0; i < len(raw); i++ {
		text := plain(raw[i], i == 0)
		l := line{Line: fabric.Line{File: t.File, Number: i + 1, Text: strings.TrimSpace(text)}, raw: text}
		joined := strings.TrimSpace(text)
		if strings.HasPrefix(joined, "#") { // a comment, or the heading of a table
			l.command = joined
			out = append(out, l)
			continue
		}
		var b strings.Builder
		var open nesting
		for part := joined; ; {
			broken := goesOn(part)
			if broken {
				part = part[:len(part)-1]
			}
			b.WriteString(part)
			open.read(part)
			if !broken && open.depth <= 0 {
				break
			}
			if i+1 >= len(raw) || i+2 == len(raw) && strings.TrimSpace(raw[i+1]) == "" {
				l.open, i = true, len(raw)
				break
			}
			i++
			part = strings.TrimSpace(plain(raw[i], false))
			if !broken {
				b.WriteByte('\n')
			}
		}
		joined = b.String()
		if joined == "" {
			continue
		}
		l.command = joined
		out = append(out, l)
	}
	return out
}

// plain is a line without what a terminal or Windows adds.
func plain(text string, first bool) string {
	text = switchtext.ANSI().ReplaceAllString(strings.TrimRight(text, "\r \t"), "")
	if first {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	return text
}

// goesOn reports whether a line ends with a backslash that nothing escapes.
func goesOn(text string) bool {
	n := len(text) - len(strings.TrimRight(text, `\`))
	return n%2 == 1
}

// nesting is how many braces are open, outside of quotes, behind what was read.
type nesting struct {
	depth           int
	quoted, escaped bool
}

func (n *nesting) read(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case n.escaped:
			n.escaped = false
		case c == '\\':
			n.escaped = true
		case c == '"':
			n.quoted = !n.quoted
		case n.quoted:
		case c == '{':
			n.depth++
		case c == '}':
			n.depth--
		}
	}
}

// word is a part of a command.
type word struct {
	key    string // of key=value, and of !key
	text   string // value, or a word by itself; what stands in brackets for a query
	keyed  bool
	unset  bool // !key
	query  bool // [ ... ]
	quoted bool
	script bool // it has a variable, a function or a block of RouterOS's script language
}

// words splits a command. ok is false where a quote or a bracket is not closed.
func words(command string) (out []word, ok bool) {
	for i := 0; i < len(command); {
		c := command[i]
		if c == ' ' || c == '\t' || c == '\n' {
			i++
			continue
		}
		if c == '#' && i > 0 { // people write notes behind commands
			for i < len(command) && command[i] != '\n' {
				i++
			}
			continue
		}
		w, next, good := oneWord(command, i)
		if !good {
			return out, false
		}
		out, i = append(out, w), next
	}
	return out, true
}

// oneWord reads the word that begins at i.
func oneWord(command string, i int) (w word, next int, ok bool) {
	var b strings.Builder
	for ; i < len(command); i++ {
		switch c := command[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			w.text = b.String()
			return w, i, true
		case c == ';':
			if b.Len() > 0 || w.keyed {
				w.text = b.String()
				return w, i, true
			}
			return word{text: ";"}, i + 1, true
		case c == '"':
			text, end, good := quoted(command, i, &w)
			if !good {
				return w, i, false
			}
			b.WriteString(text)
			i, w.quoted = end, true
		case c == '[' || c == '(' || c == '{':
			end := closing(command, i)
			if end < 0 {
				return w, i, false
			}
			b.WriteString(strings.TrimSpace(command[i+1 : end]))
			w.query, w.script = w.query || c == '[', w.script || c != '['
			i = end
		case c == '=' && !w.keyed && b.Len() > 0 && !w.quoted:
			w.key, w.keyed = b.String(), true
			b.Reset()
		case c == '!' && b.Len() == 0 && !w.keyed:
			w.unset, w.keyed = true, true
		default:
			w.script = w.script || c == '$'
			b.WriteByte(c)
		}
	}
	w.text = b.String()
	return w, i, true
}

// quoted reads a quoted string from its first quote on, and returns where its last one is.
func quoted(command string, i int, w *word) (text string, end int, ok bool) {
	var b strings.Builder
	for i++; i < len(command); i++ {
		switch c := command[i]; {
		case c == '"':
			return b.String(), i, true
		case c == '\\' && i+1 < len(command):
			i++
			b.WriteString(escaped(command[i]))
		default:
			w.script = w.script || c == '$'
			b.WriteByte(c)
		}
	}
	return "", i, false
}

func escaped(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '_':
		return " "
	}
	return string(c)
}

// closing finds the bracket that closes the one at i.
func closing(command string, i int) int {
	var open []byte
	for ; i < len(command); i++ {
		switch c := command[i]; c {
		case '\\':
			i++
		case '"':
			for i++; i < len(command) && command[i] != '"'; i++ {
				if command[i] == '\\' {
					i++
				}
			}
		case '[':
			open = append(open, ']')
		case '(':
			open = append(open, ')')
		case '{':
			open = append(open, '}')
		case ']', ')', '}':
			if open[len(open)-1] != c {
				return -1
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return i
			}
		}
	}
	return -1
}
