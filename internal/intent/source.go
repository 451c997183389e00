package intent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFile is the largest cluster file in bytes. 16,384 equal hosts are one line, and 10,000 hosts with a
// line each stay below it.
const maxFile = 1 << 20

// readSource turns the text into YAML nodes. The node is nil where the text is no YAML; problems may
// stand beside a node.
func readSource(file string, text []byte) (*yaml.Node, Errors) {
	if len(text) > maxFile {
		return nil, Errors{{File: file, Line: 1, Column: 1,
			Message: fmt.Sprintf("the file has %d bytes: at most %d (1 MiB) are read", len(text), maxFile)}}
	}
	if p, ok := badCharacter(file, text); ok {
		return nil, Errors{p}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, Errors{{File: file, Line: 1, Column: 1, Message: "the file is empty"}}
	}
	var problems Errors
	if text[len(text)-1] != '\n' {
		line, column := position(text, len(text))
		problems = append(problems, Problem{File: file, Line: line, Column: column,
			Message: "the file ends in the middle of a line: it may have been cut; end the last line with a newline"})
	}
	root, p, ok := oneDocument(file, text)
	if !ok {
		problems = append(problems, p)
	}
	return root, problems
}

// oneDocument reads the only document of the text; ok is false where there is a problem.
func oneDocument(file string, text []byte) (root *yaml.Node, p Problem, ok bool) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := d.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, Problem{File: file, Line: 1, Column: 1, Message: "the file holds only comments"}, false
	case err != nil:
		return nil, syntaxProblem(file, text, err), false
	}
	if len(first.Content) == 0 {
		return nil, Problem{File: file, Line: 1, Column: 1, Message: "the file is empty"}, false
	}
	root = first.Content[0]
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
		return root, Problem{}, true
	case err != nil:
		return root, syntaxProblem(file, text, err), false
	}
	return root, Problem{File: file, Line: second.Line, Column: second.Column,
		Message: "a second YAML document starts here: one file holds one cluster"}, false
}

// badCharacter finds the first byte that is not UTF-8 or a control character, which YAML forbids.
func badCharacter(file string, text []byte) (Problem, bool) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		what := ""
		switch {
		case r == utf8.RuneError && size == 1:
			what = fmt.Sprintf("byte 0x%02x is not UTF-8: save the file as UTF-8", text[i])
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			what = fmt.Sprintf("control character U+%04X is not allowed in YAML", r)
		}
		if what != "" {
			line, column := position(text, i)
			return Problem{File: file, Line: line, Column: column, Message: what}, true
		}
		i += size
	}
	return Problem{}, false
}

// position counts lines and characters before an offset, from 1.
func position(text []byte, offset int) (line, column int) {
	before := text[:offset]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// syntaxProblem places an error of the YAML library. The library gives a line at most, counts from 0
// where its parser (not its scanner) failed, and leaves the first line out.
func syntaxProblem(file string, text []byte, err error) Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits by the pattern
		message = message[len(m[0]):]
		if strings.HasPrefix(message, "did not find expected") {
			line++
		}
	}
	p := Problem{File: file, Line: line, Column: 1, Message: "invalid YAML: " + message}
	if m := regexp.MustCompile(`unknown anchor '(.*)' referenced`).FindStringSubmatch(message); m != nil {
		if i := bytes.Index(text, []byte("*"+m[1])); i >= 0 {
			p.Line, p.Column = position(text, i)
		}
		return p
	}
	lines := bytes.SplitAfter(text, []byte{'\n'})
	p.Line = min(p.Line, bytes.Count(text, []byte{'\n'})+1)
	if p.Line <= len(lines) {
		row := lines[p.Line-1]
		p.Column = 1 + len(row) - len(bytes.TrimLeft(row, " "))
	}
	// Behind a plain scalar the library tells the line before the tab.
	for _, line := range []int{p.Line, p.Line + 1} {
		if line > len(lines) {
			break
		}
		row := lines[line-1]
		if tab := bytes.IndexByte(row[:len(row)-len(bytes.TrimLeft(row, " \t"))], '\t'); tab >= 0 {
			p.Line, p.Column = line, 1+tab
			p.Message = "a tab is used for indentation: YAML allows only spaces there"
			break
		}
	}
	return p
}
