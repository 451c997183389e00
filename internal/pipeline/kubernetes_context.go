package pipeline

import (
	"cmp"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
)

// chosenContext is the context of the kubeconfig that objects go to; empty: its current one. The plan of a cluster that a cloud
// makes names that cluster, so another one gets its objects only where a person names the context: a kubeconfig that still
// points to the cluster of yesterday must not.
func (k Kubernetes) chosenContext() (string, error) {
	if k.Context != "" || k.plan == nil || k.plan.Cloud == nil {
		return k.Context, nil
	}
	c := *k.plan.Cloud
	if c.Project == fabric.PlaceholderProject {
		return "", fmt.Errorf("gke.project is still %s, so the cluster of this plan is unknown: set it; or name the context of a cluster with --context", c.Project)
	}
	have, err := kube.ReadContexts(k.Kubeconfig)
	if err != nil {
		return "", err
	}
	want := contextOf(c)
	get := fmt.Sprintf("gcloud container clusters get-credentials %s --location %s --project %s", c.Cluster, c.Location, c.Project)
	switch {
	case !slices.Contains(have.Known, want):
		return "", fmt.Errorf("kubeconfig %q: has no context %q, which is that of this plan's cluster; its current one is %s: get it with: %s; or name another with --context",
			have.File, want, cmp.Or(quotedName(have.Current), "none"), get)
	case have.Current != "" && have.Current != want:
		return "", fmt.Errorf("kubeconfig %q: its current context is %q, and this plan's cluster is %q: say which with --context; or make it current with: %s",
			have.File, have.Current, want, get)
	}
	return want, nil
}

// contextOf is the name that gcloud gives the context of a cluster (container clusters get-credentials).
func contextOf(c fabric.Cloud) string {
	return "gke_" + c.Project + "_" + c.Location + "_" + c.Cluster
}

func quotedName(name string) string {
	if name == "" {
		return ""
	}
	return fabric.Quote(name)
}
