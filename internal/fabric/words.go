package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// longestName limits the names that are compared, in bytes: a longer text is not a misspelling.
const longestName = 64

// Nearest returns the known names that a misspelled one may stand for, best first, at most three. Within a third of
// the letters and one more counts as near. Where none is, names count that contain it, or that have all its words:
// metal for baremetal, llama-70b for meta-llama-3-1-70b.
func Nearest(name string, known []string) []string {
	if name == "" || len(name) > longestName {
		return nil
	}
	name = strings.ToLower(name)
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, k := range known {
		if d := levenshtein.Distance(name, strings.ToLower(k), nil); d < min(len(name)/3+2, len(name)) {
			near = append(near, candidate{k, d})
		}
	}
	if len(near) == 0 {
		for _, k := range known {
			if alike(name, strings.ToLower(k)) {
				near = append(near, candidate{k, len(k)})
			}
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	const most = 3
	var names []string
	for _, c := range near[:min(len(near), most)] {
		if len(names) == 0 || near[0].distance > 0 && c.distance <= near[0].distance+1 {
			names = append(names, c.name)
		}
	}
	return names
}

// alike reports whether one name contains the other, or all its words.
func alike(name, known string) bool {
	if len(name) <= 2 {
		return false
	}
	if strings.Contains(known, name) || strings.Contains(name, known) {
		return true
	}
	words := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-_./ ", r) })
	}
	has := words(known)
	return !slices.ContainsFunc(words(name), func(w string) bool { return !slices.Contains(has, w) })
}

// DidYouMean proposes the names nearest to a misspelled one, followed by a space; empty where none is near.
func DidYouMean(name string, known []string) string {
	near := Nearest(name, known)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = Quote(n)
	}
	last := len(near) - 1
	if last == 0 {
		return "did you mean " + near[0] + "? "
	}
	return "did you mean " + strings.Join(near[:last], ", ") + " or " + near[last] + "? "
}

// UnknownName returns the error for a name that is not in a closed set: it proposes the nearest and lists the set.
//
//	kind "Fact": unknown; did you mean "Facts"? known: Facts, Plan
func UnknownName(what, name string, known []string) error {
	return fmt.Errorf("%s %s: unknown; %sknown: %s", what, Quote(name), DidYouMean(name, known), strings.Join(known, ", "))
}
