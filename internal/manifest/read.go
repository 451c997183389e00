package manifest

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Largest text that is read, in bytes: a manifest is written by people or rendered from what they wrote, and etcd holds at most
// 1.5 MiB of one object (etcd, --max-request-bytes).
const Largest = 32 << 20

// hole stands where a template had an expression.
const hole = "{{}}"

// document is one YAML document in front of the reader.
type document struct {
	file   *File
	first  int // its first line in the file
	masked []int
	object string // what problems are told of
	root   *yaml.Node
	above  map[*yaml.Node]*yaml.Node // of each node the mapping that holds it
}

// Read reads a text: YAML, JSON, templates of them, and docker run lines. The error is that the text is none of them.
func Read(name string, text []byte) (*File, error) {
	f := &File{Name: name}
	if len(text) > Largest {
		return nil, fmt.Errorf("%s: %d MiB, at most %d MiB are read", fabric.Quote(name), len(text)>>20, Largest>>20)
	}
	body := strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")
	if strings.ContainsRune(body, 0) {
		return nil, fmt.Errorf("%s: not a text", fabric.Quote(name))
	}
	if runs := dockerRuns(body); len(runs) > 0 && !strings.Contains(body, "apiVersion:") {
		f.Documents++
		f.readDocker(runs)
		return f, nil
	}
	var first error
	for _, d := range split(body) {
		if err := f.readDocument(d.text, d.line); err != nil {
			f.Unread, f.Broken = append(f.Unread, Note{Line: d.line, What: err.Error()}), true
			if first == nil {
				first = err
			}
		}
	}
	if f.Documents == 0 {
		if first == nil {
			first = errors.New("nothing in it")
		}
		return nil, fmt.Errorf("%s: %w", fabric.Quote(name), first)
	}
	return f, nil
}

// part is the text of a document and its first line.
type part struct {
	text string
	line int
}

// split cuts a text at the lines that part documents, so that a mistake in one costs that one.
func split(text string) (out []part) {
	at := part{line: 1}
	var lines []string
	end := func(next int) {
		if at.text = strings.Join(lines, "\n"); strings.TrimSpace(at.text) != "" {
			out = append(out, at)
		}
		at, lines = part{line: next}, nil
	}
	for i, line := range strings.Split(text, "\n") {
		if line == "---" || strings.HasPrefix(line, "--- ") || strings.TrimRight(line, " ") == "---" {
			end(i + 2)
			continue
		}
		lines = append(lines, line)
	}
	end(0)
	return out
}

var (
	expression  = pattern.Plain(`\{\{[^\n]*?\}\}`)
	wholeLine   = pattern.Plain(`^\s*(?:\{\{[^\n]*?\}\}\s*)+$`)
	listOfHoles = pattern.Plain(`^(\s*)-\s*\{\{[^\n]*?\}\}\s*$`)
)

// mask puts holes where a template has expressions, and leaves out lines that are nothing else, so that the rest is YAML. It
// returns the lines that were left out, from 1.
func mask(text string) (string, []int) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	lines := strings.Split(text, "\n")
	var out []int
	within := false // an expression over several lines
	for i, line := range lines {
		switch {
		case within:
			within = !strings.Contains(line, "}}")
			lines[i] = "#"
		case wholeLine().MatchString(line):
			lines[i], out = "#", append(out, i+1)
		case strings.Contains(line, "{{") && !strings.Contains(line, "}}"):
			lines[i], within, out = "#", true, append(out, i+1)
		case listOfHoles().MatchString(line):
			lines[i] = listOfHoles().ReplaceAllString(line, `$1- "`+hole+`"`)
		default:
			lines[i] = maskLine(line)
		}
	}
	return strings.Join(lines, "\n"), out
}

// maskLine puts holes into a line, and quotes a value that is bare before.
func maskLine(line string) string {
	if !strings.Contains(line, "{{") {
		return line
	}
	line = expression().ReplaceAllLiteralString(line, hole)
	head, tail, ok := strings.Cut(line, ": ")
	if tail = strings.TrimSpace(tail); ok && strings.HasPrefix(tail, hole) && !strings.ContainsAny(tail, `"'`) {
		return strings.ReplaceAll(head, hole, "HOLE") + `: "` + tail + `"`
	}
	if key, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.HasPrefix(key, hole) {
		return strings.Replace(line, hole, "HOLE", 1)
	}
	return line
}

func (f *File) readDocument(text string, line int) error {
	masked, holes := mask(text)
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(masked), &root); err != nil {
		return errors.New(strings.TrimPrefix(shifted(err.Error(), line-1), "yaml: "))
	}
	n := deref(&root)
	if n == nil || n.Kind == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if endless(n) {
		return errors.New("aliases refer to themselves, or too often to each other")
	}
	d := &document{file: f, first: line, root: n}
	for _, h := range holes {
		d.masked = append(d.masked, line+h-1)
	}
	if n.Kind != yaml.MappingNode {
		return errors.New("not an object")
	}
	f.Documents++
	d.repeated(n, "")
	d.object0(n)
	if len(d.masked) > 0 {
		f.Unread = append(f.Unread, Note{Line: d.masked[0], What: fabric.Count(len(d.masked), "line") + " of a template: what they write is unknown"})
	}
	return nil
}

var lineOfError = pattern.Plain(`line (\d+)`)

// shifted is an error of the YAML reader with the lines of the file.
func shifted(text string, by int) string {
	return lineOfError().ReplaceAllStringFunc(text, func(s string) string {
		var n int
		if _, err := fmt.Sscanf(s, "line %d", &n); err != nil {
			return s
		}
		return fmt.Sprintf("line %d", n+by)
	})
}

// object0 reads an object, or the objects of a list.
func (d *document) object0(n *yaml.Node) {
	if list := items(get(n, "items")); strings.HasSuffix(value(get(n, "kind")), "List") && list != nil {
		for _, item := range list {
			d.object0(item)
		}
		return
	}
	kind := value(get(n, "kind"))
	d.object = strings.TrimSpace(kind + " " + value(get(n, "metadata", "name")))
	switch {
	case kind == "Service" && strings.HasPrefix(value(get(n, "apiVersion")), "v1"):
		d.service(n)
	case kind == "ConfigMap":
		d.configMap(n)
	case kind == "" && composed(n):
		d.compose(n)
	default:
		d.pools(n)
		d.workload(n)
	}
}

// repeated finds keys that stand twice in one mapping: the last counts, or the object is refused.
func (d *document) repeated(n *yaml.Node, path string) {
	n = deref(n)
	switch {
	case n == nil || len(path) > 512:
	case n.Kind == yaml.SequenceNode:
		for i, c := range n.Content {
			if c.Kind != yaml.AliasNode {
				d.repeated(c, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case n.Kind == yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if at, again := seen[key.Value]; again && key.Tag != "!!merge" && !strings.Contains(key.Value, "HOLE") {
				d.file.Problems = append(d.file.Problems, Problem{
					Line: d.line(key), Where: join(path, key.Value), Refused: true, Expected: "each key once",
					What: fmt.Sprintf("key %s stands twice, in line %d too: the first is lost", fabric.Quote(key.Value), at),
				})
			}
			seen[key.Value] = d.line(key)
			if n.Content[i+1].Kind != yaml.AliasNode {
				d.repeated(n.Content[i+1], join(path, key.Value))
			}
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
