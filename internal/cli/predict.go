package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/results"
)

// predictOptions are the flags of predict.
type predictOptions struct {
	hw         fabric.Hardware
	file       string
	like       string
	topo       string
	snapshot   string
	collective string
	sizes      string
	env        []string
	processes  int
	perThread  int
	iterations int
	dtype      string
	tuning     string
	workers    []string
	nccl       []string
	compared   bool // one of the versions of a comparison
	html       string
}

func (a *app) predictCommand(run func(context.Context, predictOptions) error) *cobra.Command {
	var o predictOptions
	c := &cobra.Command{
		Use:   "predict (-f FILE | --machine ID | --gpu G | --like TABLE | --topo XML | --snapshot PATH) [--nodes N] [--collective C] [--sizes 8:16G]",
		Short: "Predict the bandwidth curve of a collective on healthy machines, and its physical bound",
		Long: "Predict the bandwidth curve of a collective on healthy machines, size by size: time, bandwidth, the healthy band, what\n" +
			"NCCL chooses, what each NIC carries, and the physical bound with the element that sets it.\n\n" +
			"The machines are those of a cluster file, of the catalog, of saved facts, of an NCCL topology file, or what the flags\n" +
			"state; flags take precedence. --like predicts the sizes of a table file on its hardware without using its rows, or\n" +
			"those that nccl-tests printed, with how it was started, on the machines that flags state.\n" +
			"A worker (a pod) that has part of a machine is --worker [MACHINE:]GPUS/NICS, such as 0,1,6,7/0-3, or 0-3/any4 where\n" +
			"its NICs are unknown; repeat it for each.\n\n" +
			"DGX Sparks are cabled in a pair, to a switch, in a ring or in a chain (--wiring): by default as that many usually are.\n" +
			"--nics counts the functions that carry data, two of each port; --env NCCL_IB_HCA=NAMES leaves those that it names.\n\n" +
			"Algorithm and protocol of each size are those that NCCL itself chooses, by its version: --nccl, else that of the\n" +
			"cluster file or the table, else the newest known. Two versions or more are compared: where choices move, and what\n" +
			"each size gains or loses.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := givenAboveZero(c, "nodes", "gpus", "nics"); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	hardwareFlags(c, &o.hw)
	fileFlag(c, &o.file)
	f := c.Flags()
	f.StringVar(&o.like, "like", "", "table whose collective, sizes and launch are predicted, and whose hardware, if it is a table file")
	f.StringVar(&o.topo, "topo", "", "NCCL topology file of one machine")
	f.StringVar(&o.snapshot, "snapshot", "", "saved facts of one machine")
	f.StringVar(&o.collective, "collective", "", "all_reduce (the default), all_gather, reduce_scatter, alltoall, broadcast, reduce, sendrecv, gather, scatter")
	f.StringVar(&o.sizes, "sizes", "8:16G", "sizes in bytes: FROM:TO[:FACTOR] or a list with commas")
	f.StringArrayVar(&o.env, "env", nil, "environment of NCCL, such as NCCL_ALGO=Ring; repeatable")
	f.IntVar(&o.processes, "procs", 0, "processes per machine; 0: one per GPU")
	f.IntVar(&o.perThread, "per-thread", 0, "GPUs for which one thread of a process launches kernels, -g of nccl-tests; 0: as --procs says")
	f.IntVar(&o.iterations, "iterations", 0, "launches of the test before it waits, -n of nccl-tests; 0: 20")
	f.StringVar(&o.dtype, "dtype", "", "type of the elements, as nccl-tests prints it; empty is float")
	f.StringVar(&o.tuning, "tuning", "", "NCCL debug log whose tuning table is used instead of the model's")
	f.StringArrayVar(&o.workers, "worker", nil, "GPUs and NICs of one worker; repeatable")
	f.StringArrayVar(&o.nccl, "nccl", nil, "version of NCCL, such as "+ncclgraph.Newest().String()+"; repeat it to compare versions")
	htmlFlag(c, &o.html)
	c.MarkFlagsMutuallyExclusive("file", "like", "topo", "snapshot")
	return c
}

func (a *app) predict(ctx context.Context, o predictOptions) error {
	if len(o.nccl) > 1 {
		return a.upgrade(ctx, o)
	}
	p, err := a.prediction(ctx, o)
	if err != nil {
		return err
	}
	if a.json() {
		err = report.JSON(a.stdout, p)
	} else {
		err = report.Prediction(a.stdout, p, a.textOptions())
	}
	return errors.Join(err, writePage(o.html, func(w io.Writer) error { return report.PredictionHTML(w, p, a.pageInfo()) }))
}

// checked reads the flags that are checked alone.
func (o predictOptions) checked(cat *catalog.Catalog) (sizes []int64, err error) {
	if err := checkHardware(cat, o.hw); err != nil {
		return nil, err
	}
	if err := checkMachine(cat, o.hw.Machine, o.hw); err != nil {
		return nil, err
	}
	if err := checkNCCL("flag --nccl", o.nccl...); err != nil {
		return nil, err
	}
	if sizes, err = parseSizes(o.sizes); err != nil {
		return nil, fmt.Errorf("flag --sizes: %w", err)
	}
	return sizes, nil
}

func (a *app) prediction(ctx context.Context, o predictOptions) (*fabric.Prediction, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	sizes, err := o.checked(cat)
	if err != nil {
		return nil, err
	}
	f := forecast{job: collective.Job{Collective: fabric.AllReduce}, sizes: sizes}
	base, err := a.like(o, &f)
	if err != nil {
		return nil, err
	}
	if err := a.jobFlags(o, &f.job); err != nil {
		return nil, err
	}
	if f.job.Placement != nil && o.hw.Nodes == 0 && base.Nodes == 0 && o.file == "" {
		o.hw.Nodes = max(2, f.job.Placement.Machines()) // pods of one machine use its NICs as two machines do
	}
	if f.build, err = a.cluster(ctx, o, cat, base, &f); err != nil {
		return nil, err
	}
	p, err := f.predict(o.hw, f.job.Env)
	if err != nil {
		return nil, err
	}
	if n, gpus := o.processes, p.Hardware.GPUsPerNode; n > 0 && len(o.workers) == 0 && (n > gpus || gpus%n != 0) {
		return nil, fmt.Errorf("flag --procs: %d: does not divide the %s of a machine", n, fabric.Count(gpus, "GPU"))
	}
	if n, gpus := o.perThread, p.Hardware.GPUsPerNode; n > 0 && (n > gpus || gpus%n != 0) {
		return nil, fmt.Errorf("flag --per-thread: %d: does not divide the %s of a machine", n, fabric.Count(gpus, "GPU"))
	}
	p.Remarks = slices.Concat(p.Remarks, f.noEffect(p, o.hw), f.notes)
	if p.NCCL == "" && len(o.nccl) > 0 {
		open := f
		open.job.Version = ""
		if q, err := open.predict(o.hw, f.job.Env); err == nil && sameBandwidth(p, q) {
			p.Remarks = append(p.Remarks, noEffectOn+"--nccl "+o.nccl[0])
		}
	}
	return p, nil
}

// like takes collective, sizes and launch from the table of --like; base is the hardware that it states.
func (a *app) like(o predictOptions, f *forecast) (base fabric.Hardware, err error) {
	if o.like == "" {
		return base, nil
	}
	t, err := a.tableOf(o.like)
	if err != nil {
		return base, err
	}
	if base, err = hardwareOf(t, o.hw); err != nil {
		return base, fmt.Errorf("flag --like: %q: %w", o.like, err)
	}
	if t.Collective == "" && o.collective == "" {
		return base, fmt.Errorf("flag --like: %q: neither the table nor its bandwidths say which collective it is of: add --collective C", o.like)
	}
	f.job, f.sizes = collective.JobOf(t.Collective, t.Config), sizesOf(t)
	f.instead(o, "the table", f.job.Version)
	return base, nil
}

// jobFlags overrides the job of a table file with the flags.
func (a *app) jobFlags(o predictOptions, job *collective.Job) (err error) {
	if o.collective != "" {
		if job.Collective, err = fabric.ParseCollective(o.collective); err != nil {
			return fmt.Errorf("flag --collective: %w", err)
		}
	}
	env, err := parsePairs("env", o.env)
	if err != nil {
		return err
	}
	for key, value := range env {
		if job.Env == nil {
			job.Env = map[string]string{}
		}
		job.Env[key] = value
	}
	if o.processes < 0 {
		return fmt.Errorf("flag --procs: %d is below 0", o.processes)
	}
	if o.processes > 0 {
		job.Processes, job.Each = o.processes, 0
	}
	if o.perThread < 0 {
		return fmt.Errorf("flag --per-thread: %d is below 0", o.perThread)
	}
	if o.perThread > 0 {
		job.Each = o.perThread
	}
	if o.iterations < 0 {
		return fmt.Errorf("flag --iterations: %d is below 0", o.iterations)
	}
	if o.iterations > 0 {
		job.Iterations = o.iterations
	}
	if o.dtype != "" {
		if !slices.Contains(collective.DTypes(), strings.ToLower(o.dtype)) {
			return fmt.Errorf("flag --dtype: %w", fabric.UnknownName("type", o.dtype, collective.DTypes()))
		}
		job.DType = o.dtype
	}
	if len(o.nccl) > 0 {
		job.Version = o.nccl[0]
	}
	if o.tuning != "" {
		if job.Tuning, err = a.tuningOf(o.tuning); err != nil {
			return err
		}
	}
	if len(o.workers) > 0 {
		job.Placement, err = parseWorkers(o.workers)
	}
	return err
}

// tableOf reads the table file of --like.
func (a *app) tableOf(file string) (*fabric.Table, error) {
	found, err := a.measured(file)
	if err != nil {
		return nil, err
	}
	var tables []*fabric.Table
	for _, r := range found {
		if t, ok := r.Content.(*fabric.Table); ok {
			tables = append(tables, t)
		}
	}
	if len(tables) != 1 {
		return nil, fmt.Errorf("flag --like: %q: has %s, not one", file, fabric.Count(len(tables), "table"))
	}
	return tables[0], nil
}

// hardwareOf is the hardware that a table file states; of what a test program printed it is what its banner says of nodes, and flags
// state the rest.
func hardwareOf(t *fabric.Table, flags fabric.Hardware) (fabric.Hardware, error) {
	switch {
	case t.Hardware != nil:
		return *t.Hardware, nil
	case flags.Machine == "" && flags.GPU == "":
		return fabric.Hardware{}, errors.New("the table states no hardware: add --machine ID or --gpu G")
	}
	return fabric.Hardware{Nodes: t.Nodes}, nil
}

func sizesOf(t *fabric.Table) []int64 {
	sizes := make([]int64, len(t.Rows))
	for i, r := range t.Rows {
		sizes[i] = r.Size
	}
	return sizes
}

func (a *app) tuningOf(file string) ([]fabric.TuningCell, error) {
	found, err := a.measured(file)
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		if log, ok := r.Content.(*fabric.NCCLLog); ok && len(log.Tuning) > 0 {
			return log.Tuning, nil
		}
	}
	return nil, fmt.Errorf("flag --tuning: %q has no tuning table: log with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING", file)
}

// measured reads the results of a file, or of standard input.
func (a *app) measured(file string) ([]fabric.Result, error) {
	if file == "-" {
		a.doing("waiting for results on standard input")
		return results.Read("standard input", a.stdin)
	}
	a.doing("reading %s", fabric.Quote(file))
	f, err := a.files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("result file: %w", err)
	}
	defer f.Close()
	return results.Read(file, f)
}

// hardware returns what a cluster file states about its machines. A collective over different machines runs at the pace
// of the slowest, which a prediction for equal machines does not show, so it is an error.
func (in *input) hardware() (fabric.Hardware, error) { return pipeline.Hardware(in.plan) }

// parseWorkers reads [MACHINE:]GPUS/NICS, with lists such as 0,1,6-7, and anyN for unknown NICs.
func parseWorkers(texts []string) (*collective.Placement, error) {
	p := &collective.Placement{}
	for _, text := range texts {
		machine, rest, named := strings.Cut(text, ":")
		if !named {
			machine, rest = "", text
		}
		gpus, nics, ok := strings.Cut(rest, "/")
		if !ok {
			return nil, fmt.Errorf("flag --worker: %q is not [MACHINE:]GPUS/NICS", text)
		}
		w := collective.Worker{Machine: machine}
		var err error
		if w.GPUs, err = parseIndexes(gpus); err != nil {
			return nil, fmt.Errorf("flag --worker: %q: %w", text, err)
		}
		if n, unknown := strings.CutPrefix(nics, "any"); unknown {
			if w.Count, err = strconv.Atoi(n); err != nil || w.Count < 0 {
				return nil, fmt.Errorf("flag --worker: %s: %s is not anyN, with N the number of NICs", fabric.Quote(text), fabric.Quote(nics))
			}
		} else if w.NICs, err = parseIndexes(nics); err != nil {
			return nil, fmt.Errorf("flag --worker: %q: %w", text, err)
		}
		p.Workers = append(p.Workers, w)
	}
	return p, nil
}

// parseIndexes reads 0,1,6-7.
func parseIndexes(text string) ([]int, error) {
	const most = 1 << 10 // GPUs or NICs of a machine
	var out []int
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, err1 := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("invalid number or range %s", fabric.Quote(part))
		}
		if low < 0 || high < low || high >= most {
			return nil, fmt.Errorf("%q is not between 0 and %d", part, most-1)
		}
		for i := low; i <= high; i++ {
			out = append(out, i)
		}
	}
	return out, nil
}
