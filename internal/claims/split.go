package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"sigs.k8s.io/yaml"
)

// document is one YAML or JSON document of a file, as JSON.
type document struct {
	file string
	line int    // of its first line in the file, from 1
	text []byte // as it stands in the file
	json []byte
}

// documents splits a file. What comes before an error is returned with it.
func documents(f File) ([]document, error) {
	text, err := decoded(f.Text)
	if err != nil {
		return nil, err
	}
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && !bytes.HasPrefix(trimmed, []byte("{{")) {
		return jsonDocuments(f.Name, text)
	}
	return yamlDocuments(f.Name, text)
}

// decoded turns UTF-16 with a byte order mark, which PowerShell writes, into UTF-8, and drops the mark of UTF-8. Zero bytes
// are in no text of Kubernetes.
func decoded(text []byte) ([]byte, error) {
	text, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), text)
	if err != nil {
		return nil, fmt.Errorf("is not UTF-8 or UTF-16: %w", err)
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, fmt.Errorf("line %d: a zero byte: is not UTF-8, nor UTF-16 with a byte order mark", 1+bytes.Count(text[:at], []byte("\n")))
	}
	return text, nil
}

func jsonDocuments(name string, text []byte) (docs []document, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		begin := d.InputOffset()
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return docs, jsonError(text, err)
		}
		rest := text[begin:]
		gap := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
		docs = append(docs, document{file: name, line: 1 + bytes.Count(text[:int(begin)+gap], []byte("\n")), text: raw, json: raw})
	}
}

func jsonError(text []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("line %d: the text ends in the middle of a JSON value: the file is cut", 1+bytes.Count(text, []byte("\n")))
	}
	if errors.As(err, &syntax) {
		at := min(int(syntax.Offset), len(text))
		return fmt.Errorf("line %d: is not JSON: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
	}
	return fmt.Errorf("is not JSON: %w", err)
}

func yamlDocuments(name string, text []byte) (docs []document, err error) {
	line, begin, first := 1, 0, 1
	template := false // said once
	flush := func(end int) error {
		d := document{file: name, line: first, text: text[begin:end]}
		if blank(d.text) {
			return nil
		}
		var convertErr error
		if d.json, convertErr = yaml.YAMLToJSONStrict(d.text); convertErr != nil {
			if at := placeholder(d.text); at >= 0 {
				if template {
					return nil
				}
				template = true
				return fmt.Errorf("line %d: is a template of Helm or of Go, with {{...}} instead of values: what it makes is known once it is rendered (helm template)", first+bytes.Count(d.text[:at], []byte("\n")))
			}
			return fmt.Errorf("document from line %d: is not YAML: %s", first, plainYAMLError(convertErr, first))
		}
		docs = append(docs, d)
		return nil
	}
	for at := 0; at < len(text); line++ {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if n := separator(text[at:end]); n > 0 {
			err = errors.Join(err, flush(at))
			begin, first = at+n, line // the next document may begin on this line
		}
		at = end
	}
	return docs, errors.Join(err, flush(len(text)))
}

// plainYAMLError is a message on one line, in lines of the file instead of the document.
func plainYAMLError(err error, first int) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "yaml: "), "unmarshal errors: ")
	return regexp.MustCompile(`\bline (\d+):`).ReplaceAllStringFunc(text, func(at string) string {
		n, _ := strconv.Atoi(strings.Trim(at, "line :"))
		return fmt.Sprintf("line %d:", first-1+n)
	})
}

// placeholder is where the first {{...}} of a template stands, outside comments; below 0 without one. In YAML that can be
// read it is a part of a string, and no matter.
func placeholder(text []byte) int {
	at := 0
	for line := range bytes.Lines(text) {
		begin := bytes.Index(line, []byte("{{"))
		if begin >= 0 && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			return at + begin
		}
		at += len(line)
	}
	return -1
}

// separator is the length of the mark with which a line separates documents, 0 for another line.
func separator(line []byte) int {
	for _, mark := range []string{"---", "..."} {
		if rest, found := bytes.CutPrefix(line, []byte(mark)); found && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n")) {
			return len(mark)
		}
	}
	return 0
}

// blank tells a document without contents: comments only.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}
