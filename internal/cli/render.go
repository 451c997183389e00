package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// renderOptions are the flags of render.
type renderOptions struct {
	file   string
	folder string
}

func (a *app) renderCommand(run func(context.Context, renderOptions) error) *cobra.Command {
	var o renderOptions
	c := &cobra.Command{
		Use: "render -f FILE -d DIR", Short: "Write the files of every node and switch, with an index of paths, modes and SHA-256", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().StringVarP(&o.folder, "dir", "d", "", "folder to write to")
	return c
}

func (a *app) render(ctx context.Context, o renderOptions) error {
	if o.folder == "" {
		return errors.New("flag -d: a folder to write to is needed")
	}
	in, err := a.readCluster(o.file)
	if err != nil {
		return err
	}
	index, sum, err := pipeline.Render(ctx, o.folder, in.plan)
	if err != nil {
		return err
	}
	if a.json() {
		return report.JSON(a.stdout, index)
	}
	_, err = fmt.Fprintf(a.stdout, "%s for %s and %s in %s\n%sindex sha256 %s\n", fabric.Count(len(index.Artifacts), "file"),
		fabric.Count(len(in.plan.Nodes), "node"), fabric.Count(len(in.plan.Switches), "switch"), o.folder, leftOut(index), sum)
	return err
}

// leftOut lists what is not in the rendered files, one per line with its targets.
func leftOut(index fabric.Index) string {
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
	for _, a := range index.Artifacts {
		for _, o := range a.Omits {
			add("not in "+a.Path+": "+o, a.Target)
		}
	}
	var b strings.Builder
	for _, text := range order {
		fmt.Fprintf(&b, "%s: %s\n", draw.Names(targets[text], 8), text)
	}
	return b.String()
}
