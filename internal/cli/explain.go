package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/intake"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// explainOptions are the arguments and flags of explain.
type explainOptions struct {
	files     []string // - is standard input
	hw        fabric.Hardware
	file      string
	snapshots []string
	env       []string
	nccl      string
	html      string
}

func (a *app) explainCommand(run func(context.Context, explainOptions) error) *cobra.Command {
	var o explainOptions
	c := &cobra.Command{
		Use:   "explain FILE...|- [-f FILE] [--snapshot PATH...] [--machine ID --nodes N ...]",
		Short: "Explain what is wrong with measured bandwidth, and why",
		Long: "Explain what is wrong with measured bandwidth, and why: output of nccl-tests, rccl-tests, perftest or the OSU\n" +
			"benchmarks, debug logs of NCCL or RCCL with what launchers, MPI, UCX, CUDA and kernels print beside them, table\n" +
			"files and observation files, and what tools such as lspci, nvidia-smi, ibstat and dmesg print, in any mixture, with\n" +
			"manifests of the pods, compose files and docker run lines (rules: railwright serve lint --help). A FILE is a text, a\n" +
			"folder, or an archive (tar, zip, gzip, bzip2); - is standard input. Files of one call are explained together, such as\n" +
			"a slow table and the log of its run. Facts about the machines that the files do not state come from flags, a cluster\n" +
			"file or saved facts; what contradicts the files is not believed. Where nothing names the machines of a table, those of\n" +
			"the catalog with its GPUs stand in if each that could have measured it comes to the same verdict; the answer says so.\n\n" +
			"What cannot be read is unknown with its reason, and the others are read all the same. Lines that belong to nothing\n" +
			"known are counted; -v shows them.\n\n" +
			"All large rows of a table count, and a fault line beside it is never dropped: a failure that a program names\n" +
			"fails, a warning or a line that may be a fault leaves the result unknown and is quoted.\n\n" +
			"Each cause has a probability. Where none has 35 %, what a person wrote and a log without the table of its run are\n" +
			"unknown, whatever failed in them; the next measurement is the one that tells most for its minutes.\n\n" +
			"Exit status 0: all healthy; 1: something is degraded or failed; 2: nothing is, but something is unknown.",
		Args: takesMore("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := givenAboveZero(c, "nodes", "gpus", "nics"); err != nil {
				return err
			}
			o.files = args
			return run(c.Context(), o)
		},
	}
	hardwareFlags(c, &o.hw)
	fileFlag(c, &o.file)
	c.Flags().StringArrayVar(&o.snapshots, "snapshot", nil, "saved facts of the machines: a file or a folder; repeatable")
	c.Flags().StringArrayVar(&o.env, "env", nil, "environment of NCCL in that run, such as NCCL_ALGO=Ring; repeatable")
	ncclFlag(c, &o.nccl)
	htmlFlag(c, &o.html)
	return c
}

func (a *app) explain(ctx context.Context, o explainOptions) error {
	in, err := a.explainInput(ctx, o)
	if err != nil {
		return err
	}
	read, err := intake.Read(ctx, a.files, o.files, a.stdin, func(file string) { a.doing("reading %s", fabric.Quote(file)) })
	if err != nil {
		return err
	}
	x, err := pipeline.Explain(ctx, read, in, now())
	if err != nil {
		return err
	}
	if a.json() {
		err = report.JSON(a.stdout, x)
	} else {
		err = report.Explanation(a.stdout, x, a.textOptions())
	}
	err = errors.Join(err, writePage(o.html, func(w io.Writer) error { return report.ExplanationHTML(w, x, a.pageInfo()) }))
	if err != nil {
		return err
	}
	return exitOf(x.Status())
}

func (a *app) explainInput(ctx context.Context, o explainOptions) (diagnose.Input, error) {
	var in diagnose.Input
	cat, err := catalog.Load()
	if err != nil {
		return in, err
	}
	if err := checkHardware(cat, o.hw); err != nil {
		return in, err
	}
	if err := checkNCCL("flag --nccl", o.nccl); err != nil {
		return in, err
	}
	env, err := parsePairs("env", o.env)
	if err != nil {
		return in, err
	}
	if in, err = pipeline.Knowledge(cat); err != nil {
		return in, err
	}
	in.Env, in.Hardware, in.Version = env, o.hw, o.nccl
	var plan *fabric.Plan
	if o.file != "" {
		cluster, err := a.readCluster(o.file)
		if err != nil {
			return in, err
		}
		plan = cluster.plan
		if plan.Claims != nil {
			in.PodNICs = plan.Claims.NICs
		}
		if in.Version == "" {
			in.Version = plan.NCCL
			if err := checkNCCL("cluster file: nccl", plan.NCCL); err != nil {
				return in, err
			}
		}
		planned, err := cluster.hardware()
		if err != nil {
			return in, err
		}
		in.Hardware = planned.With(o.hw)
		if o.hw.Nodes == 0 {
			in.PlannedNodes, in.Hardware.Nodes = in.Hardware.Nodes, 0
		}
	}
	if err := checkMachine(cat, in.Hardware.Machine, o.hw); err != nil {
		return in, err
	}
	if len(o.snapshots) > 0 {
		_, err = pipeline.Check(ctx, pipeline.Checked{Plan: plan, At: now()}, facts.LoadFrom(ctx, a.files, o.snapshots...), func(f fabric.Finding) { in.Findings = append(in.Findings, f) })
	}
	return in, err
}
