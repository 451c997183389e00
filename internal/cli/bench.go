package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/mesh"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	fleetOptions
	suite string
}

func (a *app) benchCommand(run func(context.Context, benchOptions) error) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench (-f FILE | --lab) [--suite ping]",
		Short: "Ping every NIC from every NIC of the other hosts, and explain what fails",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.suite, "suite", "ping", "what to run: ping")
	return c
}

func (a *app) bench(ctx context.Context, o benchOptions) (err error) {
	if o.suite != "ping" {
		return fmt.Errorf("flag --suite: %s: unknown; %sknown: ping", fabric.Quote(o.suite), fabric.DidYouMean(o.suite, []string{"ping"}))
	}
	m, err := a.reach(ctx, o.fleetOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.fleet.Close()) }()
	nodes, lost := pipeline.Collect(ctx, m.fleet)
	found, err := pipeline.Findings(ctx, pipeline.Checked{Plan: m.plan, Waivers: m.waivers, At: now(), Lost: lost}, nodes)
	if err != nil {
		return err
	}
	pairs, err := pipeline.Mesh(ctx, m.fleet, m.plan)
	if err != nil {
		return err
	}
	r := report.Run{ID: m.plan.Name, Plan: m.plan, Findings: found, Mesh: pairs, Causes: mesh.Explain(m.plan, pairs, found.Findings)}
	for _, f := range nodes {
		r.Lab = cmp.Or(report.LabOf(f), r.Lab)
	}
	if a.json() {
		err = report.JSON(a.stdout, struct {
			Mesh   *fabric.Mesh   `json:"mesh"`
			Causes *fabric.Causes `json:"causes"`
		}{r.Mesh, r.Causes})
	} else {
		err = report.RunText(a.stdout, r, a.textOptions())
	}
	if err != nil {
		return err // without the output there is no verdict
	}
	return exitOf(r.Status())
}
