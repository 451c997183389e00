package diagnose

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// gather adds what numbers, logs, settings and findings show to what texts and messages say.
func (s *observed) gather(in Input) {
	s.settings = slices.DeleteFunc(s.settings, func(v setting) bool { return slices.Contains(s.overruled, v.name) })
	s.measureNetwork()
	s.measurePath()
	s.measureNode(in.Machines)
	s.measurePerftest()
	s.measurePairs()
	s.measureCollectives()
	s.measureArtefacts()
	s.measureCurve()
	s.measureWorkers()
	s.measureLogs()
	s.measureTexts()
	s.measureTwins()
	s.measureChanges()
	s.measurePort(in.PortGbps)
	s.addSettings(s.idle(in.Predict))
	s.noteNotModelled(in.Predict)
	s.addPredicted(in.Predict)
	s.addFindings()
	s.addOutcomes()
	s.measureStop()
}

// addSettings turns the settings of the job into evidence, without those that are idle. perftest does not read them.
func (s *observed) addSettings(idle map[string]string) {
	if s.kind == fabric.PerftestOutput {
		return
	}
	said := map[setting]bool{}
	for _, v := range s.settings {
		if spark(s.hw) && usualOnSpark(v) {
			continue
		}
		if why := idle[v.name]; why != "" {
			s.notes = append(s.notes, fabric.Evidence{Source: v.source, Value: v.name + "=" + v.value + " " + why})
			continue
		}
		key := setting{name: v.name, value: v.value}
		if said[key] {
			continue // which counts once
		}
		said[key] = true
		s.seen = append(s.seen, evidence.Setting{Name: v.name, Value: v.value, Seen: evidence.Seen{Source: v.source, Text: v.name + "=" + v.value, Own: true}})
	}
}

// addFindings adds what railwright check found.
func (s *observed) addFindings() {
	for _, found := range s.call.found {
		found.Own = s.onlyFacts
		s.seen = append(s.seen, found)
	}
}

// foundBy turns what railwright check found into evidence.
func foundBy(findings []fabric.Finding) (out []evidence.Found) {
	failed := map[fabric.CauseID]bool{}
	for _, f := range findings {
		failed[f.Cause] = failed[f.Cause] || f.Status == fabric.Fail && !f.Waived
	}
	for _, f := range findings {
		pass := f.Status == fabric.Pass && !failed[f.Cause]
		if f.Cause == "" || f.Waived || f.Status != fabric.Fail && !pass {
			continue
		}
		text := f.Title + ": passed"
		if f.Status == fabric.Fail {
			text = strings.TrimSpace(f.Subject.String() + ": " + f.Title + ". " + f.Why)
		}
		out = append(out, evidence.Found{Rule: f.ID, Cause: f.Cause, About: f.Subject, Failed: f.Status == fabric.Fail, Error: f.Severity == fabric.SeverityError,
			Seen: evidence.Seen{Source: "check " + f.ID, Text: text}})
	}
	return out
}

// addOutcomes says of numbers below their bands that a run is slow.
func (s *observed) addOutcomes() {
	if p := s.worst(func(point) bool { return true }); p != nil {
		s.seen = append(s.seen, evidence.Outcome{How: evidence.Slow, Printed: s.cutShort, Seen: evidence.Seen{Source: p.evidence().Source, Text: p.evidence().Value, Own: p.own}})
	}
	for _, b := range s.broken {
		s.seen = append(s.seen, evidence.Outcome{How: evidence.Crash, Printed: true, Seen: evidence.Seen{Source: b.Source, Text: b.Value, Own: true}})
	}
}
