package check

import (
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// Waiver excludes a failing finding, and what depends on it, from the verdict until a date.
type Waiver struct {
	Rule    string    // id of a rule
	Subject string    // as findings print it: node, node:nic, cluster
	Reason  string    // in words
	Until   time.Time // the last day on which it is in effect, UTC
}

// waiverSource marks the evidence of a finding that a waiver covers. Such a finding keeps its status and is
// counted as waived.
const waiverSource = "cluster file, waive"

// waiverRule is the id of findings about waivers without effect.
const waiverRule = "waiver"

type waiverUse struct {
	Waiver
	matched bool
}

func (w *Waiver) text() string {
	return "rule " + w.Rule + ", subject " + w.Subject + ", until " + w.Until.Format(time.DateOnly) + ": " + w.Reason
}

func (w *Waiver) expired(now time.Time) bool {
	y, m, d := w.Until.Date()
	return !now.Before(time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC))
}

// waiver returns the waiver in effect for a failing finding.
func (c *Checker) waiver(rule string, s fabric.Subject) *Waiver {
	if len(c.waivers) == 0 {
		return nil
	}
	var found *Waiver
	subject := s.String()
	for i := range c.waivers {
		w := &c.waivers[i]
		if w.Rule != rule || w.Subject != subject {
			continue
		}
		w.matched = true
		if found == nil && !w.expired(c.now) {
			found = &w.Waiver
		}
	}
	return found
}

// unused returns a finding about a waiver that excludes nothing from the verdict, so that it is noticed.
func (w *waiverUse) unused(rules []Rule, now time.Time) (fabric.Finding, bool) {
	f := fabric.Finding{
		ID: waiverRule, Title: "Waivers take effect", Status: fabric.Unknown, Severity: fabric.SeverityWarning,
		Subject: fabric.ClusterSubject(), Evidence: []fabric.Evidence{saw(waiverSource, w.text())},
		Expected:  "each waiver names a rule and a subject that currently fail",
		Reference: "cluster file, section waive",
	}
	known := make([]string, 0, len(rules))
	for _, r := range rules {
		known = append(known, r.ID)
	}
	switch {
	case !slices.Contains(known, w.Rule):
		f.Why = "rule \"" + w.Rule + "\" is unknown: want one of " + strings.Join(known, ", ")
	case w.expired(now):
		f.Why = "the waiver of " + w.Rule + " on " + w.Subject + " ended on " + w.Until.Format(time.DateOnly) +
			"; today is " + now.UTC().Format(time.DateOnly)
	case !w.matched:
		f.Why = w.Rule + " does not fail on \"" + w.Subject + "\": the fault is gone, or the subject is not written " +
			"as findings print it"
	default:
		return fabric.Finding{}, false
	}
	return f, true
}
