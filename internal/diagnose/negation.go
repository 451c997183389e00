package diagnose

import "slices"

// Words that deny what follows them, and words that deny what stands before them.
var (
	denyNext = []string{"no", "not", "without", "never", "none", "neither", "nor", "zero", "lack", "lacking", "missing", "absent", "unable", "0", "nothing", "nobody", "hardly"}
	denyLast = []string{"disabled", "disable", "off", "missing", "absent", "unavailable", "unloaded", "inactive", "unset", "removed",
		"stopped", "masked", "false", "none", "nowhere", "0", "zero", "lost", "gone", "unsupported", "refused", "rejected", "no", "never"}
	// states are what a thing is when it is there: "not" before one of them denies the thing.
	states = []string{"loaded", "enabled", "enable", "used", "use", "using", "found", "set", "active", "seen", "present", "running",
		"on", "working", "work", "available", "supported", "support", "there", "configured", "visible", "in", "appear", "shown", "listed",
		"applied", "reported", "inserted", "installed", "honoured", "detected", "possible", "passed", "given", "exported"}
	// breaks end the reach of a denial.
	breaks = []string{"but", "while", "although", "though", "yet", "however", "whereas", "then", "because", "since", "so"}
	// numbered are counted from 0: the 0 after them denies nothing.
	numbered = []string{"gpu", "hca", "nic", "rank", "rail", "port", "node", "device", "dev", "level", "lid", "priority", "prio", "queue", "channel", "index", "net", "ib", "socket", "hba"}
	// equals stand between a thing and its number.
	equals = []string{"=", "is", "are", "at", "of", "stay", "remain", "read", "show", "to"}
	joins  = []string{"and", "or", "nor"}
)

// reach is how many words a denial carries: "none of the channels in the log use GDRDMA".
const reach = 7

// negate counts the denials of each place. "not disabled" is none.
func negate(words []word, found []place) {
	rules := denialRules()
	for i := range words {
		d := newDenial(words, found, i)
		for _, applies := range rules {
			if applies(d) {
				break
			}
		}
	}
}

// denial is a word that may deny a place, and what stands around it.
type denial struct {
	words         []word
	found         []place
	i             int    // the word
	text          string // of the word
	previous      string // the word before; empty: there is none
	next          string // the word after in the same clause; empty: there is none
	before, after int    // the nearest places within reach; -1: none
}

func newDenial(words []word, found []place, i int) denial {
	d := denial{words: words, found: found, i: i, text: words[i].text, before: lastBefore(found, words, i), after: firstAfter(found, words, i)}
	if i > 0 {
		d.previous = words[i-1].text
	}
	if i+1 < len(words) && words[i+1].clause == words[i].clause {
		d.next = words[i+1].text
	}
	return d
}

// denialRules are the ways to read a word, most specific first: the first that applies denies what it denies,
// and ends the reading of that word.
func denialRules() []func(denial) bool {
	return []func(denial) bool{
		denial.partOfConcept, denial.notOnly, denial.notBeforeState, denial.doubleNegation, denial.zeroOfThing,
		denial.deniesLeft, denial.zeroAsNumber, denial.deniesRight,
	}
}

// partOfConcept is a word of a concept's own phrase, which denies nothing.
func (d denial) partOfConcept() bool { return inside(d.found, d.i) }

func (d denial) notOnly() bool { return d.text == "not" && d.next == "only" }

func (d denial) isNot() bool { return d.text == "not" || d.text == "never" }

// notBeforeState is "index 0 does not work", "the NIC is not in its profile".
func (d denial) notBeforeState() bool {
	if !d.isNot() || !slices.Contains(states, d.next) || d.before < 0 {
		return false
	}
	denyLeft(d.found, d.words, d.before, true)
	if k := startsAt(d.found, d.i+1, "fine"); k >= 0 {
		d.found[k].denials++
	}
	if d.next == "in" && d.after >= 0 {
		denyRight(d.found, d.words, d.after)
	}
	return true
}

// doubleNegation is "not disabled": the two cancel, at the first word and at the second.
func (d denial) doubleNegation() bool {
	return d.isNot() && slices.Contains(denyLast, d.next) || slices.Contains(denyLast, d.text) && d.previous == "not"
}

// zeroOfThing is "GDRDMA = 0".
func (d denial) zeroOfThing() bool {
	if d.text != "0" || d.before < 0 || slices.Contains(numbered, d.previous) || d.found[d.before].before != d.i && !slices.Contains(equals, d.previous) {
		return false
	}
	denyLeft(d.found, d.words, d.before, false)
	return true
}

// deniesLeft is "PFC off".
func (d denial) deniesLeft() bool {
	if d.text == "0" || !slices.Contains(denyLast, d.text) || d.before < 0 ||
		slices.Contains(denyNext, d.text) && d.after >= 0 && !closer(d.found, d.before, d.after, d.i) {
		return false
	}
	denyLeft(d.found, d.words, d.before, true)
	return true
}

// zeroAsNumber is "GPU 0", "rank 0", which deny nothing.
func (d denial) zeroAsNumber() bool {
	return d.text == "0" && (d.after < 0 || d.found[d.after].from != d.i+1 || slices.Contains(numbered, d.previous))
}

// deniesRight is "no PFC", "have not set up peermem".
func (d denial) deniesRight() bool {
	if !slices.Contains(denyNext, d.text) || d.after < 0 {
		return false
	}
	denyRight(d.found, d.words, d.after)
	if k := d.after + 1; d.found[d.after].concept == "instate" && k < len(d.found) && unbroken(d.words, d.found[d.after].from, d.found[k].from) {
		denyRight(d.found, d.words, k)
	}
	return true
}

// startsAt is the place of a concept that begins at word i; -1: none does.
func startsAt(found []place, i int, concept string) int {
	return slices.IndexFunc(found, func(p place) bool { return p.from == i && p.concept == concept })
}

func inside(found []place, i int) bool {
	return slices.ContainsFunc(found, func(p place) bool { return p.from <= i && i < p.before })
}

// closer reports whether the place before stands nearer to word i than the one after. On a tie the word denies
// what follows: "GDRDMA no, ECN" is rare, "link without ECN" is not.
func closer(found []place, before, after, i int) bool {
	return i-found[before].before < found[after].from-i-1
}

// lastBefore is the last place that ends before word i in the same clause and within reach; -1: none.
func lastBefore(found []place, words []word, i int) int {
	best := -1
	for k, p := range found {
		if p.before <= i && i-p.before < reach && unbroken(words, p.before-1, i) {
			best = k
		}
	}
	return best
}

// firstAfter is the first place that begins after word i in the same clause and within reach; -1: none.
func firstAfter(found []place, words []word, i int) int {
	for k, p := range found {
		if p.from > i {
			if p.from-i <= reach && unbroken(words, i, p.from) && !joined(words, i+1, p.from) {
				return k
			}
			return -1
		}
	}
	return -1
}

func unbroken(words []word, from, to int) bool {
	if words[from].clause != words[to].clause {
		return false
	}
	return !slices.ContainsFunc(words[from:to], func(w word) bool { return slices.Contains(breaks, w.text) })
}

// joined reports whether a conjunction stands between: "no loss and GDRDMA" denies the loss alone.
func joined(words []word, from, to int) bool {
	return slices.ContainsFunc(words[from:to], func(w word) bool { return slices.Contains(joins, w.text) })
}

// denyLeft counts one denial of a place, of those found at the same words, and of those that a bare "and" or "or"
// joins to it on the left: "PFC and ECN are off".
func denyLeft(found []place, words []word, k int, others bool) {
	from := found[k].from
	for i := k; i >= 0; i-- {
		p := &found[i]
		switch {
		case p.from == from:
		case others && from >= 2 && p.before == from-1 && slices.Contains(joins, words[from-1].text):
			from = p.from
		default:
			return
		}
		p.denials++
	}
}

// denyRight is the same to the right: "no PFC or ECN".
func denyRight(found []place, words []word, k int) {
	from, before := found[k].from, found[k].before
	for i := k; i < len(found); i++ {
		p := &found[i]
		switch {
		case p.from == from:
		case p.from == before+1 && (words[before].text == "or" || words[before].text == "nor"):
			from, before = p.from, p.before
		default:
			return
		}
		p.denials++
	}
}
