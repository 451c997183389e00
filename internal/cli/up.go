package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/mesh"
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
		Use:   "up [-f FILE] [--lab]",
		Short: "The whole pipeline into a run folder: plan, render, apply, check, mesh, report",
		Long: "The whole pipeline into a run folder: plan, render, apply, check, mesh, report.\n" +
			"With -f on the machines of a cluster file, over SSH; with --lab in a lab of network namespaces on this machine.\n" +
			"Without -f it is the embedded example in the lab.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.up(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.lab, "lab", false, "build the cluster as a lab on this machine")
	c.Flags().BoolVar(&o.keep, "keep", false, "leave the lab up afterwards")
	c.Flags().StringVarP(&o.folder, "dir", "d", "railwright-runs", "folder for run folders")
	c.Flags().StringArrayVar(&o.faults, "fault", nil, "a fault to plant in the lab before checking; can be repeated")
	return c
}

// pipeline is a run under way: what came out of its steps so far, and its folder.
type pipeline struct {
	app    *app
	in     *input
	folder run.Folder
	report report.Run
	faults []lab.Fault
	lab    *lab.Lab // nil over SSH
	crew   *crew
	facts  []*fabric.Facts
	lost   []fabric.Missing
}

func (a *app) up(ctx context.Context, o upOptions) error {
	o.lab = o.lab || o.file == ""
	if !o.lab && len(o.faults) > 0 {
		return errors.New("flag --fault: faults are planted in the lab only: give --lab")
	}
	p, err := a.newPipeline(o)
	if err != nil {
		return err
	}
	runErr := p.run(ctx, o.lab)
	keep := o.keep && p.lab != nil && runErr == nil
	if keep {
		runErr = p.lab.Leave()
	}
	// A lab that is not left to itself ends with this process, so its state must go too.
	runErr = errors.Join(runErr, p.part(keep))
	p.report.Seconds = time.Since(p.report.Started).Seconds()
	if err := p.finish(); err != nil {
		return err
	}
	if runErr != nil {
		// What stopped the run is no verdict on the cluster, of which less is known now.
		fmt.Fprintf(a.stderr, "railwright: %v\n", runErr)
	}
	return exitOf(p.report.Status())
}

func (a *app) newPipeline(o upOptions) (*pipeline, error) {
	in, faults, err := a.upInput(o)
	if err != nil {
		return nil, err
	}
	started := now()
	folder, err := run.New(o.folder, in.plan.Name, started)
	if err != nil {
		return nil, err
	}
	return &pipeline{app: a, in: in, folder: folder, faults: faults, report: report.Run{
		Meta: fabric.NewMeta("Run"), ID: in.plan.Name, Started: started, Version: a.version, Plan: in.plan,
		Command: commandLine(),
	}}, nil
}

// upInput reads the cluster, and for the lab makes sure that none is in the way.
func (a *app) upInput(o upOptions) (*input, []lab.Fault, error) {
	if !o.lab {
		in, err := a.readCluster(o.file)
		return in, nil, err
	}
	in, faults, err := a.labInput(o.file, o.faults)
	if err != nil {
		return nil, nil, err
	}
	switch _, err := lab.Open(); {
	case err == nil:
		return nil, nil, fmt.Errorf("%w: end it with: railwright lab down", lab.ErrRunning)
	case !errors.Is(err, lab.ErrNone):
		return nil, nil, err
	}
	return in, faults, nil
}

// part ends the lab, or leaves the machines as they are now.
func (p *pipeline) part(keep bool) error {
	var err error
	if p.crew != nil {
		err = p.crew.dismiss()
	}
	if p.lab != nil && !keep {
		err = errors.Join(err, p.lab.Down())
	}
	return err
}

// step is a part of the pipeline. A note of what it did goes into the report.
type step struct {
	name string
	do   func(context.Context) (note string, err error)
}

func (p *pipeline) steps(inLab bool) []step {
	steps := []step{{"plan", p.plan}, {"render", p.render}}
	if inLab {
		steps = append(steps, step{"lab", p.startLab}, step{"apply", p.apply}, step{"settle", p.settle})
	} else {
		steps = append(steps, step{"reach", p.reach}, step{"apply", p.apply})
	}
	if len(p.faults) > 0 {
		steps = append(steps, step{"faults", p.plant})
	}
	return append(steps, step{"collect", p.collect}, step{"check", p.check}, step{"mesh", p.mesh}, step{"explain", p.explain})
}

// run takes the steps in order. A step that cannot do its work ends the run; those after it are then told
// as not done.
func (p *pipeline) run(ctx context.Context, inLab bool) error {
	var failed error
	for _, s := range p.steps(inLab) {
		if failed != nil {
			p.report.Steps = append(p.report.Steps, report.Step{Name: s.name, Note: "not reached"})
			continue
		}
		started := time.Now()
		note, err := s.do(ctx)
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		done := report.Step{Name: s.name, Seconds: time.Since(started).Seconds(), Status: fabric.Pass, Note: note}
		if err != nil {
			done.Status, done.Note = fabric.Fail, err.Error()
			failed = fmt.Errorf("%s: %w", s.name, err)
		}
		p.report.Steps = append(p.report.Steps, done)
		if err == nil {
			p.app.progress("%-8s %6.2f s  %s", done.Name, done.Seconds, done.Note)
		}
	}
	return failed
}

func (p *pipeline) plan(context.Context) (string, error) {
	note := fmt.Sprintf("%s, %s, %s", fabric.Count(len(p.in.plan.Nodes), "node"), fabric.Count(len(p.in.plan.Cabling.Links), "NIC"), p.in.plan.Addressing.Scheme)
	return note, errors.Join(p.folder.WriteFile(run.ClusterFile, p.in.text), p.folder.Write(run.PlanFile, p.in.plan))
}

func (p *pipeline) render(ctx context.Context) (string, error) {
	index, sum, err := renderTo(ctx, p.folder.Path(run.Artifacts), p.in.plan)
	if err != nil {
		return "", err
	}
	p.report.Artifacts = &index
	return fmt.Sprintf("%d files, index sha256 %.12s", len(index.Artifacts), sum), nil
}

func (p *pipeline) startLab(ctx context.Context) (note string, err error) {
	if p.lab, err = lab.Up(ctx, p.in.plan, lab.Options{}); err != nil {
		return "", err
	}
	p.crew, err = labCrew(p.lab)
	return fmt.Sprintf("%s and %s in network namespaces", fabric.Count(len(p.in.plan.Nodes), "host"), p.lab.Spec.Leaf), err
}

func (p *pipeline) reach(ctx context.Context) (note string, err error) {
	if p.crew, err = p.in.crew(ctx); err != nil {
		return "", err
	}
	reached := 0
	for _, o := range p.crew.byName {
		if o.Err == nil {
			reached++
		}
	}
	return fmt.Sprintf("%d of %s over SSH", reached, fabric.Count(len(p.in.plan.Nodes), "host")), nil
}

func (p *pipeline) apply(ctx context.Context) (string, error) {
	results, err := p.crew.apply(ctx, p.in.plan, false)
	if err != nil {
		return "", err
	}
	ways := make(map[string]int)
	for _, r := range results {
		a := applied(r)
		p.report.Applied = append(p.report.Applied, a)
		ways[a.How]++
	}
	var notes []string
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		notes = append(notes, fmt.Sprintf("%s by %s", fabric.Count(ways[way], "host"), way))
	}
	return strings.Join(notes, ", "), nil
}

// applied says how a machine took its configuration.
func applied(r host.Outcome[apply.Applied]) report.Applied {
	switch {
	case r.Err != nil:
		return report.Applied{Node: r.Name, How: "nothing", Reason: r.Err.Error()}
	case r.Value.Activation == nil:
		return report.Applied{
			Node: r.Name, How: "files", Status: fabric.Pass,
			Reason: "in force after its next start, or after: netplan apply && sysctl --system && systemctl daemon-reload",
		}
	}
	a := r.Value.Activation
	reasons := a.Pending
	if a.Reason != "" {
		reasons = append([]string{a.Reason}, reasons...)
	}
	return report.Applied{Node: r.Name, How: a.Network, Reason: strings.Join(reasons, "; "), Status: fabric.Pass}
}

func (p *pipeline) settle(ctx context.Context) (string, error) {
	if err := p.lab.StartLLDP(ctx); err != nil {
		return "", err
	}
	note := "lldpd on every machine"
	if p.lab.LLDP != "" {
		note = "cabling stays unknown: " + p.lab.LLDP
	}
	return note, settle(ctx, p.crew, p.lab.LLDP == "")
}

func (p *pipeline) plant(ctx context.Context) (string, error) {
	var names []string
	for _, f := range p.faults {
		names = append(names, f.String())
	}
	err := p.lab.Plant(ctx, p.faults)
	if err == nil {
		err = settle(ctx, p.crew, p.lab.LLDP == "")
	}
	return strings.Join(names, " "), err
}

func (p *pipeline) collect(ctx context.Context) (string, error) {
	p.facts, p.lost = p.crew.collect(ctx)
	p.report.Missing = make(map[string][]fabric.Missing)
	for _, m := range p.lost {
		p.report.Missing[m.What] = []fabric.Missing{{What: "everything", Source: m.Source, Reason: m.Reason}}
	}
	for _, f := range p.facts {
		p.report.Missing[f.Node] = f.Missing
		if err := p.folder.WriteFacts(f); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("facts of %d of %s", len(p.facts), fabric.Count(len(p.in.plan.Nodes), "host")), nil
}

func (p *pipeline) check(ctx context.Context) (string, error) {
	waivers, err := p.in.waivers()
	if err != nil {
		return "", err
	}
	if p.report.Findings, err = findings(ctx, p.in.plan, waivers, p.facts, p.lost); err != nil {
		return "", err
	}
	s := p.report.Findings.Summary
	note := fmt.Sprintf("%d pass, %d fail, %d unknown, %d not applicable", s.Pass, s.Fail, s.Unknown, s.NotApplicable)
	return note, p.folder.Write(run.FindingsFile, p.report.Findings)
}

func (p *pipeline) mesh(ctx context.Context) (note string, err error) {
	if p.report.Mesh, err = p.crew.mesh(ctx, p.in.plan); err != nil {
		return "", err
	}
	s := p.report.Mesh.Summary()
	note = fmt.Sprintf("%d of %d pairs pass, in %.0f ms", s.Pass, len(p.report.Mesh.Pairs), 1000*p.report.Mesh.Seconds)
	return note, p.folder.Write(run.MeshFile, p.report.Mesh)
}

func (p *pipeline) explain(context.Context) (string, error) {
	p.report.Causes = mesh.Explain(p.report.Mesh, p.report.Findings.Findings)
	return fabric.Count(len(p.report.Causes.Causes), "cause"), p.folder.Write(run.CausesFile, p.report.Causes)
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
