package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pipeline"
)

// rollbackOptions are the flags of rollback.
type rollbackOptions struct {
	kubeOptions
	file       string
	deleteData []string
}

func (a *app) rollbackCommand(run func(context.Context, rollbackOptions) error) *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:   "rollback [-f FILE | --kubernetes [--kubeconfig FILE] [--context NAME]]",
		Short: "Restore what was before the last apply: files of this host, ESX hosts and vCenter, or objects of a cluster",
		Long: "Restore the files that were on this host before the last apply.\n\n" +
			"With -f: vCenter and the ESX hosts of a cluster file of platform vsphere, as they were before the applies from this\n" +
			"machine: what was made or set in vCenter, then each step on each host, the last first, with the reboots that takes.\n" +
			"What somebody changed since is named, and nothing of that host is rolled back.\n\n" +
			"With --kubernetes: the objects of a cluster, as they were before the last apply to it from this machine. Those that did\n" +
			"not exist are deleted; the others get their previous fields. Namespaces and kinds that were made stay, and so do claims\n" +
			"of volumes that have one, unless --delete-data names them. An object whose applied fields somebody changed since is\n" +
			"named, and nothing is rolled back.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"kubeconfig", "context", "delete-data"} {
				if c.Flags().Changed(name) && !o.kubernetes {
					return fmt.Errorf("flag --%s: only with --kubernetes is a cluster rolled back", name)
				}
			}
			if err := checkDataNames(o.deleteData); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.clusterFlags(c)
	fileFlag(c, &o.file)
	deleteDataFlag(c, &o.deleteData, "with --kubernetes: a claim of a volume that may go with its data")
	c.Flags().BoolVar(&o.kubernetes, "kubernetes", false, "the objects of a Kubernetes cluster instead of the files of this host")
	c.MarkFlagsMutuallyExclusive("file", "kubernetes")
	return c
}

// rollbackVSphere takes back what was done to vCenter and to the ESX hosts of a cluster file.
func (a *app) rollbackVSphere(ctx context.Context, file string) (err error) {
	in, err := a.readCluster(file)
	if err != nil {
		return err
	}
	if !pipeline.HasHosts(in.plan) {
		return errors.New("flag -f: the cluster file has no ESX hosts (vsphere.hosts); what was applied to other hosts is rolled back by railwright rollback on each of them")
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	v := a.vsphere(in.plan)
	v.Open(ctx)
	defer func() { err = errors.Join(err, v.Close()) }()
	a.doing("working on %s", v)
	results := v.Rollback(ctx, pipeline.VSphereChange{File: file})
	if err := a.printApplied(results, false); err != nil {
		return err
	}
	return exitOf(apply.Worst(results))
}

func (a *app) rollback(ctx context.Context, o rollbackOptions) error {
	switch {
	case o.kubernetes:
		return a.rollbackCluster(ctx, o)
	case o.file != "":
		return a.rollbackVSphere(ctx, o.file)
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	note, err := apply.TakeBack(ctx, apply.JournalFolder)
	if err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	if note != "" { // what a person wants undone is undone; the apply before it was not asked for
		note += "; repeat railwright rollback to undo the apply before it"
		return a.printApplied([]apply.Applied{{Node: host.Local{}.Name(), Status: fabric.Pass, Changes: []apply.Change{}, Note: note}}, false)
	}
	changes, err := apply.Rollback(apply.JournalFolder)
	if errors.Is(err, apply.ErrNoJournal) {
		return err
	}
	if err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	return a.printApplied([]apply.Applied{{Node: host.Local{}.Name(), Status: fabric.Pass, Changes: changes}}, false)
}
