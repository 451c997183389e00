package apply

import (
	"context"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/kube"
)

// DataKinds are kinds whose objects hold what no plan can make again: weights that took hours to load, keys. One is deleted or made
// anew only where a person names it.
func DataKinds() []string { return []string{"PersistentVolumeClaim", "Secret"} }

// Named is the name by which a person names an object whose data go with it: PersistentVolumeClaim/llm/weights.
func Named(o kube.Object) string { return o.Kind + "/" + o.Namespace + "/" + o.Name }

// keeps reports whether an object is kept because nobody said that its data may go.
func (c Kubernetes) keeps(o kube.Object) bool {
	return o.APIVersion == "v1" && slices.Contains(DataKinds(), o.Kind) && !slices.Contains(c.DeleteData, Named(o))
}

// left returns the objects of this plan that are there and that it no longer has: those with its label, of the kinds that a
// plan can have, in whose fields this program has a part.
func (c Kubernetes) left(ctx context.Context, objects []kubeStep) (left []kubeStep, err error) {
	kinds := prunable()
	for _, s := range objects {
		if k := (kindOf{s.object.APIVersion, s.object.Kind}); !slices.Contains(kinds, k) && !lasting(s.object) {
			kinds = append(kinds, k)
		}
	}
	for _, k := range kinds {
		served, err := c.Client.Serves(ctx, k.apiVersion, k.kind)
		if err != nil {
			return nil, err
		}
		if !served {
			continue
		}
		found, err := c.Client.List(ctx, k.apiVersion, k.kind, kube.Selection{Labels: PlanLabel + "=" + c.Plan})
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			planned := slices.ContainsFunc(objects, func(s kubeStep) bool { return s.object.String() == o.String() })
			if !planned && kube.OwnFields(o) != nil && !slices.ContainsFunc(left, func(s kubeStep) bool { return s.object.UID == o.UID }) {
				left = append(left, kubeStep{object: o, before: o, kind: Remove, reason: "the plan no longer has it"})
			}
		}
	}
	return left, nil
}

// pruned divides what the plan no longer has into what is deleted, and texts of what stays.
func (c Kubernetes) pruned(left []kubeStep) (deleted []kubeStep, stay []string) {
	for _, s := range left {
		switch {
		case c.keeps(s.object):
			stay = append(stay, fmt.Sprintf("%s: the plan no longer has it; it stays for its data: --prune --delete-data %s deletes both", s.object, Named(s.object)))
		case c.Prune:
			deleted = append(deleted, s)
		default:
			stay = append(stay, s.object.String()+": the plan no longer has it; --prune deletes it")
		}
	}
	return deleted, stay
}

type kindOf struct{ apiVersion, kind string }

// prunable are the kinds that a plan can have, in the order in which they are deleted: what makes pods first, then what pods
// use. Namespaces and definitions of kinds are never pruned: others have objects in them, and of them.
func prunable() (all []kindOf) {
	for _, of := range []struct {
		apiVersion string
		kinds      []string
	}{
		{"leaderworkerset.x-k8s.io/v1", []string{"LeaderWorkerSet"}},
		{"jobset.x-k8s.io/v1alpha2", []string{"JobSet"}},
		{"kubeflow.org/v2beta1", []string{"MPIJob"}},
		{"batch/v1", []string{"Job"}},
		{"apps/v1", []string{"StatefulSet", "Deployment", "DaemonSet"}},
		{"v1", []string{"Pod", "Service", "ConfigMap", "PersistentVolumeClaim", "Secret", "ServiceAccount"}},
		{"inference.networking.k8s.io/v1", []string{"InferencePool"}},
		{"networking.k8s.io/v1", []string{"NetworkPolicy"}},
		{"policy/v1", []string{"PodDisruptionBudget"}},
		{"rbac.authorization.k8s.io/v1", []string{"RoleBinding", "ClusterRoleBinding", "Role", "ClusterRole"}},
		{"kueue.x-k8s.io/v1beta2", []string{"LocalQueue", "ClusterQueue", "ResourceFlavor", "Topology"}},
		{"kueue.x-k8s.io/v1beta1", []string{"LocalQueue", "ClusterQueue", "ResourceFlavor", "Topology"}},
		{"mellanox.com/v1alpha1", []string{"NicClusterPolicy"}},
		{"nvidia.com/v1", []string{"ClusterPolicy"}},
		{"resource.k8s.io/v1", []string{"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}},
		{"resource.k8s.io/v1beta2", []string{"ResourceClaimTemplate", "DeviceClass"}},
		{"resource.k8s.io/v1beta1", []string{"ResourceClaimTemplate", "DeviceClass"}},
		{"scheduling.k8s.io/v1", []string{"PriorityClass"}},
		{"storage.k8s.io/v1", []string{"StorageClass"}},
	} {
		for _, kind := range of.kinds {
			all = append(all, kindOf{of.apiVersion, kind})
		}
	}
	return all
}
