package junos

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// junosNode is a word of the configuration as Junos keeps it: everything that several statements say of one thing in one
// place.
type junosNode struct {
	word   string
	at     fabric.Line
	schema *junosSchema
	kids   []*junosNode
	by     map[string]*junosNode
	values []fabric.Said[string]
	up     *junosNode   // what it stands in; nil: the top
	off    bool         // deactivated
	again  *fabric.Line // where a block of it opens a second time
}

// kid returns what stands below a node; nil: nothing of that name. It may be asked of nil.
func (n *junosNode) kid(path ...string) *junosNode {
	for _, word := range path {
		if n == nil {
			return nil
		}
		n = n.by[word]
	}
	return n
}

// all returns what stands below a node at a path, in the order of the text.
func (n *junosNode) all(path ...string) []*junosNode {
	if n = n.kid(path...); n == nil {
		return nil
	}
	return n.kids
}

// value returns the value of a leaf: the last one counts.
func (n *junosNode) value(path ...string) *fabric.Said[string] {
	if n = n.kid(path...); n == nil || len(n.values) == 0 {
		return nil
	}
	return &n.values[len(n.values)-1]
}

// tree gathers statements of all texts of a switch into one tree.
type tree struct {
	root     *junosNode
	problems []fabric.TextProblem
	unread   []fabric.Line
	quiet    bool // only counts what is not read, to try a place
	misses   int
	ranged   int // ports that ranges named
}

func newJunosTree() *tree {
	return &tree{root: &junosNode{schema: junosTop(), by: map[string]*junosNode{}}}
}

// add puts the statements of a text where they belong. A text may be an excerpt: then the place is found by its words.
func (t *tree) add(text junosText) {
	t.problems = append(t.problems, text.problems...)
	t.unread = append(t.unread, text.unread...)
	t.hoist(text.statements)
	off := false
	for _, s := range text.statements {
		switch s.verb {
		case "":
			t.place(t.start(s), s.words, s)
		case "set":
			t.place(t.start(s), s.words, s)
		case "delete":
			t.start(s).remove(s.words)
		case "deactivate", "activate":
			if n := t.find(s); n != nil {
				n.off = s.verb == "deactivate"
				off = true
			} else if s.verb == "deactivate" {
				t.miss(s)
			}
		default:
			t.miss(s)
		}
	}
	if off {
		t.root.prune()
	}
}

// grow returns the node of a word below another, made where it is not there yet.
func (n *junosNode) grow(word string, at fabric.Line, schema *junosSchema) *junosNode {
	if kid := n.by[word]; kid != nil {
		return kid
	}
	kid := &junosNode{word: word, at: at, schema: schema, up: n}
	if n.by == nil {
		n.by = map[string]*junosNode{}
	}
	n.by[word] = kid
	n.kids = append(n.kids, kid)
	return kid
}

// drop takes a node out.
func (n *junosNode) drop(word string) {
	delete(n.by, word)
	n.kids = slices.DeleteFunc(n.kids, func(k *junosNode) bool { return k.word == word })
}

// prune takes out what is deactivated.
func (n *junosNode) prune() {
	n.kids = slices.DeleteFunc(n.kids, func(k *junosNode) bool {
		if k.off {
			delete(n.by, k.word)
		} else {
			k.prune()
		}
		return k.off
	})
}

// place puts words below a node, and the block that follows them below the last one. A word that the innermost thing of the
// statement does not know belongs to what encloses it: class X queue-num 4 no-loss says two things of X.
func (t *tree) place(base *junosNode, words []junosWord, s *statement) {
	if slices.Contains(s.marks, "inactive") {
		return // as if it were not there
	}
	if slices.Contains(s.marks, "delete") {
		base.remove(words)
		return
	}
	path := []*junosNode{base}
	for i := 0; i < len(words); i++ {
		w := words[i]
		depth := knower(path, w.text)
		if depth < 0 {
			t.unknown(path, w, s)
			return
		}
		path = path[:depth+1]
		in := path[depth]
		schema := in.schema.below(w.text)
		switch schema.kind {
		case '!':
			return
		case '=', '+':
			i += t.leaf(in, w, schema, words[i+1:])
			continue
		}
		if schema == t.root.schema.kids["firewall"] && schema != nil {
			t.firewall(w, words[i+1:], s)
			return
		}
		path = append(path, in.grow(w.text, w.at, schema))
	}
	t.block(path[len(path)-1], s)
}

// knower returns which node of a path a word belongs to: the innermost if it knows it, even as a name, else the next one
// outside that knows it as a word; -1: none.
func knower(path []*junosNode, word string) int {
	last := len(path) - 1
	if path[last].schema.below(word) != nil {
		return last
	}
	for i := last - 1; i >= 0; i-- {
		if path[i].schema.kids[word] != nil {
			return i
		}
	}
	return -1
}

// block puts the statements of a block below a node.
func (t *tree) block(n *junosNode, s *statement) {
	if len(s.block) == 0 {
		return
	}
	if slices.Contains(s.marks, "replace") {
		n.kids, n.by = nil, nil
	}
	if len(n.kids) > 0 && n.again == nil {
		n.again = &s.words[0].at
	}
	for _, in := range s.block {
		t.place(n, in.words, in)
	}
}

// leaf sets the values of a leaf, and returns how many words they are.
func (t *tree) leaf(in *junosNode, w junosWord, schema *junosSchema, rest []junosWord) int {
	n := 0
	for n < len(rest) && rest[n].listed {
		n++
	}
	if n == 0 && len(rest) > 0 {
		n = 1
	}
	if n == 1 && rest[0].text == "(" { // an expression of policies
		n = len(rest)
	}
	leaf := in.grow(w.text, w.at, schema)
	if n == 0 {
		t.problem(fabric.TextCut, w.at, w.text+" has no value", "Junos refuses the statement")
		return 0
	}
	for _, v := range rest[:n] {
		said := fabric.Said[string]{Is: v.text, At: v.at}
		if schema.kind == '=' && len(leaf.values) > 0 {
			if old := leaf.values[len(leaf.values)-1]; old.Is != said.Is {
				t.problem(fabric.TextDuplicate, v.at, fmt.Sprintf("%s of %s is %s here and %s on line %d", w.text, in.word, said.Is, old.Is, old.At.Number), "the last one counts")
				t.tag(in)
			}
		}
		if schema.kind == '+' && in.word != "interpolate" && slices.ContainsFunc(leaf.values, func(old fabric.Said[string]) bool { return old.Is == said.Is }) {
			continue // a set, but the points of a curve are not
		}
		leaf.values = append(leaf.values, said)
	}
	return n
}

// tag names the port of the last problem, where it is of one.
func (t *tree) tag(in *junosNode) {
	for ; in != nil; in = in.up {
		if junosPort(in.word) {
			t.problems[len(t.problems)-1].Port = in.word
			return
		}
	}
}

// unknown notes a statement that is not understood, with all that is in its block.
func (t *tree) unknown(path []*junosNode, w junosWord, s *statement) {
	if noise[w.text] || path[len(path)-1].schema.open {
		return
	}
	for _, in := range path {
		if in.schema.shut {
			t.misses++
			t.problem(fabric.TextForeign, w.at, fmt.Sprintf("%s is not a statement of %s", w.text, in.word), "Junos refuses it: it belongs elsewhere, or nowhere")
			return
		}
	}
	t.miss(s)
}

// miss notes every line of a statement as unread.
func (t *tree) miss(s *statement) {
	t.misses++
	if t.quiet {
		return
	}
	for _, w := range s.words {
		if n := len(t.unread); n == 0 || t.unread[n-1] != w.at {
			t.unread = append(t.unread, w.at)
		}
	}
	for _, in := range s.block {
		t.miss(in)
	}
}

// firewall notes the lines of filters that put packets into classes. The rest of a filter is nobody's business here.
func (t *tree) firewall(w junosWord, rest []junosWord, s *statement) {
	t.root.grow(w.text, w.at, t.root.schema.kids["firewall"])
	for _, w := range rest {
		switch w.text {
		case "forwarding-class", "loss-priority", "dscp":
			t.miss(&statement{words: []junosWord{w}})
		}
	}
	for _, in := range s.block {
		t.firewall(w, in.words, in)
	}
}

func (t *tree) problem(kind string, at fabric.Line, what, then string) {
	t.problems = append(t.problems, fabric.TextProblem{Kind: kind, At: at, What: what, Then: then})
}

// find returns the node that a command names; nil: there is none. A value at the end of the path is ignored.
func (t *tree) find(s *statement) *junosNode {
	n := t.start(s)
	for _, w := range s.words {
		kid := n.kid(w.text)
		if kid == nil {
			if n.schema != nil && (n.schema.kind == '=' || n.schema.kind == '+') {
				return n
			}
			return nil
		}
		n = kid
	}
	return n
}

// remove takes out what is at a path below a node.
func (n *junosNode) remove(words []junosWord) {
	for i, w := range words {
		kid := n.kid(w.text)
		if kid == nil {
			return // Junos warns that the statement is not there
		}
		if i == len(words)-1 {
			n.drop(w.text)
			return
		}
		if k := kid.schema.kind; k == '=' || k == '+' {
			kid.values = slices.DeleteFunc(kid.values, func(v fabric.Said[string]) bool { return v.Is == words[i+1].text })
			if len(kid.values) == 0 {
				n.drop(w.text)
			}
			return
		}
		n = kid
	}
}

// junosPort reports whether a name is one of a port by which packets come and go, or a pattern of such names.
func junosPort(name string) bool {
	for _, kind := range []string{"et-", "xe-", "ge-", "mge-", "ae"} {
		if rest, ok := strings.CutPrefix(name, kind); ok && rest != "" && strings.IndexByte("0123456789*[<", rest[0]) >= 0 {
			return true
		}
	}
	return false
}
