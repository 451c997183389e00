package evidence

import (
	"regexp"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// maxText bounds what is read of one text, bytes: a person writes less.
const maxText = 8 << 10

// clauseEnd is where one thing that is said ends and another begins.
var clauseEnd = pattern.Plain(`[;\n]|[.!?](?:\s|$)|,\s|\s(?:but|while|whereas|yet|otherwise|although|however)\s`)

// Read returns what a text of a person shows: contrasts, outcomes, and what it mentions.
// Nothing of it is a fact: statements are weak, and what is said to be in order is no fault.
func Read(text string, seen Seen) []Evidence {
	w, err := loadWords()
	if err != nil || strings.TrimSpace(text) == "" {
		return nil // a test reads the words
	}
	text = text[:min(len(text), maxText)]
	seen.Text = strings.TrimSpace(text)
	clauses := Clauses(text)
	contrasts, used := w.contrasts(text, clauses, seen)
	out := append(contrasts, w.outcomes(clauses, seen)...)
	for i, clause := range clauses {
		if !used[i] {
			out = append(out, w.statements(clause, seen)...)
		}
	}
	return out
}

// Changed returns what a change did by what is said of its outcome. effect is what numbers say of it; empty: the note
// says it, or nothing does.
func Changed(change, note string, effect Effect, seen Seen) []Evidence {
	w, err := loadWords()
	if err != nil {
		return nil
	}
	seen.Text = strings.TrimSpace(change + ": " + note)
	if effect == "" {
		effect = w.effect(note)
	}
	if effect == "" {
		effect = w.effect(change)
	}
	if effect == "" {
		return nil
	}
	var out []Evidence
	for _, s := range w.switches {
		if s.says.MatchString(change) {
			out = append(out, Contrast{Seen: seen, What: s.id, Effect: effect})
		}
	}
	return out
}

// Clauses cuts a text where one thing that is said ends and another begins.
func Clauses(text string) []string {
	var out []string
	for _, c := range clauseEnd().Split(text, 128) {
		if strings.TrimSpace(c) != "" {
			out = append(out, c)
		}
	}
	return out
}

// contrasts finds what was tried and how it went: in its own clause, else in the next or in the one before. used are the
// clauses that were understood.
func (w *words) contrasts(text string, clauses []string, seen Seen) (out []Evidence, used []bool) {
	used = make([]bool, len(clauses))
	for i, clause := range clauses {
		for _, s := range w.switches {
			if !s.says.MatchString(clause) {
				continue
			}
			effect, at := w.effect(s.says.ReplaceAllString(clause, " ")), i
			if effect == "" && i+1 < len(clauses) && !w.switched(clauses[i+1]) {
				effect, at = w.effect(clauses[i+1]), i+1
			}
			if effect == "" && i > 0 && !w.switched(clauses[i-1]) {
				effect, at = w.turned(clauses[i-1], clause), i-1
			}
			if effect != "" {
				used[i], used[at] = true, true
				out = append(out, Contrast{Seen: seen, What: s.id, Effect: effect, Said: true})
			}
		}
	}
	return out, used
}

// turned is the effect of a clause that only names a state, after one that tells of trouble: it hangs, until X.
func (w *words) turned(before, clause string) Effect {
	if w.until.MatchString(clause) && w.effect(before) == Worse {
		return Better
	}
	return ""
}

func (w *words) switched(clause string) bool {
	for _, s := range w.switches {
		if s.says.MatchString(clause) {
			return true
		}
	}
	return false
}

// effect is how a clause says that something went; empty: it does not say. What hangs until something is done went well
// with it; what does not hang went well; what does not help changed nothing.
func (w *words) effect(clause string) Effect {
	if w.same.MatchString(clause) {
		return Same
	}
	good, bad := w.count(w.good, clause), w.count(w.bad, clause)
	switch {
	case bad.plain > 0 && good.plain == 0 && bad.denied == 0 && w.until.MatchString(clause):
		return Better
	case good.plain > 0 && w.count(w.fails, clause).plain > 0:
		return Worse
	case good.plain > 0:
		return Better // it works, and may be slow
	case bad.plain > 0, good.denied > 0:
		return Worse
	case bad.denied > 0:
		return Better
	}
	return ""
}

// counted is how often words stand in a clause by themselves, and after a negation.
type counted struct{ plain, denied int }

func (w *words) count(of *regexp.Regexp, clause string) counted {
	var n counted
	for _, at := range of.FindAllStringIndex(clause, 32) {
		before := strings.TrimRight(clause[:at[0]], " ")
		if w.not.MatchString(before) {
			n.denied++
		} else {
			n.plain++
		}
	}
	return n
}

// outcomes finds that a run hangs, fails or is slow.
func (w *words) outcomes(clauses []string, seen Seen) []Evidence {
	var out []Evidence
	for _, clause := range clauses {
		for _, o := range []struct {
			how  How
			says *regexp.Regexp
		}{{Hang, w.hang}, {Slow, w.slow}, {Crash, w.bad}} {
			if w.count(o.says, clause).plain > 0 {
				out = append(out, Outcome{Seen: seen, How: o.how})
				break
			}
		}
	}
	return out
}

// statements finds what a clause mentions. What is said to be in order is not mentioned as a fault.
func (w *words) statements(clause string, seen Seen) []Evidence {
	good, bad := w.count(w.good, clause), w.count(w.bad, clause)
	if inPlace := good.plain+bad.denied > 0 && bad.plain+good.denied == 0 || inOrder().MatchString(clause); inPlace && !differs().MatchString(clause) {
		return nil
	}
	var out []Evidence
	for _, t := range w.topics {
		if t.says.MatchString(clause) {
			out = append(out, Statement{Seen: seen, Topic: t.id, Differs: differs().MatchString(clause)})
		}
	}
	return out
}

// inOrder finds a state in which a thing is as it should be.
var inOrder = pattern.Plain(`(?i)\b(?:all|is|are|was|were) (?:\w+ )?(?:active|enabled|running|loaded|installed|configured|attached|correct|up|there)\b|\bno (?:errors?|drops?|retransmissions?)\b|\bdisabled and\b`)

// SwitchesIn returns the ids of the states that a text names.
func SwitchesIn(text string) []string {
	w, err := loadWords()
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range w.switches {
		if s.says.MatchString(text) {
			out = append(out, s.id)
		}
	}
	return out
}

// differs finds that a thing is not the same everywhere.
var differs = pattern.Plain(`(?i)\bdiffer\w*|\bnot the same\b|\bmismatch\w*|\binconsistent\b`)
