package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is not tried on a text without any of its literals. The methods of
// [regexp.Regexp] that are not here try it always.
type Regexp struct {
	*regexp.Regexp
	once string    // the one literal, where there is one, in its own case
	any  *literals // or these; nil: the expression has no literals that every match needs
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
	r := &Regexp{Regexp: regexp.MustCompile(expression)}
	switch needs := needsOf(expression); {
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

// Literals are texts of three bytes or more of which every match has one, in one case or the other; nil: there are no such.
func (r *Regexp) Literals() []string { return needsOf(r.String()).texts }

// may reports whether a text has one of the literals.
func (r *Regexp) may(text string) bool {
	switch {
	case r.once != "":
		return strings.Contains(text, r.once)
	case r.any != nil:
		return r.any.in(text)
	}
	return true
}

// MatchString is that of [regexp.Regexp].
func (r *Regexp) MatchString(text string) bool { return r.may(text) && r.Regexp.MatchString(text) }

// FindString is that of [regexp.Regexp].
func (r *Regexp) FindString(text string) string {
	if !r.may(text) {
		return ""
	}
	return r.Regexp.FindString(text)
}

// FindStringIndex is that of [regexp.Regexp].
func (r *Regexp) FindStringIndex(text string) []int {
	if !r.may(text) {
		return nil
	}
	return r.Regexp.FindStringIndex(text)
}

// FindStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatch(text string) []string {
	if !r.may(text) {
		return nil
	}
	return r.Regexp.FindStringSubmatch(text)
}

// FindAllString is that of [regexp.Regexp].
func (r *Regexp) FindAllString(text string, most int) []string {
	if !r.may(text) {
		return nil
	}
	return r.Regexp.FindAllString(text, most)
}

// FindAllStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(text string, most int) [][]string {
	if !r.may(text) {
		return nil
	}
	return r.Regexp.FindAllStringSubmatch(text, most)
}

// ReplaceAllString is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllString(text, with string) string {
	if !r.may(text) {
		return text
	}
	return r.Regexp.ReplaceAllString(text, with)
}
