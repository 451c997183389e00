package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/files"
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
			"A or B may be FOLDER:NODE to select one node of several. What could not be read on one side is unknown, never a\n" +
			"difference; what a check reads and neither side could is listed as not compared.\n\n" +
			"Exit status 0: no difference; 1: differences; 2: no difference in what was read, and something was not.",
		Args: takes("A", "B"),
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
	NotCompared []fabric.Missing   `json:"not_compared,omitempty" jsonschema_description:"facts that a check reads and that could be read on neither side"`
}

func (a *app) diff(ctx context.Context, o diffOptions) error {
	one, err := a.sideOf(ctx, o.left)
	if err != nil {
		return err
	}
	other, err := a.sideOf(ctx, o.right)
	if err != nil {
		return err
	}
	d := differences{
		Meta: fabric.NewMeta("Differences"), A: o.left, B: o.right,
		Differences: facts.Diff(one, other, o.identities), NotCompared: unreadOnBoth(one, other),
	}
	if a.json() {
		err = report.JSON(a.stdout, d)
	} else {
		err = d.text(a.stdout)
	}
	if err != nil {
		return err
	}
	return exitOf(d.status())
}

// status is fail where both sides were read and differ, and unknown where something was not read.
func (d differences) status() fabric.Status {
	switch {
	case slices.ContainsFunc(d.Differences, facts.Difference.Known):
		return fabric.Fail
	case len(d.Differences) > 0 || len(d.NotCompared) > 0:
		return fabric.Unknown
	}
	return fabric.Pass
}

// unreadOnBoth lists the facts that a check of these nodes reads and that neither side could read.
func unreadOnBoth(a, b *fabric.Facts) []fabric.Missing {
	theirs := check.Unread(b)
	both := slices.DeleteFunc(check.Unread(a), func(m fabric.Missing) bool {
		return !slices.ContainsFunc(theirs, func(t fabric.Missing) bool { return t.What == m.What })
	})
	if len(both) == 0 && isBare(a) && isBare(b) {
		both = append(both, fabric.Missing{What: "hardware", Source: "both snapshots", Reason: "neither has a NIC, an RDMA device, a GPU or a PCI function"})
	}
	return both
}

// sideOf loads one side of a diff, and reports on standard error what could not be loaded beside it.
func (a *app) sideOf(ctx context.Context, arg string) (*fabric.Facts, error) {
	f, broken, err := loadNode(ctx, a.files, arg)
	if err != nil {
		return nil, err
	}
	for _, b := range broken {
		fmt.Fprintf(a.stderr, "railwright: not loaded: %v\n", b)
	}
	return f, nil
}

// oneNode loads the facts of one node from PATH or FOLDER:NODE.
func oneNode(ctx context.Context, from files.Files, arg string) (*fabric.Facts, error) {
	f, _, err := loadNode(ctx, from, arg)
	return f, err
}

// loadNode loads the facts of one node from PATH or FOLDER:NODE. What could not be loaded beside a selected node is in
// broken; without a selection, and where it is of the same node, it is an error.
func loadNode(ctx context.Context, from files.Files, arg string) (f *fabric.Facts, broken []error, err error) {
	path, node := splitNode(arg)
	var found []*fabric.Facts
	var names []string
	again := false // more facts of the selected node
	for f, err := range facts.LoadFrom(ctx, from, path) {
		if err != nil {
			broken = append(broken, err)
			duplicate, ok := errors.AsType[*facts.DuplicateError](err)
			again = again || ok && duplicate.Node == node
			continue
		}
		names = append(names, f.Node)
		if node == "" || f.Node == node {
			found = append(found, f)
		}
	}
	list := strings.Join(names, ", ")
	switch {
	case len(names) == 0 && len(broken) > 0:
		return nil, nil, errors.Join(broken...)
	case again, node == "" && len(broken) > 0:
		return nil, nil, errors.Join(append(broken, fmt.Errorf("snapshot %q: not all of it could be loaded; nodes: %s", path, list))...)
	case len(found) == 1:
		return found[0], broken, nil
	case len(found) == 0:
		return nil, nil, errors.Join(append(broken, fmt.Errorf("snapshot %q: no node %q in it; nodes: %s", path, node, list))...)
	default:
		return nil, nil, fmt.Errorf("snapshot %q: %d nodes in it; select one with %s:NODE; nodes: %s", path, len(found), path, list)
	}
}

func (d differences) text(w io.Writer) error {
	t := newTable(w)
	if len(d.Differences) > 0 {
		printf(t, "\tWHAT\t%s\t%s\tWHY\n", d.A, d.B)
	}
	for _, one := range d.Differences {
		printf(t, "%s\t%s\t%s\t%s\t%s\n", one.Severity, one.What, one.A, one.B, one.Why)
	}
	err := t.Flush()
	if n := len(d.NotCompared); n > 0 {
		fmt.Fprintf(w, "Not compared: %s that neither side could read\n", fabric.Count(n, "fact"))
	}
	for _, m := range d.NotCompared {
		printf(w, "  %s: %s (%s)\n", m.What, m.Reason, m.Source)
	}
	switch {
	case d.status() == fabric.Pass:
		printf(w, "%s and %s: no difference\n", d.A, d.B)
	case d.status() == fabric.Unknown:
		printf(w, "%s and %s: no difference in what was read on both sides; the rest is unknown\n", d.A, d.B)
	}
	return err
}

// isBare reports whether facts hold nothing of the hardware.
func isBare(f *fabric.Facts) bool { return len(f.NICs)+len(f.HCAs)+len(f.GPUs)+len(f.PCI) == 0 }
