package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
	"railwright.dev/railwright/internal/topology"
)

func (a *app) topoCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "topo", Short: "The topology of a host: seen, written for NCCL, and NCCL's file judged", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.topoShowCommand(), a.topoNCCLCommand(), a.topoLintCommand())
	return c
}

// machineOptions say of which machine a topology is wanted.
type machineOptions struct {
	snapshot string
	machine  string
}

func (o *machineOptions) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.snapshot, "snapshot", "", "saved facts of a host: a file, a captured tree, FOLDER:NODE")
	c.Flags().StringVar(&o.machine, "machine", "", "machine of the catalog, such as hgx-h100")
	c.MarkFlagsMutuallyExclusive("snapshot", "machine")
}

// load gives the machine of saved facts, of the catalog, or this host.
func (o machineOptions) load(ctx context.Context) (*topology.Machine, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	switch {
	case o.machine != "":
		return topology.Nominal(cat, o.machine)
	case o.snapshot != "":
		f, err := oneNode(ctx, o.snapshot)
		if err != nil {
			return nil, err
		}
		return topology.FromFacts(f, cat), nil
	default:
		return topology.FromFacts(facts.Collect(ctx, host.Local{}, now()), cat), nil
	}
}

func (a *app) topoShowCommand() *cobra.Command {
	var o machineOptions
	var svg string
	c := &cobra.Command{
		Use:   "show [FILE] [--snapshot PATH | --machine ID] [--svg FILE]",
		Short: "Draw sockets, switches, GPUs and NICs, their distances, and which GPU uses which NIC",
		Long: "Draw a host: sockets, root ports, switches, GPUs and NICs with their links, the distances in the words of\n" +
			"nvidia-smi topo -m, and which GPU uses which NIC, with what a GPU without a near one loses. Of this host; of saved\n" +
			"facts; of a machine of the catalog; or of FILE: an NCCL topology file, or what nvidia-smi topo -m or rocm-smi\n" +
			"--showbus --showtopotype --showhw print (- for standard input).\n\n" +
			"Exit status 0: drawn; 2: there is no GPU and no NIC to draw.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.topoShow(c.Context(), o, args, svg) },
	}
	o.flags(c)
	c.Flags().StringVar(&svg, "svg", "", "file to write a picture to; - for standard output instead of the text")
	return c
}

func (a *app) topoShow(ctx context.Context, o machineOptions, files []string, svg string) error {
	v, err := a.view(ctx, o, files)
	if err != nil {
		return err
	}
	if svg != "" {
		var picture bytes.Buffer
		if v.Machine == nil {
			return fmt.Errorf("flag --svg: %s gives distances alone: there is no tree to draw", v.Source)
		}
		if err := draw.TopologySVG(&picture, v.Machine, v.Pairing); err != nil {
			return err
		}
		if svg == "-" {
			_, err := a.stdout.Write(picture.Bytes())
			return err
		}
		if err := writeFile(svg, picture.Bytes()); err != nil {
			return err
		}
	}
	if a.json() {
		err = report.JSON(a.stdout, v)
	} else {
		err = draw.TopologyText(a.stdout, v.Machine, v.Matrix, v.Pairing, a.textOptions().Width)
	}
	if err == nil && len(v.Matrix.Devices) == 0 {
		err = verdict(exitUnknown)
	}
	return err
}

func (a *app) view(ctx context.Context, o machineOptions, files []string) (*topology.View, error) {
	if len(files) == 0 {
		m, err := o.load(ctx)
		if err != nil {
			return nil, err
		}
		return topology.ViewOf(m), nil
	}
	if o != (machineOptions{}) {
		return nil, fmt.Errorf("topology %q: a file and --snapshot or --machine: give one of them", files[0])
	}
	f, err := a.readTopology(files[0])
	if err != nil {
		return nil, err
	}
	if f.Cut != "" {
		return nil, fmt.Errorf("topology %q: %s", f.Name, f.Cut)
	}
	v, err := topology.ReadView(f.Name, f.Text)
	if err != nil {
		return nil, fmt.Errorf("topology %q: %w", f.Name, err)
	}
	return v, nil
}

// maxTopology bounds what is read of a topology file, in bytes: NCCL takes a few hundred elements.
const maxTopology = 16 << 20

// readTopology reads a file, or standard input for -, as far as it is bounded.
func (a *app) readTopology(file string) (topology.File, error) {
	f := topology.File{Name: file}
	from := a.stdin
	if file != "-" {
		opened, err := os.Open(file)
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

type topoNCCLOptions struct {
	machineOptions
	guest  string
	labels []string
	rccl   bool
	out    string
}

func (a *app) topoNCCLCommand() *cobra.Command {
	var o topoNCCLOptions
	c := &cobra.Command{
		Use:   "nccl [--snapshot PATH | --machine ID] [--guest PATH [--label LABEL=ADDRESS]...] [--rccl] [--out FILE]",
		Short: "Write the topology file for NCCL_TOPO_FILE",
		Long: "Write the topology file for NCCL_TOPO_FILE: of this host, of saved facts, or of a cloud machine type of the catalog.\n\n" +
			"For a virtual machine, in which the PCI tree is flat, give the facts of the hypervisor's host by --snapshot or\n" +
			"--machine, and those of the guest by --guest: devices are matched by hardware label, serial, UUID or GUID, else in\n" +
			"the order of the VMClass (GPU0, NIC0, GPU1, NIC1, ...).",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.topoNCCL(c.Context(), o) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.guest, "guest", "", "saved facts of a virtual machine with devices of that host")
	c.Flags().StringArrayVar(&o.labels, "label", nil, "hardware label or serial of a device and its PCI address on the host; can be repeated")
	c.Flags().BoolVar(&o.rccl, "rccl", false, "in RCCL's form, for AMD GPUs")
	c.Flags().StringVar(&o.out, "out", "", "file to write to instead of standard output")
	return c
}

func (a *app) topoNCCL(ctx context.Context, o topoNCCLOptions) error {
	m, err := o.load(ctx)
	if err == nil && o.guest != "" {
		m, err = o.inGuest(ctx, m)
	}
	if err != nil {
		return err
	}
	write := topology.NCCLDocument
	if o.rccl {
		write = topology.RCCLDocument
	}
	d, err := write(m)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := d.WriteTo(&text); err != nil {
		return err
	}
	for _, gap := range m.Gaps {
		a.progress("%s: %s", m.Name, gap)
	}
	if o.out != "" {
		return writeFile(o.out, text.Bytes())
	}
	_, err = a.stdout.Write(text.Bytes())
	return err
}

// inGuest gives the machine with the devices and addresses that a virtual machine on it has.
func (o topoNCCLOptions) inGuest(ctx context.Context, hypervisor *topology.Machine) (*topology.Machine, error) {
	if o.snapshot == "" && o.machine == "" {
		return nil, errors.New("flag --guest: needs the hypervisor's host: --snapshot PATH or --machine ID")
	}
	labels, err := parsePairs("label", o.labels)
	if err != nil {
		return nil, err
	}
	guest, err := machineOptions{snapshot: o.guest}.load(ctx)
	if err != nil {
		return nil, err
	}
	return topology.Guest(hypervisor, topology.GuestDevices(guest), labels)
}

func (a *app) topoLintCommand() *cobra.Command {
	var fix bool
	var out string
	c := &cobra.Command{
		Use:   "lint FILE... [--fix [--out FILE]]",
		Short: "Judge NCCL topology files by what NCCL does with them",
		Long: "Judge NCCL topology files by what NCCL does with them: what it refuses, what it silently misreads and what that\n" +
			"costs, and what can hardly be meant. Several files, one a node, are compared with each other. With --fix the\n" +
			"mended file goes to standard output or --out, and what was changed to standard error.\n\n" +
			"Exit status 0: nothing found; 1: NCCL refuses or misreads something; 2: a file could not be read whole.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case fix:
				return a.topoFix(args, out)
			case out != "":
				return errors.New("flag --out: needs --fix")
			default:
				return a.topoLint(args)
			}
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "write the file mended")
	c.Flags().StringVar(&out, "out", "", "with --fix: file to write to; may be the file itself")
	return c
}

func (a *app) topoLint(names []string) error {
	var files []topology.File
	for _, name := range names {
		f, err := a.readTopology(name)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	found := topology.Lint(files, cat)
	if a.json() {
		err = report.JSON(a.stdout, found)
	} else {
		k := report.NewGroups(a.textOptions())
		for _, f := range found.Findings {
			k.Add(f)
		}
		err = k.Text(a.stdout, found.Summary)
	}
	if err != nil {
		return err
	}
	return exitOf(topology.LintStatus(found))
}

func (a *app) topoFix(names []string, out string) error {
	if len(names) != 1 {
		return fmt.Errorf("flag --fix: mends one file, not %d", len(names))
	}
	f, err := a.readTopology(names[0])
	if err != nil {
		return err
	}
	if f.Cut != "" {
		return fmt.Errorf("topology file %q: %s", f.Name, f.Cut)
	}
	fixed, changes, left := topology.Fix(f.Text)
	for _, change := range changes {
		fmt.Fprintf(a.stderr, "%s:%d: %s (%s)\n", f.Name, change.Line, fabric.Printable(change.What), change.Why)
	}
	if out != "" {
		err = writeFile(out, fixed)
	} else {
		_, err = a.stdout.Write(fixed)
	}
	if err == nil && left != nil {
		fmt.Fprintf(a.stderr, "railwright: %q: %v\n", f.Name, left)
		err = verdict(exitFail)
	}
	return err
}

// writeFile writes a file whole or not at all.
func writeFile(path string, text []byte) error {
	return run.Folder(filepath.Dir(path)).WriteFile(filepath.Base(path), text)
}

// parsePairs reads the KEY=VALUE of a flag that can be repeated.
func parsePairs(flag string, pairs []string) (map[string]string, error) {
	out := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("flag --%s: %q is not KEY=VALUE", flag, pair)
		}
		if before, twice := out[key]; twice && before != value {
			return nil, fmt.Errorf("flag --%s: %s is both %q and %q", flag, key, before, value)
		}
		out[key] = value
	}
	return out, nil
}
