package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/report"
)

func (a *app) applyCommand() *cobra.Command {
	var file string
	var dryRun bool
	c := &cobra.Command{
		Use:   "apply -f FILE [--dry-run]",
		Short: "Write the rendered files of this host, keeping what was there",
		Long: "Write the rendered files of this host, keeping what was there for `railwright rollback`.\n" +
			"Other nodes of the plan are not reached from here, and are told.\n\n" +
			"Exit status with --dry-run: 0 nothing to do, 1 changes pending, 2 cannot tell.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.apply(c, file, dryRun) },
	}
	fileFlag(c, &file)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change")
	return c
}

func (a *app) apply(c *cobra.Command, file string, dryRun bool) error {
	in, err := a.readCluster(file)
	if err != nil {
		return err
	}
	byTarget, err := artifactsOf(in.plan)
	if err != nil {
		return err
	}
	node := host.Local{}.Name()
	mine, ok := byTarget[node]
	if !ok {
		return fmt.Errorf("this host %q is not in the plan of %s: apply runs on the node itself", node, file)
	}
	var changes []apply.Change
	if dryRun {
		changes = apply.Diff(mine)
	} else {
		r, err := apply.Node(c.Context(), apply.Bundle{Node: node, Artifacts: mine}, apply.JournalFolder, false)
		if err != nil {
			return err
		}
		changes = r.Changes
	}
	if err := a.printChanges(node, changes); err != nil {
		return err
	}
	if others := len(in.plan.Nodes) - 1; others > 0 {
		a.progress("%d other nodes of the plan were not looked at: run this on each of them", others)
	}
	if dryRun {
		return exitOf(pending(changes, len(in.plan.Nodes)))
	}
	if changed(changes) {
		a.progress("in force after the next start, or with: netplan apply && sysctl --system && systemctl daemon-reload")
	}
	return exitOf(coverage(len(in.plan.Nodes)))
}

// coverage is Unknown while there are nodes of the plan that this command did not look at.
func coverage(nodes int) fabric.Status {
	if nodes > 1 {
		return fabric.Unknown
	}
	return fabric.Pass
}

// pending is the status of a dry run.
func pending(changes []apply.Change, nodes int) fabric.Status {
	status := coverage(nodes)
	for _, c := range changes {
		switch c.Kind {
		case apply.Unknown:
			status = fabric.Unknown
		case apply.Create, apply.Update:
			return fabric.Fail
		}
	}
	return status
}

func changed(changes []apply.Change) bool {
	for _, c := range changes {
		if c.Kind != apply.Same {
			return true
		}
	}
	return false
}

func (a *app) printChanges(node string, changes []apply.Change) error {
	if a.json() {
		return report.JSON(a.stdout, apply.Result{Node: node, Changes: changes})
	}
	for _, c := range changes {
		line := fmt.Sprintf("%-8s %s", c.Kind, c.Path)
		if c.Reason != "" {
			line += " (" + c.Reason + ")"
		}
		fmt.Fprintln(a.stdout, line)
	}
	return nil
}

func (a *app) rollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rollback", Short: "Give back what was there on this host before the last apply", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			changes, err := apply.Rollback(apply.JournalFolder)
			if errors.Is(err, apply.ErrNoJournal) {
				return err
			}
			if err != nil {
				return fmt.Errorf("rollback: %w", err)
			}
			return a.printChanges(host.Local{}.Name(), changes)
		},
	}
}
