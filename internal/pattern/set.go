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

// Most is how many members a set may have.
const Most = 256

// Members are places in the list of a set.
type Members [Most / 64]uint64

// Has reports whether a place is among them.
func (m *Members) Has(place int) bool { return m[place>>6]&(1<<(place&63)) != 0 }

// Below reports whether one of the first places is among them.
func (m *Members) Below(places int) bool {
	for i, word := range m {
		if rest := places - i<<6; rest < 64 {
			return word&(1<<max(rest, 0)-1) != 0
		}
		if word != 0 {
			return true
		}
	}
	return false
}

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
		s.Add(Literals(e)...)
	}
	return s
}

// Add adds a member that only a text matches which has one of some literals, each of three bytes or more, and returns its
// place. Without any, it may match every text.
func (s *Set) Add(texts ...string) (place int) {
	place = s.size
	if len(texts) == 0 {
		s.always.add(place)
	}
	for _, text := range texts {
		s.literals.add(text, place)
	}
	s.size++
	return place
}

// Len is how many members it has.
func (s *Set) Len() int { return s.size }

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
