package switchtext

import (
	"bytes"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// CLILine is a line of a command line interface: of a configuration, or as it was typed at a prompt.
type CLILine struct {
	fabric.Line        // as it stands in the text
	Indent      int    // blanks before it; a tab is eight
	Prompt      string // what stood before the command, such as Leaf-1(config-if-Et1)#; empty: nothing
	Command     string // without prompt and blanks at its ends
}

// Prompt is a prompt of a switch: a name, an optional mode in brackets, and # or > or $. The name has a letter, so that
// no number of a table is one.
var Prompt = pattern.Plain(`^(?:\{master(?::\d+)?\}\s*)?((?:\[[^\]]*\])?[A-Za-z][\w.@:~/-]*(?:\([\w./,:+ -]+\))?[#>$])(?:\s+|$)`)

// ANSI are the colours and cursor movements that a terminal's recording has.
var ANSI = pattern.Plain(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-_])`)

// CLILines returns the lines of a text that have something in them. A text from Windows, with colours, or with prompts before
// its commands is read as the plain one.
func CLILines(t Text) []CLILine {
	var out []CLILine
	for i, raw := range bytes.Split(t.Bytes, []byte("\n")) {
		text := ANSI().ReplaceAllString(strings.TrimRight(string(raw), "\r \t"), "")
		if i == 0 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		l := CLILine{Line: fabric.Line{File: t.File, Number: i + 1, Text: strings.TrimSpace(text)}, Indent: indentOf(text), Command: strings.TrimSpace(text)}
		if m := Prompt().FindStringSubmatch(l.Command); m != nil {
			l.Prompt, l.Command = m[1], strings.TrimSpace(l.Command[len(m[0]):])
		}
		if l.Prompt != "" && l.Command == "" {
			continue
		}
		out = append(out, l)
	}
	return out
}

func indentOf(text string) int {
	n := 0
	for _, r := range text {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}
