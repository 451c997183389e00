package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

type checkOptions struct {
	file      string
	lab       bool
	snapshots []string
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [-f FILE] [--lab | --snapshot PATH...]",
		Short: "Judge facts: of this host, of the lab, or of saved facts",
		Long: "Judge facts: of this host, of the lab, or of saved facts (files, folders, run folders).\n" +
			"Without a cluster file the rules that need a plan are not applicable.\n\n" +
			"Exit status 0: everything passed; 1: something failed; 2: nothing failed, but something is unknown.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.check(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.lab, "lab", false, "the lab that is up")
	c.Flags().StringArrayVar(&o.snapshots, "snapshot", nil, "saved facts: a file or a folder; can be repeated")
	c.MarkFlagsMutuallyExclusive("lab", "snapshot")
	c.MarkFlagsMutuallyExclusive("lab", "file")
	return c
}

func (a *app) check(ctx context.Context, o checkOptions) error {
	var plan *fabric.Plan
	var waivers []check.Waiver
	if o.file != "" {
		in, err := a.readCluster(o.file)
		if err != nil {
			return err
		}
		if waivers, err = in.waivers(); err != nil {
			return err
		}
		plan = in.plan
	}
	if o.lab {
		l, err := lab.Open()
		if err != nil {
			return err
		}
		collected, err := collectLab(ctx, l)
		if err != nil {
			return err
		}
		return a.judge(l.Plan, nil, all(collected))
	}
	if len(o.snapshots) > 0 {
		return a.judge(plan, waivers, snapshotFacts(o.snapshots))
	}
	return a.judge(plan, waivers, all([]*fabric.Facts{facts.Collect(ctx, host.Local{}, now())}))
}

// judge checks a stream of facts, prints the findings and gives the exit status.
func (a *app) judge(plan *fabric.Plan, waivers []check.Waiver, nodes iter.Seq2[*fabric.Facts, error]) error {
	f, err := findings(plan, waivers, nodes)
	if err != nil {
		return err
	}
	if a.json() {
		err = report.JSON(a.stdout, f)
	} else {
		err = report.Text(a.stdout, f, a.textOptions())
	}
	return errors.Join(err, exitOf(f.Summary.Status()))
}

func findings(plan *fabric.Plan, waivers []check.Waiver, nodes iter.Seq2[*fabric.Facts, error]) (*fabric.Findings, error) {
	f := &fabric.Findings{Meta: fabric.NewMeta("Findings"), Findings: []fabric.Finding{}}
	c := check.New(plan, waivers, now(), func(one fabric.Finding) { f.Findings = append(f.Findings, one) })
	for node, err := range nodes {
		if err != nil {
			return nil, err
		}
		c.Node(node)
	}
	f.Summary = c.Finish()
	return f, nil
}

// snapshotFacts reads saved facts one file at a time.
func snapshotFacts(paths []string) iter.Seq2[*fabric.Facts, error] {
	return func(yield func(*fabric.Facts, error) bool) {
		for _, path := range paths {
			files, err := run.Snapshot(path)
			if err != nil {
				yield(nil, fmt.Errorf("snapshot: %w", err))
				return
			}
			for _, file := range files {
				if f, err := run.ReadFacts(file); !yield(f, err) || err != nil {
					return
				}
			}
		}
	}
}

func all(nodes []*fabric.Facts) iter.Seq2[*fabric.Facts, error] {
	return func(yield func(*fabric.Facts, error) bool) {
		for _, f := range nodes {
			if !yield(f, nil) {
				return
			}
		}
	}
}
