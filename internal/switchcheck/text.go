package switchcheck

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules that judge the text itself, whatever the plan is.

func textRule() Rule {
	return Rule{
		ID:    "switch-text",
		Title: "The text of each switch is whole, and of the planned language",
		Doc: "reports what is wrong in a switch's text by itself: cut off, said twice with different values, a name that is defined nowhere, a value that cannot be, " +
			"places that contradict each other, commands that the OS does not have, another OS than planned",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the grammar of each OS; docs/roce.md",
		Judge:     judgeTexts,
	}
}

// onlyInert are the kinds of problems that change nothing: switch-attached reports them.
var onlyInert = []string{fabric.TextUnattached, fabric.TextInert}

// judgeTexts says of a switch that was not read why, which the other rules do not.
func judgeTexts(in *Input) []fabric.Finding {
	out := eachSwitch(false, judgeText)(in)
	for i := range out {
		for _, c := range in.Configs {
			if c.Name == out[i].Subject.Node && c.Missing != "" && len(c.Texts) == 0 {
				out[i].Why = "nothing was read of it: " + c.Missing
			}
		}
	}
	return out
}

func judgeText(s scene) []fabric.Finding {
	var out []fabric.Finding
	if s.plan != nil && s.plan.OS != "" && s.plan.OS != s.of.OS {
		f := s.fail("", fmt.Sprintf("The text of %s is %s, the plan has %s there.", s.of.Name, s.of.OS, s.plan.OS), s.plan.OS, "the text may be of another switch")
		f.Evidence = []fabric.Evidence{{Source: s.files(), Value: s.of.OS}}
		f.Fix = "check --switch " + s.of.Name + "=FILE with the text of this switch, or correct fabric.leaf.os"
		out = append(out, f)
	}
	if s.of.Missing != "" {
		out = append(out, s.unknown("", "not all of it was read: "+s.of.Missing))
	}
	out = append(out, s.ofAnother()...)
	for _, p := range s.of.Problems {
		if !slices.Contains(onlyInert, p.Kind) {
			out = append(out, s.problem(p))
		}
	}
	if len(out) == 0 {
		return []fabric.Finding{s.textPass()}
	}
	return out
}

// ofAnother reports a text that says itself that it is of another switch of the plan.
func (s scene) ofAnother() []fabric.Finding {
	if s.of.Hostname == nil {
		return nil
	}
	name, _, _ := strings.Cut(s.of.Hostname.Is, ".")
	if name == s.of.Name || s.planned(name) == nil {
		return nil
	}
	f := s.fail("", fmt.Sprintf("The text of %s is that of %s.", s.of.Name, name), s.of.Name, "every other verdict is on the wrong switch", s.of.Hostname.At)
	f.Fix = "check --switch " + name + "=FILE"
	return []fabric.Finding{f}
}

func (s scene) problem(p fabric.TextProblem) fabric.Finding {
	why := strings.TrimSuffix(p.What, ".") + "."
	if p.Then != "" {
		why = strings.TrimSuffix(p.What, ".") + ": " + strings.TrimSuffix(p.Then, ".") + "."
	}
	f := s.fail(p.Port, why, "", "", p.At)
	f.Fix = ""
	return f
}

func (s scene) textPass() fabric.Finding {
	f := s.finding("", fabric.Pass, "")
	for _, t := range s.of.Texts {
		f.Evidence = append(f.Evidence, fabric.Evidence{Source: t.File, Value: fmt.Sprintf("%s, %d lines", t.Form, t.Lines)})
	}
	return f
}

func attachedRule() Rule {
	return Rule{
		ID:        "switch-attached",
		Title:     "What a switch's text defines has an effect",
		Doc:       "reports maps, profiles and policies that no port uses, and commands that the OS takes without doing anything",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the grammar of each OS",
		Judge: eachSwitch(false, func(s scene) []fabric.Finding {
			var out []fabric.Finding
			for _, p := range s.of.Problems {
				if slices.Contains(onlyInert, p.Kind) {
					out = append(out, s.problem(p))
				}
			}
			if len(out) == 0 {
				return []fabric.Finding{s.textPass()}
			}
			return out
		}),
	}
}

func unreadRule() Rule {
	return Rule{
		ID:        "switch-read",
		Title:     "Every line of a switch's text was understood",
		Doc:       "reports the lines that nobody understood, as they may change what the other rules judge",
		Severity:  fabric.SeverityWarning,
		Reference: "the grammar of each OS",
		Judge: eachSwitch(false, func(s scene) []fabric.Finding {
			n := len(s.of.Unread)
			if n == 0 {
				return []fabric.Finding{s.textPass()}
			}
			const shown = 8
			return []fabric.Finding{s.unknown("", fmt.Sprintf("%d lines were not understood", n), s.of.Unread[:min(n, shown)]...)}
		}),
	}
}
