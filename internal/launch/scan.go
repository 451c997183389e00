package launch

import "strings"

// scanner finds which of many texts a line has, in one pass over its bytes (Aho and Corasick, 1975). Serving engines print
// a hundred thousand lines per rank and hundreds of texts are looked for, so one search per text would be too slow.
type scanner struct {
	class   [256]uint8 // bytes that no text has share class 0
	classes int
	next    []int32   // state * classes + class: the next state
	found   [][]int32 // by state: forms whose anchor ends here
	forms   []form
	parts   [][]string // of each form, between its stars
}

// newScanner builds the automaton. Each form is found by the longest of its parts; the others are looked up on a hit.
func newScanner(forms []form) *scanner {
	s := &scanner{forms: forms, classes: 1}
	anchors := make([]string, len(forms))
	for i, f := range forms {
		parts := strings.Split(f.text, "*")
		s.parts = append(s.parts, parts)
		for _, p := range parts {
			if len(p) > len(anchors[i]) {
				anchors[i] = p
			}
		}
		for _, b := range []byte(anchors[i]) {
			if s.class[b] == 0 {
				s.class[b] = uint8(s.classes)
				s.classes++
			}
		}
	}
	s.grow()
	for i, a := range anchors {
		s.insert(a, int32(i))
	}
	s.link()
	return s
}

// grow adds a state.
func (s *scanner) grow() int32 {
	for range s.classes {
		s.next = append(s.next, -1)
	}
	s.found = append(s.found, nil)
	return int32(len(s.found) - 1)
}

func (s *scanner) insert(text string, form int32) {
	state := int32(0)
	for _, b := range []byte(text) {
		at := int(state)*s.classes + int(s.class[b])
		if s.next[at] < 0 {
			s.next[at] = s.grow()
		}
		state = s.next[at]
	}
	s.found[state] = append(s.found[state], form)
}

// link completes the transitions: where a text breaks off, the longest end of it that begins another one goes on.
func (s *scanner) link() {
	fail := make([]int32, len(s.found))
	var queue []int32
	for c := range s.classes {
		if to := s.next[c]; to > 0 {
			queue = append(queue, to)
		} else {
			s.next[c] = 0
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		s.found[state] = append(s.found[state], s.found[fail[state]]...)
		for c := range s.classes {
			at := int(state)*s.classes + c
			behind := s.next[int(fail[state])*s.classes+c]
			if to := s.next[at]; to >= 0 {
				fail[to] = behind
				queue = append(queue, to)
			} else {
				s.next[at] = behind
			}
		}
	}
}

// find appends the forms that a line has to hits, each once.
func (s *scanner) find(line string, hits []int32) []int32 {
	state := 0
	for i := range len(line) {
		state = int(s.next[state*s.classes+int(s.class[line[i]])])
		if state == 0 || s.found[state] == nil {
			continue
		}
		for _, f := range s.found[state] {
			if !has(hits, f) && inOrder(line, s.parts[f]) {
				hits = append(hits, f)
			}
		}
	}
	return hits
}

func has(list []int32, x int32) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// inOrder reports whether a line has all parts, one behind the other.
func inOrder(line string, parts []string) bool {
	if len(parts) == 1 {
		return true
	}
	for _, p := range parts {
		_, after, ok := strings.Cut(line, p)
		if !ok {
			return false
		}
		line = after
	}
	return true
}
