package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
)

// PlanLabel is on every object that is applied; its value is the name of the plan.
const PlanLabel = "railwright.dev/plan"

// Kubernetes is a cluster to which the objects of a plan are applied.
type Kubernetes struct {
	Client *kube.Client
	Plan   string // its name
	Folder string // where the journals of clusters are, on this machine

	Force      bool     // take fields from those who own them
	Replace    bool     // delete and make anew what cannot be changed
	Prune      bool     // delete what the plan no longer has
	DeleteData []string // objects whose data may go with them, as Named names them
	Unmet      bool     // apply although a precondition is not met

	Ready      time.Duration                    // how long objects are waited for that do not say it
	ReadyAsked bool                             // a person said so: it is also for objects that do
	Placed     time.Duration                    // how long where something is in the way that nobody works on
	Doing      func(format string, args ...any) // says what is waited for
	Say        func(format string, args ...any) // says something at once
}

// kubeStep is what is to be done with an object.
type kubeStep struct {
	object kube.Object // as it is applied; of Remove: as it is
	before kube.Object // without JSON where there is none
	turn   turn
	kind   Kind
	reason string
	later  bool  // the server cannot be asked about it before its namespace or its kind is there
	err    error // why it cannot be done, or is unknown
}

func (s kubeStep) existed() bool { return len(s.before.JSON) > 0 }

func (s kubeStep) change() Change {
	kind, reason := s.kind, s.reason
	if s.err != nil {
		reason = strings.TrimPrefix(s.err.Error(), s.object.String()+": ")
	}
	return Change{Path: s.object.String(), Kind: kind, Reason: reason}
}

// objects reads the objects of artifacts: namespaces and kinds first, on which the others depend, the rest as it is written.
func (c Kubernetes) objects(artifacts []fabric.Artifact) ([]kube.Object, error) {
	var all []kube.Object
	for _, a := range artifacts {
		of, err := kube.Parse(a.Content)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", a.Path, err)
		}
		all = append(all, of...)
	}
	for i, o := range all {
		labelled, err := o.With("", map[string]string{PlanLabel: c.Plan})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o, err)
		}
		all[i] = labelled
	}
	first := func(o kube.Object) int {
		return slices.Index([]string{"", "CustomResourceDefinition", "Namespace"}, o.Kind)
	}
	slices.SortStableFunc(all, func(a, b kube.Object) int { return first(b) - first(a) })
	return all, nil
}

// steps asks the server what applying each object would do. Nothing is changed.
func (c Kubernetes) steps(ctx context.Context, objects []kube.Object) ([]kubeStep, error) {
	var steps []kubeStep
	for _, o := range objects {
		s, err := c.step(ctx, o, objects)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(steps, func(e kubeStep) bool {
			return e.object.String() == s.object.String() && e.object.APIVersion == s.object.APIVersion
		}) {
			return nil, fmt.Errorf("%s: is there twice", s.object)
		}
		steps = append(steps, s)
	}
	return steps, giveTurns(steps)
}

// step is one of them; an error only if asking the others is of no use.
func (c Kubernetes) step(ctx context.Context, o kube.Object, all []kube.Object) (kubeStep, error) {
	c.Doing("asking %s what applying %s would change", c.Client.Server(), o)
	served, err := c.Client.Serves(ctx, o.APIVersion, o.Kind)
	switch {
	case err != nil:
		return kubeStep{}, err
	case !served && defines(all, o):
		return kubeStep{object: o, kind: Create, later: true, reason: "its kind is new too"}, nil
	case !served:
		return kubeStep{object: o, kind: Unknown, err: c.notServed(ctx, o)}, nil
	}
	if o, err = c.Client.Resolve(ctx, o); err != nil {
		return kubeStep{}, err
	}
	s := kubeStep{object: o, kind: Create}
	s.before, err = c.Client.Get(ctx, o)
	if err != nil && !kube.NotFound(err) {
		if kube.NoAnswer(err) {
			return s, err
		}
		s.kind, s.err = Unknown, err
		return s, ctx.Err()
	}
	would, err := c.Client.Apply(ctx, o, kube.ApplyOptions{DryRun: true, Force: c.Force})
	switch {
	case err == nil && s.existed():
		s.compare(would)
	case err == nil:
	case !s.existed() && kube.NotFound(err) && slices.ContainsFunc(all, func(n kube.Object) bool { return n.Kind == "Namespace" && n.Name == o.Namespace }):
		s.later, s.reason = true, "its namespace is new too"
	case len(kube.Conflicts(err)) > 0:
		s.kind, s.err = Update, fmt.Errorf("%w; --force-conflicts takes them over", err)
	case s.existed() && len(kube.Immutable(err)) > 0:
		s.kind, s.reason = Replace, strings.Join(kube.Immutable(err), ", ")+" cannot be changed: it is deleted and made anew"
		switch {
		case c.keeps(o):
			s.err = fmt.Errorf("%w; its data would go with it: --replace --delete-data %s deletes both, and makes it anew", err, Named(o))
		case !c.Replace:
			s.err = fmt.Errorf("%w; --replace deletes it and makes it anew", err)
		}
	default:
		s.kind, s.err = Unknown, err
	}
	return s, ctx.Err()
}

// compare finds what an apply would change of an object that exists.
func (s *kubeStep) compare(would kube.Object) {
	has, err := kube.FieldsOf(s.before.JSON)
	gets, err2 := kube.FieldsOf(would.JSON)
	if err = errors.Join(err, err2); err != nil {
		s.kind, s.err = Unknown, err
		return
	}
	differ := kube.Differences(has, gets)
	if s.kind = Same; len(differ) > 0 {
		s.kind, s.reason = Update, firstOf(differ)
	}
}

func firstOf(words []string) string {
	const shown = 4
	if len(words) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:shown], ", "), len(words)-shown)
	}
	return strings.Join(words, ", ")
}

// defines reports whether one of the objects makes the kind of another.
func defines(all []kube.Object, o kube.Object) bool {
	for _, d := range all {
		if d.Kind != "CustomResourceDefinition" {
			continue
		}
		f, err := kube.FieldsOf(d.JSON)
		if err != nil {
			continue
		}
		spec, _ := f["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if spec["group"] == group && names["kind"] == o.Kind {
			return true
		}
	}
	return false
}

// notServed says which versions of the group a cluster has instead.
func (c Kubernetes) notServed(ctx context.Context, o kube.Object) error {
	group, _, isGroup := strings.Cut(o.APIVersion, "/")
	if !isGroup {
		return fmt.Errorf("%s: the cluster does not serve this kind", o)
	}
	versions, err := c.Client.ServedVersions(ctx, group)
	if err != nil {
		return err
	}
	if len(versions) == 0 {
		return fmt.Errorf("%s: the cluster does not serve %s: what defines its kinds is not installed, or not switched on", o, group)
	}
	return fmt.Errorf("%s: the cluster does not serve this kind in %s; of %s it serves: %s", o, o.APIVersion, group, strings.Join(versions, ", "))
}
