package pipeline

import (
	"context"
	"errors"
	"iter"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/platform"
	"railwright.dev/railwright/internal/render"
	"railwright.dev/railwright/internal/run"
)

// Render renders a plan into a folder; sum is the SHA-256 of the index and identifies the whole.
func Render(ctx context.Context, folder string, p *fabric.Plan) (index fabric.Index, sum string, err error) {
	artifacts, err := platform.Artifacts(p)
	if err != nil {
		return index, "", err
	}
	err = run.WriteArtifacts(folder, until(ctx, artifacts), func(seq iter.Seq[fabric.Artifact]) ([]byte, error) {
		var text []byte
		if index, err = render.NewIndex(seq); err != nil {
			return nil, err
		}
		index.Missing = platform.Missing(p)
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

// byTarget groups what is rendered by its target.
func byTarget(p *fabric.Plan) (map[string][]fabric.Artifact, error) {
	artifacts, err := platform.Artifacts(p)
	if err != nil {
		return nil, err
	}
	targets := make(map[string][]fabric.Artifact)
	for a := range artifacts {
		targets[a.Target] = append(targets[a.Target], a)
	}
	return targets, nil
}
