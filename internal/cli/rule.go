package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/launch"
	"railwright.dev/railwright/internal/loadtest"
	"railwright.dev/railwright/internal/manifestcheck"
	"railwright.dev/railwright/internal/nccllint"
	"railwright.dev/railwright/internal/report"
)

// ruleOptions are the arguments of rule.
type ruleOptions struct {
	ids []string // none: all rules
}

func (a *app) ruleCommand(run func(context.Context, ruleOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "rule [ID]",
		Short: "Show the rules that findings name: what each checks and why, what it reads, where it applies",
		Long: "Show the rules that findings name: those of check, of topology files (topo lint), of manifests (serve lint) and of load\n" +
			"tests (serve load, serve smoke), and what serve watch says of a launch. Without an argument their ids and titles;\n" +
			"with ID what the rule checks and why, the facts that it reads, where it applies, the rules that silence it, the cause\n" +
			"that a failure names, and its source.",
		Args: mayTake(1),
		RunE: func(c *cobra.Command, args []string) error { return run(c.Context(), ruleOptions{ids: args}) },
	}
}

// rules is what rule prints as JSON.
type rules struct {
	fabric.Meta
	Rules []shownRule `json:"rules"`
}

// shownRule is a rule without its code.
type shownRule struct {
	ID        string           `json:"id"`
	Title     string           `json:"title" jsonschema_description:"what is true when it passes"`
	Doc       string           `json:"doc" jsonschema_description:"what it checks and why"`
	Of        string           `json:"of" jsonschema:"enum=node,enum=cluster,enum=topology file,enum=manifest,enum=load test,enum=launch" jsonschema_description:"what it judges"`
	Severity  *fabric.Severity `json:"severity,omitempty" jsonschema_description:"of a failing finding; those of load tests and launches have none"`
	Cause     fabric.CauseID   `json:"cause,omitempty" jsonschema_description:"that a failing finding names; without one the rule never fails"`
	Reference string           `json:"reference"`
	Facts     []string         `json:"facts,omitempty" jsonschema_description:"paths of the facts that it reads; one that could not be read makes it unknown"`
	Scope     []shownScope     `json:"scope,omitempty" jsonschema_description:"conditions under which it applies, all of them"`
	Cost      string           `json:"cost,omitempty" jsonschema_description:"of a failure, where all of them cost the same"`
	Fix       string           `json:"fix,omitempty" jsonschema_description:"what helps, where it is the same for all failures"`
	DependsOn []string         `json:"depends_on,omitempty" jsonschema_description:"rules that silence it where they fail, so that one fault is blamed once"`
}

// shownScope is a condition under which a rule applies.
type shownScope struct {
	ID  string `json:"id"`
	Doc string `json:"doc"`
}

// allRules are the rules of every finding that the program makes, in the order of its commands: check, topo lint, serve.
func allRules() []shownRule {
	var all []shownRule
	for _, r := range check.Rules() {
		all = append(all, shown(r))
	}
	for _, r := range nccllint.Rules() {
		all = append(all, shownRule{ID: r.ID, Title: r.Title, Doc: r.Expected, Of: "topology file", Severity: new(fabric.Severity), Reference: r.Reference, Cost: r.Cost})
	}
	for _, r := range manifestcheck.Rules() {
		all = append(all, shownRule{ID: r.ID, Title: r.Title, Doc: r.Doc, Of: "manifest", Severity: &r.Severity, Cause: r.Cause, Reference: r.Reference})
	}
	for _, r := range loadtest.Rules() {
		all = append(all, shownRule{ID: r.ID, Title: r.Title, Doc: r.Doc, Of: "load test"})
	}
	for _, k := range launch.Kinds() {
		all = append(all, shownRule{ID: k.ID, Title: k.Title, Doc: k.Means, Of: "launch", Fix: k.Fix})
	}
	return all
}

func shown(r check.Rule) shownRule {
	s := shownRule{
		ID: r.ID, Title: r.Title, Doc: r.Doc, Of: "node", Severity: &r.Severity, Cause: r.Cause, Reference: r.Reference, Facts: r.Facts, DependsOn: r.DependsOn,
	}
	if r.Cluster != nil {
		s.Of = "cluster"
	}
	for _, c := range r.Scope {
		s.Scope = append(s.Scope, shownScope{c.ID, c.Doc})
	}
	return s
}

// ruleIDs are the ids of all rules, each once, in their order.
func ruleIDs() []string {
	var ids []string
	for _, r := range allRules() {
		if !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func (a *app) rule(_ context.Context, o ruleOptions) error {
	d := rules{Meta: fabric.NewMeta("Rules"), Rules: allRules()}
	if len(o.ids) > 0 {
		d.Rules = slices.DeleteFunc(d.Rules, func(r shownRule) bool { return r.ID != o.ids[0] })
	}
	switch {
	case len(d.Rules) == 0:
		return fmt.Errorf("rule %s: unknown; %srailwright rule lists all", fabric.Quote(o.ids[0]), fabric.DidYouMean(o.ids[0], ruleIDs()))
	case a.json():
		return report.JSON(a.stdout, d)
	case len(o.ids) == 0:
		w := newTable(a.stdout)
		of := ""
		for _, r := range d.Rules {
			if part := r.part(); part != of {
				printf(w, "\n%s\n", part)
				of = part
			}
			printf(w, "%s\t%s\n", r.ID, r.Title)
		}
		return w.Flush()
	}
	for i, r := range d.Rules {
		if i > 0 {
			printf(a.stdout, "\n")
		}
		if err := report.Fields(a.stdout, a.textOptions(), r.fields()); err != nil {
			return err
		}
	}
	return nil
}

// part is the heading under which a rule is listed.
func (r shownRule) part() string {
	switch r.Of {
	case "node", "cluster":
		return "nodes, switches and cluster: railwright check"
	case "topology file":
		return "topology files: railwright topo lint"
	case "manifest":
		return "manifests: railwright serve lint"
	case "load test":
		return "load tests: railwright serve load, serve smoke"
	}
	return "failures and remarks of a launch: railwright serve watch"
}

// fields is a rule as text: labels with their values.
func (r shownRule) fields() [][2]string {
	all := [][2]string{{"rule", r.ID + ": " + r.Title}, {"checks", r.Doc}, {"of", "each " + r.Of}}
	switch r.Of {
	case "cluster":
		all[2][1] = "the cluster"
	case "launch":
		all = [][2]string{{"launch", r.ID + ": " + r.Title}, {"means", r.Doc}}
	}
	add := func(label, text string) {
		if text != "" {
			all = append(all, [2]string{label, text})
		}
	}
	if r.Severity != nil {
		add("severity", r.Severity.String())
	}
	add("cause", string(r.Cause))
	add("reads", strings.Join(r.Facts, ", "))
	for i, c := range r.Scope {
		add([]string{"applies", ""}[min(i, 1)], c.ID+": "+c.Doc)
	}
	add("costs", r.Cost)
	add("fix", r.Fix)
	add("after", strings.Join(r.DependsOn, ", "))
	add("source", r.Reference)
	return all
}
