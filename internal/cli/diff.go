package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/report"
)

func (a *app) diffCommand() *cobra.Command {
	var identities bool
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "What differs between two snapshots, worst first: good node against bad, today against yesterday",
		Long: "What differs between two snapshots (facts, recordings, captured trees), worst first. Times and counters are left\n" +
			"out; of two different nodes also what must differ, unless --identities is given.\n\n" +
			"A or B may be FOLDER:NODE to pick one node of several. Exit status 0: nothing differs; 1: something does.",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.diff(c.Context(), args[0], args[1], identities) },
	}
	c.Flags().BoolVar(&identities, "identities", false, "also addresses, MACs and GUIDs of two different nodes")
	return c
}

// differences is the saved form of a diff.
type differences struct {
	fabric.Meta
	A           string             `json:"a"`
	B           string             `json:"b"`
	Differences []facts.Difference `json:"differences"`
}

func (a *app) diff(ctx context.Context, left, right string, identities bool) error {
	one, err := oneNode(ctx, left)
	if err != nil {
		return err
	}
	other, err := oneNode(ctx, right)
	if err != nil {
		return err
	}
	d := differences{Meta: fabric.NewMeta("Differences"), A: left, B: right, Differences: facts.Diff(one, other, identities)}
	if a.json() {
		err = report.JSON(a.stdout, d)
	} else {
		err = d.text(a.stdout)
	}
	if err != nil {
		return err
	}
	if len(d.Differences) > 0 {
		return verdict(exitFail)
	}
	return nil
}

// oneNode loads the facts of one node from PATH or FOLDER:NODE.
func oneNode(ctx context.Context, arg string) (*fabric.Facts, error) {
	path, node := splitNode(arg)
	var found []*fabric.Facts
	var names []string
	var broken []error
	for f, err := range facts.Load(ctx, path) {
		if err != nil {
			broken = append(broken, err)
			continue
		}
		names = append(names, f.Node)
		if node == "" || f.Node == node {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0 && len(broken) > 0:
		return nil, errors.Join(broken...)
	case len(found) == 0:
		return nil, fmt.Errorf("snapshot %q: node %q is not in it: known are %s", path, node, strings.Join(names, ", "))
	default:
		return nil, fmt.Errorf("snapshot %q: %d nodes are in it: pick one with %s:NODE: known are %s", path, len(found), path, strings.Join(names, ", "))
	}
}

func (d differences) text(w io.Writer) error {
	if len(d.Differences) == 0 {
		_, err := fmt.Fprintf(w, "%s and %s: nothing differs\n", d.A, d.B)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\tWHAT\t%s\t%s\tWHY\n", d.A, d.B)
	for _, one := range d.Differences {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", one.Severity, one.What, one.A, one.B, one.Why)
	}
	return t.Flush()
}
