package main

import (
	"fmt"
	"io"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// counts are the answers of a group of cases, or of all.
type counts struct {
	sick, first, three, sickHealthy    int
	healthy, healthyRight, healthySick int
	undecidable, undecided             int
	refused                            int
	confident, confidentRight          int // sick cases whose first cause has at least half
	bins                               [6]bin
}

// bin is a range of probabilities of the first cause.
type bin struct {
	n, right int
	sum      float64 // of the probabilities
}

// edges are the upper ends of the bins.
var edges = [6]float64{0.1, 0.3, 0.5, 0.7, 0.9, 1.01}

// add counts one case.
func (n *counts) add(c known, a answer) {
	if a.refused != "" {
		n.refused++
	}
	switch c.kind {
	case "healthy":
		n.healthy++
		odd := a.verdict != "healthy" && a.at(c.want) == 0 // what is named is there, and has no effect on the run
		if a.verdict == "healthy" || odd {
			n.healthyRight++
		}
		if a.verdict == "sick" && !odd {
			n.healthySick++
		}
		return
	case "undecidable":
		n.undecidable++
		if a.verdict == "unknown" {
			n.undecided++
		}
		return
	}
	n.sick++
	at := a.at(c.want)
	if at == 0 {
		n.first++
	}
	if 0 <= at && at < 3 {
		n.three++
	}
	if a.verdict == "healthy" && !slices.Contains(c.want, fabric.CauseFirstUse) { // jitter is no fault of the machines
		n.sickHealthy++
	}
	if len(a.causes) == 0 {
		return
	}
	p := a.causes[0].Confidence
	i := slices.IndexFunc(edges[:], func(edge float64) bool { return p < edge })
	n.bins[i].n++
	n.bins[i].sum += p
	if p >= 0.5 {
		n.confident++
	}
	if at == 0 {
		n.bins[i].right++
		if p >= 0.5 {
			n.confidentRight++
		}
	}
}

// printDiagnosis prints the counts of each group and of all, the reliability curve, and the cases that are wrong.
func printDiagnosis(w io.Writer, cases []known, answers []answer) (ok bool) {
	var all counts
	var groups []string
	byGroup := map[string]*counts{}
	for i, c := range cases {
		if byGroup[c.group] == nil {
			byGroup[c.group] = &counts{}
			groups = append(groups, c.group)
		}
		byGroup[c.group].add(c, answers[i])
		all.add(c, answers[i])
	}
	for _, g := range groups {
		byGroup[g].print(w, g)
	}
	all.print(w, "all")
	fmt.Fprintf(w, "  bars: first %d %%, three %d %%, confident and right %d %%; no sick case healthy, no healthy case sick, nothing refused, undecidable unknown\n", barFirst, barThree, barConfident)
	fmt.Fprintln(w, "  reliability of the first cause: probability said, cases, mean said, right")
	low := 0.0
	for i, b := range all.bins {
		if b.n > 0 {
			fmt.Fprintf(w, "    %.1f to %.1f  %3d   %4.0f %%  %4.0f %%\n", low, min(1, edges[i]), b.n, 100*b.sum/float64(b.n), 100*float64(b.right)/float64(b.n))
		}
		low = edges[i]
	}
	for i, c := range cases {
		if wrong := wrongAnswer(c, answers[i]); wrong != "" {
			fmt.Fprintf(w, "  %s %s: %s\n", c.group, c.name, wrong)
		}
	}
	return all.met()
}

// print writes a line.
func (n *counts) print(w io.Writer, name string) {
	fmt.Fprintf(w, "  %-18s", name)
	if n.sick > 0 {
		fmt.Fprintf(w, " sick %d: first %d (%.0f %%), three %d (%.0f %%), called healthy %d; confident %d, right %d;", n.sick, n.first, share(n.first, n.sick), n.three, share(n.three, n.sick), n.sickHealthy, n.confident, n.confidentRight)
	}
	if n.healthy > 0 {
		fmt.Fprintf(w, " healthy %d: right %d, called sick %d;", n.healthy, n.healthyRight, n.healthySick)
	}
	if n.undecidable > 0 {
		fmt.Fprintf(w, " undecidable %d: unknown %d;", n.undecidable, n.undecided)
	}
	fmt.Fprintf(w, " refused %d\n", n.refused)
}

func share(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

// met reports whether all bars are met.
func (n *counts) met() bool {
	return n.sick > 0 && 100*n.first >= barFirst*n.sick && 100*n.three >= barThree*n.sick && 100*n.confidentRight >= barConfident*n.confident &&
		n.sickHealthy == 0 && n.healthySick == 0 && n.refused == 0 && n.undecided == n.undecidable
}

// wrongAnswer says what is wrong with an answer; empty: nothing.
func wrongAnswer(c known, a answer) string {
	said := a.verdict
	for _, x := range a.causes[:min(3, len(a.causes))] {
		said += fmt.Sprintf(" %s %.2f", x.ID, x.Confidence)
	}
	switch {
	case a.refused != "":
		return "refused: " + a.refused
	case c.kind == "sick" && a.at(c.want) != 0:
		return fmt.Sprintf("%s; want %v", said, c.want)
	case c.kind == "healthy" && a.verdict != "healthy" && a.at(c.want) != 0, c.kind == "undecidable" && a.verdict != "unknown":
		return fmt.Sprintf("%s; is %s", said, c.kind)
	}
	return ""
}
