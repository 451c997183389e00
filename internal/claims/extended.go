package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// byClass begins the name of the extended resource that stands for a DeviceClass without a name of its own for it.
const byClass = "deviceclass.resource.kubernetes.io/"

// extendedNotes say of pods without claims which devices they ask for as extended resources: those come from a device
// plugin, or from a DeviceClass that gives them (extendedResourceName), by a claim that the scheduler makes. It is not
// computed.
func (o *Objects) extendedNotes() (notes []string) {
	for _, w := range o.workloads {
		if len(w.spec.ResourceClaims) > 0 {
			continue
		}
		asked := extended(&w.spec)
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			from := "a device plugin gives it, or a DeviceClass with this extendedResourceName, of which none was given"
			if class := o.classGiving(name); class != "" {
				from = "DeviceClass " + class + " gives it, by a claim that the scheduler makes, where no device plugin does"
			}
			notes = append(notes, fmt.Sprintf("%s %s has no claims and asks for %d %s: %s; it is not allocated here", w.kind, w.name, asked[name], name, from))
		}
	}
	return notes
}

// extended are the extended resources that the containers of a pod ask for, with their numbers.
func extended(spec *corev1.PodSpec) map[string]int64 {
	asked := map[string]int64{}
	for _, c := range spec.Containers {
		for name, n := range c.Resources.Limits {
			domain, _, found := strings.Cut(string(name), "/")
			if found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io") || strings.HasPrefix(string(name), byClass) {
				asked[string(name)] += n.Value()
			}
		}
	}
	return asked
}

// classGiving is the DeviceClass that gives an extended resource, empty where none does.
func (o *Objects) classGiving(resource string) string {
	for _, c := range o.classes {
		if c.Spec.ExtendedResourceName != nil && *c.Spec.ExtendedResourceName == resource || byClass+c.Name == resource {
			return c.Name
		}
	}
	return ""
}
