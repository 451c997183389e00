package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/report"
)

func (a *app) applyCommand() *cobra.Command {
	var o whereOptions
	var dryRun bool
	c := &cobra.Command{
		Use:   "apply (-f FILE | --lab) [--dry-run]",
		Short: "Write the rendered files of every machine, keeping what was there",
		Long: "Write the rendered files of every machine, keeping what was there for `railwright rollback` on it.\n" +
			"A real machine takes them into force at its next start, so that the connection to it is not cut; a lab host at once.\n\n" +
			"Exit status with --dry-run: 0 nothing to do, 1 changes pending, 2 cannot tell. Without: 2 where a machine was not reached.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.apply(c.Context(), o, dryRun) },
	}
	o.flags(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change")
	return c
}

func (a *app) apply(ctx context.Context, o whereOptions, dryRun bool) (err error) {
	w, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.crew.dismiss()) }()
	results, err := w.crew.apply(ctx, w.plan, dryRun)
	if err != nil {
		return err
	}
	if err := a.printResults(results); err != nil {
		return err
	}
	return exitOf(applyStatus(results, dryRun))
}

// applyStatus is Unknown while a machine was not reached; of a dry run Fail where something is to be done.
func applyStatus(results []host.Outcome[apply.Applied], dryRun bool) fabric.Status {
	status := fabric.Pass
	for _, r := range results {
		if r.Err != nil {
			status = fabric.Unknown
		}
		for _, c := range r.Value.Changes {
			switch {
			case c.Kind == apply.Unknown:
				status = fabric.Unknown
			case dryRun && c.Kind != apply.Same:
				return fabric.Fail
			}
		}
	}
	return status
}

// applyResults is what apply and rollback print as JSON.
type applyResults struct {
	fabric.Meta
	Results []apply.Applied `json:"results"`
}

// printResults writes the changes of each machine; those of many machines that are alike are told once.
func (a *app) printResults(outcomes []host.Outcome[apply.Applied]) error {
	if a.json() {
		out := applyResults{Meta: fabric.NewMeta("Applied"), Results: []apply.Applied{}}
		for _, r := range outcomes {
			r.Value.Node = r.Name
			if r.Err != nil {
				r.Value.Error = r.Err.Error()
			}
			out.Results = append(out.Results, r.Value)
		}
		return report.JSON(a.stdout, out)
	}
	nodes := make(map[string][]string)
	var order []string
	for _, r := range outcomes {
		text := changesText(r)
		if nodes[text] == nil {
			order = append(order, text)
		}
		nodes[text] = append(nodes[text], r.Name)
	}
	for _, text := range order {
		if _, err := fmt.Fprintf(a.stdout, "%s\n%s", draw.Names(nodes[text], 8), text); err != nil {
			return err
		}
	}
	return nil
}

func changesText(r host.Outcome[apply.Applied]) string {
	if r.Err != nil {
		return fmt.Sprintf("  unknown  %v\n", r.Err)
	}
	var b strings.Builder
	for _, c := range r.Value.Changes {
		fmt.Fprintf(&b, "  %-8s %s", c.Kind, c.Path)
		if c.Reason != "" {
			fmt.Fprintf(&b, " (%s)", c.Reason)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (a *app) rollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rollback", Short: "Give back what was there on this host before the last apply", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			changes, err := apply.Rollback(apply.JournalFolder)
			if errors.Is(err, apply.ErrNoJournal) {
				return err
			}
			if err != nil {
				return fmt.Errorf("rollback: %w", err)
			}
			name := host.Local{}.Name()
			return a.printResults([]host.Outcome[apply.Applied]{{Name: name, Value: apply.Applied{Node: name, Changes: changes}}})
		},
	}
}
