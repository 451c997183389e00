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
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// applyOptions are the flags of apply.
type applyOptions struct {
	fleetOptions
	dryRun bool
}

func (a *app) applyCommand(run func(context.Context, applyOptions) error) *cobra.Command {
	var o applyOptions
	c := &cobra.Command{
		Use:   "apply (-f FILE | --lab) [--dry-run]",
		Short: "Write the rendered files of every machine, and keep the previous ones",
		Long: "Write the rendered files of every machine, and keep the previous ones for `railwright rollback` on it.\n" +
			"On a real machine they take effect at its next start, so that the connection to it is not cut; on a lab host at once.\n" +
			"Files of a switch are not applied in this version: it is unknown, with the command that loads them.\n\n" +
			"Exit status with --dry-run: 0 nothing to do, 1 changes pending, 2 cannot tell. Without: 2 where a target was not reached.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.flags(c)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only report what would change")
	return c
}

func (a *app) apply(ctx context.Context, o applyOptions) (err error) {
	m, err := a.reach(ctx, o.fleetOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.fleet.Close()) }()
	results, err := pipeline.Apply(ctx, m.fleet, m.plan, "", o.lab, o.dryRun)
	if err != nil {
		return err
	}
	if err := a.printApplied(results); err != nil {
		return err
	}
	return exitOf(worst(results))
}

// worst is the status of all targets: fail before unknown before pass.
func worst(results []apply.Applied) fabric.Status {
	status := fabric.Pass
	for _, r := range results {
		switch r.Status {
		case fabric.Fail:
			return fabric.Fail
		case fabric.Unknown:
			status = fabric.Unknown
		}
	}
	return status
}

// applyResults is what apply and rollback print as JSON.
type applyResults struct {
	fabric.Meta
	Results []apply.Applied `json:"results"`
}

// printApplied writes the changes of each target; targets whose changes are alike share one block.
func (a *app) printApplied(results []apply.Applied) error {
	if a.json() {
		return report.JSON(a.stdout, applyResults{Meta: fabric.NewMeta("Applied"), Results: append([]apply.Applied{}, results...)})
	}
	targets := make(map[string][]string)
	var order []string
	for _, r := range results {
		text := changesText(r)
		if targets[text] == nil {
			order = append(order, text)
		}
		targets[text] = append(targets[text], r.Node)
	}
	for _, text := range order {
		if _, err := fmt.Fprintf(a.stdout, "%s\n%s", fabric.Printable(draw.Names(targets[text], 8)), text); err != nil {
			return err
		}
	}
	return nil
}

func changesText(r apply.Applied) string {
	var b strings.Builder
	switch {
	case r.Error != "":
		printf(&b, "  unknown  %s\n", r.Error)
	case r.Status == fabric.NotApplicable:
		printf(&b, "  %s\n", r.Reason)
	}
	for _, c := range r.Changes {
		printf(&b, "  %-8s %s", c.Kind, c.Path)
		if c.Reason != "" {
			printf(&b, " (%s)", c.Reason)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (a *app) rollbackCommand(run func(context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: "rollback", Short: "Restore the files that were on this host before the last apply", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) },
	}
}

func (a *app) rollback(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	changes, err := apply.Rollback(apply.JournalFolder)
	if errors.Is(err, apply.ErrNoJournal) {
		return err
	}
	if err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	return a.printApplied([]apply.Applied{{Node: host.Local{}.Name(), Status: fabric.Pass, Changes: changes}})
}
