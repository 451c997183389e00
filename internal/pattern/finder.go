package pattern

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// finder finds the matches of an expression in a text of ASCII: an automaton tells where each begins, and the expression is tried
// there alone.
type finder struct {
	starts *automaton
	first  func() *regexp.Regexp // a match with which the text begins
	behind func() *regexp.Regexp // a match behind the first character
}

// newFinder is nil where a match may have no text.
func newFinder(expression string, parsed *syntax.Regexp) *finder {
	if (side{}).of(parsed).empty {
		return nil
	}
	return &finder{
		starts: &automaton{expression: expression, starts: true},
		first:  Plain(`\A(?:` + expression + `)`),
		behind: Plain(`\A(?s:.)(?:` + expression + `)`),
	}
}

// replace replaces all matches. It is false where they are not found here.
func (f *finder) replace(text, with string) (out string, ok bool) {
	if f == nil || strings.Contains(with, "$") {
		return "", false
	}
	var b strings.Builder
	rest := 0
	for {
		at, ok := f.starts.first(text, rest)
		if !ok {
			return "", false
		}
		if at < 0 {
			b.WriteString(text[rest:])
			return b.String(), true
		}
		b.WriteString(text[rest:at])
		b.WriteString(with)
		if rest = f.end(text, at); rest < 0 {
			return "", false
		}
	}
}

// end is where the match ends that begins at a place. What is before the place stays in sight of the expression.
func (f *finder) end(text string, at int) int {
	if at == 0 {
		if found := f.first().FindStringIndex(text); found != nil {
			return found[1]
		}
		return -1
	}
	if found := f.behind().FindStringIndex(text[at-1:]); found != nil {
		return at - 1 + found[1]
	}
	return -1
}
