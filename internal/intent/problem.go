package intent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Problem is one thing wrong in a cluster file and where it stands.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`            // from 1
	Column  int    `json:"column"`          // from 1, in characters
	Field   string `json:"field,omitempty"` // such as nodes[0].names; empty where the text is no YAML
	Message string `json:"message"`
}

// String writes file:line:column: field: message, on one line.
func (p Problem) String() string {
	where := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Field != "" {
		where += p.Field + ": "
	}
	return where + p.Message
}

// Errors are all problems of a cluster file, sorted by position.
type Errors []Problem

// Error writes one problem a line.
func (e *Errors) Error() string {
	lines := make([]string, len(*e))
	for i, p := range *e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders the problems by position and drops repeats, which an anchor that is used twice makes.
func (e Errors) sorted() *Errors {
	slices.SortStableFunc(e, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	e = slices.Compact(e)
	return &e
}

// oneOf says that a word is none of the known ones, which is nearest, and lists them.
func oneOf(known []string, word string) string {
	return didYouMean(known, word) + "known are " + strings.Join(known, ", ")
}

// didYouMean proposes the nearest known word, or nothing where none is near. Within a third of the
// letters and one more counts as near. Words longer than any
// field name are not compared.
func didYouMean(known []string, word string) string {
	const longest = 64
	if len(word) > longest {
		return ""
	}
	best, distance := "", len(word)/3+2
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(k), nil); d < distance {
			best, distance = k, d
		}
	}
	for _, k := range known {
		// A shortened or lengthened word is far by letters and near by sense: metal for baremetal.
		if best == "" && len(word) > 2 && (strings.Contains(k, word) || strings.Contains(word, k)) {
			best = k
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", best)
}
