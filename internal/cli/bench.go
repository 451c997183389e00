package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/mesh"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// pingSuite is the mesh of pings, which runs on any cluster.
const pingSuite = "ping"

// benchOptions are the flags of bench.
type benchOptions struct {
	fleetOptions
	suite  string // names with commas
	print  bool
	folder string
}

func (a *app) benchCommand(run func(context.Context, benchOptions) error) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench (-f FILE | --lab) [--suite ping,perftest,nccl] [--print]",
		Short: "Test every cable: pings, RDMA writes and an all-gather, judged by what the hardware allows",
		Long: "Test every cable, and say what is wrong with those that are slow.\n\n" +
			"ping      every NIC pings every NIC of the other hosts, and which fault explains what fails\n" +
			"perftest  on DGX Spark: ib_write_bw and ib_write_lat of each twin alone, and of both twins of a port at once\n" +
			"nccl      on DGX Spark: which NCCL is loaded, and all_gather_perf over all machines\n\n" +
			"Without --suite: on DGX Spark all three, else ping. With --print nothing is run: it prints the commands of perftest and nccl,\n" +
			"with the machine on which each runs and its whole environment; with launcher kubernetes, the scripts that run both in pods.\n\n" +
			"Every test ends by itself, and when the connection ends. The all-gather takes at most a quarter of the memory that is free.\n" +
			"What was measured, and the outputs as printed, are kept in a run folder.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.suite, "suite", "", "what to run, with commas: "+strings.Join(benchSuites(), ", "))
	c.Flags().BoolVar(&o.print, "print", false, "print the commands and run nothing")
	c.Flags().StringVarP(&o.folder, "dir", "d", "railwright-runs", "folder for run folders, of perftest and nccl")
	c.MarkFlagsMutuallyExclusive("print", "lab")
	return c
}

// suites are the names of --suite.
func (o benchOptions) suites() (names []string) {
	for name := range strings.SplitSeq(o.suite, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func benchSuites() []string { return append([]string{pingSuite}, pipeline.BenchSuites()...) }

func (a *app) bench(ctx context.Context, o benchOptions) (err error) {
	for _, s := range o.suites() {
		if !slices.Contains(benchSuites(), s) {
			return fmt.Errorf("flag --suite: %s: unknown; %sknown: %s", fabric.Quote(s), fabric.DidYouMean(s, benchSuites()), strings.Join(benchSuites(), ", "))
		}
	}
	if o.print {
		return a.printBench(o)
	}
	m, err := a.reach(ctx, o.fleetOptions, pipeline.BenchOfPods)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.fleet.Close()) }()
	suites := chosenSuites(o, m.plan)
	tests, err := testsOf(m.plan, suites)
	if err != nil {
		return err
	}
	out := benchOutput{status: fabric.Pass}
	if slices.Contains(suites, pingSuite) {
		if err := a.pingSuite(ctx, m, &out); err != nil {
			return err
		}
	}
	if len(tests) > 0 {
		if err := a.testSuites(ctx, m, o, tests, &out); err != nil {
			return err
		}
	}
	if err := a.printBenchResults(out); err != nil {
		return err // without the output there is no verdict
	}
	return exitOf(out.status)
}

// chosenSuites are the suites of --suite, or those that the machines can do. In the lab there is no RDMA.
func chosenSuites(o benchOptions, p *fabric.Plan) []string {
	switch {
	case o.suite != "":
		return o.suites()
	case len(p.Ports) > 0 && !o.lab:
		return benchSuites()
	}
	return []string{pingSuite}
}

// testsOf are the tests of suites that are commands.
func testsOf(p *fabric.Plan, suites []string) ([]fabric.BenchTest, error) {
	commands := slices.DeleteFunc(slices.Clone(suites), func(s string) bool { return s == pingSuite })
	if len(commands) == 0 {
		return nil, nil
	}
	tests, err := pipeline.BenchTests(p, commands)
	if err != nil {
		return nil, fmt.Errorf("flag --suite: %w", err)
	}
	return tests, nil
}

// benchOutput is what bench prints. Its JSON has what was run.
type benchOutput struct {
	Mesh   *fabric.Mesh   `json:"mesh,omitempty"`
	Causes *fabric.Causes `json:"causes,omitempty"`
	Bench  *fabric.Bench  `json:"bench,omitempty"`

	run    *report.Run
	folder string
	status fabric.Status
}

func (o *benchOutput) worst(s fabric.Status) {
	switch {
	case s == fabric.Fail || o.status == fabric.Fail:
		o.status = fabric.Fail
	case s != fabric.Pass:
		o.status = fabric.Unknown
	}
}

// pingSuite collects facts, checks them and pings every pair, so that a failed pair can be explained.
func (a *app) pingSuite(ctx context.Context, m *reached, out *benchOutput) error {
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
	out.run, out.Mesh, out.Causes = &r, r.Mesh, r.Causes
	out.worst(r.Status())
	return nil
}

func (a *app) testSuites(ctx context.Context, m *reached, o benchOptions, tests []fabric.BenchTest, out *benchOutput) error {
	out.Bench = pipeline.Bench(ctx, m.fleet, m.plan, tests, a.progress)
	out.worst(out.Bench.Summary.Status())
	folder, err := run.New(o.folder, m.plan.Name, now())
	if err != nil {
		return err
	}
	out.folder = folder.Path(run.BenchFolder)
	return errors.Join(folder.Write(run.PlanFile, m.plan), pipeline.SaveBench(folder, out.Bench))
}

func (a *app) printBenchResults(out benchOutput) error {
	if a.json() {
		return report.JSON(a.stdout, out)
	}
	if out.run != nil {
		if err := report.RunText(a.stdout, *out.run, a.textOptions()); err != nil {
			return err
		}
	}
	if out.Bench == nil {
		return nil
	}
	if out.run != nil {
		fmt.Fprintln(a.stdout)
	}
	return report.BenchText(a.stdout, out.Bench, out.folder, a.textOptions())
}

// printBench shows the commands and runs nothing. The mesh of pings has none: this program sends them.
func (a *app) printBench(o benchOptions) error {
	in, err := a.readCluster(o.file)
	if err != nil {
		return err
	}
	if in.plan.Launcher == string(intent.Kubernetes) {
		return a.printPodBench(in.plan, o)
	}
	suites := o.suites()
	if len(suites) == 0 {
		suites = pipeline.BenchSuites()
	}
	tests, err := testsOf(in.plan, suites)
	if err != nil {
		return err
	}
	if len(tests) == 0 {
		return errors.New("flag --print: the pings of suite ping are sent by this program, not by a command; known: " + strings.Join(pipeline.BenchSuites(), ", "))
	}
	if a.json() {
		return report.JSON(a.stdout, pipeline.NotRun(in.plan, tests))
	}
	return report.BenchCommands(a.stdout, tests, a.textOptions())
}

// printPodBench shows what a person runs to measure pods. What runs inside them depends on what each is given: the scripts find it.
func (a *app) printPodBench(p *fabric.Plan, o benchOptions) error {
	commands, err := pipeline.BenchCommands(p, o.file, o.suites()...)
	if err != nil {
		return err
	}
	if a.json() {
		return report.JSON(a.stdout, struct {
			Commands []string `json:"commands"`
		}{commands})
	}
	for _, c := range commands {
		printf(a.stdout, "%s\n", c)
	}
	return nil
}
