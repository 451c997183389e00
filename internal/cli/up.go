package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// upOptions are the flags of up.
type upOptions struct {
	file   string
	lab    bool
	keep   bool
	folder string
	faults []string
}

func (a *app) upCommand(run func(context.Context, upOptions) error) *cobra.Command {
	var o upOptions
	c := &cobra.Command{
		Use:   "up [-f FILE] [--lab]",
		Short: "The whole pipeline into a run folder: plan, render, apply, check, mesh, report",
		Long: "The whole pipeline into a run folder: plan, render, apply, check, mesh, report.\n" +
			"With -f on the machines of a cluster file, over SSH; with --lab in a lab of network namespaces on this machine.\n" +
			"Without -f it is the embedded example in the lab. ESX hosts of platform vsphere are prepared, with reboots, and\n" +
			"vCenter gets what the plan has for it: see railwright apply. Stopped anywhere, repeat it.\n\nSteps:\n" + stepList(),
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.lab, "lab", false, "build the cluster as a lab on this machine")
	c.Flags().BoolVar(&o.keep, "keep", false, "leave the lab up afterwards")
	c.Flags().StringVarP(&o.folder, "dir", "d", "railwright-runs", "folder for run folders")
	c.Flags().StringArrayVar(&o.faults, "fault", nil, "a fault to plant in the lab before checking; can be repeated")
	return c
}

func stepList() string {
	var b strings.Builder
	for _, s := range pipeline.Steps() {
		fmt.Fprintf(&b, "  %-8s %s -> %s\n", s.Name, s.Needs, s.Gives)
	}
	return b.String()
}

func (a *app) up(ctx context.Context, o upOptions) error {
	o.lab = o.lab || o.file == ""
	if !o.lab && len(o.faults) > 0 {
		return errors.New("flag --fault: faults are planted in the lab only: give --lab")
	}
	in, faults, err := a.upInput(o)
	if err != nil {
		return err
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	var v *pipeline.VSphere
	if pipeline.HasHosts(in.plan) && !o.lab {
		v = a.vsphere(in.plan)
	}
	r, err := pipeline.Up(ctx, pipeline.Options{
		Text: in.text, Cluster: in.cluster, Plan: in.plan, VSphere: v,
		Lab: o.lab, Keep: o.keep, Faults: faults,
		Base: o.folder, Version: a.version, Command: commandLine(),
		Now: now, Progress: a.progress,
	})
	if err != nil {
		return err
	}
	if r.Stopped != nil {
		// What stopped the run is not a verdict on the cluster. The answer stays the last line of a terminal.
		fmt.Fprintf(a.stderr, "railwright: %v\n", r.Stopped)
	}
	if err := a.printRun(r); err != nil {
		return err
	}
	return exitOf(r.Run.Status())
}

func (a *app) upInput(o upOptions) (*input, []lab.Fault, error) {
	if o.lab {
		return a.labInput(o.file, o.faults)
	}
	in, err := a.readCluster(o.file)
	return in, nil, err
}

func (a *app) printRun(r pipeline.Outcome) error {
	if a.json() {
		return report.JSON(a.stdout, r.Run)
	}
	r.Run.Page = r.Report
	return report.RunText(a.stdout, r.Run, a.textOptions())
}
