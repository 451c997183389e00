package sonic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// jsonNode is a value of a JSON text with the line of its key. Keys that stand twice are two nodes: an ordinary decoder
// loses the first.
type jsonNode struct {
	key    string
	at     fabric.Line
	value  string // of a string, a number or a word; a list's values joined by commas
	object bool
	nodes  []*jsonNode
}

// child returns the last value of a key, the one that counts.
func (n *jsonNode) child(key string) *jsonNode {
	for i := len(n.nodes) - 1; i >= 0; i-- {
		if n.nodes[i].key == key {
			return n.nodes[i]
		}
	}
	return nil
}

// jsonDepth is more than any form of CONFIG_DB has.
const jsonDepth = 16

// jsonText decodes values out of a text, so that each knows its line.
type jsonText struct {
	file   string
	text   string
	starts []int // offset of each line
	shift  int   // bytes that the decoder was given before the text's own
	from   int   // offset of what is decoded
	dec    *json.Decoder
}

func newJSONText(file, text string) *jsonText {
	t := &jsonText{file: file, text: text, starts: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// decode reads the object that begins at an offset and returns the offset behind it. A bare object lacks its outer braces.
func (t *jsonText) decode(from int, bare bool) (*jsonNode, int, error) {
	t.from, t.shift = from, 0
	var r io.Reader = strings.NewReader(t.text[from:])
	rest := ""
	if bare {
		t.shift = 1
		rest = strings.TrimSuffix(strings.TrimRight(t.text[from:bareEnd(t.text)], " \t\r\n"), ",")
		r = io.MultiReader(strings.NewReader("{"), strings.NewReader(rest), strings.NewReader("}"))
	}
	t.dec = json.NewDecoder(r)
	t.dec.UseNumber()
	n := &jsonNode{object: true}
	token, err := t.dec.Token()
	if err == nil && token != json.Delim('{') {
		err = errors.New("it is not an object")
	}
	if err == nil {
		err = t.members(n, 1)
	}
	if err == nil && bare && int(t.dec.InputOffset()) < len(rest)+2 {
		err = errBeginning
	}
	return n, min(t.offset(), len(t.text)), err
}

// errBeginning is a text that closes more than it opens.
var errBeginning = errors.New("its beginning is missing: more is closed than was opened")

// bareEnd is where prompts begin that stand behind what was printed.
func bareEnd(text string) int {
	for end := len(text); ; {
		begin := strings.LastIndexByte(strings.TrimRight(text[:end], " \t\r\n"), '\n') + 1
		if begin == 0 || !prompted(text[begin:end]) {
			return end
		}
		end = begin
	}
}

func (t *jsonText) offset() int { return t.from + max(0, int(t.dec.InputOffset())-t.shift) }

// members reads the rest of an object after its opening brace.
func (t *jsonText) members(n *jsonNode, depth int) error {
	if depth > jsonDepth {
		return fmt.Errorf("objects stand more than %d deep in each other", jsonDepth)
	}
	for {
		token, err := t.dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return nil // the closing brace
		}
		child := &jsonNode{key: key, at: t.line(t.offset() - 1)}
		n.nodes = append(n.nodes, child)
		if token, err = t.dec.Token(); err != nil {
			return err
		}
		if err := t.fill(child, token, depth); err != nil {
			return err
		}
	}
}

// fill gives a node the value that begins with a token.
func (t *jsonText) fill(n *jsonNode, token json.Token, depth int) error {
	switch token {
	case json.Delim('{'):
		n.object = true
		return t.members(n, depth+1)
	case json.Delim('['):
		return t.list(n, depth)
	case nil:
		return nil
	}
	n.value = fmt.Sprint(token)
	return nil
}

// list joins a list of words. Lists of objects are in no table that is read.
func (t *jsonText) list(n *jsonNode, depth int) error {
	if depth > jsonDepth {
		return fmt.Errorf("lists stand more than %d deep in each other", jsonDepth)
	}
	var words []string
	for {
		token, err := t.dec.Token()
		if err != nil {
			return err
		}
		if token == json.Delim(']') {
			n.value = strings.Join(words, ",")
			return nil
		}
		var inner jsonNode
		if err := t.fill(&inner, token, depth+1); err != nil {
			return err
		}
		words = append(words, inner.value)
	}
}

// longLine is where the text of a line ends: a file in one line would have itself at each value.
const longLine = 200

// line returns the line of an offset.
func (t *jsonText) line(offset int) fabric.Line {
	offset = max(0, min(offset, len(t.text)-1))
	i := sort.SearchInts(t.starts, offset+1) - 1
	end := len(t.text)
	if i+1 < len(t.starts) {
		end = t.starts[i+1] - 1
	}
	from := t.starts[i]
	if end-from > longLine && offset-from > longLine/2 {
		from = offset - longLine/2
	}
	text := strings.TrimSpace(t.text[from:end])
	if len(text) > longLine {
		text = strings.ToValidUTF8(text[:longLine], "")
	}
	return fabric.Line{File: t.file, Number: i + 1, Text: text}
}

// problem says what is wrong with a text that is no JSON.
func (t *jsonText) problem(err error) fabric.TextProblem {
	p := fabric.TextProblem{Kind: fabric.TextForeign, At: t.line(t.offset()),
		What: fmt.Sprintf("this is no JSON: %v", err), Then: "config load refuses the file, and nothing of it is read here"}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		p.Kind, p.At, p.What = fabric.TextCut, t.line(len(strings.TrimRight(t.text, " \t\r\n"))-1), "the text ends inside of an object"
	}
	if errors.Is(err, errBeginning) {
		p.Kind, p.What = fabric.TextCut, err.Error()
	}
	return p
}
