package kubernetes

import (
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
)

// ManagedBy is the label of everything that is rendered here.
func ManagedBy() map[string]string {
	return map[string]string{"app.kubernetes.io/managed-by": "railwright"}
}

// Namespaces are those of pods and of operators, with the level of Pod Security admission that each needs. The namespace default exists
// on every cluster and others use it: it gets labels all the same, as pods of the fabric need them.
func Namespaces(all []fabric.KubeNamespace) fabric.Artifact {
	var objects []Object
	for _, n := range all {
		labels := ManagedBy()
		labels["pod-security.kubernetes.io/enforce"] = n.Enforce
		labels["pod-security.kubernetes.io/warn"], labels["pod-security.kubernetes.io/audit"] = n.Warn, n.Warn
		objects = append(objects, Object{n.Why, core.Namespace{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: meta.ObjectMeta{Name: n.Name, Labels: labels}}})
	}
	return File("/00-namespaces.yaml", objects...)
}
