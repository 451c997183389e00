package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// showNCCL prints what NCCL logs of a host.
func (a *app) showNCCL(ctx context.Context, o topoShowOptions) error {
	if a.json() {
		return errors.New("flag --nccl: prints text only")
	}
	v, err := knownNCCL("flag --nccl", o.nccl)
	if err != nil {
		return err
	}
	d, err := a.document(ctx, o)
	if err != nil {
		return err
	}
	s, err := ncclgraph.NewSystem(d, ncclgraph.Options{Nodes: o.nodes, Version: v})
	if err != nil {
		return err
	}
	if v.String() != o.nccl {
		a.progress("NCCL %s searches as %s does, the newest before it whose code is known", o.nccl, v)
	}
	for _, note := range s.Notes {
		a.progress("%s", note)
	}
	if s.AMD && s.FullyConnected() {
		a.progress("RCCL uses fixed rings for fully connected GPUs and does not search as NCCL does here")
	}
	for _, line := range s.Log() {
		printf(a.stdout, "%s\n", line)
	}
	return nil
}

// document returns the topology file that NCCL would load on a host, with what it adds at load.
func (a *app) document(ctx context.Context, o topoShowOptions) (*ncclxml.Document, error) {
	if len(o.files) > 0 {
		cat, err := catalog.Load()
		if err != nil {
			return nil, err
		}
		return a.filledDocument(o.files[0], cat, fabric.Hardware{Nodes: o.nodes})
	}
	m, err := o.load(ctx, a.files)
	if err != nil {
		return nil, err
	}
	if err := needsGPUs(m); err != nil {
		return nil, err
	}
	return ncclxml.ForMachine(m)
}

// needsGPUs refuses a machine without GPUs, by its name, where the answer is about GPUs.
func needsGPUs(m *topology.Machine) error {
	if len(m.GPUs) == 0 && len(m.Unread) > 0 {
		return fmt.Errorf("machine %s: no GPU was found, but %s could not be read, the first: %s", fabric.Quote(m.Name), fabric.Count(len(m.Unread), "fact"), fabric.Printable(m.Unread[0]))
	}
	if len(m.GPUs) == 0 {
		return fmt.Errorf("machine %s: it has no GPUs, which NCCL and RCCL connect; railwright topo show draws it", fabric.Quote(m.Name))
	}
	return nil
}

// filledDocument reads a topology file with what NCCL adds to it at load.
func (a *app) filledDocument(file string, cat *catalog.Catalog, hw fabric.Hardware) (*ncclxml.Document, error) {
	f, err := a.readTopology(file)
	if err != nil {
		return nil, err
	}
	if f.Cut != "" {
		return nil, fmt.Errorf("topology file %q: %s", f.Name, f.Cut)
	}
	d, err := ncclxml.Parse(f.Text)
	if err != nil {
		return nil, fmt.Errorf("topology file %q: %w", f.Name, err)
	}
	if d, err = d.Filled(cat, hw); err != nil {
		return nil, fmt.Errorf("topology file %q: %w", f.Name, err)
	}
	return d, nil
}

// topoNCCLOptions are the flags of topo nccl.
type topoNCCLOptions struct {
	machineOptions
	guest  string
	labels []string
	rccl   bool
	out    string
}

func (a *app) topoNCCLCommand(run func(context.Context, topoNCCLOptions) error) *cobra.Command {
	var o topoNCCLOptions
	c := &cobra.Command{
		Use:   "nccl [--snapshot PATH | --machine ID] [--guest PATH [--label LABEL=ADDRESS]...] [--rccl] [--out FILE]",
		Short: "Write the topology file for NCCL_TOPO_FILE",
		Long: "Write the topology file for NCCL_TOPO_FILE: of the local host, of saved facts, or of a machine of the catalog.\n\n" +
			"For a virtual machine, in which the PCI tree is flat, give the facts of the hypervisor's host by --snapshot or\n" +
			"--machine, and those of the guest by --guest: devices are matched by hardware label, serial, UUID or GUID, else in\n" +
			"the order of the VMClass (GPU0, NIC0, GPU1, NIC1, ...).\n\n" +
			"Exit status 0: written; 2: written, but some of the host could not be read, so devices may be missing.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.guest, "guest", "", "saved facts of a virtual machine with devices of that host")
	c.Flags().StringArrayVar(&o.labels, "label", nil, "hardware label or serial of a device and its PCI address on the host; can be repeated")
	c.Flags().BoolVar(&o.rccl, "rccl", false, "in RCCL's form, for AMD GPUs")
	outputFlag(c, &o.out, "out", "file to write to instead of standard output")
	return c
}

func (a *app) topoNCCL(ctx context.Context, o topoNCCLOptions) error {
	if err := a.textOnly("topo nccl", "NCCL's topology file"); err != nil {
		return err
	}
	m, err := o.load(ctx, a.files)
	if err == nil && o.guest != "" {
		m, err = o.inGuest(ctx, a.files, m)
	}
	if err != nil {
		return err
	}
	return a.ncclFile(m, o)
}

// ncclFile writes the topology file of a machine; it is unknown where a device may be missing from it.
func (a *app) ncclFile(m *topology.Machine, o topoNCCLOptions) error {
	if err := a.writeNCCL(m, o); err != nil {
		return err
	}
	if len(m.Unread) > 0 {
		fmt.Fprintf(a.stderr, "railwright: machine %s: %s could not be read, the first: %s; devices may be missing from the file\n",
			fabric.Quote(m.Name), fabric.Count(len(m.Unread), "fact"), fabric.Printable(m.Unread[0]))
	}
	return exitOf(m.Status())
}

// writeNCCL writes the file, and says what of the machine is assumed.
func (a *app) writeNCCL(m *topology.Machine, o topoNCCLOptions) error {
	if err := needsGPUs(m); err != nil {
		return err
	}
	write := ncclxml.ForNCCL
	switch {
	case o.rccl && !m.IsAMD():
		return fmt.Errorf("flag --rccl: machine %s has no AMD GPU: RCCL is for AMD's, NCCL for NVIDIA's; omit --rccl", fabric.Quote(m.Name))
	case o.rccl:
		write = ncclxml.ForRCCL
	case m.IsAMD():
		return fmt.Errorf("machine %s: its GPUs are AMD's (%s): NCCL is for NVIDIA GPUs; --rccl writes the file for RCCL", fabric.Quote(m.Name), fabric.Printable(m.GPUs[0].GCN))
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
		return writeFile("out", o.out, text.Bytes())
	}
	_, err = a.exact().Write(text.Bytes())
	return err
}

// inGuest returns the machine with the devices and addresses of a virtual machine on it.
func (o topoNCCLOptions) inGuest(ctx context.Context, from files.Files, hypervisor *topology.Machine) (*topology.Machine, error) {
	if o.snapshot == "" && o.machine == "" {
		return nil, errors.New("flag --guest: needs the hypervisor's host: --snapshot PATH or --machine ID")
	}
	labels, err := parsePairs("label", o.labels)
	if err != nil {
		return nil, err
	}
	guest, err := machineOptions{snapshot: o.guest}.load(ctx, from)
	if err != nil {
		return nil, err
	}
	if len(guest.GPUs) == 0 {
		return nil, fmt.Errorf("flag --guest: the facts of %s list no GPU: lspci of the virtual machine was not read, or it has none", fabric.Quote(o.guest))
	}
	return topology.Guest(hypervisor, topology.GuestDevices(guest), labels)
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
