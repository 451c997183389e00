package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is not tried on a text without any of its literals, or one that begins or ends
// with another byte than a match; what is left an automaton tries first. The methods of [regexp.Regexp] that are not here try it
// always.
type Regexp struct {
	*regexp.Regexp
	first *bytesSet // with which a text begins; nil: with any byte, or there is no text
	last  *bytesSet // with which it ends
	texts []string  // of which every match has one; nil: there are no such
	once  string    // the one literal, where there is one, in its own case
	any   *literals // or these; nil: the expression has no literals that every match needs
	plain bool      // it matches these literals and no other text

	automaton *automaton
}

// New is an expression that is compiled when it is first used: most commands use few, and all of them together take
// milliseconds. It panics there if the expression is wrong.
func New(expression string) func() *Regexp {
	return sync.OnceValue(func() *Regexp { return MustCompile(expression) })
}

// Plain is an expression without literals that is compiled when it is first used: for texts that are short, or of which
// most match.
func Plain(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// MustCompile compiles an expression now; it panics if it is wrong.
func MustCompile(expression string) *Regexp {
	parsed := parse(expression)
	r := &Regexp{Regexp: regexp.MustCompile(expression), first: edgeOf(parsed, side{}), last: edgeOf(parsed, side{last: true}), automaton: &automaton{expression: expression}}
	needs := needsOf(parsed)
	r.texts, r.plain = needs.texts, needs.whole
	switch {
	case len(needs.texts) == 1 && !needs.folded:
		r.once = needs.texts[0]
	case len(needs.texts) > 0:
		r.any = newLiterals()
		for _, text := range needs.texts {
			r.any.add(text, 0)
		}
	}
	return r
}

// Literals are texts of three bytes or more of which every match of any of the expressions has one, in one case or the
// other; nil: there are no such.
func Literals(expressions ...*Regexp) (texts []string) {
	for _, e := range expressions {
		if e.texts == nil {
			return nil
		}
		texts = append(texts, e.texts...)
	}
	return texts
}

// may reports whether a text begins and ends as a match does and has one of the literals.
func (r *Regexp) may(text string) bool {
	switch {
	case r.first != nil && (text == "" || !r.first.has(text[0])):
		return false
	case r.last != nil && (text == "" || !r.last.has(text[len(text)-1])):
		return false
	case r.once != "":
		return strings.Contains(text, r.once)
	case r.any != nil:
		return r.any.in(text)
	}
	return true
}

// might is false where a text has no match.
func (r *Regexp) might(text string) bool {
	if !r.may(text) {
		return false
	}
	has, ok := r.automaton.match(text)
	return has || !ok
}

// MatchString is that of [regexp.Regexp].
func (r *Regexp) MatchString(text string) bool {
	if r.plain && r.any != nil {
		found, foreign := r.any.find(text)
		return found || foreign && r.Regexp.MatchString(text)
	}
	if !r.may(text) {
		return false
	}
	if has, ok := r.automaton.match(text); ok {
		return has
	}
	return r.Regexp.MatchString(text)
}

// FindString is that of [regexp.Regexp].
func (r *Regexp) FindString(text string) string {
	if !r.might(text) {
		return ""
	}
	return r.Regexp.FindString(text)
}

// FindStringIndex is that of [regexp.Regexp].
func (r *Regexp) FindStringIndex(text string) []int {
	if !r.might(text) {
		return nil
	}
	return r.Regexp.FindStringIndex(text)
}

// FindStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatch(text string) []string {
	if !r.might(text) {
		return nil
	}
	return r.Regexp.FindStringSubmatch(text)
}

// FindAllString is that of [regexp.Regexp].
func (r *Regexp) FindAllString(text string, most int) []string {
	if !r.might(text) {
		return nil
	}
	return r.Regexp.FindAllString(text, most)
}

// FindAllStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(text string, most int) [][]string {
	if !r.might(text) {
		return nil
	}
	return r.Regexp.FindAllStringSubmatch(text, most)
}

// ReplaceAllString is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllString(text, with string) string {
	if !r.might(text) {
		return text
	}
	return r.Regexp.ReplaceAllString(text, with)
}
