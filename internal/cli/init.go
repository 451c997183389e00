package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/spark"
)

// initOptions are the flags of init.
type initOptions struct {
	example string
	nodes   int // 0: the example's own number
	list    bool
	hosts   string // range of the machines to find; empty: this one
}

func (a *app) initCommand(run func(context.Context, initOptions) error) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init [--hosts RANGE | --example NAME [--nodes N] | --list]",
		Short: "Print a commented cluster file: from this host's RDMA interfaces, or an example of any size",
		Long: "Print a commented cluster file: from this host's RDMA interfaces, or an example of any size.\n" +
			"With --hosts the file is of all these DGX Sparks, reached over SSH: which are cabled to which, or to a switch, is found.\n\n" +
			"Examples:\n" + exampleList(),
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("nodes") && o.nodes < 1 {
				return fmt.Errorf("flag --nodes: %d: must be 1 or more", o.nodes)
			}
			if o.nodes > 0 && o.example == "" {
				return errors.New("flag --nodes: needs --example")
			}
			if o.hosts != "" && (o.list || o.example != "") {
				return errors.New("flag --hosts: takes no --example and no --list")
			}
			if o.list && o.example != "" {
				return errors.New("flag --list: takes no --example")
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.example, "example", "", "name of an example")
	c.Flags().BoolVar(&o.list, "list", false, "list the examples, and which commands work with each")
	c.Flags().StringVar(&o.hosts, "hosts", "", "DGX Sparks to find over SSH, such as spark[1-3]")
	c.Flags().IntVar(&o.nodes, "nodes", 0, "number of machines (default: the example's own)")
	return c
}

func exampleList() string {
	var b strings.Builder
	for _, name := range intent.Examples() {
		doc, err := intent.ExampleDoc(name)
		if err != nil {
			doc = err.Error()
		}
		works, notYet, _ := intent.ExampleSupport(name)
		fmt.Fprintf(&b, "  %-16s %s\n", name, doc)
		if len(works) > 0 {
			fmt.Fprintf(&b, "  %-16s   works with %s\n", "", strings.Join(works, ", "))
		} else {
			fmt.Fprintf(&b, "  %-16s   no command takes it yet\n", "")
		}
		if notYet != "" {
			fmt.Fprintf(&b, "  %-16s   not yet: %s\n", "", strings.ReplaceAll(notYet, "; ", fmt.Sprintf(";\n  %-16s   ", "")))
		}
	}
	return b.String()
}

func (a *app) init(ctx context.Context, o initOptions) error {
	if err := a.textOnly("init", "a cluster file, which is YAML"); err != nil {
		return err
	}
	if o.list {
		_, err := fmt.Fprint(a.stdout, exampleList())
		return err
	}
	text, err := a.initText(ctx, o)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
}

func (a *app) initText(ctx context.Context, o initOptions) ([]byte, error) {
	if o.hosts != "" {
		return a.initHosts(ctx, o.hosts)
	}
	if o.example == "" {
		return intent.FromFacts("cluster1", facts.Collect(ctx, host.Local{}, now()))
	}
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	return intent.Example(o.example, o.nodes, cat)
}

// initHosts is the file of machines that are reached over SSH. One that does not answer is an error: a file without it would be
// of another cluster.
func (a *app) initHosts(ctx context.Context, hosts string) (text []byte, err error) {
	names, err := fabric.ExpandNames(hosts)
	if err == nil && len(names) == 0 {
		err = errors.New("names no host")
	}
	if err != nil {
		return nil, fmt.Errorf("flag --hosts: %w", err)
	}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	a.doingSSH("logging in to", names)
	f, err := fleet.SSH(ctx, names, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a.doingSSH("reading", names)
	nodes, lost := pipeline.Collect(ctx, f)
	for _, m := range lost {
		err = errors.Join(err, errors.New(m.Reason))
	}
	if err != nil {
		return nil, err
	}
	if len(nodes) > 1 && spark.Read(nodes[0]).Known != spark.Proven {
		return nil, fmt.Errorf("host %q is not a DGX Spark: of other machines run railwright init on one, and name the rest in the file", nodes[0].Node)
	}
	return intent.FromFacts("cluster1", nodes[0], nodes[1:]...)
}
