package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/launch"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/sizing"
)

// serveWatchOptions are the arguments and flags of serve watch.
type serveWatchOptions struct {
	paths   []string // - is standard input
	follow  bool
	timeout time.Duration
	silent  time.Duration
	file    string      // cluster file, whose plan says what is expected; "": none
	size    sizeOptions // model and machine to compute the figures for; without a model none are
}

func (a *app) serveWatchCommand(run func(context.Context, serveWatchOptions) error) *cobra.Command {
	var o serveWatchOptions
	c := &cobra.Command{
		Use:   "watch FILE...|- [--follow] [-f FILE | --model MODEL --machine ID]",
		Short: "How far the launch of a model is, by the logs of its pods, and what failed first",
		Long: "Read what SGLang or vLLM print while pods start to serve a model: which stage each rank is in (init, weights, compilation,\n" +
			"KV cache, graphs, ready), the figures of each stage, beside those of the plan (-f: a cluster file that serves a model, whose\n" +
			"storage and times bound the stages too) or those that size computes for a model (--model, --machine),\n" +
			"and where the launch died, the first failure of all pods: not the last traceback, and not the rank that only waited.\n\n" +
			"A FILE is the log of one pod, named after it, or of several with the prefixes of kubectl logs --prefix, stern or docker\n" +
			"compose; a folder is its files; - is standard input. Pods NAME-G and NAME-G-1, NAME-G-2 of a LeaderWorkerSet are one\n" +
			"group, so are NAME-leader-0-0-... and NAME-workers-0-I-... of a JobSet, and all other logs of one call. A log that goes on after a restart is told apart, and what died before is kept.\n\n" +
			"Ready is only what a line says: uvicorn runs, application startup complete, or a request that was answered. A log that\n" +
			"ends before is unknown: with --follow, or with --silent for a saved one, silence that is longer than the stage may take\n" +
			"is a stall, with the reasons for which there is a line.\n\n" +
			"Exit status 0: every launch is ready; 1: one died and cannot become ready; 2: it cannot be known, or not yet.",
		Args: takesMore("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := givenAboveZero(c, "nodes", "tp", "pp", "ep", "dp", "context", "gpus-per-node", "mem-fraction"); err != nil {
				return err
			}
			if o.timeout < 0 || o.silent < 0 {
				return errors.New("flags --timeout and --silent: must not be below 0")
			}
			o.paths = args
			return run(c.Context(), o)
		},
	}
	o.flags(c)
	return c
}

func (o *serveWatchOptions) flags(c *cobra.Command) {
	f, r := c.Flags(), &o.size.request
	f.BoolVar(&o.follow, "follow", false, "go on reading until every launch is ready or died")
	f.DurationVar(&o.timeout, "timeout", 0, "with --follow: give up after this time, such as 40m; default: never")
	f.DurationVar(&o.silent, "silent", 0, "how long saved logs have been silent since their last line, such as 15m")
	f.StringVar(&o.size.model, "model", "", "model to compute the figures for: as of size")
	f.StringVar(&o.size.machine, "machine", "hgx-h100", "with --model: machine of the catalog")
	f.StringVar(&o.size.gpu, "gpu", "", "with --model: GPU of the catalog, instead of a machine")
	f.IntVar(&o.size.perNode, "gpus-per-node", 8, "with --gpu: GPUs per node")
	f.IntVar(&r.Nodes, "nodes", 0, "with --model: nodes; default: as the logs say")
	f.IntVar(&r.TP, "tp", 0, "with --model: tensor parallel size; default: as the logs say")
	f.IntVar(&r.PP, "pp", 0, "with --model: pipeline parallel size; default: as the logs say")
	f.IntVar(&r.EP, "ep", 0, "with --model: expert parallel size; default: as the logs say")
	f.IntVar(&r.DP, "dp", 0, "with --model: attention replicas; default: as the logs say")
	f.StringVar(&r.Engine, "engine", "", "with --model: sglang or vllm; default: as the logs say")
	f.StringVar(&r.EngineVersion, "engine-version", "", "with --model: version of the engine; default: as the logs say, if its rules are known")
	f.Var((*tokenCount)(&r.Context), "context", "with --model: tokens of one request; default: as the logs say")
	f.StringVar(&r.KVDType, "kv-dtype", "", "with --model: type of the KV cache; default: the checkpoint's own")
	f.Float64Var(&r.MemFraction, "mem-fraction", 0, "with --model: share of the memory that the engine may use; default: as the logs say")
	fileFlag(c, &o.file)
	for _, other := range []string{"model", "machine", "gpu", "gpus-per-node", "nodes", "tp", "pp", "ep", "dp", "engine", "engine-version", "context", "kv-dtype", "mem-fraction"} {
		c.MarkFlagsMutuallyExclusive("file", other)
	}
	c.MarkFlagsMutuallyExclusive("machine", "gpu")
	c.MarkFlagsMutuallyExclusive("follow", "silent")
}

func (a *app) serveWatch(ctx context.Context, o serveWatchOptions) error {
	if o.timeout > 0 && !o.follow {
		return errors.New("flag --timeout: use it with --follow")
	}
	expect, err := a.plannedLaunch(o)
	if err != nil {
		return err
	}
	w := launch.New(expect)
	var result *fabric.Launches
	if o.follow {
		result, err = a.followLaunch(ctx, w, o)
	} else {
		result, err = a.savedLaunch(ctx, w, o)
	}
	if err != nil {
		return err
	}
	if o.size.model != "" {
		expect, why, err := a.expectedLaunch(o.size, result)
		if err != nil {
			return err
		}
		w.Expect(expect)
		if result = w.Result(a.silence(o)); why != "" {
			result.Uncompared(why)
		}
	}
	if a.json() {
		err = report.JSON(a.stdout, result)
	} else {
		err = report.Launches(a.stdout, result, a.textOptions())
	}
	if err != nil {
		return err
	}
	return exitOf(result.Status())
}

// plannedLaunch is what the plan of a cluster file says of the launch; nil without a file.
func (a *app) plannedLaunch(o serveWatchOptions) (*launch.Expectation, error) {
	if o.file == "" {
		return nil, nil
	}
	if o.file == "-" && slices.Contains(o.paths, "-") {
		return nil, errors.New("standard input: it is either the cluster file or a log")
	}
	in, err := a.readCluster(o.file)
	if err != nil {
		return nil, err
	}
	s := in.plan.Serving
	switch {
	case s == nil:
		return nil, fmt.Errorf("%s: its plan serves no model: set serving.model, on a platform or launcher that serves one (railwright plan)", fabric.Quote(o.file))
	case s.Refused != "":
		return nil, fmt.Errorf("%s: %s is not served: %s", fabric.Quote(o.file), s.Model, s.Refused)
	}
	return launch.Planned(s), nil
}

// silence is the time at which saved logs are judged: unknown unless the flag says how long they have been silent.
func (a *app) silence(o serveWatchOptions) time.Time {
	switch {
	case o.follow:
		return now()
	case o.silent > 0:
		return savedAt().Add(o.silent)
	}
	return time.Time{}
}

// savedAt is when the lines of saved logs came, for --silent: only the difference counts.
func savedAt() time.Time { return time.Unix(0, 0).UTC() }

func (a *app) savedLaunch(ctx context.Context, w *launch.Watch, o serveWatchOptions) (*fabric.Launches, error) {
	at := time.Time{}
	if o.silent > 0 {
		at = savedAt()
	}
	source, err := a.launchSources(o.paths)
	if err != nil {
		return nil, err
	}
	for _, s := range source {
		a.doing("reading %s", fabric.Quote(s.name))
		if err := s.lines(ctx, func(text string) { w.Line(launch.Line{Pod: s.pod, At: at, Text: text}) }); err != nil {
			return nil, err
		}
	}
	result := w.Result(a.silence(o))
	if len(result.Groups) == 0 {
		return nil, fmt.Errorf("%s: no line to read", fabric.Quote(o.paths[0]))
	}
	return result, nil
}

// expectedLaunch computes what the launch should print, for the layout that its logs tell. Where there is no such layout, why
// says so: the logs are read all the same.
func (a *app) expectedLaunch(o sizeOptions, seen *fabric.Launches) (expect *launch.Expectation, why string, err error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, "", err
	}
	r := o.request
	if r.Model, err = llm.OpenFrom(a.files, o.model, cat); err != nil {
		return nil, "", err
	}
	if r.Machine, err = o.machineOf(cat); err != nil {
		return nil, "", err
	}
	if len(seen.Groups) > 0 {
		launch.Complete(&seen.Groups[0], launchRequest(&r))
	}
	s, err := sizing.Plan(r)
	if err != nil {
		return nil, err.Error(), nil
	}
	if len(s.Plans) == 0 {
		why = "no layout of " + o.model + " fits there"
		if len(s.Refused) > 0 {
			why += ": " + s.Refused[0].Reason
		}
		return nil, why, nil
	}
	storage, err := sizing.StorageFor(r.Model, r.Machine, s.Plans[0], "")
	if err != nil {
		return nil, "", err
	}
	return &launch.Expectation{Model: o.model, Plan: s.Plans[0], Storage: storage}, "", nil
}

// launchRequest are the fields of a request that the logs of a launch fill in where flags do not.
func launchRequest(r *sizing.Request) launch.Told {
	return launch.Told{
		Engine: &r.Engine, Nodes: &r.Nodes, TP: &r.TP, PP: &r.PP, DP: &r.DP, EP: &r.EP, Context: &r.Context, MemFraction: &r.MemFraction,
	}
}
