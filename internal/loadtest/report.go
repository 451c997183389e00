package loadtest

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Wish is what a report is asked for.
type Wish struct {
	Stat      string  // of the time to the first token: avg, p50, ...; empty: avg
	TargetMs  float64 // most that it may be; 0: none
	RequestsS float64 // that are to be served; 0: not asked
	Known     []Workload
}

// Stats are the statistics of the time to the first token that a target can be of.
func Stats() []string { return []string{"avg", "p50", "p90", "p95", "p99"} }

// Report judges files, puts their loads on lines, and chooses operating points.
func Report(files []File, x Expect, w Wish) (*fabric.LoadReport, error) {
	if w.Stat == "" {
		w.Stat = "avg"
	}
	if !slices.Contains(Stats(), w.Stat) {
		return nil, fabric.UnknownName("statistic", w.Stat, Stats())
	}
	r := &fabric.LoadReport{Meta: fabric.NewMeta("LoadReport"), Stat: w.Stat, TargetMs: w.TargetMs}
	tests, unread := Gather(files)
	r.Unread = unread
	for _, t := range tests {
		r.Tests = append(r.Tests, Judge(t, x))
	}
	r.Lines = Lines(r.Tests, w.Stat, w.Known)
	if w.TargetMs > 0 || w.RequestsS > 0 {
		for _, l := range r.Lines {
			r.Choices = append(r.Choices, Choose(l, w.Stat, w.TargetMs, w.RequestsS))
		}
		if len(r.Lines) == 0 {
			r.Choices = append(r.Choices, fabric.LoadChoice{Target: "operating point", Text: fmt.Sprintf("no result has tokens/s, lengths and %s of the time to the first token", w.Stat)})
		}
	}
	r.Status = overall(r)
	return r, nil
}

// overall is fail where anything fails, pass where all passes and everything was read.
func overall(r *fabric.LoadReport) fabric.Status {
	status := fabric.Pass
	note := func(s fabric.Status) {
		switch {
		case s == fabric.Fail:
			status = fabric.Fail
		case s != fabric.Pass && status == fabric.Pass:
			status = fabric.Unknown
		}
	}
	for _, t := range r.Tests {
		note(t.Status)
	}
	for _, c := range r.Choices {
		note(c.Status)
	}
	if len(r.Tests) == 0 || len(r.Unread) > 0 {
		note(fabric.Unknown)
	}
	return status
}
