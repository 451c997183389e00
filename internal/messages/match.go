package messages

import (
	"encoding/binary"
	"slices"
	"strings"
)

// window is how many bytes of a line are looked up at once. Each pattern is found by one such piece of it, the one that
// the fewest patterns have. Six bytes are in nearly every word that is distinctive; more would refuse short messages.
const window = 6

// A set of bits tells which pieces no pattern is found by: nearly all. With some 4,000 patterns 1 in 60 pieces passes by
// chance, and the set is 32 KiB, which stays in the first cache. A second set by other bits of the hash leaves 1 of those in 60.
const (
	setBits = 18
	mixer   = 0x9e3779b97f4a7c15 // the odd number nearest to 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4)
)

// A line is searched in pieces of this many bytes, each of which repeats the end of the one before: so the time for a
// line grows with its length, whatever it holds, and no message that a program prints on one line is cut.
const (
	longest  = 16 << 10
	repeated = 2 << 10
)

// index finds the patterns of a line.
type index struct {
	passes  [2][]uint64        // bits by the hashes of a piece
	byPiece map[uint64][]entry // patterns that are found by a piece, the longest first
	all     []pattern
}

// entry is a pattern, and where in it the piece is that it is found by.
type entry struct {
	pattern  int
	part, at int // which part, and byte in it
}

// pattern is one of the patterns of a message.
type pattern struct {
	message  int // its place in the catalogue
	parts    []string
	literals int    // weight of the parts together
	needs    uint64 // characters of the parts: most patterns of a piece need one that the line does not have
	ofNCCL   bool
}

// ofNCCL are the programs that write NCCL's debug log. A line of that log is a message of theirs, if it is one of any,
// however many words it quotes of a library below.
var ofNCCL = []string{"nccl", "rccl", "aws-ofi-nccl"}

// logged reports whether a line names a level of NCCL's debug log.
func logged(line string) bool {
	return strings.Contains(line, "NCCL INFO ") || strings.Contains(line, "NCCL WARN ")
}

// yields reports whether a pattern of a line gives way to the best so far: to more of its program or more characters, and of
// equals to the first.
func (x *index) yields(i, best int, line string) bool {
	p, b := &x.all[i], &x.all[best]
	switch {
	case p.ofNCCL != b.ofNCCL && logged(line):
		return b.ofNCCL
	case p.literals != b.literals:
		return p.literals < b.literals
	}
	return i >= best
}

// parts cuts a pattern at its stars.
func parts(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "*"), func(part string) bool { return part == "" })
}

// weight is the number of characters of a part, of which the level before a message is one: it stands before every message
// of NCCL and RCCL, and tells two apart where all else is the same.
func weight(part string) int {
	for _, level := range []string{"NCCL INFO ", "NCCL WARN "} {
		if strings.Contains(part, level) {
			return len(part) - len(level) + 1
		}
	}
	return len(part)
}

func newIndex(all []Message) index {
	x := index{passes: [2][]uint64{make([]uint64, 1<<(setBits-6)), make([]uint64, 1<<(setBits-6))}, byPiece: map[uint64][]entry{}}
	shared := make([]uint16, 1<<setBits) // by hash: how often the patterns have a piece
	for i, m := range all {
		for _, text := range m.Match {
			p := pattern{message: i, parts: parts(text), needs: characters(strings.ReplaceAll(text, "*", "")), ofNCCL: slices.Contains(ofNCCL, m.Program)}
			for _, part := range p.parts {
				p.literals += weight(part)
				for at := range max(len(part)-window+1, 0) {
					shared[hash(piece(part[at:]))]++
				}
			}
			x.all = append(x.all, p)
		}
	}
	for i, p := range x.all {
		e := rarest(p.parts, shared)
		e.pattern = i
		w := piece(p.parts[e.part][e.at:])
		h, again := hash(w), second(w)
		x.passes[0][h>>6] |= 1 << (h & 63)
		x.passes[1][again>>6] |= 1 << (again & 63)
		x.byPiece[w] = append(x.byPiece[w], e)
	}
	for _, list := range x.byPiece {
		slices.SortStableFunc(list, func(a, b entry) int { return x.all[b.pattern].literals - x.all[a.pattern].literals })
	}
	return x
}

// rarest finds the piece of a pattern that the fewest patterns have; of equals one in which a word ends or begins:
// everyday text has fewer of those.
func rarest(parts []string, shared []uint16) entry {
	var best entry
	fewest := 0
	for i, part := range parts {
		for at := range max(len(part)-window+1, 0) {
			text := part[at : at+window]
			n := 2 * int(shared[hash(piece(text))])
			if !strings.ContainsAny(text[1:window-1], " /:-_=(") {
				n++
			}
			if fewest == 0 || n < fewest {
				best, fewest = entry{part: i, at: at}, n
			}
		}
	}
	return best
}

// piece is the first bytes of a text as a number.
func piece(text string) uint64 {
	var b [8]byte
	copy(b[:window], text)
	return binary.LittleEndian.Uint64(b[:])
}

func hash(w uint64) uint64 { return w * mixer >> (64 - setBits) }

// second is the next bits of the same product.
func second(w uint64) uint64 { return w * mixer >> (64 - 2*setBits) & (1<<setBits - 1) }

// find returns the place of the best pattern of a line, -1 for none.
func (x *index) find(line string) int {
	best := -1
	for len(line) > longest {
		best = x.search(line[:longest], best)
		line = line[longest-repeated:]
	}
	return x.search(line, best)
}

// search returns the better of a pattern and the best of a line.
func (x *index) search(line string, best int) int {
	var w uint64   // the last bytes, as piece has them
	var has uint64 // characters of the line, once they are needed
	first := x.passes[0]
	for i := range len(line) {
		w = w>>8 | uint64(line[i])<<(8*(window-1))
		if h := hash(w); first[h>>6]&(1<<(h&63)) == 0 || i+1 < window {
			continue
		}
		if h := second(w); x.passes[1][h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		if entries := x.byPiece[w]; entries != nil {
			if has == 0 {
				has = characters(line)
			}
			best = x.better(best, line, has, entries, i+1-window)
		}
	}
	return best
}

// better returns the best of a pattern and those entries whose pattern the line has with its piece at a place.
func (x *index) better(best int, line string, has uint64, entries []entry, place int) int {
	for _, e := range entries {
		p := &x.all[e.pattern]
		if p.needs&^has != 0 || best >= 0 && x.yields(e.pattern, best, line) {
			continue
		}
		from := place - e.at
		if from < 0 || !strings.HasPrefix(line[from:], p.parts[e.part]) {
			continue
		}
		if inOrder(line[from:], p.parts[e.part:]) && inOrder(line[:from], p.parts[:e.part]) {
			best = e.pattern
		}
	}
	return best
}

// characters is a set of the characters of a text: the low six bits of each.
func characters(text string) (set uint64) {
	for i := range len(text) {
		set |= 1 << (text[i] & 63)
	}
	return set
}

// inOrder reports whether a line has all parts one after the other.
func inOrder(line string, parts []string) bool {
	for _, part := range parts {
		at := strings.Index(line, part)
		if at < 0 {
			return false
		}
		line = line[at+len(part):]
	}
	return true
}

// span returns where the parts of a pattern begin and end in a line that has them in order, as close together as can be.
func span(line string, parts []string) (from, to int) {
	for _, part := range parts {
		to += strings.Index(line[to:], part) + len(part)
	}
	from = to
	for _, part := range slices.Backward(parts) {
		from = strings.LastIndex(line[:from], part)
	}
	return from, to
}
