package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/nccllint"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/topology"
)

func (a *app) topoCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "topo", Short: "The topology of a host: show it, write it for NCCL, check NCCL's file", Args: noArgs,
		RunE: a.helpOnly,
	}
	c.AddCommand(a.topoShowCommand(a.topoShow), a.topoPCIeCommand(a.topoPCIe), a.topoNCCLCommand(a.topoNCCL), a.topoLintCommand(a.topoLint))
	return c
}

// machineOptions select the machine: the local host unless one of them is set.
type machineOptions struct {
	snapshot string
	machine  string
}

func (o *machineOptions) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.snapshot, "snapshot", "", "saved facts of a host: a file, a captured tree, FOLDER:NODE")
	c.Flags().StringVar(&o.machine, "machine", "", "machine of the catalog, such as hgx-h100")
	c.MarkFlagsMutuallyExclusive("snapshot", "machine")
}

// load returns the machine of saved facts, of the catalog, or the local host.
func (o machineOptions) load(ctx context.Context, from files.Files) (*topology.Machine, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	switch {
	case o.machine != "":
		return topology.Nominal(cat, o.machine)
	case o.snapshot != "":
		f, err := oneNode(ctx, from, o.snapshot)
		if err != nil {
			return nil, err
		}
		return topology.FromFacts(f, cat), nil
	default:
		return topology.FromFacts(facts.Collect(ctx, host.Local{}, now()), cat), nil
	}
}

// topoShowOptions are the arguments and flags of topo show.
type topoShowOptions struct {
	machineOptions
	files []string
	svg   string
	nccl  string // version of NCCL; empty: the picture
	nodes int
}

func (a *app) topoShowCommand(run func(context.Context, topoShowOptions) error) *cobra.Command {
	var o topoShowOptions
	c := &cobra.Command{
		Use:   "show [FILE] [--snapshot PATH | --machine ID] [--svg FILE | --nccl[=VERSION] [--nodes N]]",
		Short: "Draw sockets, switches, GPUs and NICs, their distances, and which GPU uses which NIC",
		Long: "Draw a host: sockets, root ports, switches, GPUs and NICs with their links, the distances in the words of\n" +
			"nvidia-smi topo -m, and which GPU uses which NIC, with what a GPU without a nearby NIC loses. The host is the\n" +
			"local one, saved facts, a machine of the catalog, or FILE: an NCCL topology file, or the output of\n" +
			"nvidia-smi topo -m or rocm-smi --showbus --showtopotype --showhw (- for standard input).\n\n" +
			"With --nccl print what NCCL derives from the host instead, as NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH logs it:\n" +
			"its system, paths, rings and trees, and the number of channels, as the newest version known finds them or the\n" +
			"one that is named: --nccl=2.28.9.\n\n" +
			"Exit status 0: drawn; 2: there is no GPU and no NIC to draw, or some of the host could not be read.",
		Args: mayTake(1),
		RunE: func(c *cobra.Command, args []string) error {
			if o.nodes < 1 || o.nodes > collective.MaxNodes {
				return fmt.Errorf("flag --nodes: %d: must be 1 to %d", o.nodes, collective.MaxNodes)
			}
			o.files = args
			return run(c.Context(), o)
		},
	}
	o.flags(c)
	outputFlag(c, &o.svg, "svg", "file to write a picture to; - for standard output instead of the text")
	c.Flags().StringVar(&o.nccl, "nccl", "", "print what NCCL derives from the host, in its newest version or the one named")
	c.Flags().Lookup("nccl").NoOptDefVal = ncclgraph.Newest().String()
	c.Flags().IntVar(&o.nodes, "nodes", 1, "with --nccl: hosts like this one in the job")
	c.MarkFlagsMutuallyExclusive("svg", "nccl")
	return c
}

func (a *app) topoShow(ctx context.Context, o topoShowOptions) error {
	if len(o.files) > 0 && o.machineOptions != (machineOptions{}) {
		return fmt.Errorf("topology %q: a file and --snapshot or --machine: use only one", o.files[0])
	}
	if o.nccl != "" {
		return a.showNCCL(ctx, o)
	}
	if o.svg == "-" && a.json() {
		return errors.New("flag --svg: - prints the picture alone, not JSON: name a file")
	}
	v, err := a.view(ctx, o)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if o.svg != "" {
		if v.Machine == nil {
			return fmt.Errorf("flag --svg: %s has only distances: there is no tree to draw", v.Source)
		}
		if err := draw.TopologySVG(&picture, v.Machine, v.Pairing); err != nil {
			return err
		}
	}
	if o.svg == "-" {
		_, err := a.exact().Write(picture.Bytes())
		return err
	}
	if a.json() {
		err = report.JSON(a.stdout, v)
	} else {
		err = draw.TopologyText(a.stdout, v.Machine, v.Matrix, v.Pairing, a.textOptions().Width)
	}
	if err == nil && o.svg != "" {
		err = writeFile("svg", o.svg, picture.Bytes())
	}
	if err == nil && len(v.Matrix.Devices) == 0 {
		err = verdict(exitUnknown)
	}
	if err == nil && v.Machine != nil {
		err = exitOf(v.Machine.Status())
	}
	return err
}

func (a *app) view(ctx context.Context, o topoShowOptions) (*topology.View, error) {
	if len(o.files) == 0 {
		m, err := o.load(ctx, a.files)
		if err != nil {
			return nil, err
		}
		return topology.ViewOf(m), nil
	}
	f, err := a.readTopology(o.files[0])
	if err != nil {
		return nil, err
	}
	if f.Cut != "" {
		return nil, fmt.Errorf("topology %q: %s", f.Name, f.Cut)
	}
	if !bytes.Contains(f.Text, []byte("<system")) {
		v, err := topology.ReadView(f.Name, f.Text)
		if err != nil {
			return nil, fmt.Errorf("topology %q: not an NCCL topology file; %w", f.Name, err)
		}
		return v, nil
	}
	d, err := ncclxml.Parse(f.Text)
	if err != nil {
		return nil, fmt.Errorf("topology %q: NCCL topology file: %w", f.Name, err)
	}
	m := d.Machine()
	m.Name = f.Name
	return topology.ViewOf(m), nil
}

// maxTopology is how much of a topology file is read, in bytes: NCCL accepts a few hundred elements.
const maxTopology = 16 << 20

// readTopology reads a file, or standard input for -, up to maxTopology bytes.
func (a *app) readTopology(file string) (nccllint.File, error) {
	f := nccllint.File{Name: file}
	from := a.stdin
	if file == "-" {
		a.doing("waiting for the topology on standard input")
	} else {
		opened, err := a.files.Open(file)
		if err != nil {
			return f, fmt.Errorf("topology file: %w", err)
		}
		defer opened.Close()
		from = opened
	}
	var err error
	if f.Text, err = io.ReadAll(io.LimitReader(from, maxTopology+1)); err != nil {
		return f, fmt.Errorf("topology file: %w", err)
	}
	if len(f.Text) > maxTopology {
		f.Text, f.Cut = f.Text[:maxTopology], fmt.Sprintf("is larger than %d bytes and was not read further", maxTopology)
	}
	return f, nil
}
