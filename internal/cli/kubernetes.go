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

// deleteDataFlag takes objects that hold what no plan can make again.
func deleteDataFlag(c *cobra.Command, names *[]string, usage string) {
	c.Flags().StringArrayVar(names, "delete-data", nil, usage+": PersistentVolumeClaim/NAMESPACE/NAME, Secret/NAMESPACE/NAME; can be repeated")
}

func (a *app) rollbackCluster(ctx context.Context, o rollbackOptions) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	k := o.cluster(a)
	k.DeleteData = o.deleteData
	changes, err := k.Rollback(ctx)
	if errors.Is(err, apply.ErrNoJournal) {
		return err
	}
	if err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	return a.printApplied([]apply.Applied{{Node: fabric.OnKubernetes, Status: fabric.Pass, Changes: changes}}, false)
}
