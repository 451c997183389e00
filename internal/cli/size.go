package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/serving"
	"railwright.dev/railwright/internal/sizing"
)

// sizeOptions are the flags of size and its argument.
type sizeOptions struct {
	model   string
	request sizing.Request // without its model and machine
	machine string
	gpu     string
	perNode int
	curve   string
	net     string
	explain bool
	html    string
}

func (a *app) sizeCommand(run func(context.Context, sizeOptions) error) *cobra.Command {
	var o sizeOptions
	c := &cobra.Command{
		Use:   "size MODEL [--machine ID | --gpu G --gpus-per-node N] [--nodes N] [--gpus N] [--tp N --pp N --ep N --dp N] [--engine sglang|vllm]",
		Short: "How many servers a language model needs, which parallelism, how many tokens, how fast",
		Long: "How many servers a language model needs, which parallelism an engine accepts there, what each GPU then holds, how many\n" +
			"tokens and requests fit, how fast it is, and how much of that depends on the network. MODEL is a name of the catalog, a\n" +
			"config.json, or a folder with the model's index or weights, of which only the headers are read. Nothing is downloaded.\n" +
			"Where the name stands for another published model with the same configuration, the first line says so.\n\n" +
			"Exit status 0: a layout fits; 1: none does; 2: none was tried.",
		Args: takes("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := givenAboveZero(c, "nodes", "gpus", "tp", "pp", "ep", "dp", "context", "concurrency", "gpus-per-node", "mem-fraction"); err != nil {
				return err
			}
			o.model = args[0]
			return run(c.Context(), o)
		},
	}
	o.flags(c)
	return c
}

func (o *sizeOptions) flags(c *cobra.Command) {
	f, r := c.Flags(), &o.request
	f.StringVar(&o.machine, "machine", "hgx-h100", "machine of the catalog")
	f.StringVar(&o.gpu, "gpu", "", "GPU of the catalog, instead of a machine")
	f.IntVar(&o.perNode, "gpus-per-node", 8, "with --gpu: GPUs per node")
	f.IntVar(&r.Nodes, "nodes", 0, "nodes; default: as many as are needed")
	f.IntVar(&r.GPUs, "gpus", 0, "GPUs of one replica")
	f.IntVar(&r.TP, "tp", 0, "tensor parallel size")
	f.IntVar(&r.PP, "pp", 0, "pipeline parallel size")
	f.IntVar(&r.EP, "ep", 0, "expert parallel size")
	f.IntVar(&r.DP, "dp", 0, "attention replicas: inside the tensor parallel group with sglang, beside it with vllm")
	f.StringVar(&r.Engine, "engine", "sglang", "sglang or vllm")
	f.StringVar(&r.EngineVersion, "engine-version", "", "version of the engine; default: the one whose logs the rules reproduce")
	f.Var((*tokenCount)(&r.Context), "context", "tokens of one request, such as 32768 or 128k; default: the model's full context")
	f.IntVar(&r.Concurrency, "concurrency", 0, "concurrent requests")
	f.StringVar(&r.KVDType, "kv-dtype", "", "type of the KV cache; default: the checkpoint's own")
	f.Float64Var(&r.MemFraction, "mem-fraction", 0, "--mem-fraction-static or --gpu-memory-utilization, such as 0.85")
	f.Var((*networkName)(&o.net), "net", "network between the nodes, if not the machine's own: ib, roce, tcp, ...")
	f.StringVar(&o.curve, "curve", "", "table file of a measured all_reduce over the replica's GPUs; default: predicted")
	f.BoolVar(&o.explain, "explain", false, "show the derivation, step by step with its numbers")
	htmlFlag(c, &o.html)
	c.MarkFlagsMutuallyExclusive("machine", "gpu")
}

// givenAboveZero rejects an explicit 0 or a negative number: 0 means that a flag was not given.
func givenAboveZero(c *cobra.Command, names ...string) error {
	for _, name := range names {
		flag := c.Flags().Lookup(name)
		if flag.Changed && (strings.HasPrefix(flag.Value.String(), "-") || flag.Value.String() == "0") {
			return fmt.Errorf("flag --%s: %s: must be above 0", name, flag.Value)
		}
	}
	return nil
}

func (a *app) size(_ context.Context, o sizeOptions) error {
	s, err := a.sizing(o)
	if err != nil {
		return err
	}
	switch {
	case a.json():
		err = report.JSON(a.stdout, s)
	case o.explain:
		err = report.Derivation(a.stdout, s, a.textOptions())
	default:
		err = report.Sizing(a.stdout, s, a.textOptions())
	}
	err = errors.Join(err, writePage(o.html, func(w io.Writer) error { return report.SizingHTML(w, s) }))
	if err != nil {
		return err
	}
	return exitOf(s.Status())
}

func (a *app) sizing(o sizeOptions) (*fabric.Sizing, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	r, err := a.sizingRequest(cat, o)
	if err != nil {
		return nil, err
	}
	s, err := sizing.Plan(r)
	if err != nil {
		return nil, err
	}
	if s.Derivation, err = sizing.Derive(r, s); err != nil {
		return nil, err
	}
	for i := range s.Plans {
		if err := a.perform(cat, o, r, s, i); err != nil {
			s.Assumptions = append(s.Assumptions, fabric.Assumption{What: "the performance of " + planName(s.Plans[i]) + " is unknown: " + err.Error(), Source: "railwright"})
		}
	}
	if len(s.Plans) > 0 {
		s.Storage, err = sizing.StorageFor(r.Model, r.Machine, s.Plans[0], "")
	}
	return s, err
}

// sizingRequest is what the flags ask for.
func (a *app) sizingRequest(cat *catalog.Catalog, o sizeOptions) (r sizing.Request, err error) {
	r = o.request
	if r.Model, err = llm.OpenFrom(a.files, o.model, cat); err != nil {
		return r, err
	}
	r.Machine, err = o.machineOf(cat)
	return r, err
}

// planName returns the role of a plan, or its layout where it has none.
func planName(p fabric.SizingPlan) string {
	if p.Role == "" {
		return fabric.Layout{TP: p.TP, PP: p.PP, EP: p.EP, DP: p.DP}.String()
	}
	return "the " + p.Role + " plan"
}

// machineOf returns the machine of the flags.
func (o sizeOptions) machineOf(cat *catalog.Catalog) (sizing.Machine, error) {
	if o.gpu != "" {
		return sizing.MachineOfGPU(cat, o.gpu, o.perNode)
	}
	m, err := sizing.MachineOf(cat, o.machine)
	if err == nil && o.net != "" {
		f, known := cat.Fabrics[o.net]
		if !known {
			return m, fmt.Errorf("flag --net: %w", fabric.UnknownName("network", o.net, slices.Sorted(maps.Keys(cat.Fabrics))))
		}
		m.Net, m.RDMA = o.net, f.GPUDirect != nil && *f.GPUDirect
	}
	return m, err
}

// perform adds the performance of a plan: on its own network, and where it spans several nodes also on TCP and on half the NICs.
func (a *app) perform(cat *catalog.Catalog, o sizeOptions, r sizing.Request, s *fabric.Sizing, i int) error {
	p := s.Plans[i]
	if !p.Fits {
		return nil
	}
	nets, err := a.networks(cat, o, r.Machine, p)
	if err != nil {
		return err
	}
	for n, net := range nets {
		replica := serving.ReplicaOf(r, p, net)
		rows, err := serving.Speed(replica, serving.Workloads(), serving.Concurrencies())
		if err != nil {
			if n > 0 {
				continue // only the comparison is left out
			}
			return err
		}
		s.Plans[i].Performance = append(s.Plans[i].Performance, rows...)
		if n == 0 && i == 0 {
			s.Assumptions = append(s.Assumptions, replica.Assumptions()...)
		}
	}
	return nil
}

// networks returns the all_reduce curves of a plan: its own network first, then those that it is compared with.
func (a *app) networks(cat *catalog.Catalog, o sizeOptions, m sizing.Machine, p fabric.SizingPlan) ([]serving.Network, error) {
	if o.curve != "" {
		t, err := a.tableOf(o.curve)
		if err != nil {
			return nil, err
		}
		curve, err := serving.CurveOfTable(t)
		return []serving.Network{{Name: "measured: " + o.curve, Curve: curve}}, err
	}
	if p.Nodes < 2 {
		return []serving.Network{{Name: "one node"}}, nil
	}
	if _, ok := cat.Machines[m.Name]; !ok {
		return nil, errors.New("a GPU without a machine has no known network: give --machine or --curve")
	}
	own := stageHardware(m, p)
	curve, err := predictedCurve(cat, own, p.PP)
	if err != nil {
		return nil, err
	}
	out := []serving.Network{{Name: m.Net, Curve: curve}}
	if !m.RDMA {
		return out, nil
	}
	tcp, half := own, own
	tcp.Net, tcp.NICsPerNode, tcp.NICGbps = "tcp", m.NICs, 8*m.NICGBs
	half.NICsPerNode = m.NICs / 2
	if curve, err := predictedCurve(cat, tcp, p.PP); err == nil { // on an error only the comparison is left out
		out = append(out, serving.Network{Name: "tcp", Curve: curve})
	}
	if half.NICsPerNode > 0 {
		if part, err := predictedCurve(cat, half, p.PP); err == nil {
			out = append(out, serving.Network{Name: "half the NICs", Curve: serving.FewerNICs(curve, part)})
		}
	}
	return out, nil
}

// stageHardware returns the machines of one pipeline stage, whose ranks reduce together.
func stageHardware(m sizing.Machine, p fabric.SizingPlan) fabric.Hardware {
	nodes := max(1, p.Nodes/max(1, p.PP))
	hw := fabric.Hardware{Machine: m.Name, Nodes: nodes, GPUsPerNode: p.TP / nodes, Net: m.Net}
	if p.TP < nodes || p.TP%nodes != 0 {
		hw.GPUsPerNode = min(m.PerNode, p.GPUs/p.Nodes)
	}
	return hw
}

// predictedCurve returns the predicted all_reduce of healthy machines: over the ranks of a stage, and with several stages
// also over two ranks on two nodes, as one stage sends to the next.
func predictedCurve(cat *catalog.Catalog, hw fabric.Hardware, stages int) (serving.Curve, error) {
	curve, err := allReduceCurve(cat, hw)
	if err != nil || stages < 2 {
		return curve, err
	}
	hw.Nodes, hw.GPUsPerNode = 2, 1
	pair, err := allReduceCurve(cat, hw)
	return serving.Curves(curve, pair), err
}

func allReduceCurve(cat *catalog.Catalog, hw fabric.Hardware) (serving.Curve, error) {
	c, err := collective.New(cat, hw)
	if err != nil {
		return nil, err
	}
	sizes, err := parseSizes("1K:1G")
	if err != nil {
		return nil, err
	}
	p, err := c.Predict(collective.Job{Collective: fabric.AllReduce}, sizes)
	if err != nil {
		return nil, err
	}
	return serving.CurveOfPrediction(p)
}
