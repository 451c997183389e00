package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/platform"
	"railwright.dev/railwright/internal/render"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

func (a *app) renderCommand() *cobra.Command {
	var file, folder string
	c := &cobra.Command{
		Use: "render -f FILE -d DIR", Short: "Write the files of every target, with an index of paths, modes and SHA-256", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if folder == "" {
				return errors.New("flag -d: a folder to write to is needed")
			}
			in, err := a.readCluster(file)
			if err != nil {
				return err
			}
			index, sum, err := renderTo(c.Context(), folder, in.plan)
			if err != nil {
				return err
			}
			if a.json() {
				return report.JSON(a.stdout, index)
			}
			_, err = fmt.Fprintf(a.stdout, "%d files for %s in %s\nindex sha256 %s\n", len(index.Artifacts), fabric.Count(len(in.plan.Nodes), "node"), folder, sum)
			return err
		},
	}
	fileFlag(c, &file)
	c.Flags().StringVarP(&folder, "dir", "d", "", "folder to write to")
	return c
}

// renderTo renders a plan into a folder; sum is the SHA-256 of the index and names the whole.
func renderTo(ctx context.Context, folder string, p *fabric.Plan) (index fabric.Index, sum string, err error) {
	artifacts, err := platform.Artifacts(p)
	if err != nil {
		return index, "", err
	}
	err = run.WriteArtifacts(folder, until(ctx, artifacts), func(seq iter.Seq[fabric.Artifact]) ([]byte, error) {
		var text []byte
		if index, err = render.NewIndex(seq); err != nil {
			return nil, err
		}
		text, sum, err = render.EncodeIndex(index)
		return text, errors.Join(err, ctx.Err())
	})
	return index, sum, err
}

// until ends a sequence when the context does.
func until(ctx context.Context, seq iter.Seq[fabric.Artifact]) iter.Seq[fabric.Artifact] {
	return func(yield func(fabric.Artifact) bool) {
		for a := range seq {
			if ctx.Err() != nil || !yield(a) {
				return
			}
		}
	}
}

// artifactsOf groups what is rendered by its target.
func artifactsOf(p *fabric.Plan) (map[string][]fabric.Artifact, error) {
	artifacts, err := platform.Artifacts(p)
	if err != nil {
		return nil, err
	}
	byTarget := make(map[string][]fabric.Artifact)
	for a := range artifacts {
		byTarget[a.Target] = append(byTarget[a.Target], a)
	}
	return byTarget, nil
}
