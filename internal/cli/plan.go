package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/report"
)

// fileFlag is the -f of every command that takes a cluster file.
func fileFlag(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "file", "f", "", "cluster file; - for standard input")
}

// planOptions are the flags of plan.
type planOptions struct {
	file string
}

func (a *app) planCommand(run func(context.Context, planOptions) error) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use: "plan -f FILE", Short: "Show the plan: addresses and cables", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	return c
}

func (a *app) plan(_ context.Context, o planOptions) error {
	in, err := a.readCluster(o.file)
	if err != nil {
		return err
	}
	if a.json() {
		return report.JSON(a.stdout, in.plan)
	}
	return a.printPlan(in.plan)
}

func (a *app) printPlan(p *fabric.Plan) error {
	fmt.Fprintf(a.stdout, "%s: %s, %s, %s, %s, MTU %d\n", p.Name, fabric.Count(len(p.Nodes), "node"),
		fabric.Count(len(p.Switches), "switch"), fabric.Count(len(p.Cabling.Links), "cable"), p.Addressing.Scheme, p.MTU)
	if p.Partition != 0 {
		fmt.Fprintf(a.stdout, "partition %s, every port a full member\n", p.Partition)
	}
	for _, note := range p.Notes {
		fmt.Fprintln(a.stdout, note)
	}
	addresses := make(map[fabric.Endpoint]fabric.NICAddress)
	for _, n := range p.Addressing.Nodes {
		for _, nic := range n.NICs {
			addresses[fabric.Endpoint{Node: n.Node, NIC: nic.NIC}] = nic
		}
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nNODE\tNIC\tRAIL\tADDRESS\tGATEWAY\tTABLE\tSWITCH\tPORT")
	for _, l := range p.Cabling.Links {
		address, gateway, table := "-", "-", "-"
		if nic, ok := addresses[l.A]; ok {
			address, table = nic.Address.String(), fmt.Sprint(nic.Table)
			if nic.Gateway.IsValid() {
				gateway = nic.Gateway.String()
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", l.A.Node, l.A.NIC, l.Rail, address, gateway, table, l.B.Node, l.B.NIC)
	}
	return w.Flush()
}
