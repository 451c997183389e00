package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/report"
)

func (a *app) collectCommand() *cobra.Command {
	var root string
	c := &cobra.Command{
		Use:   "collect [--root DIR]",
		Short: "Print the facts of this host, or of a captured tree, as JSON",
		Long:  "Print the facts of this host, or of a captured tree, as JSON.\n\nExit status 0: everything was read; 2: what is listed under missing was not.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := collect(c.Context(), root)
			if err != nil {
				return err
			}
			if err := report.JSON(a.stdout, f); err != nil {
				return err
			}
			if len(f.Missing) > 0 {
				return verdict(exitUnknown)
			}
			return nil
		},
	}
	c.Flags().StringVar(&root, "root", "", "folder that holds a captured /sys, /proc, /etc")
	return c
}

// collect gives the facts of this host, or of a captured tree.
func collect(ctx context.Context, root string) (f *fabric.Facts, err error) {
	if root == "" {
		return facts.Collect(ctx, host.Local{}, now()), nil
	}
	if info, err := os.Stat(filepath.Join(root, "sys")); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("captured tree %q: has no folder sys: name the folder that stands for /", root)
	}
	tree, err := host.OpenTree(filepath.Base(filepath.Clean(root)), root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	return facts.Collect(ctx, tree, now()), nil
}
