package topology

import (
	"bytes"
	"slices"
	"strings"
)

// rewrite writes the text again with tags that were changed, each in its place; laid out anew where the text was
// damaged.
func (r recovered) rewrite(tags []scanTag) []byte {
	if needsLayout(r) {
		return layOut(tags)
	}
	return inPlace(r.text, tags)
}

// needsLayout holds where tags were added or something was taken out: lines and indentation of such a text are
// those of the tool that damaged it.
func needsLayout(r recovered) bool {
	return slices.ContainsFunc(r.tags, func(t scanTag) bool { return t.added }) ||
		slices.ContainsFunc(r.problems, problem.isDamage)
}

// layOut writes each tag on a line of its own, two blanks a level, as NCCL's own dump is.
func layOut(tags []scanTag) []byte {
	var b bytes.Buffer
	depth := 0
	for _, t := range tags {
		if t.kind == tagClose && t.comment == "" {
			depth = max(depth-1, 0)
		}
		b.WriteString(strings.Repeat("  ", depth))
		b.WriteString(t.text())
		b.WriteByte('\n')
		if t.kind == tagOpen && t.comment == "" {
			depth++
		}
	}
	return b.Bytes()
}

// inPlace writes the text again with the changed tags in it.
func inPlace(text []byte, tags []scanTag) []byte {
	var b bytes.Buffer
	at := 0
	for _, t := range tags {
		b.Write(gapText(text[at:t.from], at == 0))
		if t.changed {
			b.WriteString(t.text())
		} else {
			b.Write(text[t.from:t.to])
		}
		at = t.to
	}
	b.Write(gapText(text[at:], at == 0))
	return b.Bytes()
}

// gapText is what stands between two tags: blanks as they are, tabs as two, and of anything else only the blanks
// of the line that it ends with.
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

// text writes a tag or comment.
func (t *scanTag) text() string {
	if t.comment != "" {
		return t.comment
	}
	if t.kind == tagClose {
		return "</" + t.name + ">"
	}
	var b strings.Builder
	b.WriteString("<" + t.name)
	for _, a := range t.attributes {
		quote := `"`
		if strings.Contains(a.value, quote) {
			quote = `'`
		}
		if a.bare {
			b.WriteString(" " + a.name)
			continue
		}
		b.WriteString(" " + a.name + "=" + quote + a.value + quote)
	}
	if t.kind == tagSingle {
		b.WriteString("/>")
	} else {
		b.WriteString(">")
	}
	return b.String()
}
