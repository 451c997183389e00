package junos

import (
	"maps"
	"strings"
)

// junosSchema says which words may stand below a statement, and how many values each takes. The braces of the curly form
// and the words of a set command become the same tree by it.
type junosSchema struct {
	kind byte // see junosGrammar
	open bool // what is not named below has no bearing on lossless RoCE
	shut bool // what is not named below is not Junos: the list is that of the model
	kids map[string]*junosSchema
	any  *junosSchema // every other word: the name of an entry
}

// junosTop builds the grammar. Groups have the same one below their names.
func junosTop() *junosSchema {
	blocks := parseJunosGrammar(junosBlocks, nil)
	for range 4 { // blocks name blocks, at most this deep
		blocks = parseJunosGrammar(junosBlocks, blocks)
	}
	top := parseJunosGrammar(grammar, blocks)
	group := &junosSchema{kids: maps.Clone(top.kids)} // without groups of its own
	top.kids["groups"] = &junosSchema{kids: map[string]*junosSchema{}, any: group}
	return top
}

// parseJunosGrammar reads a grammar; blocks are those that a line with @ names.
func parseJunosGrammar(text string, blocks *junosSchema) *junosSchema {
	root := &junosSchema{kids: map[string]*junosSchema{}}
	path := []*junosSchema{root}
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		word := strings.TrimLeft(line, " ")
		depth := len(line) - len(word)
		in := path[depth]
		name, sign, _ := strings.Cut(word, " ")
		switch {
		case name == "~":
			in.open = true
			continue
		case name == ".":
			in.shut = true
			continue
		case strings.HasPrefix(name, "@"):
			if blocks != nil {
				in.take(blocks.kids[name[1:]])
			}
			continue
		}
		s := &junosSchema{kids: map[string]*junosSchema{}, open: sign == "~"}
		entry := s
		switch sign {
		case "*":
			entry = &junosSchema{kids: map[string]*junosSchema{}}
			s.any = entry
		case "=", "+", "!":
			s.kind = sign[0]
		}
		if name == "*" {
			in.any = s
		} else {
			in.kids[name] = s
		}
		path = append(path[:depth+1], entry)
	}
	return root
}

// take takes over what stands below another block.
func (s *junosSchema) take(block *junosSchema) {
	for word, kid := range block.kids {
		s.kids[word] = kid
	}
	s.open = s.open || block.open
	if block.any != nil {
		s.any = block.any
	}
}

// below returns the schema of a word; nil: it is unknown here.
func (s *junosSchema) below(word string) *junosSchema {
	if kid := s.kids[word]; kid != nil {
		return kid
	}
	if anywhere[word] {
		return &junosSchema{kind: '+'}
	}
	return s.any
}

// anywhere are words that may stand in any block.
var anywhere = map[string]bool{"apply-groups": true, "apply-groups-except": true}

// noise are words that may stand in any block and mean nothing for a packet.
var noise = map[string]bool{"apply-flags": true, "apply-macro": true, "apply-path": true}
