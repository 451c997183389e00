package diagnose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// statement is one text that somebody wrote or that a program logged, and the things that it names.
type statement struct {
	own      bool
	text     string
	source   string
	mentions []mention
	lines    []causeWeight // what the messages of programs in it point to

	experiment bool   // what came of a change
	changed    string // what was changed
}

// mention is a thing of the lexicon that a text names, and whether the text says that it is not so.
type mention struct {
	concept string
	denied  bool
}

// names reports whether a statement holds a term: a concept, with + where it must be affirmed, - where denied.
func (s statement) names(term string) bool {
	concept := strings.TrimRight(term, "+-")
	for _, m := range s.mentions {
		if m.concept == concept && (term == concept || m.denied == strings.HasSuffix(term, "-")) {
			return true
		}
	}
	return false
}

// all reports whether a statement holds every term of a list with blanks between them; a term with ! in front
// must not be there.
func (s statement) all(terms string) bool {
	for _, term := range strings.Fields(terms) {
		if bare, not := strings.CutPrefix(term, "!"); s.names(bare) == not {
			return false
		}
	}
	return true
}

// word is a token of a text. Two words of the same clause have the same number.
type word struct {
	text   string
	clause int
}

// reader finds the concepts of a lexicon and the messages of programs in texts.
type reader struct {
	lines   []message
	phrases map[string][]phrase // by their first word; those that begin with a wildcard under ""
}

type phrase struct {
	concept string
	words   []string
}

// maxText bounds what is read of one text, in bytes: a fact is a sentence, not a file.
const maxText = 4096

// anyEnding stands for * while a phrase is split: it counts as a letter.
const anyEnding = "ǃ"

func newReader() *reader {
	r := &reader{lines: messages(), phrases: map[string][]phrase{}}
	for _, c := range lexicon() {
		for _, text := range strings.Split(c.phrases, "|") {
			var words []string
			for _, w := range split(strings.ReplaceAll(text, "*", anyEnding)) {
				words = append(words, strings.ReplaceAll(w.text, anyEnding, "*"))
			}
			if len(words) == 0 {
				continue
			}
			first := words[0]
			if strings.HasSuffix(first, "*") {
				first = ""
			}
			r.phrases[first] = append(r.phrases[first], phrase{c.name, words})
		}
	}
	return r
}

// read finds what a text names.
func (r *reader) read(text, source string) statement {
	if len(text) > maxText {
		text = text[:maxText]
	}
	s := statement{own: true, text: strings.TrimSpace(text), source: source, lines: r.messageWeights(text)}
	words := split(text)
	found := r.match(words)
	negate(words, found)
	for _, f := range found {
		if f.concept == "fine" && f.denials%2 == 1 { // what does not work is broken, what is not good is slow
			instead := "slow"
			if w := words[f.from].text; strings.HasPrefix(w, "work") || strings.HasPrefix(w, "pass") {
				instead = "trouble"
			}
			s.mentions = append(s.mentions, mention{concept: instead})
		}
		if m := (mention{f.concept, f.denials%2 == 1}); !slices.Contains(s.mentions, m) {
			s.mentions = append(s.mentions, m)
		}
	}
	if partly.MatchString(text) {
		s.mentions = append(s.mentions, mention{concept: "partly"})
	}
	if versions.MatchString(text) {
		s.mentions = append(s.mentions, mention{concept: "version"})
	}
	for _, f := range valuePatterns() {
		if m := (mention{concept: f.concept}); !slices.Contains(s.mentions, m) && f.matches(text) {
			s.mentions = append(s.mentions, m)
		}
	}
	if narrower(text) {
		s.mentions = append(s.mentions, mention{concept: "downgraded"})
	}
	if slowerPort(text) {
		s.mentions = append(s.mentions, mention{concept: "lowrate"})
	}
	return s
}

// Pairs of what a PCIe link is and what it could be.
var links = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\bx(\d{1,2})\b(\D{1,40}?)\bx(\d{1,2})\b`),
	regexp.MustCompile(`(?i)\bgen(?:eration)? ?(\d)\b(\D{1,40}?)\bgen(?:eration)? ?(\d)\b`),
	regexp.MustCompile(`(?i)\b(\d{1,2})(?:\.\d)? ?GT/s(\D{1,40}?)\b(\d{1,2})(?:\.\d)? ?GT/s`),
}

// instead joins what is with what should be.
var instead = regexp.MustCompile(`(?i)instead|rather|expect|should|cap|not|where|but|\bof\b|max`)

// partly finds an elliptic denial: what some are, do or have, and others not.
var partly = regexp.MustCompile(`(?i)\b(do|does|did|are|is|were|have|has|had|can|could)(n't| not)\s*(\.|;|,|$)|\bthe (others?|rest)( of them)? (do|does|did|have|has|are|is)(n't| not| none)`)

// versions finds the version of something that is installed: NCCL 2.10.3, driver 550.54.
var versions = regexp.MustCompile(`(?i)\b(nccl|rccl|cuda|rocm|driver|ofed|mofed|doca|firmware|kernel|torch|pytorch|perftest|ucx|libfabric)[ -]?v?\d+\.\d+`)

// capable finds what a link could be and what it is, in the words of lspci, in either order.
var capable = regexp.MustCompile(`(?is)lnkcap.*lnksta|lnksta.*lnkcap|max_link_(speed|width).*current_link|current_link.*max_link|capab.*(current|now|trained)|(current|now|trained).*capab`)

// width and transfer are the figures of a PCIe link.
var (
	width    = regexp.MustCompile(`(?i)\bx(\d{1,2})\b`)
	transfer = regexp.MustCompile(`(?i)\b(\d{1,2}(?:\.\d)?) ?GT/s`)
)

// differ reports whether a form finds two different figures in a text.
func differ(form *regexp.Regexp, text string) bool {
	first := ""
	for _, m := range form.FindAllStringSubmatch(text, 8) {
		if first == "" {
			first = m[1]
		} else if m[1] != first {
			return true
		}
	}
	return false
}

// narrower reports whether a text tells of a PCIe link that is slower or narrower than it could be.
func narrower(text string) bool {
	if capable.MatchString(text) && (differ(width, text) || differ(transfer, text)) {
		return true
	}
	for _, form := range links {
		for _, m := range form.FindAllStringSubmatch(text, 4) {
			is, err := strconv.Atoi(m[1])
			could, err2 := strconv.Atoi(m[3])
			if err == nil && err2 == nil && is < could && instead.MatchString(m[2]) {
				return true
			}
		}
	}
	return false
}

// ports finds two rates of ports, Gb/s.
var ports = regexp.MustCompile(`(?i)\b(\d{2,3}) ?G(?:b/s|bps|bit/s|b/sec|E)?\b(\D{1,40}?)\b(\d{2,3})\b`)

// can joins a rate with the one that a port could have.
var can = regexp.MustCompile(`(?i)instead|rather|can\b|capab|should|support|where|not|NIC|adapter`)

// slowerPort reports whether a text tells of a port at a lower rate than it could have; both are rates that ports
// have, so that a bandwidth beside its line rate is none.
func slowerPort(text string) bool {
	rates := []int{10, 25, 40, 50, 56, 100, 200, 400, 800}
	for _, m := range ports.FindAllStringSubmatch(text, 4) {
		is, err := strconv.Atoi(m[1])
		could, err2 := strconv.Atoi(m[3])
		if err == nil && err2 == nil && is < could && slices.Contains(rates, is) && slices.Contains(rates, could) && can.MatchString(m[2]) {
			return true
		}
	}
	return false
}

// place is where a concept was found: words from to before.
type place struct {
	concept      string
	from, before int
	denials      int
}

// match finds the concepts from left to right. Of those that begin at one word the longest win, all of them:
// a phrase may stand for two concepts.
func (r *reader) match(words []word) []place {
	var found []place
	for i := 0; i < len(words); {
		longest := 0
		var here []string
		for _, list := range [][]phrase{r.phrases[words[i].text], r.phrases[""]} {
			for _, p := range list {
				if n := len(p.words); n >= longest && fits(p.words, words[i:]) {
					if n > longest {
						longest, here = n, nil
					}
					here = append(here, p.concept)
				}
			}
		}
		for _, c := range here {
			found = append(found, place{concept: c, from: i, before: i + longest})
		}
		i += max(1, longest)
	}
	return found
}

func fits(phrase []string, words []word) bool {
	if len(phrase) > len(words) {
		return false
	}
	for i, p := range phrase {
		start, wild := strings.CutSuffix(p, "*")
		if words[i].text != p && (!wild || !strings.HasPrefix(words[i].text, start)) {
			return false
		}
	}
	return true
}

// spellings are written in one way before a text is cut into words.
var spellings = [][2]string{{"n't", " not"}, {"n’t", " not"}, {"cannot", "can not"}, {"/sys/", " sysfs "},
	{"->", " to "}, {"→", " to "}, {"#wrong", " wrongresult "}}

// split makes words of a text: lower case, plural endings off, identifiers such as ib_write_bw in their
// parts, environment variables whole.
func split(text string) []word {
	text = strings.ToLower(text)
	for _, r := range spellings {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	var words []word
	clause := 0
	runes := []rune(text)
	for i := 0; i < len(runes); {
		switch c := runes[i]; {
		case c == '[' && bracketed(runes[i:]) > 0: // [0] is a place in a list
			i += bracketed(runes[i:])
			continue
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			from := i
			for i < len(runes) && inWord(runes, i) {
				i++
			}
			for _, part := range parts(string(runes[from:i])) {
				words = append(words, word{stem(part), clause})
			}
			continue
		case strings.ContainsRune(".;,)!?\n", c):
			clause++
		case strings.ContainsRune("=%<>", c):
			words = append(words, word{string(c), clause})
		}
		i++
	}
	return words
}

// bracketed is the length of a number in brackets at the start of a text; 0: there is none.
func bracketed(runes []rune) int {
	for i, c := range runes[1:] {
		if c == ']' {
			return i + 2
		}
		if !unicode.IsDigit(c) {
			break
		}
	}
	return 0
}

func inWord(runes []rune, i int) bool {
	c := runes[i]
	if unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' {
		return true
	}
	return c == '.' && i+1 < len(runes) && unicode.IsDigit(runes[i-1]) && unicode.IsDigit(runes[i+1])
}

func parts(w string) []string {
	for _, whole := range []string{"nccl_", "rccl_", "ucx_", "hsa_", "cuda_", "ompi_", "fi_"} {
		if strings.HasPrefix(w, whole) {
			return []string{w}
		}
	}
	out := strings.FieldsFunc(w, func(r rune) bool { return r == '_' })
	if n := len(out); n > 1 && strings.Trim(out[n-1], "0123456789") == "" {
		out = append(out[:n-2], out[n-2]+"_"+out[n-1]) // mlx5_0 is one name
	}
	return out
}

// stem takes the plural ending off a word. What is left need not be a word: the lexicon passes here too.
func stem(w string) string {
	switch w {
	case "lags": // a verb: "the bond lag" is another thing
		return w
	case "gpus", "vms", "vfs", "pfs", "sms":
		return w[:len(w)-1]
	}
	for _, keep := range []string{"ss", "us", "is", "os", "as"} {
		if strings.HasSuffix(w, keep) {
			return w
		}
	}
	if len(w) > 4 && strings.HasSuffix(w, "ies") {
		return w[:len(w)-3] + "y"
	}
	if len(w) > 3 && strings.HasSuffix(w, "s") {
		return w[:len(w)-1]
	}
	return w
}
