package cli

import (
	"bytes"
	"errors"
	"fmt"
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

// sizeOptions say which model, on which machines, by which engine.
type sizeOptions struct {
	request sizing.Request // without its model and machine
	machine string
	gpu     string
	perNode int
	curve   string
	net     string
	explain bool
	html    string
}

func (a *app) sizeCommand() *cobra.Command {
	var o sizeOptions
	c := &cobra.Command{
		Use:   "size MODEL [--machine ID | --gpu G --gpus-per-node N] [--nodes N] [--gpus N] [--tp N --pp N --ep N --dp N] [--engine sglang|vllm]",
		Short: "How many servers a language model needs, which parallelism, how many tokens, how fast",
		Long: "How many servers a language model needs, which parallelism an engine takes there, what each GPU then holds, how many\n" +
			"tokens and requests fit, how fast it is, and what the network has to do with that. MODEL is a name of the catalog, a\n" +
			"config.json, or a folder with the model's index or weights, of which only the headers are read. Nothing is downloaded.\n\n" +
			"Exit status 0: a layout fits; 1: none does; 2: none was tried.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := givenAboveZero(c, "nodes", "gpus", "tp", "pp", "ep", "dp", "context", "concurrency", "gpus-per-node", "mem-fraction"); err != nil {
				return err
			}
			return a.size(o, args[0])
		},
	}
	o.flags(c)
	return c
}

func (o *sizeOptions) flags(c *cobra.Command) {
	f, r := c.Flags(), &o.request
	f.StringVar(&o.machine, "machine", "", "machine of the catalog, such as hgx-h100 (the default)")
	f.StringVar(&o.gpu, "gpu", "", "GPU of the catalog in place of a machine")
	f.IntVar(&o.perNode, "gpus-per-node", 8, "with --gpu: how many a node")
	f.IntVar(&r.Nodes, "nodes", 0, "nodes; not given: as many as are needed")
	f.IntVar(&r.GPUs, "gpus", 0, "GPUs of one replica")
	f.IntVar(&r.TP, "tp", 0, "tensor parallel size")
	f.IntVar(&r.PP, "pp", 0, "pipeline parallel size")
	f.IntVar(&r.EP, "ep", 0, "expert parallel size")
	f.IntVar(&r.DP, "dp", 0, "attention replicas inside the tensor parallel group")
	f.StringVar(&r.Engine, "engine", "sglang", "sglang or vllm")
	f.StringVar(&r.EngineVersion, "engine-version", "", "version of the engine; empty: the newest that is known")
	f.Int64Var(&r.Context, "context", 0, "tokens of one request; not given: all that the model takes")
	f.IntVar(&r.Concurrency, "concurrency", 0, "requests at the same time")
	f.StringVar(&r.KVDType, "kv-dtype", "", "type of the KV cache; empty: the checkpoint's own")
	f.Float64Var(&r.MemFraction, "mem-fraction", 0, "--mem-fraction-static or --gpu-memory-utilization, such as 0.85")
	f.StringVar(&o.net, "net", "", "network between the nodes, where it is not the machine's: ib, roce, tcp, ...")
	f.StringVar(&o.curve, "curve", "", "table file of a measured all_reduce over the replica's GPUs; else it is predicted")
	f.BoolVar(&o.explain, "explain", false, "the derivation, to be followed with a pocket calculator")
	f.StringVar(&o.html, "html", "", "file to write a page to")
	c.MarkFlagsMutuallyExclusive("machine", "gpu")
}

// givenAboveZero refuses a 0 that was written: left out it means as many as are needed, written it means none.
func givenAboveZero(c *cobra.Command, names ...string) error {
	for _, name := range names {
		flag := c.Flags().Lookup(name)
		if flag.Changed && (strings.HasPrefix(flag.Value.String(), "-") || flag.Value.String() == "0") {
			return fmt.Errorf("flag --%s: %s is not above 0", name, flag.Value)
		}
	}
	return nil
}

func (a *app) size(o sizeOptions, model string) error {
	s, err := a.sizing(o, model)
	if err != nil {
		return err
	}
	if o.html != "" {
		var page bytes.Buffer
		if err := report.SizingHTML(&page, s); err != nil {
			return err
		}
		if err := writeFile(o.html, page.Bytes()); err != nil {
			return err
		}
	}
	switch {
	case a.json():
		err = report.JSON(a.stdout, s)
	case o.explain:
		err = report.Derivation(a.stdout, s, a.textOptions())
	default:
		err = report.Sizing(a.stdout, s, a.textOptions())
	}
	if err != nil {
		return err
	}
	return exitOf(s.Status())
}

func (a *app) sizing(o sizeOptions, model string) (*fabric.Sizing, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	r := o.request
	if r.Model, err = llm.Open(model, cat); err != nil {
		return nil, err
	}
	if r.Machine, err = o.sized(cat); err != nil {
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
			s.Assumptions = append(s.Assumptions, fabric.Assumption{What: "performance of " + s.Plans[i].Role + " is not known: " + err.Error(), Source: "railwright"})
		}
	}
	if len(s.Plans) > 0 {
		s.Storage, err = sizing.StorageFor(r.Model, r.Machine, s.Plans[0], "")
	}
	return s, err
}

// sized gives the machine that is asked for.
func (o sizeOptions) sized(cat *catalog.Catalog) (sizing.Machine, error) {
	if o.gpu != "" {
		return sizing.MachineOfGPU(cat, o.gpu, o.perNode)
	}
	id := o.machine
	if id == "" {
		id = "hgx-h100"
	}
	m, err := sizing.MachineOf(cat, id)
	if err == nil && o.net != "" {
		f, known := cat.Fabrics[o.net]
		if !known {
			return m, fmt.Errorf("flag --net: %q is not in the catalog", o.net)
		}
		m.Net, m.RDMA = o.net, f.GPUDirect != nil && *f.GPUDirect
	}
	return m, err
}

// perform adds how fast a plan is: on its network, and over several nodes on TCP and on half the NICs beside.
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
				continue // the comparison is left out, the figures stand
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

// networks are the curves of all_reduce that a plan is computed with.
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
		return nil, errors.New("the network of a GPU without a machine is not known: --machine or --curve")
	}
	hw := fabric.Hardware{Machine: m.Name, Nodes: p.Nodes, GPUsPerNode: p.TP / p.Nodes, Net: m.Net}
	if p.TP < p.Nodes || p.TP%p.Nodes != 0 {
		hw.GPUsPerNode = min(m.PerNode, p.GPUs/p.Nodes)
	}
	all := []struct {
		name string
		hw   fabric.Hardware
	}{{m.Net, hw}}
	if m.RDMA {
		tcp, half := hw, hw
		tcp.Net, tcp.NICsPerNode, tcp.NICGbps = "tcp", m.NICs, 8*m.NICGBs
		all = append(all, struct {
			name string
			hw   fabric.Hardware
		}{"tcp", tcp})
		if half.NICsPerNode = m.NICs / 2; half.NICsPerNode > 0 {
			all = append(all, struct {
				name string
				hw   fabric.Hardware
			}{"half the NICs", half})
		}
	}
	var out []serving.Network
	for i, one := range all {
		curve, err := predictedCurve(cat, one.hw)
		if err != nil && i > 0 {
			continue // a comparison less; the plan's own network stands
		}
		if err != nil {
			return nil, err
		}
		out = append(out, serving.Network{Name: one.name, Curve: curve})
	}
	return out, nil
}

// predictedCurve is the all_reduce that healthy machines would give.
func predictedCurve(cat *catalog.Catalog, hw fabric.Hardware) (serving.Curve, error) {
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
