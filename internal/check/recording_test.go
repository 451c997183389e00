package check_test

import (
	"slices"
	"testing"
	"time"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
)

// leastRecorded is how many rules must pass, fail and not know by recordings alone.
const leastRecorded = 40

// recordedCase is a rule on recordings of healthy hosts: as they are, with an answer changed so that it must fail,
// and with an answer taken away so that it must not know. A rule without a cause never fails.
type recordedCase struct {
	rule    string
	on      setting
	subject string // of the pass; and of the others where they name none
	fail    edit
	failOn  string
	unknown edit
	blindOn string
	also    string // the other rule that fails by the same change
}

// setting is what all three cases of a rule share.
type setting struct {
	recording string
	plan      *fabric.Plan
	pair      bool // edits are of host2
	with      edit // of every host
}

func (s setting) judge(t *testing.T, change edit) []fabric.Finding {
	t.Helper()
	var out []fabric.Finding
	c := check.New(s.plan, nil, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), func(f fabric.Finding) { out = append(out, f) })
	first := openRecording(t, s.recording)
	s.apply(first)
	if !s.pair {
		change(first)
	}
	c.Take(c.Judge(first.facts()))
	if s.pair {
		second := openRecording(t, s.recording)
		asHost2(second)
		s.apply(second)
		change(second)
		c.Take(c.Judge(second.facts()))
	}
	if _, err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

func (s setting) apply(a *archive) {
	if s.with != nil {
		s.with(a)
	}
}

func findingOf(findings []fabric.Finding, rule, subject string) (fabric.Finding, bool) {
	i := slices.IndexFunc(findings, func(f fabric.Finding) bool { return f.ID == rule && f.Subject.String() == subject })
	if i < 0 {
		return fabric.Finding{}, false
	}
	return findings[i], true
}

// onlyBlamed: one change is blamed by one rule, and by another one where the case says so.
func onlyBlamed(t *testing.T, findings []fabric.Finding, rules ...string) {
	t.Helper()
	for _, f := range findings {
		if f.Status == fabric.Fail && !slices.Contains(rules, f.ID) {
			t.Errorf("blamed too: %s on %s: %s", f.ID, f.Subject, f.Why)
		}
	}
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// TestRulesOnRecordings judges each rule by what a recording replays, and counts the rules that have shown all
// that they can say.
func TestRulesOnRecordings(t *testing.T) {
	shown := map[string]map[fabric.Status]bool{}
	for _, c := range recordedCases() {
		for _, one := range []struct {
			status  fabric.Status
			subject string
			change  edit
		}{
			{fabric.Pass, c.subject, asRecorded},
			{fabric.Fail, or(c.failOn, c.subject), c.fail},
			{fabric.Unknown, or(c.blindOn, c.subject), c.unknown},
		} {
			if one.change == nil {
				continue
			}
			t.Run(c.rule+"/"+one.status.String(), func(t *testing.T) {
				findings := c.on.judge(t, one.change)
				f, ok := findingOf(findings, c.rule, one.subject)
				if !ok || f.Status != one.status {
					for _, f := range findings {
						if f.ID == c.rule {
							t.Logf("%s on %s: %s", f.Status, f.Subject, f.Why)
						}
					}
					t.Fatalf("%s on %s: want %s", c.rule, one.subject, one.status)
				}
				if f.Status != fabric.Pass && f.Why == "" || (f.Status == fabric.Fail) != (f.Cause != "") {
					t.Errorf("why %q, cause %q", f.Why, f.Cause)
				}
				if one.status == fabric.Fail {
					onlyBlamed(t, findings, c.rule, c.also)
				} else {
					onlyBlamed(t, findings) // what was taken away is nobody's fault
				}
				if shown[c.rule] == nil {
					shown[c.rule] = map[fabric.Status]bool{}
				}
				shown[c.rule][one.status] = true
			})
		}
	}
	countRecorded(t, shown)
}

// countRecorded fails below leastRecorded, and logs which rules lack what.
func countRecorded(t *testing.T, shown map[string]map[fabric.Status]bool) {
	t.Helper()
	whole := 0
	for _, r := range check.Rules() {
		var lacks []fabric.Status
		for _, s := range []fabric.Status{fabric.Pass, fabric.Fail, fabric.Unknown} {
			if !shown[r.ID][s] && (s != fabric.Fail || r.Cause != "") {
				lacks = append(lacks, s)
			}
		}
		if len(lacks) > 0 {
			t.Logf("%s has no recorded case of %v", r.ID, lacks)
			continue
		}
		whole++
	}
	t.Logf("%d of %d rules pass, fail and do not know by recordings alone", whole, len(check.Rules()))
	if whole < leastRecorded {
		t.Errorf("%d rules are judged by recordings in full, want at least %d", whole, leastRecorded)
	}
}

// TestRecordedHostsAreHealthy: nothing on the recorded hosts fails, alone or as two, with a plan or without.
func TestRecordedHostsAreHealthy(t *testing.T) {
	for name, s := range map[string]setting{
		"RoCE": {recording: "roce"}, "two RoCE": {recording: "roce", pair: true}, "planned": {recording: "roce", pair: true, plan: twoHosts()},
		"InfiniBand": {recording: "infiniband"}, "two InfiniBand": {recording: "infiniband", pair: true, plan: partition()},
	} {
		t.Run(name, func(t *testing.T) {
			passed := 0
			for _, f := range s.judge(t, asRecorded) {
				switch f.Status {
				case fabric.Pass:
					passed++
				case fabric.Fail, fabric.Unknown:
					t.Errorf("%s is %s on %s: %s", f.ID, f.Status, f.Subject, f.Why)
				}
			}
			if passed == 0 {
				t.Error("nothing passes")
			}
		})
	}
}
