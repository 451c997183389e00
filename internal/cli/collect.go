package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

func (a *app) collectCommand() *cobra.Command {
	var root, hosts, folder string
	c := &cobra.Command{
		Use:   "collect [--root DIR | --hosts RANGE [-d DIR]]",
		Short: "Print the facts of this host, of a captured tree, or of hosts, as JSON",
		Long: "Print the facts of this host, of a captured tree, or over SSH of a range of hosts, as JSON: of hosts a document\n" +
			"a line, or with -d a file each, for check --snapshot.\n\nExit status 0: everything was read; 2: what is listed under missing was not.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if hosts != "" {
				return a.collectHosts(c.Context(), hosts, folder)
			}
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
	c.Flags().StringVar(&hosts, "hosts", "", "hosts to reach over SSH, such as gpu[001-512]")
	c.Flags().StringVarP(&folder, "dir", "d", "", "with --hosts: folder to write a file a host to")
	c.MarkFlagsMutuallyExclusive("root", "hosts")
	return c
}

// collectHosts gives the facts of a range of hosts. Those that did not answer are told on standard error.
func (a *app) collectHosts(ctx context.Context, hosts, folder string) (err error) {
	names, err := intent.ExpandNames(hosts)
	if err != nil {
		return fmt.Errorf("flag --hosts: %w", err)
	}
	c, err := sshCrew(ctx, names, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dismiss()) }()
	nodes, lost := c.collect(ctx)
	incomplete := len(lost) > 0
	for _, f := range nodes {
		incomplete = incomplete || len(f.Missing) > 0
		if folder != "" {
			err = run.Folder(folder).Write(f.Node+".json", f)
		} else {
			err = json.NewEncoder(a.stdout).Encode(f)
		}
		if err != nil {
			return err
		}
	}
	for _, m := range lost {
		fmt.Fprintf(a.stderr, "railwright: host %q: %s\n", m.What, m.Reason)
	}
	if incomplete {
		return verdict(exitUnknown)
	}
	return nil
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
