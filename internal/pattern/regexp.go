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
	finder    *finder
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
	r.finder = newFinder(expression, parsed)
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

// told reports whether a text has a match; ok is false where only the expression can tell.
func (r *Regexp) told(text string) (has, ok bool) {
	switch {
	case r.first != nil && (text == "" || !r.first.has(text[0])), r.last != nil && (text == "" || !r.last.has(text[len(text)-1])):
		return false, true
	case r.once != "" && !strings.Contains(text, r.once):
		return false, true
	case r.any != nil:
		if has, ok := r.automaton.made(text); ok {
			return has, true // in one pass, as the literals are found
		}
		switch found, foreign := r.any.find(text); {
		case foreign:
			return false, false
		case r.plain || !found:
			return found, true
		}
	}
	return r.automaton.match(text)
}

// might is false where a text has no match.
func (r *Regexp) might(text string) bool {
	has, ok := r.told(text)
	return has || !ok
}

// MatchString is that of [regexp.Regexp].
func (r *Regexp) MatchString(text string) bool {
	if has, ok := r.told(text); ok {
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
	if out, ok := r.finder.replace(text, with); ok {
		return out
	}
	return r.Regexp.ReplaceAllString(text, with)
}
