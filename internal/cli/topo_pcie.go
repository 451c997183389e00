package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/topology"
)

// topoPCIeOptions are the arguments and flags of topo pcie.
type topoPCIeOptions struct {
	files    []string
	root     string
	snapshot string
	machine  string
	load     string
}

func (a *app) topoPCIeCommand(run func(context.Context, topoPCIeOptions) error) *cobra.Command {
	var o topoPCIeOptions
	c := &cobra.Command{
		Use:   "pcie [FILE | --snapshot PATH | --root DIR] [--machine ID] [--load FILE]",
		Short: "List every PCIe link from GPUs and NICs to the root, what is downgraded, and where ACS is on",
		Long: "List the PCIe links from each GPU and NIC up to the root with speed and width against what both ends support, the\n" +
			"one that costs most in GB/s, all that run below it, the switches with what is below them, and which functions have\n" +
			"ACS enabled or disabled. The host is the local one, a captured tree (--root), saved facts (--snapshot), or FILE: the\n" +
			"output of lspci -vvv of root (- for standard input). Saved facts have only GPUs, NICs and the bridges above them.\n" +
			"With --machine the switches are compared with those of a machine of the catalog. --load names a file with the output\n" +
			"of rocm-smi -b and --showpidgpus while a test ran, best in a loop: which GPU is behind the others.\n\n" +
			"Exit status 0: every link runs as its ends support; 1: a link is downgraded, the layout is another one, a GPU is behind;\n" +
			"2: something of it could not be read.",
		Args: mayTake(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.root, "root", "", "folder with a captured /sys")
	c.Flags().StringVar(&o.snapshot, "snapshot", "", "saved facts of a host: a file, a captured tree, FOLDER:NODE")
	c.Flags().StringVar(&o.machine, "machine", "", "machine of the catalog to compare with, such as xe9680-mi300x-thor2")
	c.Flags().StringVar(&o.load, "load", "", "file with the output of rocm-smi -b and --showpidgpus during a test")
	c.MarkFlagsMutuallyExclusive("root", "snapshot")
	return c
}

func (a *app) topoPCIe(ctx context.Context, o topoPCIeOptions) error {
	if len(o.files) > 0 && (o.root != "" || o.snapshot != "") {
		return fmt.Errorf("lspci output %q: a file and --root or --snapshot: use only one", o.files[0])
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	if o.machine != "" { // before anything is read
		if _, err := cat.Machine(o.machine); err != nil {
			return err
		}
	}
	load, err := a.pcieLoad(o.load)
	if err != nil {
		return err
	}
	f, whole, err := a.pcieFacts(ctx, o)
	if err != nil {
		return err
	}
	r := topology.Report(f, whole)
	r.Load = load
	if o.machine != "" {
		if err := r.Compare(f, cat, o.machine); err != nil {
			return err
		}
	}
	if a.json() {
		err = report.JSON(a.stdout, r)
	} else {
		err = draw.PCIeText(a.stdout, r, a.textOptions().Width)
	}
	if err != nil {
		return err
	}
	return exitOf(r.Status())
}

// pcieLoad reads what rocm-smi printed during a test; nil where no file is named.
func (a *app) pcieLoad(file string) (*topology.PCIeLoad, error) {
	if file == "" {
		return nil, nil
	}
	text, err := a.readTopology(file)
	if err != nil {
		return nil, err
	}
	if text.Cut != "" {
		return nil, fmt.Errorf("rocm-smi output %q: %s", text.Name, text.Cut)
	}
	l, err := topology.ReadROCmLoad(string(text.Text))
	if err != nil {
		return nil, fmt.Errorf("rocm-smi output %q: %w", text.Name, err)
	}
	return l, nil
}

// pcieFacts returns the facts of a host, and whether they have all of its PCI functions.
func (a *app) pcieFacts(ctx context.Context, o topoPCIeOptions) (f *fabric.Facts, whole bool, err error) {
	switch {
	case len(o.files) > 0:
		text, err := a.readTopology(o.files[0])
		if err != nil {
			return nil, false, err
		}
		if text.Cut != "" {
			return nil, false, fmt.Errorf("lspci output %q: %s", text.Name, text.Cut)
		}
		f, err = facts.PCIFromText(text.Name, string(text.Text))
		if err != nil {
			return nil, false, fmt.Errorf("lspci output %q: %w; want that of lspci -vvv, as root", text.Name, err)
		}
		return f, true, nil
	case o.snapshot != "":
		f, err = oneNode(ctx, a.files, o.snapshot)
		return f, false, err
	case o.root != "":
		tree, err := openTree(o.root)
		if err != nil {
			return nil, false, err
		}
		f = facts.Collect(ctx, tree, now())
		facts.AllPCI(ctx, tree, f)
		return f, true, errors.Join(ctx.Err(), tree.Close())
	default:
		h := host.Local{}
		a.doing("reading the PCI functions of %s", fabric.Printable(h.Name()))
		f = facts.Collect(ctx, h, now())
		facts.AllPCI(ctx, h, f)
		return f, true, ctx.Err()
	}
}
