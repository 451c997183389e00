package apply

import (
	"context"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/rollout"
)

// Precondition is something that a cluster has before objects are applied to it, or does not.
type Precondition struct {
	Object string        `json:"object"` // that needs it
	Needs  string        `json:"needs"`
	Status fabric.Status `json:"status"`
	Reason string        `json:"reason,omitempty"` // why it is not met, or unknown
}

func (p Precondition) String() string { return p.Object + ": needs " + p.Needs + ": " + p.Reason }

// unmet is how many preconditions are not met.
func (a Applied) unmet() (n int) {
	for _, p := range a.Preconditions {
		if p.Status == fabric.Fail {
			n++
		}
	}
	return n
}

// needs asks a cluster for what steps need. What was asked for once is kept.
type needs struct {
	Kubernetes
	steps []kubeStep
	lists map[kindOf]listed
	found []Precondition
}

// listed are the objects of a kind, or why they are unknown.
type listed struct {
	objects []kube.Object
	err     error
}

// preconditions asks for what the objects need that are to be applied, with everything that is not made by these. An object that
// stays as it is has it, or is not changed by not having it.
func (c Kubernetes) preconditions(ctx context.Context, steps []kubeStep) []Precondition {
	n := &needs{Kubernetes: c, steps: steps, lists: make(map[kindOf]listed)}
	for _, s := range steps {
		if s.kind != Create && s.kind != Update && s.kind != Replace {
			continue
		}
		c.Doing("asking %s for what %s needs", c.Client.Server(), s.object)
		n.storage(ctx, s)
		sets, err := rollout.PodSets(rollout.KindOf(s.object.APIVersion, s.object.Kind), s.object.JSON)
		if err != nil {
			n.say(s, "pods", fabric.Unknown, err.Error())
			continue
		}
		for _, set := range sets {
			n.refs(ctx, s, set)
			if !n.changing(s.object.Namespace) {
				n.admission(ctx, s, set)
			}
		}
		n.machines(ctx, s, sets)
		n.devices(ctx, s, sets)
	}
	return n.found
}

// unasked are the preconditions that cannot be asked for before their namespace is there, and as it is to be.
func (c Kubernetes) unasked(steps []kubeStep) []Precondition {
	n := &needs{Kubernetes: c, steps: steps}
	for _, s := range steps {
		sets, err := rollout.PodSets(rollout.KindOf(s.object.APIVersion, s.object.Kind), s.object.JSON)
		if err == nil && len(sets) > 0 && s.kind != Remove && s.kind != Same && n.changing(s.object.Namespace) {
			n.say(s, admitted(s, sets[0]), fabric.Unknown, "the server can be asked only once that namespace is there as planned")
		}
	}
	return n.found
}

// admissions are the preconditions that could not be asked for before their namespace was there, and as it is to be.
func (c Kubernetes) admissions(ctx context.Context, steps []kubeStep) []Precondition {
	n := &needs{Kubernetes: c, steps: steps}
	for _, s := range steps {
		if s.kind == Remove || s.kind == Same || !n.changing(s.object.Namespace) {
			continue
		}
		sets, err := rollout.PodSets(rollout.KindOf(s.object.APIVersion, s.object.Kind), s.object.JSON)
		for i := 0; err == nil && i < len(sets); i++ {
			n.admission(ctx, s, sets[i])
		}
	}
	return n.found
}

func (n *needs) say(s kubeStep, what string, status fabric.Status, reason string) {
	p := Precondition{Object: s.object.String(), Needs: what, Status: status, Reason: reason}
	if !slices.Contains(n.found, p) {
		n.found = append(n.found, p)
	}
}

// changing reports whether a namespace is made or changed together with what is in it.
func (n *needs) changing(namespace string) bool {
	return slices.ContainsFunc(n.steps, func(s kubeStep) bool {
		return s.object.Kind == "Namespace" && s.object.Name == namespace && (s.kind == Create || s.kind == Update)
	})
}

// planned returns an object that is applied too.
func (n *needs) planned(kind, namespace, name string) (kube.Object, bool) {
	for _, s := range n.steps {
		if o := s.object; s.kind != Remove && o.Kind == kind && o.Name == name && (o.Namespace == namespace || o.Namespace == "") {
			return o, true
		}
	}
	return kube.Object{}, false
}

// list reads all objects of a kind, in all namespaces.
func (n *needs) list(ctx context.Context, apiVersion, kind string) listed {
	k := kindOf{apiVersion, kind}
	l, asked := n.lists[k]
	if !asked {
		l.objects, l.err = n.Client.List(ctx, apiVersion, kind, kube.Selection{})
		n.lists[k] = l
	}
	return l
}

// refs asks for what pods refer to in their namespace.
func (n *needs) refs(ctx context.Context, s kubeStep, set rollout.PodSet) {
	for _, r := range set.Refs() {
		what := r.Kind.Name + " " + s.object.Namespace + "/" + r.Name
		if r.Key != "" {
			what += " with key " + r.Key
		}
		o, planned := n.planned(r.Kind.Name, s.object.Namespace, r.Name)
		if !planned {
			var err error
			o, err = n.Client.Get(ctx, kube.Object{APIVersion: "v1", Kind: r.Kind.Name, Namespace: s.object.Namespace, Name: r.Name})
			switch {
			case kube.NotFound(err) && r.Soft:
				n.say(s, what, fabric.Unknown, "it does not exist; whether the image can be pulled without it is unknown")
				continue
			case kube.NotFound(err):
				n.say(s, what, fabric.Fail, "it does not exist, and the plan does not make it")
				continue
			case err != nil:
				n.say(s, what, fabric.Unknown, err.Error())
				continue
			}
		}
		has, err := true, error(nil)
		if r.Key != "" {
			has, err = rollout.HasKey(o.JSON, r.Key)
		}
		switch {
		case err != nil:
			n.say(s, what, fabric.Unknown, "it cannot be read: "+err.Error())
		case !has:
			n.say(s, what, fabric.Fail, "it does not have that key")
		default:
			n.say(s, what, fabric.Pass, "")
		}
	}
}

func admitted(s kubeStep, set rollout.PodSet) string {
	return "its " + strings.TrimPrefix(set.Role+" pods", " ") + " to be admitted in namespace " + s.object.Namespace
}

// probe is the name of the pod about which a server is asked.
const probe = "railwright-precondition"

// admission asks the server whether it would admit one of the pods: Pod Security, quotas, limits, whatever else is asked there. A
// workload is admitted without looking at its pods, which are refused one after another later.
func (n *needs) admission(ctx context.Context, s kubeStep, set rollout.PodSet) {
	what := admitted(s, set)
	_, accountIsNew := n.planned("ServiceAccount", s.object.Namespace, set.Pod.Spec.ServiceAccountName)
	text, err := set.Text(s.object.Namespace, probe, accountIsNew)
	var pod kube.Object
	if err == nil {
		pod, err = kube.Read(text)
	}
	if err == nil {
		err = n.try(ctx, pod)
	}
	switch {
	case err == nil:
		n.say(s, what, fabric.Pass, "")
	case kube.Refused(err):
		n.say(s, what, fabric.Fail, strings.TrimPrefix(err.Error(), pod.String()+": "))
	default:
		n.say(s, what, fabric.Unknown, strings.TrimPrefix(err.Error(), pod.String()+": "))
	}
}

// try asks for a pod. In a namespace that was just made, its service account comes a moment later (kube-controller-manager), without which
// the server admits no pod.
func (n *needs) try(ctx context.Context, pod kube.Object) error {
	const within = 10 * time.Second
	for began := time.Now(); ; {
		err := n.Client.TryCreate(ctx, pod)
		early := err != nil && n.changing(pod.Namespace) && strings.Contains(err.Error(), "looking up service account") // its admission plugin ServiceAccount
		if !early || time.Since(began) > within || pause(ctx, time.Second/4) != nil {
			return err
		}
	}
}
