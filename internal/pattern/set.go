package pattern

import (
	"iter"
	"math/bits"
)

// Set is a list of expressions that are looked for together.
type Set struct {
	literals *literals
	always   Members // those without literals
	size     int
}

// Most is how many expressions a set may have.
const Most = 128

// Members are places in the list of a set.
type Members [Most / 64]uint64

// Has reports whether a place is among them.
func (m *Members) Has(place int) bool { return m[place>>6]&(1<<(place&63)) != 0 }

// None reports whether there are none.
func (m *Members) None() bool { return *m == Members{} }

// All are the places that are among them, in order.
func (m *Members) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range m {
			for ; word != 0; word &= word - 1 {
				if !yield(i<<6 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func (m *Members) add(place int) { m[place>>6] |= 1 << (place & 63) }

// NewSet makes a set of expressions, at most [Most]. Their literals are looked for in either case.
func NewSet(expressions ...*Regexp) *Set {
	s := &Set{literals: newLiterals()}
	for _, e := range expressions {
		s.Add(e.Literals()...)
	}
	return s
}

// Add adds a member that only a text matches which has one of some literals, each of three bytes or more. Without any, it
// may match every text.
func (s *Set) Add(texts ...string) {
	if len(texts) == 0 {
		s.always.add(s.size)
	}
	for _, text := range texts {
		s.literals.add(text, s.size)
	}
	s.size++
}

// Any reports whether a text may match a member.
func (s *Set) Any(text string) bool { return !s.always.None() || s.literals.in(text) }

// In returns the members that a text may match; no other one does.
func (s *Set) In(text string) Members {
	found := s.always
	if s.literals.each(text, func(set int) bool { found.add(set); return true }) {
		for i := range s.size {
			found.add(i)
		}
	}
	return found
}
