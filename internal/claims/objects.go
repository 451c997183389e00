package claims

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// File is a text with Kubernetes objects, YAML or JSON.
type File struct {
	Name string
	Text []byte
}

// Objects are what was read: the slices of a cluster and the claims on them, all in version v1.
type Objects struct {
	slices    []*resourceapi.ResourceSlice
	classes   []*resourceapi.DeviceClass
	claims    []*resourceapi.ResourceClaim
	templates []*resourceapi.ResourceClaimTemplate
	nodes     []*corev1.Node
	workloads []*workload
	groups    []podGroup
	refused   map[string]string // kind/namespace/name of an object that was left out, and why
	aside     map[string]int    // kinds that claims do not depend on, with their number
	twice     []string          // objects that were given twice, with the same contents
	problems  []fabric.ObjectProblem
	compiled  verdicts                        // while it is read
	lists     map[string][]resourceapi.Device // likewise: the last devices of a driver, which equal machines share
}

// workload is an object that makes pods with claims: a Pod, a StatefulSet.
type workload struct {
	kind, name, namespace string
	generate              string // what the server begins the name with, where it has none
	replicas              int    // 1 for a Pod
	spec                  corev1.PodSpec
}

// Counts are how many objects of each kind there are.
type Counts struct {
	Slices, Devices, Classes, Claims, Templates, Workloads int
}

// Counts counts the objects that can be used.
func (o *Objects) Counts() Counts {
	c := Counts{
		Slices: len(o.slices), Classes: len(o.classes), Claims: len(o.claims),
		Templates: len(o.templates), Workloads: len(o.workloads),
	}
	for _, s := range o.slices {
		c.Devices += len(s.Spec.Devices)
	}
	return c
}

// Problems are the objects, and parts of them, that were not understood, in the order in which they were read.
func (o *Objects) Problems() []fabric.ObjectProblem { return slices.Clone(o.problems) }

// Nodes are the names of the nodes that slices or Node objects name, in natural order: node-2 before node-10.
func (o *Objects) Nodes() []string {
	names := map[string]bool{}
	for _, n := range o.nodes {
		names[n.Name] = true
	}
	for _, s := range o.slices {
		if s.Spec.NodeName != nil {
			names[*s.Spec.NodeName] = true
		}
		for _, d := range s.Spec.Devices {
			if d.NodeName != nil {
				names[*d.NodeName] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(names), natural)
}

// Templates are the names of the ResourceClaimTemplates, sorted.
func (o *Objects) Templates() []string {
	var names []string
	for _, t := range o.templates {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// MissingClasses are the DeviceClasses that claims name and that were not read, sorted.
func (o *Objects) MissingClasses() []string {
	have := map[string]bool{}
	for _, c := range o.classes {
		have[c.Name] = true
	}
	missing := map[string]bool{}
	for _, c := range o.claimSpecs() {
		for _, r := range c.Devices.Requests {
			for _, a := range alternatives(&r) {
				if a.class != "" && !have[a.class] {
					missing[a.class] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

func (o *Objects) claimSpecs() (specs []*resourceapi.ResourceClaimSpec) {
	for _, c := range o.claims {
		specs = append(specs, &c.Spec)
	}
	for _, t := range o.templates {
		specs = append(specs, &t.Spec.Spec)
	}
	return specs
}

// Merge adds the objects of another reading. An object that both have under one name is kept once; where its
// contents differ, that is a problem and the first one counts.
func (o *Objects) Merge(more *Objects) {
	if more == nil {
		return
	}
	o.problems = append(o.problems, more.problems...)
	o.twice = append(o.twice, more.twice...)
	for name, why := range more.refused {
		o.refuse(name, why)
	}
	for kind, n := range more.aside {
		o.leave(kind, n)
	}
	add(o, &o.slices, more.slices, "ResourceSlice", func(s *resourceapi.ResourceSlice) string { return s.Name })
	add(o, &o.classes, more.classes, "DeviceClass", func(c *resourceapi.DeviceClass) string { return c.Name })
	add(o, &o.claims, more.claims, "ResourceClaim", func(c *resourceapi.ResourceClaim) string { return inNamespace(c.Namespace, c.Name) })
	add(o, &o.templates, more.templates, "ResourceClaimTemplate", func(t *resourceapi.ResourceClaimTemplate) string { return inNamespace(t.Namespace, t.Name) })
	add(o, &o.nodes, more.nodes, "Node", func(n *corev1.Node) string { return n.Name })
	add(o, &o.workloads, more.workloads, "pods of", func(w *workload) string { return w.kind + " " + inNamespace(w.namespace, w.name) })
	o.groups = append(o.groups, more.groups...)
}

// add appends objects whose names are new. Objects without a name (generateName) are all kept.
func add[T any](o *Objects, to *[]*T, more []*T, kind string, name func(*T) string) {
	known := make(map[string]*T, len(*to)+len(more))
	for _, x := range *to {
		known[name(x)] = x
	}
	for _, x := range more {
		n := name(x)
		if n == "" || strings.HasSuffix(n, "/") || known[n] == nil {
			known[n] = x
			*to = append(*to, x)
			continue
		}
		if reflect.DeepEqual(known[n], x) {
			o.twice = append(o.twice, kind+" "+n)
			continue
		}
		o.problems = append(o.problems, fabric.ObjectProblem{Object: kind + " " + n, Refused: true, Reason: "given twice, with different contents: the first counts"})
	}
}

func (o *Objects) refuse(name, why string) {
	if o.refused == nil {
		o.refused = map[string]string{}
	}
	o.refused[name] = why
}

func (o *Objects) leave(kind string, n int) {
	if o.aside == nil {
		o.aside = map[string]int{}
	}
	o.aside[kind] += n
}

// inNamespace is the name of an object in its namespace; without one Kubernetes takes "default".
func inNamespace(namespace, name string) string {
	return cmp.Or(namespace, "default") + "/" + name
}

// natural compares names so that numbers inside count as numbers.
func natural(a, b string) int {
	for a != "" && b != "" {
		na, nb := leadingNumber(a), leadingNumber(b)
		if na > 0 && nb > 0 {
			da, db := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(da), len(db)), cmp.Compare(da, db), cmp.Compare(na, nb)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingNumber(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// asideNote says which objects were left aside, empty where there are none.
func (o *Objects) asideNote() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(o.aside)) {
		parts = append(parts, fmt.Sprintf("%d %s", o.aside[kind], kind))
	}
	if len(parts) == 0 {
		return ""
	}
	return "left aside, since claims do not depend on them: " + strings.Join(parts, ", ")
}
