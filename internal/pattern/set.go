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

// Between reports whether one of the places from one to before another is among them.
func (m *Members) Between(from, to int) bool {
	for range m.Within(from, to) {
		return true
	}
	return false
}

// None reports whether there are none.
func (m *Members) None() bool { return *m == Members{} }

// Within are the places from one to before another that are among them, in order.
func (m *Members) Within(from, to int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for place := from; place < to; place++ {
			word := m[place>>6] >> (place & 63)
			if word == 0 {
				place |= 63 // the last of its word
				continue
			}
			if place += bits.TrailingZeros64(word); place >= to || !yield(place) {
				return
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
