package pattern

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// bytesSet is a set of bytes.
type bytesSet [256 / 64]uint64

func (s *bytesSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *bytesSet) add(c byte) { s[c>>6] |= 1 << (c & 63) }

func (s *bytesSet) join(o bytesSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// side is an end of a text.
type side struct{ last bool }

// edgeOf returns the bytes with which a text begins, or ends, that an expression matches; nil: it may be any, or none. Most
// expressions for a line are for the whole of it, and most lines begin or end with another byte.
func edgeOf(parsed *syntax.Regexp, at side) *bytesSet {
	if e := at.of(parsed); at.anchored(parsed) && !e.empty {
		return &e.bytes
	}
	return nil
}

// outer is the part of several that is nearest to the side.
func (at side) outer(parts []*syntax.Regexp, i int) *syntax.Regexp {
	if at.last {
		return parts[len(parts)-1-i]
	}
	return parts[i]
}

// anchored reports whether every match of a part has the side of the text.
func (at side) anchored(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return !at.last
	case syntax.OpEndText:
		return at.last
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		return at.anchored(at.outer(re.Sub, 0))
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !at.anchored(sub) })
	}
	return false
}

// edge is how the matches of a part begin or end.
type edge struct {
	bytes bytesSet
	empty bool // one may have no text
}

func (at side) of(re *syntax.Regexp) (out edge) {
	switch re.Op {
	case syntax.OpNoMatch:
	case syntax.OpLiteral:
		r := re.Rune[0]
		if at.last {
			r = re.Rune[len(re.Rune)-1]
		}
		out.rune(r, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			out.runes(re.Rune[i], re.Rune[i+1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.runes(0, utf8.MaxRune)
	case syntax.OpCapture, syntax.OpPlus:
		return at.of(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		out = at.of(re.Sub[0])
		out.empty = true
	case syntax.OpConcat:
		out.empty = true
		for i := 0; i < len(re.Sub) && out.empty; i++ {
			part := at.of(at.outer(re.Sub, i))
			out.bytes.join(part.bytes)
			out.empty = part.empty
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			part := at.of(sub)
			out.bytes.join(part.bytes)
			out.empty = out.empty || part.empty
		}
	default: // the end of a text or a word
		out.empty = true
	}
	return out
}

// rune adds a character, folded with the others of its kind: k with K and the sign of Kelvin.
func (e *edge) rune(r rune, folded bool) {
	e.runes(r, r)
	for other := unicode.SimpleFold(r); folded && other != r; other = unicode.SimpleFold(other) {
		e.runes(other, other)
	}
}

// runes adds a range of characters. Those outside ASCII may begin and end with any byte that ASCII does not have: one that is not
// UTF-8 is read as a character too.
func (e *edge) runes(from, to rune) {
	for r := from; r <= min(to, unicode.MaxASCII); r++ {
		e.bytes.add(byte(r))
	}
	if to > unicode.MaxASCII {
		e.bytes[2], e.bytes[3] = ^uint64(0), ^uint64(0)
	}
}
