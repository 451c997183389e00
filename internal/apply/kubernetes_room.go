package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"

	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/rollout"
)

// storage asks for the classes of the claims of volumes that are new.
func (n *needs) storage(ctx context.Context, s kubeStep) {
	var all []core.PersistentVolumeClaim
	if s.object.Kind == "PersistentVolumeClaim" && s.kind == Create {
		var v core.PersistentVolumeClaim
		if err := json.Unmarshal(s.object.JSON, &v); err != nil {
			n.say(s, "a storage class", fabric.Unknown, err.Error())
			return
		}
		all = append(all, v)
	}
	if sets, err := rollout.PodSets(rollout.KindOf(s.object.APIVersion, s.object.Kind), s.object.JSON); err == nil && s.kind == Create {
		for _, set := range sets {
			all = append(all, set.Claims...)
		}
	}
	for _, v := range all {
		if v.Spec.VolumeName == "" && (v.Spec.StorageClassName == nil || *v.Spec.StorageClassName != "") {
			n.storageClass(ctx, s, v.Spec.StorageClassName)
		}
	}
}

// defaultClass are the annotations of the storage class that claims get which name none (k8s.io/kubernetes, pkg/apis/storage/util).
func defaultClass() []string {
	return []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}
}

func (n *needs) storageClass(ctx context.Context, s kubeStep, name *string) {
	what := "a default storage class"
	if name != nil {
		what = "storage class " + *name
		if _, planned := n.planned("StorageClass", "", *name); planned {
			n.say(s, what, fabric.Pass, "")
			return
		}
	}
	classes := n.list(ctx, "storage.k8s.io/v1", "StorageClass")
	if classes.err != nil {
		n.say(s, what, fabric.Unknown, classes.err.Error())
		return
	}
	var known []string
	for _, o := range classes.objects {
		var class struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		known = append(known, o.Name)
		isDefault := json.Unmarshal(o.JSON, &class) == nil && slices.ContainsFunc(defaultClass(), func(a string) bool { return class.Metadata.Annotations[a] == "true" })
		if name != nil && o.Name == *name || name == nil && isDefault {
			n.say(s, what, fabric.Pass, "")
			return
		}
	}
	reason := "the cluster has no storage class"
	if len(known) > 0 {
		reason = "the cluster has: " + strings.Join(known, ", ")
	}
	n.say(s, what, fabric.Fail, reason)
}

// machines asks whether the nodes have room for the pods of an object, whatever else uses them now.
func (n *needs) machines(ctx context.Context, s kubeStep, sets []rollout.PodSet) {
	if len(sets) == 0 {
		return
	}
	list := n.list(ctx, "v1", "Node")
	if list.err != nil {
		n.say(s, "nodes for its pods", fabric.Unknown, list.err.Error())
		return
	}
	var nodes []rollout.Node
	for _, o := range list.objects {
		node, err := rollout.ReadNode(o.JSON)
		if err != nil {
			n.say(s, "nodes for its pods", fabric.Unknown, o.String()+": "+err.Error())
			return
		}
		nodes = append(nodes, node)
	}
	for _, set := range sets {
		n.roomFor(ctx, s, set, nodes)
	}
	n.together(ctx, s, sets, nodes)
}

func (n *needs) roomFor(ctx context.Context, s kubeStep, set rollout.PodSet, nodes []rollout.Node) {
	asks := set.AsksText()
	what := fmt.Sprintf("room for %s", fabric.Count(set.Count, strings.TrimSpace(set.Role+" pod")))
	if set.EachNode {
		what = "a node for its pods"
	}
	if asks != "" {
		what += " with " + asks + " each"
	}
	room, err := rollout.RoomFor(nodes, set)
	enough := room.Pods >= set.Count && (!set.EachNode || room.Nodes > 0)
	switch {
	case err != nil:
		n.say(s, what, fabric.Unknown, err.Error())
	case enough:
		n.say(s, what, fabric.Pass, "")
	case len(nodes) == 0:
		n.say(s, what, fabric.Fail, "the cluster has no nodes")
	case room.Taking == 0:
		n.say(s, what, fabric.Fail, fmt.Sprintf("of %s none takes such a pod (nodeSelector, affinity, taints, cordoned)", fabric.Count(len(nodes), "node")))
	default:
		reason := fmt.Sprintf("of %s %d take such a pod, and %d of these are large enough for one: room for %s",
			fabric.Count(len(nodes), "node"), room.Taking, room.Nodes, fabric.Count(room.Pods, "pod"))
		if len(room.Lacking) > 0 {
			reason += "; too little of: " + resourceNames(room.Lacking)
		}
		status, why := n.orByClaims(ctx, room.Lacking)
		n.say(s, what, status, reason+why)
	}
}

func resourceNames(names []core.ResourceName) string {
	var all []string
	for _, name := range names {
		all = append(all, string(name))
	}
	return strings.Join(all, ", ")
}

// orByClaims: a resource that nodes lack can be one that a DeviceClass stands for (KEP-5004: spec.extendedResourceName): then slices
// decide, and here it is unknown.
func (n *needs) orByClaims(ctx context.Context, lacking []core.ResourceName) (fabric.Status, string) {
	versions, err := n.Client.ServedVersions(ctx, kube.DRAGroup)
	if err == nil && (len(versions) == 0 || len(lacking) == 0) {
		return fabric.Fail, ""
	}
	var classes listed
	if classes.err = err; err == nil {
		classes = n.list(ctx, kube.DRAGroup+"/"+versions[0], "DeviceClass")
	}
	if classes.err != nil {
		return fabric.Unknown, "; whether a DeviceClass stands for it is unknown: " + classes.err.Error()
	}
	for _, o := range classes.objects {
		var class struct {
			Spec struct {
				Name string `json:"extendedResourceName"`
			} `json:"spec"`
		}
		if json.Unmarshal(o.JSON, &class) == nil && class.Spec.Name != "" && slices.Contains(lacking, core.ResourceName(class.Spec.Name)) {
			return fabric.Unknown, "; " + o.String() + " stands for " + class.Spec.Name
		}
	}
	return fabric.Fail, ""
}

// together: pods of several kinds of one object share the devices of the nodes.
func (n *needs) together(ctx context.Context, s kubeStep, sets []rollout.PodSet, nodes []rollout.Node) {
	if len(sets) < 2 {
		return
	}
	for _, d := range rollout.Devices(nodes, sets) {
		what := fmt.Sprintf("%d %s for all of its pods", d.Asked, d.Name)
		if d.Asked <= d.There {
			n.say(s, what, fabric.Pass, "")
			continue
		}
		status, why := n.orByClaims(ctx, []core.ResourceName{d.Name})
		n.say(s, what, status, fmt.Sprintf("the nodes that take them have %d", d.There)+why)
	}
}

// devices asks whether claims of the pods can be met from the ResourceSlices of the cluster, whatever else uses their devices now.
func (n *needs) devices(ctx context.Context, s kubeStep, sets []rollout.PodSet) {
	count := make(map[string]int) // pods by template
	for _, set := range sets {
		templates, own := set.DeviceClaims()
		for _, name := range own {
			n.claimThere(ctx, s, "ResourceClaim", name)
		}
		for _, name := range templates {
			count[name] += max(set.Count, 1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if template, there := n.claimThere(ctx, s, "ResourceClaimTemplate", name); there {
			n.allocate(ctx, s, template, count[name])
		}
	}
}

// claimThere asks for a claim or a template.
func (n *needs) claimThere(ctx context.Context, s kubeStep, kind, name string) (kube.Object, bool) {
	if o, planned := n.planned(kind, s.object.Namespace, name); planned {
		return o, true
	}
	what := kind + " " + s.object.Namespace + "/" + name
	versions, err := n.Client.ServedVersions(ctx, kube.DRAGroup)
	if err == nil && len(versions) == 0 {
		n.say(s, what, fabric.Fail, "the cluster does not serve "+kube.DRAGroup)
		return kube.Object{}, false
	}
	var o kube.Object
	if err == nil {
		o, err = n.Client.Get(ctx, kube.Object{APIVersion: kube.DRAGroup + "/" + versions[0], Kind: kind, Namespace: s.object.Namespace, Name: name})
	}
	switch {
	case kube.NotFound(err):
		n.say(s, what, fabric.Fail, "it does not exist, and the plan does not make it")
	case err != nil:
		n.say(s, what, fabric.Unknown, err.Error())
	default:
		n.say(s, what, fabric.Pass, "")
	}
	return o, err == nil
}

// allocate runs the scheduler's own allocator over the slices of the cluster, as if nobody used their devices.
func (n *needs) allocate(ctx context.Context, s kubeStep, template kube.Object, pods int) {
	what := fmt.Sprintf("devices for %s by %s", fabric.Count(pods, "pod"), template)
	versions, err := n.Client.ServedVersions(ctx, kube.DRAGroup)
	if err != nil || len(versions) == 0 {
		n.say(s, what, fabric.Unknown, fmt.Sprintf("which versions of %s are served is unknown: %v", kube.DRAGroup, err))
		return
	}
	objects := []kube.Object{template}
	for _, kind := range []string{"ResourceSlice", "DeviceClass"} {
		l := n.list(ctx, kube.DRAGroup+"/"+versions[0], kind)
		if l.err != nil {
			n.say(s, what, fabric.Unknown, l.err.Error())
			return
		}
		if kind == "ResourceSlice" && len(l.objects) == 0 {
			n.say(s, what, fabric.Fail, "the cluster has no ResourceSlice: no driver publishes devices")
			return
		}
		for _, o := range l.objects {
			if _, planned := n.planned(kind, "", o.Name); !planned {
				objects = append(objects, o)
			}
		}
	}
	for _, planned := range n.steps {
		if planned.object.Kind == "DeviceClass" && planned.kind != Remove {
			objects = append(objects, planned.object)
		}
	}
	const within = 20 * time.Second // of all attempts
	got, err := claims.Allocate(ctx, claims.Read([]claims.File{{Name: "cluster", Text: kube.AsList(objects)}}), claims.Request{Pods: pods, Template: template.Name, Total: within})
	switch {
	case err != nil:
		n.say(s, what, fabric.Unknown, err.Error())
	case len(got.Unsatisfied) > 0:
		status := fabric.Fail
		if len(got.Problems) > 0 || got.Unsatisfied[0].Unsure {
			status = fabric.Unknown // what was not understood may be what is missing
		}
		n.say(s, what, status, fmt.Sprintf("the slices of the cluster have them for %d: %s", len(got.Pods), got.Unsatisfied[0].Reason))
	default:
		n.say(s, what, fabric.Pass, "")
	}
}
