package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// renderOptions are the flags of render.
type renderOptions struct {
	file      string
	folder    string
	snapshots []string
}

func (a *app) renderCommand(run func(context.Context, renderOptions) error) *cobra.Command {
	var o renderOptions
	c := &cobra.Command{
		Use: "render -f FILE -d DIR [--snapshot PATH...]", Short: "Write the files of every node and switch, with an index of paths, modes and SHA-256", Args: noArgs,
		Long: "Write the files of every node and switch, with an index of paths, modes and SHA-256.\n" +
			"An existing folder is replaced if it is empty, or a render in which nothing was changed or added; any other is left alone.",
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().StringVarP(&o.folder, "dir", "d", "", "folder to write to")
	snapshotsFlag(c, &o.snapshots)
	return c
}

func (a *app) render(ctx context.Context, o renderOptions) error {
	if o.folder == "" {
		return errors.New("flag -d: a folder to write to is needed")
	}
	in, err := a.readSeen(ctx, o.file, o.snapshots)
	if err != nil {
		return err
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	index, sum, err := pipeline.Render(ctx, o.folder, in.plan)
	if err != nil {
		return err
	}
	if a.json() {
		return report.JSON(a.stdout, index)
	}
	printf(a.stdout, "%s for %s and %s in %s\n", fabric.Count(len(index.Artifacts), "file"),
		fabric.Count(len(in.plan.Nodes), "node"), fabric.Count(len(in.plan.Switches), "switch"), o.folder)
	if err := a.printLeftOut(index); err != nil {
		return err
	}
	printf(a.stdout, "index sha256 %s\n", sum)
	return nil
}

// printLeftOut lists what is not in the rendered files. Targets that lack the same share one entry.
func (a *app) printLeftOut(index fabric.Index) error {
	targets := make(map[string][]string)
	var order []string
	add := func(text, target string) {
		if targets[text] == nil {
			order = append(order, text)
		}
		targets[text] = append(targets[text], target)
	}
	for _, m := range index.Missing {
		add("no file: "+m.Reason, m.What)
	}
	for _, f := range index.Artifacts {
		if len(f.Omits) > 0 {
			add("not in "+f.Path+":\n"+strings.Join(f.Omits, "\n"), f.Target)
		}
	}
	for _, text := range order {
		head, omits, some := strings.Cut(text, "\n")
		printf(a.stdout, "%s: %s\n", draw.Names(targets[text], 8), head)
		if !some {
			continue
		}
		var lines [][2]string
		for omit := range strings.SplitSeq(omits, "\n") {
			lines = append(lines, [2]string{"", omit})
		}
		if err := report.Fields(a.stdout, a.textOptions(), lines); err != nil {
			return err
		}
	}
	return nil
}
