package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
)

// input is a cluster file, read and planned.
type input struct {
	text    []byte
	cluster *intent.Cluster
	plan    *fabric.Plan
}

var errNoFile = errors.New("a cluster file is needed: -f FILE (make one with: railwright init)")

// maxClusterFile is how much of a cluster file is read, in bytes: one byte more than allowed, so that the parser can reject it.
const maxClusterFile = 1<<20 + 1

// readCluster reads, validates and plans a cluster file; - is standard input.
func (a *app) readCluster(file string) (*input, error) {
	if file == "" {
		return nil, errNoFile
	}
	text, err := a.readText(file)
	if err != nil {
		return nil, err
	}
	return planned(fabric.Printable(file), text)
}

// readSeen reads and plans a cluster file as readCluster does; facts of its machines then decide what they can (plan.SeeNICs).
func (a *app) readSeen(ctx context.Context, file string, snapshots []string) (*input, error) {
	in, err := a.readCluster(file)
	if err != nil || len(snapshots) == 0 {
		return in, err
	}
	a.doing("reading saved facts")
	var seen []*fabric.Facts
	for f, err := range facts.LoadFrom(ctx, a.files, snapshots...) {
		if err != nil {
			return nil, fmt.Errorf("flag --snapshot: %w", err)
		}
		if f.ESX != nil {
			return nil, fmt.Errorf("flag --snapshot: %s is an ESX host, and the runbook alone is written from its facts: use it with --runbook FILE of railwright apply", fabric.Quote(f.Node))
		}
		seen = append(seen, f)
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("flag --snapshot: %s: has no facts of a machine", fabric.Quote(snapshots[0]))
	}
	if err := plan.SeeNICs(in.plan, seen); err != nil {
		return nil, fmt.Errorf("flag --snapshot: %w", err)
	}
	return in, nil
}

// snapshotsFlag is the --snapshot of commands whose plan facts refine.
func snapshotsFlag(c *cobra.Command, paths *[]string) {
	c.Flags().StringArrayVar(paths, "snapshot", nil, "saved facts of machines: they decide what selects the NICs that pods share; can be repeated")
}

func (a *app) readText(file string) ([]byte, error) {
	if file == "-" {
		a.doing("waiting for the cluster file on standard input")
		return io.ReadAll(io.LimitReader(a.stdin, maxClusterFile))
	}
	f, err := a.files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cluster file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxClusterFile))
	if err != nil {
		return nil, fmt.Errorf("cluster file: %w", err)
	}
	return text, nil
}

// labExample is the example that the lab builds when no cluster file is given.
const labExample = "roce-mi300x"

func exampleCluster() (*input, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	text, err := intent.Example(labExample, 0, cat)
	if err != nil {
		return nil, err
	}
	return planned("example "+labExample, text)
}

func planned(file string, text []byte) (*input, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	cluster, err := intent.Parse(file, text, cat)
	if err != nil {
		return nil, err
	}
	p, err := plan.New(cluster, cat)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &input{text: text, cluster: cluster, plan: p}, nil
}
