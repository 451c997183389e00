package check

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestCases(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			w := newWorld()
			c.change(w)
			findings, _ := run(w.plan, nil, w.nodes...)
			i := slices.IndexFunc(findings, func(f fabric.Finding) bool { return f.ID == c.rule && f.Subject.String() == c.subject })
			if i < 0 {
				t.Fatalf("no finding on %s", c.subject)
			}
			f := findings[i]
			if f.Status != c.want {
				t.Fatalf("%s on %s, want %s: %+v", f.Status, c.subject, c.want, f)
			}
			if said := f.Why + " " + f.Cost; !strings.Contains(said, c.says) {
				t.Errorf("says %q, want %q in it", said, c.says)
			}
			checkWhole(t, f)
		})
	}
}

// checkWhole demands what a finding of its status owes its reader.
func checkWhole(t *testing.T, f fabric.Finding) {
	t.Helper()
	switch f.Status {
	case fabric.Pass:
		if len(f.Evidence) == 0 || f.Expected == "" {
			t.Errorf("passes without evidence or expectation: %+v", f)
		}
	case fabric.Fail:
		if len(f.Evidence) == 0 || f.Expected == "" || f.Why == "" || f.Fix == "" || f.Cause == "" {
			t.Errorf("fails without evidence, expectation, reason, fix or cause: %+v", f)
		}
	default:
		if f.Why == "" {
			t.Errorf("%s without a reason: %+v", f.Status, f)
		}
	}
	if f.Status != fabric.Fail && f.Cause != "" {
		t.Errorf("%s with cause %s", f.Status, f.Cause)
	}
}

// TestRules holds every rule to its form, and demands a case for each verdict that its declaration allows.
func TestRules(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	var earlier []string
	cluster := false
	for _, r := range Rules() {
		if !name.MatchString(r.ID) || slices.Contains(earlier, r.ID) || r.ID == waiverRule {
			t.Errorf("%q: id is not in kebab case, or not unique", r.ID)
		}
		if r.Title == "" || r.Doc == "" || r.Reference == "" || strings.Contains(r.Doc, "\n") {
			t.Errorf("%s: wants a title, a line of doc and a reference", r.ID)
		}
		if (r.Node == nil) == (r.Cluster == nil) {
			t.Errorf("%s: wants exactly one of Node and Cluster", r.ID)
		}
		if cluster && r.Node != nil {
			t.Errorf("%s: a node rule after cluster rules", r.ID)
		}
		cluster = cluster || r.Cluster != nil
		for _, d := range r.DependsOn {
			if !slices.Contains(earlier, d) {
				t.Errorf("%s: depends on %s, which does not stand before it", r.ID, d)
			}
		}
		if r.Cause != "" && !slices.Contains(knownCauses(), r.Cause) {
			t.Errorf("%s: cause %s is not known", r.ID, r.Cause)
		}
		if r.Severity.String() == "" {
			t.Errorf("%s: no severity", r.ID)
		}
		earlier = append(earlier, r.ID)
		for _, s := range owed(r) {
			if !slices.ContainsFunc(cases(), func(c oneCase) bool { return c.rule == r.ID && c.want == s }) {
				t.Errorf("%s: no case in which it is %s", r.ID, s)
			}
		}
	}
}

// owed are the verdicts that a rule's declaration allows: without a cause it never fails, without a scope it
// always applies.
func owed(r Rule) []fabric.Status {
	out := []fabric.Status{fabric.Pass, fabric.Unknown}
	if r.Cause != "" {
		out = append(out, fabric.Fail)
	}
	if r.Scope != (Scope{}) {
		out = append(out, fabric.NotApplicable)
	}
	return out
}

func knownCauses() []fabric.CauseID {
	return []fabric.CauseID{
		fabric.CauseACSRedirect, fabric.CauseAddressConflict, fabric.CauseAddressMissing, fabric.CauseARPFlux,
		fabric.CauseLinkDown, fabric.CauseMiscabled, fabric.CauseMTUMismatch, fabric.CauseNumaBalancing,
		fabric.CausePCIeDowngraded, fabric.CausePCIeDowngradedUpstream, fabric.CauseRouteMissing,
	}
}

// TestNoRuleIsSilent feeds facts that show nothing: every rule must say that it does not know.
func TestNoRuleIsSilent(t *testing.T) {
	p := testPlan(1)
	findings, summary := run(p, nil, &fabric.Facts{Node: "host1", Source: "live", Machine: fabric.Machine{Hypervisor: ref(false)}})
	for _, r := range Rules() {
		if r.ID == "facts-collected" { // facts did come in, empty as they are
			continue
		}
		found := false
		for _, f := range findings {
			if f.ID != r.ID {
				continue
			}
			found = true
			if f.Status != fabric.Unknown {
				t.Errorf("%s is %s on empty facts: %+v", r.ID, f.Status, f)
			}
		}
		if !found {
			t.Errorf("%s is silent on empty facts", r.ID)
		}
	}
	if summary.Status() != fabric.Unknown {
		t.Errorf("empty facts are %s in all", summary.Status())
	}
}
