package claims

import (
	"reflect"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readSlice keeps a slice whose devices a server would know. Unknown fields of a slice are a problem beside it: a
// newer driver may publish them.
func (o *Objects) readSlice(s source, version string) {
	slice, strict, err := decodeSlice(s.json, version)
	if err != nil {
		o.problem(s, s.object, "", err.Error(), true)
		return
	}
	level, _ := o.strictFields(s, strict, version, false)
	if level {
		return
	}
	faults := sliceFaults(slice)
	for _, f := range faults {
		o.problem(s, s.object, f.field, f.reason, f.refused)
	}
	if anyRefused(faults) {
		return
	}
	trimMeta(&slice.ObjectMeta)
	if last := o.lists[slice.Spec.Driver]; reflect.DeepEqual(last, slice.Spec.Devices) { // nothing changes them
		slice.Spec.Devices = last
	} else if o.lists != nil {
		o.lists[slice.Spec.Driver] = slice.Spec.Devices
	}
	o.slices = append(o.slices, slice)
}

// trimMeta keeps what names an object: 100,000 devices are read, and the rest is not used.
func trimMeta(m *metav1.ObjectMeta) {
	*m = metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID}
}

// readClass keeps a class that a server would accept.
func (o *Objects) readClass(s source, h header, version string) {
	class, strict, err := decodeClass(s.json, version)
	if err != nil {
		o.refuse(refusedName(h), err.Error())
		o.problem(s, s.object, "", err.Error(), true)
		return
	}
	_, unknown := o.strictFields(s, strict, version, true)
	faults := o.compiled.classFaults(class)
	o.faults(s, faults)
	if unknown || anyRefused(faults) {
		o.refuse(refusedName(h), "it has errors")
		return
	}
	trimMeta(&class.ObjectMeta)
	o.classes = append(o.classes, class)
}

// readClaim keeps a claim that a server would accept: a field that is not understood may be the constraint on which
// everything depends.
func (o *Objects) readClaim(s source, h header, version string) {
	claim, strict, err := decodeClaim(s.json, version)
	if err != nil {
		o.refuse(refusedName(h), err.Error())
		o.problem(s, s.object, "", err.Error(), true)
		return
	}
	_, unknown := o.strictFields(s, strict, version, true)
	defaults(&claim.Spec)
	faults := o.compiled.claimFaults(&claim.Spec, "spec", version)
	o.faults(s, faults)
	if unknown || anyRefused(faults) {
		o.refuse(refusedName(h), "it has errors")
		return
	}
	owner := podOwner(claim)
	trimMeta(&claim.ObjectMeta)
	if owner != "" {
		claim.Annotations = map[string]string{ownerPod: owner}
	}
	o.claims = append(o.claims, claim)
}

// ownerPod is where the pod of a claim is kept; it is not an annotation of Kubernetes.
const ownerPod = "pod"

// podOwner is the pod that a claim was made for, or is reserved for; empty where there is none.
func podOwner(c *resourceapi.ResourceClaim) string {
	for _, ref := range c.Status.ReservedFor {
		if ref.Resource == "pods" {
			return ref.Name
		}
	}
	for _, ref := range c.OwnerReferences {
		if ref.Kind == "Pod" {
			return ref.Name
		}
	}
	return ""
}

func (o *Objects) readTemplate(s source, h header, version string) {
	template, strict, err := decodeTemplate(s.json, version)
	if err != nil {
		o.refuse(refusedName(h), err.Error())
		o.problem(s, s.object, "", err.Error(), true)
		return
	}
	_, unknown := o.strictFields(s, strict, version, true)
	defaults(&template.Spec.Spec)
	faults := o.compiled.claimFaults(&template.Spec.Spec, "spec.spec", version)
	o.faults(s, faults)
	if unknown || anyRefused(faults) {
		o.refuse(refusedName(h), "it has errors")
		return
	}
	trimMeta(&template.ObjectMeta)
	o.templates = append(o.templates, template)
}

// readNameless names what a text without apiVersion or kind is, where it can be seen.
func (o *Objects) readNameless(s source, h header) {
	why := "has no " + missing(h)
	switch {
	case strings.Contains(string(s.json), `"attributes"`) && !strings.Contains(string(s.json), `"devices"`):
		why += ": it is the inside of one device of a ResourceSlice, whose driver, pool and node are unknown, so that it cannot be allocated"
		if d := deviceInside(s.json); d != "" {
			why += " (" + d + ")"
		}
	case strings.Contains(string(s.json), `"devices"`):
		why += ": the beginning or the end of the file may be missing"
	}
	o.problem(s, s.object, "", why, true)
}
