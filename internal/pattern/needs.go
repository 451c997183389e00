package pattern

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// needs are literals of which every match of an expression has one. None: there are no such, or too many.
type needs struct {
	texts  []string
	folded bool // they are in lower case, and a text may have them in either
	whole  bool // a text that has one is a match, in either case where they are folded
}

// Bounds of the literals of an expression, so that those of several classes in a row do not multiply without end.
const (
	mostTexts = 256
	mostRunes = 10 // of a class, such as the digits
	rareText  = 24 // weight from which a literal is rare in any text
)

// parse returns an expression without counts; one that is wrong matches nothing.
func parse(expression string) *syntax.Regexp {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return &syntax.Regexp{Op: syntax.OpNoMatch}
	}
	return parsed.Simplify()
}

func needsOf(parsed *syntax.Regexp) needs {
	p := parser{folds: folds(parsed)}
	whole := p.of(parsed)
	texts := whole.needs()
	return needs{texts: texts, folded: p.folds, whole: p.folds && slices.Equal(texts, whole.all) && isPlain(parsed)}
}

// isPlain reports whether an expression is made of nothing but ASCII texts that ignore case: it does not ask what is around them.
func isPlain(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return re.Flags&syntax.FoldCase != 0 && !slices.ContainsFunc(re.Rune, func(r rune) bool { return r >= utf8.RuneSelf })
	case syntax.OpConcat, syntax.OpAlternate, syntax.OpCapture, syntax.OpQuest:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !isPlain(sub) })
	}
	return re.Op == syntax.OpEmptyMatch
}

// folds reports whether a part of an expression ignores case.
func folds(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(re.Sub, folds)
}

// parser reads the literals of an expression. One that ignores case anywhere is read as if it did so everywhere.
type parser struct{ folds bool }

// known is what is known of a part of an expression.
type known struct {
	all []string // every text that it matches; nil: too many
	one []string // each match has one of these; nil: there are no such
}

// needs are the better of the texts of a part.
func (k known) needs() []string { return better(k.all, k.one) }

// nothing is a part that takes no text, such as the beginning of a line.
func nothing() known { return known{all: []string{""}} }

func (p parser) of(re *syntax.Regexp) known {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return nothing()
	case syntax.OpLiteral:
		return p.literal(re.Rune)
	case syntax.OpCharClass:
		return p.class(re.Rune)
	case syntax.OpCapture:
		return p.of(re.Sub[0])
	case syntax.OpPlus:
		return known{one: p.of(re.Sub[0]).needs()}
	case syntax.OpQuest:
		if sub := p.of(re.Sub[0]); sub.all != nil && len(sub.all) < mostTexts {
			return known{all: append([]string{""}, sub.all...)}
		}
	case syntax.OpConcat:
		return p.concat(re.Sub)
	case syntax.OpAlternate:
		return p.alternate(re.Sub)
	}
	return known{}
}

// literal is a text. A character outside ASCII may be any: its cases and its bytes are not compared here.
func (p parser) literal(runes []rune) known {
	var best []string
	run, whole := "", true
	for _, r := range runes {
		if r < utf8.RuneSelf {
			run += p.text(r)
			continue
		}
		best, run, whole = better(best, []string{run}), "", false
	}
	if whole {
		return known{all: []string{run}}
	}
	return known{one: better(best, []string{run})}
}

func (p parser) text(r rune) string {
	if p.folds {
		return strings.ToLower(string(r))
	}
	return string(r)
}

// Outside ASCII two characters fold to letters within it: a long s and the sign of Kelvin (Unicode, CaseFolding.txt). A text
// that has one is tried by every expression.
const (
	longS  = '\u017f'
	kelvin = '\u212a'
)

// class is one of few characters, given as ranges.
func (p parser) class(ranges []rune) known {
	var out known
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			switch {
			case p.folds && (r == longS || r == kelvin):
				continue
			case r >= utf8.RuneSelf || len(out.all) >= 2*mostRunes:
				return known{}
			}
			if text := p.text(r); !slices.Contains(out.all, text) {
				out.all = append(out.all, text)
			}
		}
	}
	if len(out.all) > mostRunes {
		return known{}
	}
	return out
}

// concat is parts one after the other: all texts of neighbours are put together while they are few, and then go on from
// their ends.
func (p parser) concat(parts []*syntax.Regexp) known {
	var best []string
	whole, run := true, []string{""}
	for _, part := range flat(parts) {
		k := p.of(part)
		best = better(better(best, run), k.needs())
		if len(run)*len(k.all) > mostTexts {
			whole, run = false, ends(run)
		}
		switch {
		case k.all == nil:
			whole, run = false, []string{""}
		case len(run)*len(k.all) > mostTexts:
			run = ends(k.all)
		default:
			run = product(run, k.all)
		}
	}
	if whole {
		return known{all: run, one: best}
	}
	return known{one: better(best, run)}
}

// flat is parts with those of parts that are parts one after the other themselves, such as four digits, or digits: one and
// then any number of them.
func flat(parts []*syntax.Regexp) (out []*syntax.Regexp) {
	for _, part := range parts {
		switch part.Op {
		case syntax.OpConcat, syntax.OpCapture:
			out = append(out, flat(part.Sub)...)
		case syntax.OpPlus:
			out = append(append(out, flat(part.Sub)...), &syntax.Regexp{Op: syntax.OpStar, Sub: part.Sub})
		default:
			out = append(out, part)
		}
	}
	return out
}

// ends are the last bytes of texts, each once: with one more they can be looked up.
func ends(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, text[max(0, len(text)-window+1):])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func product(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

// alternate is one of several parts, of which each must have its literals.
func (p parser) alternate(parts []*syntax.Regexp) known {
	all, one := []string{}, []string{}
	for _, part := range parts {
		k := p.of(part)
		if k.all == nil || len(all)+len(k.all) > mostTexts {
			all = nil
		} else if all != nil {
			all = append(all, k.all...)
		}
		texts := k.needs()
		if texts == nil || len(one)+len(texts) > mostTexts {
			one = nil
		} else if one != nil {
			one = append(one, texts...)
		}
	}
	return known{all: all, one: one}
}

// better are those texts that fewer other texts have: the rarer, then the fewer; nil where neither are of use.
func better(a, b []string) []string {
	if rarity(a) == 0 && rarity(b) == 0 {
		return nil
	}
	if cmp.Or(cmp.Compare(rarity(a), rarity(b)), cmp.Compare(len(b), len(a))) < 0 {
		return b
	}
	return a
}

// rarity is the weight of the text that is the most usual; 0: there are none, or it cannot be looked up.
func rarity(texts []string) int {
	least := rareText
	for _, text := range texts {
		least = min(least, weight(text))
	}
	if len(texts) == 0 {
		return 0
	}
	return least
}

// weight is how rare a text is: a letter counts as three digits, since every line of a log has a time and spaces.
func weight(text string) int {
	if len(text) < window {
		return 0
	}
	n := len(text)
	for i := range len(text) {
		if c := text[i] | 0x20; 'a' <= c && c <= 'z' {
			n += 2
		}
	}
	return n
}
