package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"
)

// automaton tells whether a text of ASCII has a match, in one step for each byte: the regexp package walks all alternatives of an
// expression at each of them. It is made while it is used, of the sets of instructions that texts lead to, as in Russ Cox's
// "Regular Expression Matching: the Virtual Machine Approach" and RE2.
type automaton struct {
	expression string
	starts     bool // it is asked where matches begin: each begins where it is told to

	mu    sync.Mutex // who finds it in use does without
	tries int        // texts so far
	given bool       // up: it has too many states

	prog     *syntax.Prog
	anchored bool // a match begins with the text
	looks    bool // it asks what is before and behind a place
	class    [utf8.RuneSelf]uint8
	of       []rune            // one of each class; the last is behind the end of a text
	next     []uint16          // state, of each state and class
	states   []state           // the first three are below
	begins   [256]uint16       // where a match begins behind a byte
	known    map[string]uint16 // by instructions and what is before them
	bytes    int               // of texts since the states were last forgotten

	seen  []bool   // instructions that were followed at a place
	stack []uint32 // instructions to follow
}

// state is what may go on behind a place: instructions, before it is asked what is behind them.
type state struct {
	at     []uint32
	before rune // a character of the kind of the last; -1: the text begins
}

// States that are the same in all automata.
const (
	untold  uint16 = iota // what comes next was not asked yet
	matched               // there was a match, whatever comes
	dead                  // there is none, whatever comes
	begin                 // where texts begin
)

const (
	fewTries   = 64   // texts before which making an automaton takes longer than the expression
	mostStates = 1024 // which are forgotten then: some 100 KB
	bytesEach  = 10   // fewer bytes for each state since they were forgotten: making them takes longer than the expression (RE2)
)

// match reports whether a text has a match; ok is false where the automaton cannot tell.
func (a *automaton) match(text string) (has, ok bool) {
	if !a.mu.TryLock() {
		return false, false
	}
	defer a.mu.Unlock()
	if !a.ready() {
		return false, false
	}
	return a.told(text)
}

// made is match of an automaton that is made.
func (a *automaton) made(text string) (has, ok bool) {
	if !a.mu.TryLock() {
		return false, false
	}
	defer a.mu.Unlock()
	if a.prog == nil || a.given {
		return false, false
	}
	return a.told(text)
}

func (a *automaton) told(text string) (has, ok bool) {
	a.bytes += len(text)
	return a.run(text, begin)
}

// first is where the first match begins, at a place or behind it; -1: there is none.
func (a *automaton) first(text string, from int) (at int, ok bool) {
	if !a.mu.TryLock() {
		return 0, false
	}
	defer a.mu.Unlock()
	if !a.ready() {
		return 0, false
	}
	a.bytes += len(text) - from
	for at := from; at <= len(text); at++ {
		state := begin
		if at > 0 {
			state = a.begins[text[at-1]]
		}
		switch has, ok := a.run(text[at:], state); {
		case !ok:
			return 0, false
		case has:
			return at, true
		}
	}
	return -1, true
}

// ready makes the automaton, once there were texts enough.
func (a *automaton) ready() bool {
	if a.tries < fewTries {
		a.tries++
		return false
	}
	if a.prog == nil && !a.given {
		a.given = !a.build()
	}
	return !a.given
}

// run follows a text from a state.
func (a *automaton) run(text string, at uint16) (has, ok bool) {
	width := len(a.of)
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return false, false
		}
		to := a.next[int(at)*width+int(a.class[c])]
		if to == untold {
			if to = a.step(at, a.class[c]); to == untold {
				return false, false
			}
		}
		if to <= dead {
			return to == matched, true
		}
		at = to
	}
	to := a.next[int(at)*width+width-1]
	if to == untold {
		if to = a.step(at, uint8(width-1)); to == untold {
			return false, false
		}
	}
	return to == matched, true
}

// build compiles the expression as the regexp package does. It is false where there are too many classes of characters.
func (a *automaton) build() bool {
	prog, err := syntax.Compile(parse(a.expression))
	if err != nil {
		return false
	}
	a.prog, a.anchored = prog, a.starts || prog.StartCond()&syntax.EmptyBeginText != 0
	a.looks = slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool { return i.Op == syntax.InstEmptyWidth })
	a.seen = make([]bool, len(prog.Inst))
	byMatches := map[string]uint8{}
	for c := range rune(utf8.RuneSelf) {
		key := a.matchesOf(c)
		class, ok := byMatches[key]
		if !ok {
			class = uint8(len(a.of))
			byMatches[key] = class
			a.of = append(a.of, c)
		}
		a.class[c] = class
	}
	a.of = append(a.of, -1)
	a.forget()
	return true
}

// matchesOf tells characters apart: by the instructions that take them, and by what they are to what is beside them.
func (a *automaton) matchesOf(c rune) string {
	key := []byte{kind(c)}
	for i := range a.prog.Inst {
		one := &a.prog.Inst[i]
		switch one.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if one.MatchRune(c) {
				key = binary.AppendUvarint(key, uint64(i))
			}
		}
	}
	return string(key)
}

// Kinds of characters that places between characters are told apart by.
const (
	ofWord  = 'a'
	newline = '\n'
	other   = ' '
)

func kind(c rune) byte {
	switch {
	case syntax.IsWordChar(c):
		return ofWord
	case c == newline:
		return newline
	}
	return other
}

// forget begins anew, with the state in which a text begins.
func (a *automaton) forget() {
	a.known, a.bytes = map[string]uint16{}, 0
	a.states, a.next = append(a.states[:0], state{}, state{}, state{}), append(a.next[:0], make([]uint16, int(begin)*len(a.of))...)
	from := []uint32{uint32(a.prog.Start)}
	a.state(state{at: from, before: -1})
	if !a.starts {
		return
	}
	for c := range a.begins {
		a.begins[c] = a.state(state{at: from, before: rune(kind(rune(c)))})
	}
}

// state is the number of a state.
func (a *automaton) state(s state) uint16 {
	key := binary.AppendVarint(nil, int64(s.before))
	for _, pc := range s.at {
		key = binary.AppendUvarint(key, uint64(pc))
	}
	if n, ok := a.known[string(key)]; ok {
		return n
	}
	n := uint16(len(a.states))
	a.states, a.next = append(a.states, s), append(a.next, make([]uint16, len(a.of))...)
	a.known[string(key)] = n
	return n
}

// step finds the state behind a character; untold: there are too many.
func (a *automaton) step(from uint16, class uint8) uint16 {
	if len(a.states) >= mostStates {
		if a.bytes < bytesEach*mostStates {
			a.given = true
			return untold
		}
		a.forget()
		return untold
	}
	to := a.behind(a.states[from], a.of[class])
	a.next[int(from)*len(a.of)+int(class)] = to
	return to
}

// behind follows the instructions of a state over a character.
func (a *automaton) behind(s state, c rune) uint16 {
	clear(a.seen)
	looks := syntax.EmptyOpContext(s.before, c)
	out := state{before: other}
	if a.looks && c >= 0 {
		out.before = rune(kind(c))
	}
	a.stack = append(a.stack[:0], s.at...)
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.seen[pc] {
			continue
		}
		a.seen[pc] = true
		one := &a.prog.Inst[pc]
		switch one.Op {
		case syntax.InstMatch:
			return matched
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, one.Out, one.Arg)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, one.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(one.Arg)&^looks == 0 {
				a.stack = append(a.stack, one.Out)
			}
		case syntax.InstFail:
		default:
			if c >= 0 && one.MatchRune(c) {
				out.at = append(out.at, one.Out)
			}
		}
	}
	if c >= 0 && !a.anchored {
		out.at = append(out.at, uint32(a.prog.Start))
	}
	if len(out.at) == 0 {
		return dead
	}
	slices.Sort(out.at)
	out.at = slices.Compact(out.at)
	return a.state(out)
}
