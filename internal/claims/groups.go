package claims

import (
	"cmp"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podGroup is a group of pods that are scheduled together (PodGroup of scheduling.k8s.io), with the claims that they share.
type podGroup struct {
	name, namespace string
	claims          []corev1.PodResourceClaim
}

func (o *Objects) readGroup(s source) {
	var g struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(s.json, &g); err != nil {
		o.problem(s, s.object, "", plainJSONError(err), true)
		return
	}
	o.groups = append(o.groups, podGroup{name: g.Metadata.Name, namespace: g.Metadata.Namespace, claims: g.Spec.ResourceClaims})
}

// withGroupClaims are the objects with the claims that Kubernetes makes from templates for groups of pods: one claim for
// all pods of a group whose own claim has the same name and template.
func (o *Objects) withGroupClaims() *Objects {
	all := *o
	all.claims = append([]*resourceapi.ResourceClaim{}, o.claims...)
	for _, g := range o.groups {
		for _, c := range g.claims {
			if c.ResourceClaimTemplateName == nil {
				continue
			}
			made := o.fromTemplate(cmp.Or(g.namespace, "default"), *c.ResourceClaimTemplateName, groupClaim(g.name, c.Name))
			if made.claim != nil {
				all.claims = append(all.claims, made.claim)
			}
		}
	}
	return &all
}

func groupClaim(group, claim string) string { return group + "-" + claim }

// shared is the claim that a pod shares with its group; ok is false where the claim is the pod's own.
func (o *Objects) shared(w *workload, c corev1.PodResourceClaim) (claim podClaim, ok bool) {
	group := w.spec.SchedulingGroup
	if group == nil || group.PodGroupName == nil || c.ResourceClaimTemplateName == nil {
		return podClaim{}, false
	}
	namespace := cmp.Or(w.namespace, "default")
	for _, g := range o.groups {
		if g.name != *group.PodGroupName || cmp.Or(g.namespace, "default") != namespace {
			continue
		}
		for _, theirs := range g.claims {
			if theirs.Name != c.Name || theirs.ResourceClaimTemplateName == nil || *theirs.ResourceClaimTemplateName != *c.ResourceClaimTemplateName {
				continue
			}
			if one := o.claimNamed(namespace, groupClaim(g.name, c.Name)); one.claim != nil {
				return one, true
			}
			return o.fromTemplate(namespace, *c.ResourceClaimTemplateName, groupClaim(g.name, c.Name)), true
		}
		return podClaim{}, false
	}
	return podClaim{why: fmt.Sprintf("its PodGroup %s was not given: whether the pods of the group share claim %s is unknown", *group.PodGroupName, c.Name)}, true
}
