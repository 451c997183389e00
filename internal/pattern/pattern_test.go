package pattern

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNeeds(t *testing.T) {
	for expression, want := range map[string][]string{
		`abc`:                        {"abc"},
		`^abc$`:                      {"abc"},
		`\b[NR]CCL WARN\b`:           {"NCCL WARN", "RCCL WARN"},
		`(?i)\b(?:failed|failures?)`: {"failed", "failure", "failures"},
		`x(?:abc)+y`:                 {"xabc"},
		`mt[01]+_`:                   {"mt0", "mt1"},
		`(?:abc)?`:                   nil,
		`(?:abc)*def`:                {"def"},
		`abc|`:                       nil,
		`abc|\d?`:                    nil,
		`\w+`:                        nil,
		`[^a]bcd`:                    {"bcd"},
		`abc.*defghi`:                {"defghi"},
		`(?:ab){2}`:                  {"abab"},
		`(?i)task`:                   {"task"},
		`straße nr`:                  {"stra"},
		`->|→`:                       nil,
		`(?:a|b)cd(?:e)?`:            {"acd", "bcd"},
		`(?:x|)[EF][01]{2}`:          {"E00", "E01", "E10", "E11", "F00", "F01", "F10", "F11", "xE00", "xE01", "xE10", "xE11", "xF00", "xF01", "xF10", "xF11"},
	} {
		got := needsOf(parse(expression)).texts
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%q needs %q, want %q", expression, got, want)
		}
	}
}

// Whatever the expression and the text, the literals refuse nothing that the expression finds.
func FuzzRegexp(f *testing.F) {
	for _, expression := range []string{
		`(?i)\bxid\b`, `(?:^|[\s\[:])[EF]\d{4} \d\d:`, `(?i)\b(?:no|zero) (?:[\w/]+ )?(?:errors?|failures?)\b`, `a(?:b|cd)e*|xyz`, `(?i)mask|tasks`, `(?:a|b|)(?:c|d){2,3}`, `(?i)[k]elvin`, `é+ab|ß`, `^\s*(?:a|é)b?`, `(?i)^(?:kelvin|x*y)`, `^[^a]\d+$`, `^(?:a?|b)$|^c`, `(?:é|\d+)\s?$`, `(?i)a*k$`, `x$|[yz]+$`, `b\z`, `(?i)(?:zero )?kiss|tasks?`, `(?i)kiss\b|xyz`, `(?i)kiss|(?-i:xyz)`, `\bab\B|(?m:^c$)|\Bx`, `(?:^|[^\d])a.{0,3}b\b`, `(?s)a.b$`,
	} {
		for _, text := range []string{"", "Xid (PCI", "E0102 03:04", "zero rx failures", "xyz", "ta\u017fks", "MAS\u212a", "\u212aelvin", "bcdc", "éab", "\xff\xfeab", "a KISS", "ki\u017fses XYZ", "ab abc\nc\n", "a12b ", "a\nb"} {
			f.Add(expression, text)
		}
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		plain, err := regexp.Compile(expression)
		if err != nil || len(expression) > 200 {
			return
		}
		r := MustCompile(expression)
		if got, want := r.MatchString(text), plain.MatchString(text); got != want {
			t.Errorf("%q in %q: %t, want %t", expression, text, got, want)
		}
		r.automaton.tries = fewTries
		for range 2 { // the states are made, then used
			if has, ok := r.automaton.match(text); ok && has != plain.MatchString(text) {
				t.Errorf("%q in %q: the automaton says %t", expression, text, has)
			}
		}
		if r.finder != nil {
			r.finder.starts.tries = fewTries
		}
		for range 2 {
			if got, want := r.ReplaceAllString(text, "-"), plain.ReplaceAllString(text, "-"); got != want {
				t.Errorf("%q in %q: replaced %q, want %q", expression, text, got, want)
			}
		}
		set := NewSet(MustCompile(`xyz`), r)
		if in := set.In(text); plain.MatchString(text) && !in.Has(1) {
			t.Errorf("%q in %q: not among the members", expression, text)
		}
	})
}

func TestSet(t *testing.T) {
	s := NewSet(MustCompile(`(?i)\berror\b`), MustCompile(`\d+`), MustCompile(`Xid \(`))
	if place := s.Add("one", "two"); place != 3 || s.Len() != 4 {
		t.Errorf("the fourth of %d members is at %d", s.Len(), place)
	}
	for text, want := range map[string][]int{
		"":                      {1},
		"an ERROR":              {0, 1},
		"errors":                {0, 1}, // the expression refuses it
		"Xid (, terror":         {0, 1, 2},
		"xi":                    {1},
		"Two":                   {1, 3},
		"Kelvin \u212a":         {0, 1, 2, 3},
		"\u017f":                {0, 1, 2, 3},
		strings.Repeat("é", 20): {1},
	} {
		in := s.In(text)
		for from := range 4 {
			for to := range Most {
				if got, among := in.Between(from, to), slices.ContainsFunc(want, func(i int) bool { return from <= i && i < to }); got != among {
					t.Errorf("%q: a member from %d to before %d is %t", text, from, to, got)
				}
			}
		}
		for i := range 4 {
			if in.Has(i) != slices.Contains(want, i) {
				t.Errorf("%q: member %d is %t", text, i, in.Has(i))
			}
		}
	}
}

// An automaton tells what the expression does of every text of ASCII, however many there are.
func TestAutomaton(t *testing.T) {
	for _, expression := range []string{`\b(?:a|b)\b.{0,6}\b[cd]+$`, `^\s*(?:[ab]+:)?\d{2,4}\b`, `(?i)\b(?:no|zero) (?:[\w/]+ )?errors?\b`, `^$`, `\B`, `(?m)^a$`} {
		r := MustCompile(expression)
		random := rand.New(rand.NewPCG(1, 2))
		told := 0
		for range 20000 {
			text := make([]byte, random.IntN(24))
			for i := range text {
				text[i] = "aAbcd :019\n\tnoerszx/"[random.IntN(20)]
			}
			has, ok := r.automaton.match(string(text))
			if ok {
				told++
			}
			if ok && has != r.Match(text) {
				t.Fatalf("%q in %q: %t", expression, text, has)
			}
			if got, want := r.ReplaceAllString(string(text), "-"), r.Regexp.ReplaceAllString(string(text), "-"); got != want {
				t.Fatalf("%q in %q: replaced %q, want %q", expression, text, got, want)
			}
		}
		if told < 10000 {
			t.Errorf("%q: %d texts were told", expression, told)
		}
	}
}

// One with too many states gives up, and the expression is right all the same.
func TestAutomatonGivesUp(t *testing.T) {
	r := MustCompile(`a[ab]{14}c[ab]`)
	random := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		text := make([]byte, 40)
		for i := range text {
			text[i] = "ab"[random.IntN(2)]
		}
		text[random.IntN(len(text))] = 'c'
		if got := r.MatchString(string(text)); got != r.Match(text) {
			t.Fatalf("%q: %t", text, got)
		}
	}
	if !r.automaton.given {
		t.Error("it goes on")
	}
}
