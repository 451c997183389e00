package cli

import (
	"bufio"
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

type checkOptions struct {
	fleetOptions
	snapshots []string
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [-f FILE | --lab] [--snapshot PATH...]",
		Short: "Judge facts: of this host, of a cluster, of the lab, or saved ones",
		Long: "Judge facts: of this host; with -f of the machines of a cluster file, over SSH; of the lab; or of saved facts\n" +
			"(files, folders, run folders). Without a cluster file the rules that need a plan are not applicable.\n\n" +
			"Exit status 0: everything passed; 1: something failed; 2: nothing failed, but something is unknown.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.check(c.Context(), o) },
	}
	o.flags(c)
	c.Flags().StringArrayVar(&o.snapshots, "snapshot", nil, "saved facts: a file or a folder; can be repeated")
	c.MarkFlagsMutuallyExclusive("lab", "snapshot")
	return c
}

func (a *app) check(ctx context.Context, o checkOptions) (err error) {
	if len(o.snapshots) > 0 {
		return a.checkSnapshots(ctx, o)
	}
	if o.file == "" && !o.lab {
		here := []*fabric.Facts{facts.Collect(ctx, host.Local{}, now())}
		return a.judge(ctx, nil, nil, pipeline.All(here), nil)
	}
	w, err := a.reach(ctx, o.fleetOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.fleet.Close()) }()
	nodes, lost := pipeline.Collect(ctx, w.fleet)
	return a.judge(ctx, w.plan, w.waivers, pipeline.All(nodes), lost)
}

func (a *app) checkSnapshots(ctx context.Context, o checkOptions) error {
	if o.file == "" {
		return a.judge(ctx, nil, nil, facts.Load(ctx, o.snapshots...), nil)
	}
	in, err := a.readCluster(o.file)
	if err != nil {
		return err
	}
	waivers, err := pipeline.Waivers(in.cluster)
	if err != nil {
		return err
	}
	return a.judge(ctx, in.plan, waivers, facts.Load(ctx, o.snapshots...), nil)
}

// judge checks a stream of facts, prints the findings and gives the exit status. What is printed as JSON is
// not kept; of what is printed as text only what is shown.
func (a *app) judge(ctx context.Context, plan *fabric.Plan, waivers []check.Waiver, nodes iter.Seq2[*fabric.Facts, error], lost []fabric.Missing) error {
	in := pipeline.Checked{Plan: plan, Waivers: waivers, At: now(), Lost: lost}
	var summary fabric.Summary
	var err error
	if a.json() {
		out := bufio.NewWriter(a.stdout)
		w := report.NewFindingsWriter(out)
		if summary, err = pipeline.Check(ctx, in, nodes, w.Write); err == nil {
			err = errors.Join(w.Close(summary), out.Flush())
		}
	} else {
		k := report.NewKeeper(a.textOptions())
		if summary, err = pipeline.Check(ctx, in, nodes, k.Add); err == nil {
			err = k.Text(a.stdout, summary)
		}
	}
	if err != nil {
		return err // a verdict that nobody could read is none
	}
	return exitOf(summary.Status())
}
