package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod is one pod to place, with the claims that it needs.
type pod struct {
	name   string // with its namespace where pods of several have this name
	node   string // the only one it may run on; empty: any
	plugin int    // GPUs that a device plugin gives
	claims []podClaim

	namespace string // empty: "default"
	key       string // equal for pods that ask for the same: what one does not get on a node, no other gets there
}

// podClaim is a claim of a pod.
type podClaim struct {
	claim *resourceapi.ResourceClaim // nil: not known
	fresh bool                       // made for this pod from a template
	why   string                     // why it is unknown
}

// podsOf are the pods that a request is about, in the order in which they are placed: those of one template, those of
// Pods, StatefulSets and the like, a pod for each claim that nothing names, or copies of all templates in turn.
func (o *Objects) podsOf(req Request) (pods []pod, notes []string, err error) {
	named := o.workloadsFor(req.Template)
	switch {
	case req.Template != "" && (req.Pods > 0 || len(named) == 0):
		return o.copies([]string{req.Template}, max(req.Pods, 1), req.PluginGPUs), nil, nil
	case len(named) > 0:
		return o.workloadPods(named, req)
	}
	for _, c := range o.claims {
		if c.Status.Allocation == nil {
			pods = append(pods, pod{name: c.Name, plugin: req.PluginGPUs, claims: []podClaim{{claim: c}}, key: "claim " + inNamespace(c.Namespace, c.Name)})
		}
	}
	templates := o.Templates()
	for name := range o.refused {
		if kind, rest, _ := strings.Cut(name, "/"); kind == "ResourceClaimTemplate" {
			_, template, _ := strings.Cut(rest, "/")
			templates = append(templates, template)
		}
	}
	slices.Sort(templates)
	templates = slices.Compact(templates)
	if len(templates) > 0 {
		n := req.Pods
		if n == 0 {
			n = len(templates)
			notes = append(notes, "how many pods there are is not said: one of each template")
		} else if len(templates) > 1 {
			notes = append(notes, "no template is chosen: pods take them in turn: "+strings.Join(templates, ", "))
		}
		pods = append(pods, o.copies(templates, n, req.PluginGPUs)...)
	}
	return pods, notes, nil
}

// replicas are the pods that workloads ask for.
func (o *Objects) replicas() (n int) {
	for _, w := range o.workloads {
		n += min(w.replicas, mostPods+1)
	}
	return n
}

// workloadsFor are the workloads whose pods have claims; with a template, those that name it.
func (o *Objects) workloadsFor(template string) (named []*workload) {
	for _, w := range o.workloads {
		if slices.ContainsFunc(w.spec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
			return template == "" || c.ResourceClaimTemplateName != nil && *c.ResourceClaimTemplateName == template
		}) {
			named = append(named, w)
		}
	}
	return named
}

// copies are n pods with one claim each, from templates in turn.
func (o *Objects) copies(templates []string, n, plugin int) (pods []pod) {
	for i := range n {
		name := templates[i%len(templates)]
		p := pod{name: fmt.Sprintf("%s-%d", name, i), plugin: plugin, key: "template " + name}
		p.claims = []podClaim{o.fromTemplate("", name, p.name+"-claim")}
		pods = append(pods, p)
	}
	return pods
}

// fromTemplate makes the claim that Kubernetes would make for a pod. Without a namespace the first template of the
// name counts.
func (o *Objects) fromTemplate(namespace, name, claim string) podClaim {
	for _, t := range o.templates {
		if t.Name == name && (namespace == "" || cmp.Or(t.Namespace, "default") == namespace) {
			return podClaim{fresh: true, claim: &resourceapi.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Name: claim, Namespace: cmp.Or(t.Namespace, "default"), UID: types.UID(inNamespace(t.Namespace, claim))}, Spec: t.Spec.Spec,
			}}
		}
	}
	for refused, why := range o.refused {
		if strings.HasPrefix(refused, "ResourceClaimTemplate/") && strings.HasSuffix(refused, "/"+name) {
			return podClaim{why: "its ResourceClaimTemplate " + name + " is not read: " + why}
		}
	}
	return podClaim{why: "its ResourceClaimTemplate " + name + " was not given"}
}

func (o *Objects) workloadPods(ws []*workload, req Request) (pods []pod, notes []string, err error) {
	if req.Pods > 0 && len(ws) > 1 {
		return nil, nil, fmt.Errorf("%d pods are asked for, but there are %d objects that make pods: leave the number out, or give the template", req.Pods, len(ws))
	}
	generated := map[string]int{}
	for _, w := range ws {
		if w.name == "" { // the server adds characters of its own: a number stands for them here
			generated[w.generate]++
			w.name = fmt.Sprintf("%s%d", w.generate, generated[w.generate])
		}
		n := w.replicas
		if req.Pods > 0 {
			n = req.Pods
		}
		if w.spec.NodeSelector != nil || w.spec.Affinity != nil {
			notes = append(notes, fmt.Sprintf("%s %s chooses nodes by labels, which is not computed: every node is tried", w.kind, w.name))
		}
		for i := range n {
			name := w.name
			if w.kind != "Pod" || req.Pods > 0 {
				name = fmt.Sprintf("%s-%d", w.name, i)
			}
			p := pod{name: name, namespace: w.namespace, node: w.spec.NodeName, plugin: cmp.Or(req.PluginGPUs, pluginGPUs(&w.spec))}
			p.claims, p.key = o.podClaims(w, name)
			p.key += fmt.Sprintf(" plugin %d", p.plugin)
			pods = append(pods, p)
		}
	}
	all := make([]*pod, len(pods))
	for i := range pods {
		all[i] = &pods[i]
	}
	distinct(all)
	return pods, notes, nil
}

// distinct gives pods of one name in several namespaces names with these: devices are listed by the name of their pod.
func distinct(pods []*pod) {
	of := map[string]string{} // namespace of a name
	several := map[string]bool{}
	for _, p := range pods {
		namespace := cmp.Or(p.namespace, "default")
		if first, known := of[p.name]; known && first != namespace {
			several[p.name] = true
		}
		of[p.name] = namespace
	}
	for _, p := range pods {
		if several[p.name] {
			p.name = inNamespace(p.namespace, p.name)
		}
	}
}

func (o *Objects) podClaims(w *workload, pod string) (claims []podClaim, key string) {
	namespace := cmp.Or(w.namespace, "default")
	for _, c := range w.spec.ResourceClaims {
		shared, ofGroup := o.shared(w, c)
		switch {
		case ofGroup:
			claims = append(claims, shared)
			key += "group " + namespace + "/" + *w.spec.SchedulingGroup.PodGroupName + " " + c.Name + " "
		case c.ResourceClaimTemplateName != nil:
			claims = append(claims, o.fromTemplate(namespace, *c.ResourceClaimTemplateName, pod+"-"+c.Name))
			key += "template " + namespace + "/" + *c.ResourceClaimTemplateName + " "
		case c.ResourceClaimName != nil:
			claims = append(claims, o.claimNamed(namespace, *c.ResourceClaimName))
			key += "claim " + namespace + "/" + *c.ResourceClaimName + " "
		default:
			claims = append(claims, podClaim{why: "its claim " + c.Name + " names neither a ResourceClaim nor a ResourceClaimTemplate"})
			key += "nothing "
		}
	}
	return claims, key
}

func (o *Objects) claimNamed(namespace, name string) podClaim {
	for _, c := range o.claims {
		if c.Name == name && cmp.Or(c.Namespace, "default") == namespace {
			return podClaim{claim: c}
		}
	}
	if why, refused := o.refused["ResourceClaim/"+namespace+"/"+name]; refused {
		return podClaim{why: "its ResourceClaim " + name + " is not read: " + why}
	}
	return podClaim{why: "its ResourceClaim " + name + " was not given"}
}

// mostGPUs is more than any machine has, so that sums cannot overflow.
const mostGPUs = 1 << 20

// pluginResources are what device plugins of GPUs call them.
func pluginResources() []corev1.ResourceName {
	return []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"}
}

// pluginGPUs are the GPUs that the containers of a pod ask a device plugin for.
func pluginGPUs(spec *corev1.PodSpec) (n int) {
	for _, c := range spec.Containers {
		for _, resource := range pluginResources() {
			if q, ok := c.Resources.Limits[resource]; ok {
				n += min(max(int(q.Value()), 0), mostGPUs) // below 0 is a problem of the pod
			}
		}
	}
	return min(n, mostGPUs)
}
