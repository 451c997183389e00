package nccllint

import "slices"

// Rule is a rule of topology files, without its code.
type Rule struct {
	ID        string
	Title     string // what is true when it passes
	Expected  string // how a file looks that passes
	Cost      string // of a failure; empty: nothing, or each failure says its own
	Reference string // NCCL's source; empty: the rule is of the reading, not of NCCL
}

// Rules describes all rules of topology files, in the order in which they are reported: those of one file, then the one that
// compares the files of several nodes.
func Rules() []Rule {
	var all []Rule
	for _, r := range slices.Concat(rules(), []rule{sameRule()}) {
		all = append(all, Rule{r.id, r.title, r.expected, r.cost, r.reference})
	}
	return all
}
