package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lossless"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/switchcheck"
)

type checkOptions struct {
	fleetOptions
	snapshots []string
	switches  []string
	html      string
}

func (a *app) checkCommand(run func(context.Context, checkOptions) error) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [-f FILE | --lab] [--snapshot PATH...] [--switch NAME=FILE...]",
		Short: "Check this host, a cluster, the lab, saved facts, or switches",
		Long: "Check this host; with -f the machines of a cluster file, over SSH; the lab; or saved facts (files, folders,\n" +
			"run folders). Without a cluster file the rules that need a plan are not applicable. --html also writes the\n" +
			"findings as one page. Of platform vsphere the ESX hosts are read too: over SSH (vsphere.ssh), by the vSphere\n" +
			"API (vsphere.vcenter, RAILWRIGHT_VCENTER_USER, RAILWRIGHT_VCENTER_PASSWORD), or both.\n\n" +
			"--switch takes the configuration of a switch, or the output of its show commands: a file, standard input\n" +
			"(NAME=-), or over SSH with -f (NAME=ssh://user@host); several for one switch are read as one. Alone it\n" +
			"checks the switches; with --snapshot also that both ends of each cable agree, and that RoCE is lossless\n" +
			"from NIC to NIC. A folder of --snapshot may have texts of switches too, named after them: leaf1.cfg.\n\n" +
			"Exit status 0: everything passed; 1: something failed; 2: nothing failed, but something is unknown.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.flags(c)
	c.Flags().StringArrayVar(&o.snapshots, "snapshot", nil, "saved facts: a file or a folder; can be repeated")
	c.Flags().StringArrayVar(&o.switches, "switch", nil, "a switch and its text: NAME=FILE or NAME=ssh://user@host; can be repeated")
	htmlFlag(c, &o.html)
	c.MarkFlagsMutuallyExclusive("lab", "snapshot")
	c.MarkFlagsMutuallyExclusive("lab", "switch")
	return c
}

func (a *app) check(ctx context.Context, o checkOptions) (err error) {
	if len(o.snapshots) > 0 || len(o.switches) > 0 {
		return a.checkSaved(ctx, o)
	}
	if o.file == "" && !o.lab {
		a.doing("reading this host")
		here := []*fabric.Facts{facts.Collect(ctx, host.Local{}, now())}
		return a.judge(ctx, o, pipeline.Checked{}, pipeline.All(here))
	}
	g, err := a.gather(ctx, o.fleetOptions, pipeline.CheckOfPods)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	return a.judge(ctx, o, pipeline.Checked{Plan: g.plan, Waivers: g.waivers, Lost: g.lost}, pipeline.All(g.nodes))
}

// checkSaved checks what is in files: facts of hosts, and texts of switches.
func (a *app) checkSaved(ctx context.Context, o checkOptions) error {
	a.doing("reading saved facts")
	var in pipeline.Checked
	if o.file != "" {
		read, err := a.readCluster(o.file)
		if err != nil {
			return err
		}
		in.Plan = read.plan
		if in.Waivers, err = pipeline.Waivers(read.cluster); err != nil {
			return err
		}
	}
	sources, claimed, err := pipeline.FindSwitches(a.files, in.Plan, o.snapshots)
	if err != nil {
		return err
	}
	for _, text := range o.switches {
		one, err := pipeline.ParseSwitchSource(text)
		if err != nil {
			return err
		}
		if one.From == "-" {
			one.Stdin = a.stdin
		}
		sources = append(sources, one)
	}
	if in.Switches, err = pipeline.ReadSwitches(ctx, a.files, in.Plan, sources); err != nil {
		return err
	}
	return a.judge(ctx, o, in, facts.LoadFrom(ctx, files.Without(a.files, claimed), o.snapshots...))
}

// judge checks a stream of facts, prints the findings and returns the exit status. With JSON output no finding
// is kept; with text or a page only those that are shown.
func (a *app) judge(ctx context.Context, o checkOptions, in pipeline.Checked, nodes iter.Seq2[*fabric.Facts, error]) error {
	var emit []func(fabric.Finding)
	var finish []func(fabric.Summary) error
	groups := report.NewGroups(a.textOptions())
	if a.json() {
		out := bufio.NewWriter(a.stdout)
		w := report.NewFindingsWriter(out)
		emit = append(emit, w.Write)
		finish = append(finish, func(s fabric.Summary) error { return errors.Join(w.Close(s, switchSummaries(in)), out.Flush()) })
	} else {
		groups.Switches, groups.Note = switchSummaries(in), lossless.NotProved
		finish = append(finish, func(s fabric.Summary) error { return groups.Text(a.stdout, s) })
	}
	if !a.json() || o.html != "" {
		emit = append(emit, groups.Add)
	}
	of := report.Checked{Plan: in.Plan, Lost: in.Lost, Info: a.pageInfo()}
	in.At = now()
	summary, err := pipeline.Check(ctx, in, noteNodes(nodes, &of, groups), func(f fabric.Finding) {
		for _, to := range emit {
			to(f)
		}
	})
	if err != nil {
		return err
	}
	for _, f := range finish {
		err = errors.Join(err, f(summary))
	}
	if ctx.Err() != nil { // before the page is written
		return errors.Join(err, ctx.Err())
	}
	err = errors.Join(err, writePage(o.html, func(w io.Writer) error { return groups.HTML(w, summary, of) }))
	if err != nil {
		return err // a verdict whose output is incomplete does not count
	}
	return exitOf(summary.Status())
}

func switchSummaries(in pipeline.Checked) []fabric.SwitchSummary {
	var out []fabric.SwitchSummary
	for _, c := range in.Switches {
		out = append(out, switchcheck.Summary(in.Plan, c))
	}
	return out
}

// noteNodes yields the facts unchanged and records the names of their nodes, and whether they are hosts of a lab.
func noteNodes(nodes iter.Seq2[*fabric.Facts, error], of *report.Checked, groups *report.Groups) iter.Seq2[*fabric.Facts, error] {
	return func(yield func(*fabric.Facts, error) bool) {
		for f, err := range nodes {
			if err == nil {
				of.Nodes = append(of.Nodes, f.Node)
				groups.Lab = cmp.Or(report.LabOf(f), groups.Lab)
			}
			if !yield(f, err) {
				return
			}
		}
	}
}
