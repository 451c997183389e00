package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// nodeCommand holds what this program runs of itself at the far end: on a host, or in a namespace of the lab.
func (a *app) nodeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "node", Short: "What runs at the far end", Hidden: true, Args: noArgs,
		// Without it, a step that this version does not know would be answered with the help, and a pass.
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	step := func(use, short string, run func(c *cobra.Command) error) {
		c.AddCommand(&cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error { return run(c) }})
	}
	step("collect", "facts of this host, compact", func(c *cobra.Command) error {
		f, err := collectHere(c.Context())
		if err != nil {
			return err
		}
		return json.NewEncoder(a.stdout).Encode(f)
	})
	step("mesh", "this host's part of a mesh", func(*cobra.Command) error { return bench.MeshNode(a.stdin, a.stdout) })
	step("apply", "write a bundle", a.nodeApply)
	step("lab-keep", "first process of a lab", func(*cobra.Command) error { return lab.Keep(a.stdin, a.stdout) })
	step("lab-hold", "keeps the namespaces of a lab host", func(*cobra.Command) error { return lab.Hold(a.stdin, a.stdout) })
	step("lab-fault", "plants faults in a lab", func(*cobra.Command) error { return lab.PlantFaults(a.stdin) })
	return c
}

// collectHere gives the facts of this host; a lab host may have recorded hardware under it.
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

func (a *app) nodeApply(c *cobra.Command) error {
	var b apply.Bundle
	if err := json.NewDecoder(a.stdin).Decode(&b); err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	r, err := apply.Node(c.Context(), b, apply.JournalFolder)
	if err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(r)
}
