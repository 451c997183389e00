package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nccllint"
	"railwright.dev/railwright/internal/report"
)

// topoLintOptions are the arguments and flags of topo lint.
type topoLintOptions struct {
	files []string
	fix   bool
	out   string
}

func (a *app) topoLintCommand(run func(context.Context, topoLintOptions) error) *cobra.Command {
	var o topoLintOptions
	c := &cobra.Command{
		Use:   "lint FILE... [--fix [--out FILE]]",
		Short: "Check NCCL topology files by what NCCL does with them",
		Long: "Check NCCL topology files by what NCCL does with them: what it refuses, what it silently misreads and what that\n" +
			"costs, and what is probably a mistake. Several files, one per node, are compared with each other. With --fix the\n" +
			"fixed file goes to standard output or --out, and the list of changes to standard error.\n\n" +
			"What NCCL takes as it is meant is a remark, not a failure. Exit status 0: nothing failed; 1: something failed: NCCL\n" +
			"refuses or misreads it, or takes it at a cost (a warning); 2: a file is empty or could not be read whole.",
		Args: takesMore("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.out != "" && !o.fix {
				return errors.New("flag --out: needs --fix")
			}
			if o.fix && len(args) != 1 {
				return fmt.Errorf("flag --fix: fixes one file, not %d", len(args))
			}
			o.files = args
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.fix, "fix", false, "write the fixed file")
	outputFlag(c, &o.out, "out", "with --fix: file to write to; may be the file itself")
	return c
}

func (a *app) topoLint(_ context.Context, o topoLintOptions) error {
	if o.fix {
		if err := a.textOnly("topo lint --fix", "the fixed file"); err != nil {
			return err
		}
		return a.topoFix(o.files[0], o.out)
	}
	var files []nccllint.File
	for _, name := range o.files {
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
	return a.lint(files, cat)
}

// lint prints what a check of topology files finds; the summary of the findings decides words and exit status.
func (a *app) lint(files []nccllint.File, cat *catalog.Catalog) error {
	found := nccllint.Check(files, cat)
	var err error
	if a.json() {
		err = report.JSON(a.stdout, found)
	} else {
		k := report.NewGroups(a.textOptions())
		remarks(a.stdout, found.Findings)
		for _, f := range found.Findings {
			k.Add(f)
		}
		err = k.Text(a.stdout, found.Summary)
	}
	if err != nil {
		return err
	}
	return exitOf(found.Summary.Status())
}

// remarkLimit is how many remarks of one rule are shown, each a line.
const remarkLimit = 3

// remarks writes what NCCL takes at no cost though it is unusual, a line each, of each rule the first few.
func remarks(w io.Writer, findings []fabric.Finding) {
	count := map[string]int{}
	for _, f := range findings {
		if !nccllint.IsRemark(f) {
			continue
		}
		if count[f.ID]++; count[f.ID] > remarkLimit {
			continue
		}
		where := ""
		for _, e := range f.Evidence {
			where = fabric.Printable(e.Source) + ": " + e.Value + ": "
		}
		cost := ""
		if f.Cost != "" {
			cost = " Cost: " + f.Cost + "."
		}
		fmt.Fprintf(w, "Remark: %s%s%s\n", where, f.Why, cost)
	}
	for _, f := range findings {
		if more := count[f.ID] - remarkLimit; more > 0 {
			fmt.Fprintf(w, "Remark: %s more of %s; -o json lists all\n", fabric.Count(more, "remark"), f.ID)
			delete(count, f.ID)
		}
	}
	if len(count) > 0 {
		fmt.Fprintln(w)
	}
}

func (a *app) topoFix(name, out string) error {
	f, err := a.readTopology(name)
	if err != nil {
		return err
	}
	if f.Cut != "" {
		return fmt.Errorf("topology file %q: %s", f.Name, f.Cut)
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	fixed, changes, left := nccllint.Fix(f.Text, cat)
	for _, change := range changes {
		fmt.Fprintf(a.stderr, "%s:%d: %s (%s)\n", f.Name, change.Line, fabric.Printable(change.What), change.Why)
	}
	if out != "" {
		err = writeFile("out", out, fixed)
	} else {
		_, err = a.exact().Write(fixed)
	}
	var rest *nccllint.LeftError
	if err != nil || !errors.As(left, &rest) {
		return err
	}
	fmt.Fprintf(a.stderr, "railwright: %q: %v\n", f.Name, left)
	return exitOf(rest.Status)
}
