package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/loadtest"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/serving"
)

// loadOptions are the arguments and flags of serve load.
type loadOptions struct {
	files       []string
	model       string
	requests    int64
	answer      int64
	concurrency loads
	gpus        int
	ttft        time.Duration
	stat        string
	rate        float64
	size        string
	sizing      sizeOptions
	html        string

	print     bool
	url       string
	tokenizer string
	tokenEnv  string
	container bool
	workloads []string
	folder    string
}

func (a *app) serveLoadCommand(run func(context.Context, loadOptions) error) *cobra.Command {
	var o loadOptions
	c := &cobra.Command{
		Use:   "load RESULTS...|- [--ttft 500ms] [--rate N] | --print --url URL --model NAME",
		Short: "What load tests of a served model say, or the commands that make them",
		Long: "Read results of load tests and say whether each can be relied on: whether its numbers fit each other, whether requests\n" +
			"failed or the run ended early, whether answers have the length that was asked for, whether a queue was measured. Results\n" +
			"are files and folders of AIPerf and GenAI-Perf (JSON, CSV, records, tables), of vllm bench serve and of\n" +
			"sglang.bench_serving (JSON, what they print), also inside a text that people wrote. Loads of one workload are drawn as\n" +
			"throughput over the time to the first token; --ttft chooses the operating point, --rate says how many replicas a rate\n" +
			"needs, --size compares with what sizing expects of a model on a machine.\n\n" +
			"--print renders the commands of AIPerf instead: the four usual workloads, or those of --workload, at each concurrency.\n\n" +
			"Exit status 0: every result can be relied on; 1: one cannot, or no load reaches the target; 2: it cannot be known.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := givenAboveZero(c, "requests", "answer-tokens", "gpus", "rate", "ttft", "nodes", "tp", "pp", "ep", "dp"); err != nil {
				return err
			}
			o.files = args
			return run(c.Context(), o)
		},
		Args: func(c *cobra.Command, args []string) error {
			if o.print {
				return noArgs(c, args)
			}
			return takesMore("RESULTS")(c, args)
		},
	}
	o.flags(c)
	return c
}

func (o *loadOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "served name that is expected, or with --print is asked")
	f.Int64Var(&o.requests, "requests", 0, "requests that each run was to send, where its text does not say it")
	f.Int64Var(&o.answer, "answer-tokens", 0, "tokens that each answer was to have, where its text does not say it")
	f.Var(&o.concurrency, "concurrency", "requests kept in flight, where the text does not say it; with --print a list")
	f.IntVar(&o.gpus, "gpus", 0, "GPUs that serve, for tokens/s per GPU")
	f.DurationVar(&o.ttft, "ttft", 0, "most that the time to the first token may be, such as 500ms")
	f.StringVar(&o.stat, "stat", "avg", "statistic of that time: avg, p50, p90, p95, p99")
	f.Float64Var(&o.rate, "rate", 0, "requests per second that all replicas together are to serve")
	f.StringVar(&o.size, "size", "", "model of the catalog, or its config.json, whose speed is predicted on --machine")
	s, r := &o.sizing, &o.sizing.request
	f.StringVar(&s.machine, "machine", "hgx-h100", "with --size: machine of the catalog")
	f.IntVar(&r.Nodes, "nodes", 0, "with --size: nodes of a replica")
	f.IntVar(&r.TP, "tp", 0, "with --size: tensor parallel size")
	f.IntVar(&r.PP, "pp", 0, "with --size: pipeline parallel size")
	f.IntVar(&r.EP, "ep", 0, "with --size: expert parallel size")
	f.IntVar(&r.DP, "dp", 0, "with --size: attention replicas")
	f.StringVar(&r.Engine, "engine", "sglang", "with --size: sglang or vllm")
	htmlFlag(c, &o.html)
	f.BoolVar(&o.print, "print", false, "print a script that measures with AIPerf "+loadtest.AIPerf)
	f.StringVar(&o.url, "url", "", "with --print: address of the server")
	f.StringVar(&o.tokenizer, "tokenizer", "", "with --print: tokenizer of the model, a name or a folder; default its served name")
	f.StringVar(&o.tokenEnv, "token-env", "", "with --print: variable with the token of the API")
	f.BoolVar(&o.container, "container", false, "with --print: AIPerf in a container, not in a virtual environment")
	f.StringArrayVar(&o.workloads, "workload", nil, "with --print: INPUT/OUTPUT in tokens, such as 1000/1000; repeatable; default the four usual ones")
	f.StringVarP(&o.folder, "dir", "d", "load-results", "with --print: folder for results")
	c.MarkFlagsMutuallyExclusive("print", "html")
}

func (a *app) serveLoad(ctx context.Context, o loadOptions) error {
	if o.print {
		return a.printLoad(o)
	}
	for flag, given := range map[string]bool{"url": o.url != "", "tokenizer": o.tokenizer != "", "token-env": o.tokenEnv != "", "container": o.container, "workload": len(o.workloads) > 0} {
		if given {
			return fmt.Errorf("flag --%s: use it with --print", flag)
		}
	}
	if len(o.concurrency) > 1 {
		return errors.New("flag --concurrency: one number for results; a list is for --print")
	}
	x := loadtest.Expect{Model: o.model, Requests: o.requests, Output: float64(o.answer), GPUs: o.gpus}
	if len(o.concurrency) == 1 {
		x.Load = o.concurrency[0]
	}
	var err error
	if o.size != "" {
		if x.Predict, err = a.loadPrediction(o); err != nil {
			return err
		}
	}
	texts, err := a.loadFiles(ctx, o.files)
	if err != nil {
		return err
	}
	r, err := loadtest.Report(texts, x, loadtest.Wish{Stat: o.stat, TargetMs: float64(o.ttft) / float64(time.Millisecond), RequestsS: o.rate, Known: usualWorkloads()})
	if err != nil {
		return fmt.Errorf("flag --stat: %w", err)
	}
	if a.json() {
		err = report.JSON(a.stdout, r)
	} else {
		err = report.Loads(a.stdout, r, a.textOptions())
	}
	err = errors.Join(err, writePage(o.html, func(w io.Writer) error { return report.LoadsHTML(w, r, a.pageInfo()) }))
	if err != nil {
		return err
	}
	return exitOf(r.Status)
}

// usualWorkloads are the four of the sizing.
func usualWorkloads() []loadtest.Workload {
	var all []loadtest.Workload
	for _, w := range serving.Workloads() {
		all = append(all, loadtest.Workload{Name: w.Name, Input: float64(w.Input), Output: float64(w.Output)})
	}
	return all
}

// loadFiles reads files, folders and standard input.
func (a *app) loadFiles(ctx context.Context, names []string) (all []loadtest.File, err error) {
	for _, name := range names {
		if name == "-" {
			a.doing("waiting for results on standard input")
			text, err := readAtMost(a.stdin)
			if err != nil {
				return nil, fmt.Errorf("standard input: %w", err)
			}
			all = append(all, loadtest.File{Name: "standard input", Text: text})
			continue
		}
		info, err := a.files.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		if !info.IsDir() {
			f, err := a.loadFile(name)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
			continue
		}
		if all, err = a.loadFolder(ctx, name, 0, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Bounds of a folder of results: how deep its folders lie, and how many files are read.
const (
	loadDepth = 8
	loadMost  = 5000
)

// loadFolder reads the results below a folder; what load generators write beside them is left out.
func (a *app) loadFolder(ctx context.Context, name string, depth int, all []loadtest.File) ([]loadtest.File, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	entries, err := a.files.ReadDir(name)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."), loadtest.ByProduct(path):
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && depth < loadDepth && e.Name() != "venv" {
				if all, err = a.loadFolder(ctx, path, depth+1, all); err != nil {
					return nil, err
				}
			}
		case e.Type().IsRegular():
			if len(all) >= loadMost {
				return nil, fmt.Errorf("results %s: has more than %d files", fabric.Quote(name), loadMost)
			}
			f, err := a.loadFile(path)
			if err != nil {
				return nil, err
			}
			f.Found = true
			all = append(all, f)
		}
	}
	return all, nil
}

func (a *app) loadFile(name string) (loadtest.File, error) {
	a.doing("reading %s", fabric.Quote(name))
	f, err := a.files.Open(name)
	if err != nil {
		return loadtest.File{}, fmt.Errorf("results: %w", err)
	}
	defer f.Close()
	text, err := readAtMost(f)
	if err != nil {
		return loadtest.File{}, fmt.Errorf("results %s: %w", fabric.Quote(name), err)
	}
	return loadtest.File{Name: name, Text: text}, nil
}

func readAtMost(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, loadtest.MaxBytes+1))
	if err == nil && len(text) > loadtest.MaxBytes {
		err = &fs.PathError{Op: "read", Path: "results", Err: fmt.Errorf("larger than %d MiB: give the summary instead of the records", loadtest.MaxBytes>>20)}
	}
	return text, err
}

// loadPrediction is what sizing expects of a load, on the layout of the flags.
func (a *app) loadPrediction(o loadOptions) (func(fabric.LoadTest) (*fabric.Performance, error), error) {
	o.sizing.model, o.sizing.perNode = o.size, 8
	s, err := a.sizing(o.sizing)
	if err != nil {
		return nil, fmt.Errorf("flag --size: %w", err)
	}
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	for i := range s.Plans {
		if s.Plans[i].Fits {
			return a.predictedLoad(cat, o.sizing, s.Plans[i])
		}
	}
	return nil, fmt.Errorf("flag --size: %s does not fit such machines; railwright size says why", fabric.Quote(o.size))
}

// predictedLoad predicts on one layout; the network is its own.
func (a *app) predictedLoad(cat *catalog.Catalog, o sizeOptions, p fabric.SizingPlan) (func(fabric.LoadTest) (*fabric.Performance, error), error) {
	r, err := a.sizingRequest(cat, o)
	if err != nil {
		return nil, err
	}
	nets, err := a.networks(cat, o, r.Machine, p)
	if err != nil {
		return nil, err
	}
	replica := serving.ReplicaOf(r, p, nets[0])
	return func(t fabric.LoadTest) (*fabric.Performance, error) {
		in, out := t.Input.Of("avg"), t.Output.Of("avg")
		if t.Concurrency == nil || in == nil || out == nil || *in < 1 || *out < 1 {
			return nil, errors.New("it needs a concurrency and the lengths of prompts and answers")
		}
		w := serving.Workload{Name: "as measured", Input: int64(*in + 0.5), Output: int64(*out + 0.5)}
		rows, err := serving.Speed(replica, []serving.Workload{w}, []int{*t.Concurrency})
		if err == nil && len(rows) == 0 {
			err = errors.New("the KV cache does not hold such a request")
		}
		if err != nil {
			return nil, err
		}
		return &rows[0], nil
	}, nil
}

// printLoad prints the script.
func (a *app) printLoad(o loadOptions) error {
	if err := a.textOnly("serve load --print", "a script"); err != nil {
		return err
	}
	if o.url == "" || o.model == "" {
		return errors.New("flag --print: needs --url and --model; railwright serve smoke URL lists the models")
	}
	address, err := apiAddress(o.url)
	if err != nil {
		return fmt.Errorf("flag --url: %w", err)
	}
	r := loadtest.Run{
		URL: address, Model: o.model, Tokenizer: o.tokenizer, TokenEnv: o.tokenEnv, Container: o.container, Folder: o.folder,
		Concurrencies: o.concurrency, Workloads: usualWorkloads(),
	}
	if len(r.Concurrencies) == 0 {
		r.Concurrencies = serving.Concurrencies()
	}
	if len(o.workloads) > 0 {
		if r.Workloads, err = parseWorkloads(o.workloads); err != nil {
			return err
		}
	}
	script, err := loadtest.Script(r)
	if err != nil {
		return err
	}
	_, err = a.exact().Write(script.Content)
	return err
}

// parseWorkloads reads INPUT/OUTPUT.
func parseWorkloads(texts []string) ([]loadtest.Workload, error) {
	var all []loadtest.Workload
	for _, text := range texts {
		var in, out int
		if n, err := fmt.Sscanf(text, "%d/%d", &in, &out); n != 2 || err != nil || fmt.Sprintf("%d/%d", in, out) != text || in < 1 || out < 1 {
			return nil, fmt.Errorf("flag --workload: %s is not INPUT/OUTPUT in tokens, such as 1000/1000", fabric.Quote(text))
		}
		all = append(all, loadtest.Workload{Name: fmt.Sprintf("%d-%d", in, out), Input: float64(in), Output: float64(out)})
	}
	return all, nil
}
