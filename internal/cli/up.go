package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

type upOptions struct {
	file   string
	lab    bool
	keep   bool
	folder string
	faults []string
}

func (a *app) upCommand() *cobra.Command {
	var o upOptions
	c := &cobra.Command{
		Use:   "up [-f FILE] --lab",
		Short: "The whole pipeline into a run folder: plan, render, apply, check, mesh, report",
		Long: "The whole pipeline into a run folder: plan, render, apply, check, mesh, report.\n" +
			"Without -f it is the embedded example in a lab of network namespaces on this machine.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.up(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.lab, "lab", false, "build the cluster as a lab on this machine")
	c.Flags().BoolVar(&o.keep, "keep", false, "leave the lab up afterwards")
	c.Flags().StringVarP(&o.folder, "dir", "d", "railwright-runs", "folder for run folders")
	c.Flags().StringArrayVar(&o.faults, "fault", nil, "a fault to plant before checking; can be repeated")
	return c
}

// pipeline is a run under way: what came out of its steps so far, and its folder.
type pipeline struct {
	app    *app
	in     *input
	folder run.Folder
	report report.Run
	lab    *lab.Lab
	facts  []*fabric.Facts
}

func (a *app) up(ctx context.Context, o upOptions) (err error) {
	if o.file != "" && !o.lab {
		return errors.New("up -f FILE reaches the hosts of a lab only: give --lab")
	}
	in, err := a.labInput(o.file)
	if err != nil {
		return err
	}
	spec, err := lab.NewSpec(in.plan)
	if err != nil {
		return err
	}
	var faults []lab.Fault
	for _, text := range o.faults {
		f, err := spec.ParseFault(text)
		if err != nil {
			return err
		}
		faults = append(faults, f)
	}
	started := now()
	folder, err := run.New(o.folder, in.plan.Name, started)
	if err != nil {
		return err
	}
	p := &pipeline{app: a, in: in, folder: folder, report: report.Run{
		ID: in.plan.Name, Started: started, Version: a.version, Plan: in.plan,
		Command: strings.Join(append([]string{"railwright"}, os.Args[1:]...), " "),
	}}
	runErr := p.run(ctx, faults)
	if p.lab != nil && !o.keep {
		runErr = errors.Join(runErr, p.lab.Down())
	}
	p.report.Seconds = time.Since(started).Seconds()
	if err := errors.Join(runErr, p.finish()); err != nil {
		return err
	}
	return exitOf(p.report.Status())
}

// run takes the steps in order. A step that cannot do its work ends the run; those after it are then told
// as not done.
func (p *pipeline) run(ctx context.Context, faults []lab.Fault) error {
	steps := []struct {
		name string
		do   func(context.Context) (note string, err error)
	}{
		{"plan", p.plan},
		{"render", p.render},
		{"lab", p.startLab},
		{"apply", p.apply},
		{"settle", p.settle},
		{"faults", func(ctx context.Context) (string, error) { return p.plant(ctx, faults) }},
		{"collect", p.collect},
		{"check", p.check},
		{"mesh", p.mesh},
		{"explain", p.explain},
	}
	var failed error
	for _, s := range steps {
		if failed != nil {
			p.report.Steps = append(p.report.Steps, report.Step{Name: s.name, Note: "not reached"})
			continue
		}
		if s.name == "faults" && len(faults) == 0 {
			continue
		}
		started := time.Now()
		note, err := s.do(ctx)
		step := report.Step{Name: s.name, Seconds: time.Since(started).Seconds(), Status: fabric.Pass, Note: note}
		if err != nil {
			step.Status, step.Note = fabric.Fail, err.Error()
			failed = fmt.Errorf("%s: %w", s.name, err)
		}
		p.report.Steps = append(p.report.Steps, step)
		p.app.progress("%-8s %6.2f s  %s", step.Name, step.Seconds, step.Note)
	}
	return failed
}

func (p *pipeline) plan(context.Context) (string, error) {
	note := fmt.Sprintf("%d nodes, %d NICs, %s", len(p.in.plan.Nodes), len(p.in.plan.Cabling.Links), p.in.plan.Addressing.Scheme)
	return note, errors.Join(p.folder.WriteFile(run.ClusterFile, p.in.text), p.folder.Write(run.PlanFile, p.in.plan))
}

func (p *pipeline) render(context.Context) (string, error) {
	index, sum, err := renderTo(p.folder.Path(run.Artifacts), p.in.plan)
	if err != nil {
		return "", err
	}
	p.report.Artifacts = &index
	return fmt.Sprintf("%d files, index sha256 %.12s", len(index.Artifacts), sum), nil
}

func (p *pipeline) startLab(ctx context.Context) (note string, err error) {
	if p.lab, err = lab.Up(ctx, p.in.plan); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d hosts and %s in network namespaces", len(p.in.plan.Nodes), p.lab.Spec.Leaf), nil
}

func (p *pipeline) apply(ctx context.Context) (string, error) {
	results, err := applyLab(ctx, p.lab)
	if err != nil {
		return "", err
	}
	ways := make(map[string]bool)
	for _, r := range results {
		p.report.Applied = append(p.report.Applied, applied(r))
		ways[r.Activation.Network+because(r.Activation.Reason)] = true
	}
	if len(ways) > 1 {
		return "hosts differ: see the report", nil
	}
	for way := range ways {
		return way, nil
	}
	return "", errors.New("no host took its files")
}

func applied(r apply.Result) report.Applied {
	out := report.Applied{Node: r.Node, How: r.Activation.Network, Reason: r.Activation.Reason, Status: fabric.Pass}
	if len(r.Activation.Pending) > 0 {
		out.Reason = strings.Join(append([]string{}, r.Activation.Pending...), "; ")
		if r.Activation.Reason != "" {
			out.Reason = r.Activation.Reason + "; " + out.Reason
		}
	}
	return out
}

func (p *pipeline) settle(ctx context.Context) (string, error) {
	if err := p.lab.StartLLDP(ctx); err != nil {
		return "", err
	}
	note := "lldpd on every machine"
	if p.lab.LLDP != "" {
		note = "cabling stays unknown: " + p.lab.LLDP
	}
	return note, settle(ctx, p.lab)
}

func (p *pipeline) plant(ctx context.Context, faults []lab.Fault) (string, error) {
	var names []string
	for _, f := range faults {
		names = append(names, f.String())
	}
	return strings.Join(names, " "), errors.Join(p.lab.Plant(ctx, faults), settle(ctx, p.lab))
}

func (p *pipeline) collect(ctx context.Context) (note string, err error) {
	if p.facts, err = collectLab(ctx, p.lab); err != nil {
		return "", err
	}
	p.report.Missing = make(map[string][]fabric.Missing)
	for _, f := range p.facts {
		p.report.Missing[f.Node] = f.Missing
		if err := p.folder.WriteFacts(f); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("facts of %d hosts", len(p.facts)), nil
}

func (p *pipeline) check(context.Context) (string, error) {
	waivers, err := p.in.waivers()
	if err != nil {
		return "", err
	}
	if p.report.Findings, err = findings(p.in.plan, waivers, all(p.facts)); err != nil {
		return "", err
	}
	s := p.report.Findings.Summary
	note := fmt.Sprintf("%d pass, %d fail, %d unknown, %d not applicable", s.Pass, s.Fail, s.Unknown, s.NotApplicable)
	return note, p.folder.Write(run.FindingsFile, p.report.Findings)
}

func (p *pipeline) mesh(ctx context.Context) (note string, err error) {
	if p.report.Mesh, err = meshLab(ctx, p.lab); err != nil {
		return "", err
	}
	s := p.report.Mesh.Summary()
	note = fmt.Sprintf("%d of %d pairs pass, in %.0f ms", s.Pass, len(p.report.Mesh.Pairs), 1000*p.report.Mesh.Seconds)
	return note, p.folder.Write(run.MeshFile, p.report.Mesh)
}

func (p *pipeline) explain(context.Context) (string, error) {
	p.report.Causes = diagnose.Mesh(p.report.Mesh, p.report.Findings.Findings)
	return fmt.Sprintf("%d causes", len(p.report.Causes.Causes)), p.folder.Write(run.CausesFile, p.report.Causes)
}

// finish saves the run's own record, writes the report and prints it.
func (p *pipeline) finish() error {
	record := p.report
	record.Plan, record.Findings, record.Mesh, record.Causes, record.Artifacts = nil, nil, nil, nil, nil
	if err := p.folder.Write(run.RunFile, record); err != nil {
		return err
	}
	path, err := writeHTML(p.folder, p.report)
	if err != nil {
		return err
	}
	if p.app.json() {
		return report.JSON(p.app.stdout, p.report)
	}
	if err := report.RunText(p.app.stdout, p.report, p.app.textOptions()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.app.stdout, "report: %s\n", path)
	return err
}
