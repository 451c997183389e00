package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/mesh"
	"railwright.dev/railwright/internal/report"
)

func (a *app) benchCommand() *cobra.Command {
	var o whereOptions
	var suite string
	c := &cobra.Command{
		Use:   "bench (-f FILE | --lab) [--suite ping]",
		Short: "Ping every NIC from every NIC of the other hosts, and explain what fails",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if suite != "ping" {
				return fmt.Errorf("flag --suite: %q is not known: known is ping", suite)
			}
			return a.bench(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&suite, "suite", "ping", "what to run: ping")
	return c
}

func (a *app) bench(ctx context.Context, o whereOptions) (err error) {
	w, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.crew.dismiss()) }()
	nodes, lost := w.crew.collect(ctx)
	found, err := findings(ctx, w.plan, w.waivers, nodes, lost)
	if err != nil {
		return err
	}
	pairs, err := w.crew.mesh(ctx, w.plan)
	if err != nil {
		return err
	}
	r := report.Run{ID: w.plan.Name, Plan: w.plan, Findings: found, Mesh: pairs, Causes: mesh.Explain(pairs, found.Findings)}
	if a.json() {
		err = report.JSON(a.stdout, struct {
			Mesh   *fabric.Mesh   `json:"mesh"`
			Causes *fabric.Causes `json:"causes"`
		}{r.Mesh, r.Causes})
	} else {
		err = report.RunText(a.stdout, r, a.textOptions())
	}
	if err != nil {
		return err // a verdict that nobody could read is none
	}
	return exitOf(r.Status())
}
