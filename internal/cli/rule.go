package cli

import (
	"context"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/report"
)

// ruleOptions are the arguments of rule.
type ruleOptions struct {
	ids []string // none: all rules
}

func (a *app) ruleCommand(run func(context.Context, ruleOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "rule [ID]",
		Short: "Show the rules of check: what each checks and why, what it reads, where it applies",
		Long: "Show the rules of check: without an argument their ids and titles; with ID what the rule checks and why, the facts\n" +
			"that it reads, where it applies, the rules that silence it, the cause that a failure names, and its source.",
		Args: mayTake(1),
		RunE: func(c *cobra.Command, args []string) error { return run(c.Context(), ruleOptions{ids: args}) },
	}
}

// rules is what rule prints as JSON.
type rules struct {
	fabric.Meta
	Rules []shownRule `json:"rules"`
}

// shownRule is a rule of check without its code.
type shownRule struct {
	ID        string          `json:"id"`
	Title     string          `json:"title" jsonschema_description:"what is true when it passes"`
	Doc       string          `json:"doc" jsonschema_description:"what it checks and why"`
	Of        string          `json:"of" jsonschema:"enum=node,enum=cluster" jsonschema_description:"whether it judges one node or all together"`
	Severity  fabric.Severity `json:"severity" jsonschema_description:"of a failing finding"`
	Cause     fabric.CauseID  `json:"cause,omitempty" jsonschema_description:"that a failing finding names; without one the rule never fails"`
	Reference string          `json:"reference"`
	Facts     []string        `json:"facts,omitempty" jsonschema_description:"paths of the facts that it reads; one that could not be read makes it unknown"`
	Scope     []shownScope    `json:"scope,omitempty" jsonschema_description:"conditions under which it applies, all of them"`
	DependsOn []string        `json:"depends_on,omitempty" jsonschema_description:"rules that silence it where they fail, so that one fault is blamed once"`
}

// shownScope is a condition under which a rule applies.
type shownScope struct {
	ID  string `json:"id"`
	Doc string `json:"doc"`
}

func shown(r check.Rule) shownRule {
	s := shownRule{
		ID: r.ID, Title: r.Title, Doc: r.Doc, Of: "node", Severity: r.Severity, Cause: r.Cause, Reference: r.Reference, Facts: r.Facts, DependsOn: r.DependsOn,
	}
	if r.Cluster != nil {
		s.Of = "cluster"
	}
	for _, c := range r.Scope {
		s.Scope = append(s.Scope, shownScope{c.ID, c.Doc})
	}
	return s
}

// ruleIDs are the ids of all rules, in the order of the checks.
func ruleIDs() []string {
	var ids []string
	for _, r := range check.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

func (a *app) rule(_ context.Context, o ruleOptions) error {
	d := rules{Meta: fabric.NewMeta("Rules")}
	for _, r := range check.Rules() {
		if len(o.ids) == 0 || o.ids[0] == r.ID {
			d.Rules = append(d.Rules, shown(r))
		}
	}
	switch {
	case len(d.Rules) == 0:
		return fabric.UnknownName("rule", o.ids[0], ruleIDs())
	case a.json():
		return report.JSON(a.stdout, d)
	case len(o.ids) == 0:
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, r := range d.Rules {
			printf(w, "%s\t%s\n", r.ID, r.Title)
		}
		return w.Flush()
	}
	return report.Fields(a.stdout, a.textOptions(), d.Rules[0].fields())
}

// fields is a rule as text: labels with their values.
func (r shownRule) fields() [][2]string {
	all := [][2]string{{"rule", r.ID + ": " + r.Title}, {"checks", r.Doc}, {"of", "each " + r.Of}, {"severity", r.Severity.String()}}
	if r.Of == "cluster" {
		all[2][1] = "the cluster"
	}
	add := func(label, text string) {
		if text != "" {
			all = append(all, [2]string{label, text})
		}
	}
	add("cause", string(r.Cause))
	add("reads", strings.Join(r.Facts, ", "))
	for i, c := range r.Scope {
		add([]string{"applies", ""}[min(i, 1)], c.ID+": "+c.Doc)
	}
	add("after", strings.Join(r.DependsOn, ", "))
	add("source", r.Reference)
	return all
}
