package pipeline

import (
	"context"
	"fmt"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/platform"
)

// PodsReady is how long apply waits for an object to get ready, where neither a person nor the object says: images of some gigabytes are
// loaded in that time. Where something is in the way that nobody works on, as a scheduler without a machine for a pod, waiting
// changes nothing: it is given the time in which the devices of a machine that was just started are published.
const (
	PodsReady  = 2 * time.Minute
	podsPlaced = 15 * time.Second
)

// Kubernetes is the cluster to which objects go, and how.
type Kubernetes struct {
	Kubeconfig, Context     string // empty: the usual ones
	Force, Replace, Prune   bool
	Unmet                   bool     // apply although a precondition is not met
	DeleteData              []string // objects whose data may go with them: PersistentVolumeClaim/NAMESPACE/NAME
	DryRun, InLab           bool
	Wait                    *time.Duration                   // for objects, whatever is in their way; nil: as long as is usual, or as they say
	Doing                   func(format string, args ...any) // what is waited for
	Say                     func(format string, args ...any) // at once
	kubernetes, workstation []fabric.Artifact
	plan                    *fabric.Plan // nil: of a rollback
}

// Beyond finds what a plan has for other targets than machines and switches; hosts says whether it has files for machines.
func Beyond(p *fabric.Plan, k Kubernetes) (beyond Kubernetes, hosts bool, err error) {
	artifacts, err := platform.Artifacts(p)
	if err != nil {
		return k, false, err
	}
	nodes := make(map[string]bool, len(p.Nodes))
	for _, n := range p.Nodes {
		nodes[n.Name] = true
	}
	k.plan = p
	for a := range artifacts {
		switch {
		case nodes[a.Target]:
			hosts = true
		case a.Target == fabric.OnKubernetes:
			k.kubernetes = append(k.kubernetes, a)
		case a.Target == fabric.OnWorkstation:
			k.workstation = append(k.workstation, a)
		}
	}
	return k, hosts || len(k.kubernetes)+len(k.workstation) == 0, nil
}

// NotBegun is the results of what stands on something that failed.
func NotBegun(p *fabric.Plan, hosts bool, k Kubernetes, why error) (results []apply.Applied) {
	if why == nil {
		return nil
	}
	if hosts {
		for _, n := range p.Nodes {
			results = append(results, notApplied(n.Name, why))
		}
	}
	if len(k.kubernetes) > 0 {
		results = append(results, notApplied(fabric.OnKubernetes, why))
	}
	return results
}

// Apply applies the objects, or says what that would change; of scripts it says that a person runs them.
func (k Kubernetes) Apply(ctx context.Context) (results []apply.Applied) {
	if len(k.kubernetes) > 0 {
		results = append(results, k.objects(ctx))
	}
	if len(k.workstation) > 0 {
		results = append(results, apply.Workstation(k.workstation, k.DryRun))
	}
	return results
}

func (k Kubernetes) objects(ctx context.Context) apply.Applied {
	if k.InLab {
		return apply.Applied{Node: fabric.OnKubernetes, Status: fabric.NotApplicable, Changes: []apply.Change{}, Reason: "a lab has no API server"}
	}
	c, err := k.open()
	switch {
	case err != nil:
		return notApplied(fabric.OnKubernetes, err)
	case k.DryRun:
		return c.Look(ctx, k.kubernetes)
	}
	k.Say("applying to %s", c.Client.Place())
	return c.Write(ctx, k.kubernetes)
}

func (k Kubernetes) open() (c apply.Kubernetes, err error) {
	if k.Context, err = k.chosenContext(); err != nil {
		return c, err
	}
	c = apply.Kubernetes{Force: k.Force, Replace: k.Replace, Prune: k.Prune, Unmet: k.Unmet, DeleteData: k.DeleteData, Ready: PodsReady, Placed: podsPlaced, Doing: k.Doing, Say: k.Say}
	if k.plan != nil {
		c.Plan = k.plan.Name
	}
	if k.Wait != nil {
		c.Ready, c.Placed, c.ReadyAsked = *k.Wait, *k.Wait, true
	}
	if c.Client, err = kube.Open(k.Kubeconfig, k.Context); err != nil {
		return c, err
	}
	c.Folder, err = apply.KubernetesFolder()
	return c, err
}

// NotNow is the results of a run of all steps, which asks no API server: that has its own credentials, and apply its own journal.
func (k Kubernetes) NotNow() (results []apply.Applied) {
	if len(k.kubernetes) > 0 && !k.InLab {
		results = append(results, notApplied(fabric.OnKubernetes, fmt.Errorf("%s for the API server: apply with: railwright apply -f FILE", fabric.Count(len(k.kubernetes), "file"))))
		k.kubernetes = nil
	}
	return append(results, k.Apply(context.Background())...)
}

// Rollback puts back what the last apply to the cluster replaced.
func (k Kubernetes) Rollback(ctx context.Context) ([]apply.Change, error) {
	c, err := k.open()
	if err != nil {
		return nil, err
	}
	k.Say("rolling back at %s", c.Client.Place())
	return c.Rollback(ctx)
}
