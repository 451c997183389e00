package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/bench"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
)

// nodeSteps are the steps that this program runs at the far end: on a host, or in a namespace of the lab.
type nodeSteps struct {
	collect, mesh, apply, labKeep, labHold, labFault func(context.Context) error

	guard, confirm func(ctx context.Context, id string) error
}

func (a *app) nodeCommand(run nodeSteps) *cobra.Command {
	c := &cobra.Command{
		Use: "node", Short: "Steps that railwright runs at the far end", Hidden: true, Args: noArgs,
		// Without it an unknown step would print the help and exit with 0.
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	step := func(use, short string, run func(context.Context) error) {
		c.AddCommand(&cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) }})
	}
	step("collect", "facts of this host, compact", run.collect)
	step("mesh", "this host's part of a mesh", run.mesh)
	step("apply", "write a bundle", run.apply)
	ofTrial := func(name, short string, run func(context.Context, string) error) {
		c.AddCommand(&cobra.Command{Use: name + " ID", Short: short, Args: takes("ID"), RunE: func(c *cobra.Command, args []string) error { return run(c.Context(), args[0]) }})
	}
	ofTrial("guard", "takes an activation back that is not confirmed", run.guard)
	ofTrial("confirm", "confirms an activation", run.confirm)
	step("lab-keep", "first process of a lab", run.labKeep)
	step("lab-hold", "keeps the namespaces of a lab host", run.labHold)
	step("lab-fault", "plants faults in a lab", run.labFault)
	return c
}

func (a *app) nodeSteps() nodeSteps {
	return nodeSteps{
		collect:  a.nodeCollect,
		mesh:     func(context.Context) error { return bench.MeshNode(a.stdin, a.stdout) },
		apply:    a.nodeApply,
		labKeep:  func(context.Context) error { return lab.Keep(a.stdin, a.stdout) },
		labHold:  func(context.Context) error { return lab.Hold(a.stdin, a.stdout) },
		labFault: func(context.Context) error { return lab.PlantFaults(a.stdin) },
		guard:    func(ctx context.Context, id string) error { return apply.Guard(ctx, id, apply.JournalFolder) },
		confirm:  a.nodeConfirm,
	}
}

func (a *app) nodeCollect(ctx context.Context) error {
	f, err := collectHere(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(f)
}

// collectHere returns the facts of this host; a lab host may have recorded hardware under it.
func collectHere(ctx context.Context) (*fabric.Facts, error) {
	f := facts.Collect(ctx, host.Local{}, now())
	recording, err := os.ReadFile(host.HardwareFile)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	return f, facts.LayHardware(f, recording, now())
}

func (a *app) nodeApply(ctx context.Context) error {
	text, err := io.ReadAll(a.stdin)
	var b apply.Bundle
	if err == nil {
		err = fabric.Decode(text, apply.BundleKind, &b)
	}
	if err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	r, err := apply.Node(ctx, b, apply.JournalFolder)
	if err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(r)
}

func (a *app) nodeConfirm(ctx context.Context, id string) error {
	r, err := apply.Confirm(ctx, id, apply.JournalFolder)
	if err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(r)
}
