package intent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Problem is one error in a cluster file and its position.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`            // from 1
	Column  int    `json:"column"`          // from 1, in characters
	Field   string `json:"field,omitempty"` // such as nodes[0].names; empty where the text is not YAML
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

// unknown says that a word is none of a closed set, proposes the nearest, and lists the set.
func unknown(word string, known []string) string {
	return ": unknown; " + fabric.DidYouMean(word, known) + "known: " + strings.Join(known, ", ")
}
