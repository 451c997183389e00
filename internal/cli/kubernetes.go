package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pipeline"
)

// kubeOptions select a Kubernetes cluster.
type kubeOptions struct {
	kubeconfig, context string
	kubernetes          bool // of rollback
}

func (o *kubeOptions) clusterFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "file with the address and credentials of a Kubernetes cluster; default $KUBECONFIG, ~/.kube/config, or the pod's own")
	c.Flags().StringVar(&o.context, "context", "", "context of the kubeconfig; default its current one; of a cluster that a cloud makes, the one of the plan")
}

func (o kubeOptions) cluster(a *app) pipeline.Kubernetes {
	return pipeline.Kubernetes{Kubeconfig: o.kubeconfig, Context: o.context, Doing: a.doing, Say: a.progress}
}

func (a *app) rollbackCluster(ctx context.Context, o kubeOptions) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	changes, err := o.cluster(a).Rollback(ctx)
	if errors.Is(err, apply.ErrNoJournal) {
		return err
	}
	if err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	return a.printApplied([]apply.Applied{{Node: fabric.OnKubernetes, Status: fabric.Pass, Changes: changes}}, false)
}
