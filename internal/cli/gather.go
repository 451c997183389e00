package cli

import (
	"context"
	"os"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/pipeline"
)

// gathered is the facts of the machines of a plan, and of the ESX hosts below them.
type gathered struct {
	plan    *fabric.Plan
	waivers []check.Waiver
	nodes   []*fabric.Facts
	lost    []fabric.Missing // machines without facts, and why
	close   func() error
}

// gather reads the machines of the running lab or of a cluster file. Nobody logs in to pods: where there is nothing else to read,
// ofPods says what to do instead.
func (a *app) gather(ctx context.Context, o fleetOptions, ofPods func(p *fabric.Plan, file string) error) (*gathered, error) {
	if o.lab || o.file == "" {
		m, err := a.reach(ctx, o, ofPods)
		if err != nil {
			return nil, err
		}
		return readFleet(ctx, m), nil
	}
	in, err := a.readCluster(o.file)
	if err != nil {
		return nil, err
	}
	v, pods := a.vsphere(in.plan), in.cluster.Launcher == intent.Kubernetes
	if pods && !v.Roads() {
		return nil, ofPods(in.plan, o.file)
	}
	g := &gathered{plan: in.plan, close: func() error { return nil }, lost: pipeline.NoPods(in.plan)}
	if !pods {
		m, err := a.login(ctx, in)
		if err != nil {
			return nil, err
		}
		g = readFleet(ctx, m)
	} else if g.waivers, err = pipeline.Waivers(in.cluster); err != nil {
		return nil, err
	} else if err := a.begin(ctx); err != nil {
		return nil, err
	}
	if pipeline.HasHosts(in.plan) {
		nodes, lost := a.readHosts(ctx, v)
		g.nodes, g.lost = append(nodes, g.nodes...), append(lost, g.lost...)
	}
	return g, nil
}

// readFleet reads machines that somebody logged in to.
func readFleet(ctx context.Context, m *reached) *gathered {
	g := &gathered{plan: m.plan, waivers: m.waivers, close: m.fleet.Close}
	g.nodes, g.lost = pipeline.Collect(ctx, m.fleet)
	return g
}

// readHosts reads the ESX hosts of a plan.
func (a *app) readHosts(ctx context.Context, v *pipeline.VSphere) (nodes []*fabric.Facts, lost []fabric.Missing) {
	v.Open(ctx)
	defer v.Close()
	a.doing("reading %s", v)
	return v.Collect(ctx)
}

// vsphere is the ESX hosts and the vCenter of a plan. Nothing but the environment has the password.
func (a *app) vsphere(p *fabric.Plan) *pipeline.VSphere {
	return &pipeline.VSphere{Plan: p, Now: now, Doing: a.doing, Say: a.progress,
		User: os.Getenv("RAILWRIGHT_VCENTER_USER"), Password: os.Getenv("RAILWRIGHT_VCENTER_PASSWORD")}
}
