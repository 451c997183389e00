package cli

import (
	"context"
	"errors"
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
	"railwright.dev/railwright/internal/runbook"
)

// runbook writes what people must do by hand on the hosts of a cluster file. Nothing of it is unknown without being said.
func (a *app) runbook(ctx context.Context, o applyOptions) error {
	in, err := a.readCluster(o.file)
	if err != nil {
		return err
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	if len(o.snapshots) > 0 && in.plan.VSphere == nil {
		return errors.New("flag --snapshot: the cluster file has no ESX hosts (vsphere.hosts), and the steps of other hosts do not depend on facts")
	}
	var known []*fabric.Facts
	for f, err := range facts.LoadFrom(ctx, a.files, o.snapshots...) {
		if err != nil {
			return fmt.Errorf("flag --snapshot: %w", err)
		}
		known = append(known, f)
	}
	r := runbook.New(in.plan, cat, known...)
	if o.runbook == "-" {
		if a.json() {
			err = report.JSON(a.stdout, r)
		} else {
			_, err = a.exact().Write(r.Markdown())
		}
	} else if err = writeThrough(run.WriteOutput, "runbook", o.runbook, r.Markdown()); err == nil {
		err = a.printRunbook(o.runbook, r)
	}
	if err != nil || r.Complete() {
		return err
	}
	return verdict(exitUnknown)
}

func (a *app) printRunbook(file string, r *runbook.Runbook) error {
	if a.json() {
		return report.JSON(a.stdout, r)
	}
	for _, g := range r.Groups {
		if g.Running {
			printf(a.stdout, "%s: %s\n", g.Title, fabric.Count(len(g.Steps), "step"))
		} else {
			printf(a.stdout, "%s: %s, %s\n", draw.Names(g.Hosts, 8), fabric.Count(len(g.Steps), "step"), fabric.Count(g.Reboots, "reboot"))
		}
		for _, u := range g.Unknown {
			printf(a.stdout, "  unknown  %s\n", u)
		}
	}
	printf(a.stdout, "%s\n", file)
	return nil
}
