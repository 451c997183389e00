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

// diffOptions are the two snapshots to compare, and what counts as a difference.
type diffOptions struct {
	left, right string
	identities  bool
}

func (a *app) diffCommand(run func(context.Context, diffOptions) error) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two snapshots: a good node with a bad one, today with yesterday",
		Long: "Compare two snapshots (facts, recordings, captured trees); the worst difference comes first. Times and counters\n" +
			"are ignored; for two different nodes so are addresses, MACs and GUIDs, unless --identities is given.\n\n" +
			"A or B may be FOLDER:NODE to select one node of several. Exit status 0: no difference; 1: differences.",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.left, o.right = args[0], args[1]
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.identities, "identities", false, "also compare addresses, MACs and GUIDs of two different nodes")
	return c
}

// differences is the saved form of a diff.
type differences struct {
	fabric.Meta
	A           string             `json:"a"`
	B           string             `json:"b"`
	Differences []facts.Difference `json:"differences"`
}

func (a *app) diff(ctx context.Context, o diffOptions) error {
	one, err := oneNode(ctx, o.left)
	if err != nil {
		return err
	}
	other, err := oneNode(ctx, o.right)
	if err != nil {
		return err
	}
	d := differences{Meta: fabric.NewMeta("Differences"), A: o.left, B: o.right, Differences: facts.Diff(one, other, o.identities)}
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
		return nil, fmt.Errorf("snapshot %q: no node %q in it; nodes: %s", path, node, strings.Join(names, ", "))
	default:
		return nil, fmt.Errorf("snapshot %q: %d nodes in it; select one with %s:NODE; nodes: %s", path, len(found), path, strings.Join(names, ", "))
	}
}

func (d differences) text(w io.Writer) error {
	if len(d.Differences) == 0 {
		printf(w, "%s and %s: no difference\n", d.A, d.B)
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	printf(t, "\tWHAT\t%s\t%s\tWHY\n", d.A, d.B)
	for _, one := range d.Differences {
		printf(t, "%s\t%s\t%s\t%s\t%s\n", one.Severity, one.What, one.A, one.B, one.Why)
	}
	return t.Flush()
}
