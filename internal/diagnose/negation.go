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
	// between may stand between a thing and the word that denies it.
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
	for i, w := range words {
		next := ""
		if i+1 < len(words) && words[i+1].clause == w.clause {
			next = words[i+1].text
		}
		before, after := lastBefore(found, words, i), firstAfter(found, words, i)
		switch {
		case inside(found, i):
		case w.text == "not" && next == "only":
		case (w.text == "not" || w.text == "never") && slices.Contains(states, next) && before >= 0:
			deny(found, words, before, true)
			if k := startsAt(found, i+1, "fine"); k >= 0 { // "index 0 does not work"
				found[k].denials++
			}
			if next == "in" && after >= 0 { // "the NIC is not in its profile"
				denyOn(found, words, after)
			}
		case (w.text == "not" || w.text == "never") && slices.Contains(denyLast, next):
			// the two cancel: the next word is passed over below
		case slices.Contains(denyLast, w.text) && i > 0 && words[i-1].text == "not":
		case w.text == "0" && before >= 0 && !slices.Contains(numbered, words[i-1].text) && (found[before].before == i || slices.Contains(equals, words[i-1].text)):
			deny(found, words, before, false)
		case w.text != "0" && slices.Contains(denyLast, w.text) && before >= 0 && (!slices.Contains(denyNext, w.text) || after < 0 || closer(found, before, after, i)):
			deny(found, words, before, true)
		case w.text == "0" && (after < 0 || found[after].from != i+1 || i > 0 && slices.Contains(numbered, words[i-1].text)): // GPU 0, rank 0
		case slices.Contains(denyNext, w.text) && after >= 0:
			denyOn(found, words, after)
			if k := after + 1; found[after].concept == "instate" && k < len(found) && unbroken(words, found[after].from, found[k].from) {
				denyOn(found, words, k) // "have not set up peermem"
			}
		}
	}
}

// startsAt is the place of a concept that begins at word i; -1: none does.
func startsAt(found []place, i int, concept string) int {
	return slices.IndexFunc(found, func(p place) bool { return p.from == i && p.concept == concept })
}

func inside(found []place, i int) bool {
	return slices.ContainsFunc(found, func(p place) bool { return p.from <= i && i < p.before })
}

// closer says whether the place before stands nearer to word i than the one after. On a tie the word denies
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

// joined says whether a conjunction stands between: "no loss and GDRDMA" denies the loss alone.
func joined(words []word, from, to int) bool {
	return slices.ContainsFunc(words[from:to], func(w word) bool { return slices.Contains(joins, w.text) })
}

// deny counts one denial of a place, of those found at the same words, and of those that a bare "and" or "or"
// joins to it on the left: "PFC and ECN are off".
func deny(found []place, words []word, k int, others bool) {
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

// denyOn is deny to the right: "no PFC or ECN".
func denyOn(found []place, words []word, k int) {
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
