package pattern

import "strings"

// window is how many bytes a literal is looked up by, and the least that it has.
const window = 3

// A piece of a text is looked up by a number that both cases of its letters share: ASCII has one bit between them, which
// is masked, and two letters have that number if they differ only there. The numbers of neighbours overlap.
const (
	caseless  = 0x5f
	pieceStep = 5 // bits
	pieces    = 1 << (window * pieceStep)
)

// literals finds texts in either case of letters, all of them in one pass.
type literals struct {
	begins [pieces / 64]uint64      // by the number of a piece: some literal is found by it
	by     [pieces / 64]*[64]uint16 // the same, 64 together where there is one: where its literals are in lists
	lists  [][]literal              // the first is of no piece
}

type literal struct {
	text string // in lower case
	at   int    // where in it the piece is that it is found by
	set  int    // whose it is
}

func newLiterals() *literals { return &literals{lists: make([][]literal, 1)} }

func pieceOf(text string) uint32 {
	var p uint32
	for i := range window {
		p = next(p, text[i])
	}
	return p % pieces
}

// next is a number whose rest by pieces is that of the piece that ends one byte later. What is older leaves it at the top.
func next(p uint32, c byte) uint32 { return p<<pieceStep ^ uint32(c&caseless) }

// add puts a literal in. It is found by its piece with the most letters, of equals the last: beginnings are alike more often.
func (l *literals) add(text string, set int) {
	text = strings.ToLower(text)
	at := 0
	for i := range len(text) - window + 1 {
		if weight(text[i:i+window]) >= weight(text[at:at+window]) {
			at = i
		}
	}
	p := pieceOf(text[at:])
	l.begins[p>>6] |= 1 << (p & 63)
	if l.by[p>>6] == nil {
		l.by[p>>6] = new([64]uint16)
	}
	list := &l.by[p>>6][p&63]
	if *list == 0 {
		*list = uint16(len(l.lists))
		l.lists = append(l.lists, nil)
	}
	l.lists[*list] = append(l.lists[*list], literal{text: text, at: at, set: set})
}

func (l *literals) has(p uint32) bool { return l.begins[p>>6]&(1<<(p&63)) != 0 }

// in reports whether a text has one of the literals, or characters that fold to one.
func (l *literals) in(text string) bool {
	found, foreign := l.find(text)
	return found || foreign
}

// find reports whether a text has one of the literals, and where it has not, whether it has characters that fold to one.
func (l *literals) find(text string) (found, foreign bool) {
	foreign = l.each(text, func(int) bool { found = true; return false })
	return found, foreign
}

// each calls a function with the set of each literal that a text has, until it returns false; all: the text has
// characters that fold to letters of ASCII, and any literal may be in it.
func (l *literals) each(text string, has func(set int) bool) (all bool) {
	var number uint32
	var seen byte // bits of all bytes
	for i := range len(text) {
		c := text[i]
		seen |= c
		number = next(number, c)
		p := number % pieces
		if !l.has(p) {
			continue
		}
		for _, one := range l.lists[l.by[p>>6][p&63]] {
			if from := i - (window - 1) - one.at; equalFold(text, from, one.text) && !has(one.set) {
				return false
			}
		}
	}
	return seen >= 0x80 && (strings.ContainsRune(text, longS) || strings.ContainsRune(text, kelvin))
}

// equalFold reports whether a text has another, which is in lower case, at a place.
func equalFold(text string, from int, other string) bool {
	if from < 0 || from+len(other) > len(text) {
		return false
	}
	for i := range len(other) {
		c := text[from+i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != other[i] {
			return false
		}
	}
	return true
}
