package ncclxml

import (
	"bytes"
	"slices"
	"strings"
)

// Rewrite writes the text with changed tags, each in its place; laid out again where the text was
// damaged.
func (r Recovered) Rewrite(tags []Tag) []byte {
	if needsLayout(r) {
		return layOut(tags)
	}
	return inPlace(r.Text, tags)
}

// needsLayout reports whether tags were added or something was removed: lines and indentation of such a text are
// those of the tool that damaged it.
func needsLayout(r Recovered) bool {
	return slices.ContainsFunc(r.Tags, func(t Tag) bool { return t.added }) ||
		slices.ContainsFunc(r.Problems, Problem.IsDamage)
}

// layOut writes each tag on its own line, two blanks per level, as in NCCL's own dump.
func layOut(tags []Tag) []byte {
	var b bytes.Buffer
	depth := 0
	for _, t := range tags {
		if t.Kind == TagClose && t.Comment == "" {
			depth = max(depth-1, 0)
		}
		b.WriteString(strings.Repeat("  ", depth))
		b.WriteString(t.String())
		b.WriteByte('\n')
		if t.Kind == TagOpen && t.Comment == "" {
			depth++
		}
	}
	return b.Bytes()
}

// inPlace writes the text with the changed tags in it.
func inPlace(text []byte, tags []Tag) []byte {
	var b bytes.Buffer
	at := 0
	for _, t := range tags {
		b.Write(gapText(text[at:t.from], at == 0))
		if t.Changed {
			b.WriteString(t.String())
		} else {
			b.Write(text[t.from:t.to])
		}
		at = t.to
	}
	b.Write(gapText(text[at:], at == 0))
	return b.Bytes()
}

// gapText is the text between two tags: blanks as they are, tabs as two, and of anything else only the blanks
// of its last line.
func gapText(text []byte, first bool) []byte {
	blank := func(c byte) bool { return isBlank(c) || c == '\t' }
	if slices.ContainsFunc(text, func(c byte) bool { return !blank(c) }) {
		i := len(text)
		for i > 0 && blank(text[i-1]) {
			i--
		}
		text = text[i:]
		if first {
			text = bytes.TrimLeft(text, "\r\n")
		}
	}
	return bytes.ReplaceAll(text, []byte("\t"), []byte("  "))
}

// String writes a tag or comment.
func (t *Tag) String() string {
	if t.Comment != "" {
		return t.Comment
	}
	if t.Kind == TagClose {
		return "</" + t.Name + ">"
	}
	var b strings.Builder
	b.WriteString("<" + t.Name)
	for _, a := range t.Attributes {
		quote := `"`
		if strings.Contains(a.Value, quote) {
			quote = `'`
		}
		if a.bare {
			b.WriteString(" " + a.Name)
			continue
		}
		b.WriteString(" " + a.Name + "=" + quote + a.Value + quote)
	}
	if t.Kind == TagSingle {
		b.WriteString("/>")
	} else {
		b.WriteString(">")
	}
	return b.String()
}
