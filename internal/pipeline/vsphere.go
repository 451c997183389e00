package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/vcenter"
)

// VSphere is the ESX hosts and the vCenter of a plan, and the roads to them: the shell of each host over SSH, and the vSphere API.
// The cluster file says which of them are there.
type VSphere struct {
	Plan           *fabric.Plan
	User, Password string // of vCenter
	Now            func() time.Time
	Doing          func(format string, args ...any) // what is waited for
	Say            func(format string, args ...any) // at once

	dialer *host.Dialer
	client *vcenter.Client
	closed error // why there is no client; nil without vsphere.vcenter
}

// Bounds of asking ESX hosts.
const (
	shellsAtOnce    = 64
	shellWithin     = 6 * time.Minute // all commands of a host, of which one may take a minute, and the login
	questionsAtOnce = 4
)

// Where facts of ESX hosts come from, as messages name it.
const (
	byShell = "the shell over SSH"
	byAPI   = "the vSphere API"
)

// HasHosts reports whether a plan has ESX hosts.
func HasHosts(p *fabric.Plan) bool { return p != nil && p.VSphere != nil && len(p.VSphere.Hosts) > 0 }

// shell reports whether somebody may log in to the hosts.
func (v *VSphere) shell() bool { return HasHosts(v.Plan) && v.Plan.VSphere.Hosts[0].SSH }

// api reports whether the cluster file says where vCenter is.
func (v *VSphere) api() bool { return HasHosts(v.Plan) && v.Plan.VSphere.VCenter != nil }

// Roads reports whether there is a way to the hosts.
func (v *VSphere) Roads() bool { return v.shell() || v.api() }

// Open logs in to vCenter, where there is one. That it did not work is an error of what needs it. Close must be called.
func (v *VSphere) Open(ctx context.Context) {
	v.dialer = &host.Dialer{}
	if !v.api() {
		return
	}
	at := v.Plan.VSphere.VCenter
	v.Doing("logging in to vCenter %s", at.Server)
	v.client, v.closed = vcenter.Open(ctx, vcenter.Config{Server: at.Server, Thumbprint: at.Thumbprint, User: v.User, Password: func() string { return v.Password }})
}

// Close logs out.
func (v *VSphere) Close() error {
	if v.dialer == nil {
		return nil // it was not opened
	}
	err := v.dialer.Close()
	if v.client != nil {
		_ = v.client.Close() // a session that is left ends by itself
	}
	return err
}

func (v *VSphere) names() (names []string) {
	for _, h := range v.Plan.VSphere.Hosts {
		names = append(names, h.Name)
	}
	return names
}

// shown is what the shell of a host gave, or why it gave nothing.
type shown struct {
	facts *fabric.Facts
	err   error
}

// known is what vCenter knows of a host, or why it says nothing.
type known struct {
	host *vcenter.Host
	err  error
}

// Collect returns the facts of every planned ESX host, of both roads together, and why there are none of some.
func (v *VSphere) Collect(ctx context.Context) (nodes []*fabric.Facts, lost []fabric.Missing) {
	names := v.names()
	answers := make(chan map[string]known, 1)
	host.Go(func() { answers <- v.askAPI(ctx, names) })
	shells := v.askShells(ctx, names)
	apis := <-answers
	for _, name := range names {
		f, err := v.join(name, shells[name], apis[name])
		if err != nil {
			lost = append(lost, fabric.Missing{What: name, Source: "collect", Reason: err.Error()})
			continue
		}
		nodes = append(nodes, f)
	}
	return nodes, lost
}

// one is the facts of one host as they are now, over a login that is there.
func (v *VSphere) one(ctx context.Context, name string, shell host.Runner) (*fabric.Facts, error) {
	f, err := collectShell(ctx, shell, name)
	return v.join(name, shown{f, err}, v.askAPI(ctx, []string{name})[name])
}

// join makes the facts of a host of what both roads gave.
func (v *VSphere) join(name string, shell shown, api known) (*fabric.Facts, error) {
	var fromAPI *fabric.Facts
	if api.host != nil && api.err == nil {
		without := "the cluster file has no vsphere.ssh"
		if shell.err != nil {
			without = shell.err.Error()
		}
		fromAPI, api.err = facts.FromVCenter(api.host, name, v.Now(), fabric.Missing{Source: byShell, Reason: without})
	}
	var reasons []string
	if shell.err != nil {
		reasons = append(reasons, byShell+": "+shell.err.Error())
	}
	if api.err != nil {
		reasons = append(reasons, byAPI+": "+api.err.Error())
	}
	switch {
	case shell.facts != nil && api.err != nil:
		const labels = fabric.FactESXDevices + ".label"
		if e := shell.facts.ESX; e != nil && slices.ContainsFunc(e.Devices, func(d fabric.PassthroughPCI) bool { return d.Labels }) {
			return shell.facts, nil // the shell shows them too
		}
		shell.facts.Missing = append(shell.facts.Missing, fabric.Missing{What: labels, Source: byAPI, Reason: api.err.Error()})
		return shell.facts, nil
	case shell.facts != nil || fromAPI != nil:
		return facts.JoinESX(shell.facts, fromAPI), nil
	case len(reasons) > 0:
		return nil, errors.New(strings.Join(reasons, "; "))
	}
	return nil, errors.New("the cluster file has neither vsphere.ssh nor vsphere.vcenter: its facts come from files (railwright check --snapshot)")
}

// askShells asks each host over SSH.
func (v *VSphere) askShells(ctx context.Context, names []string) map[string]shown {
	out := make(map[string]shown, len(names))
	if !v.shell() {
		return out
	}
	for _, o := range host.RunAll(ctx, names, shellsAtOnce, shellWithin, func(ctx context.Context, name string) (*fabric.Facts, error) {
		login, err := v.login(ctx, name)
		if err != nil {
			return nil, err
		}
		defer login.Close()
		return collectShell(ctx, login, name)
	}) {
		out[o.Name] = shown{o.Value, o.Err}
	}
	return out
}

// collectShell asks the shell of a host. One that runs something else is no ESX host.
func collectShell(ctx context.Context, shell host.Runner, name string) (*fabric.Facts, error) {
	f := facts.CollectESX(ctx, shell, name)
	if f.ESX == nil || f.ESX.Version == "" {
		why := "it does not say that it is an ESX host"
		if m, ok := f.MissingReason(fabric.FactESX + ".version"); ok {
			why += ": " + m.Reason
		}
		return nil, errors.New(why)
	}
	return f, ctx.Err()
}

// login logs in to a host by its name in the plan.
func (v *VSphere) login(ctx context.Context, name string) (*host.SSH, error) {
	i := slices.IndexFunc(v.Plan.VSphere.Hosts, func(h fabric.ESXHost) bool { return h.Name == name })
	config, err := host.LoadSSHConfig("")
	if err != nil {
		return nil, err
	}
	target, err := config.Target(name, v.Plan.VSphere.Hosts[i].User)
	if err != nil {
		return nil, err
	}
	return v.dialer.Dial(ctx, target)
}

// askAPI asks vCenter for hosts: once which there are, then for some of them at a time.
func (v *VSphere) askAPI(ctx context.Context, names []string) map[string]known {
	out := make(map[string]known, len(names))
	if !v.api() {
		return out
	}
	err := v.closed
	var among []vcenter.Host
	if err == nil {
		among, err = v.client.Hosts(ctx)
	}
	if err != nil {
		for _, name := range names {
			out[name] = known{err: err}
		}
		return out
	}
	some := slices.Collect(slices.Chunk(names, vcenter.MostDetailed))
	answers := make([][]vcenter.Detailed, len(some))
	order := make([]int, len(some))
	for i := range some {
		order[i] = i
	}
	host.Each(order, questionsAtOnce, func(i int) { answers[i] = v.client.Details(ctx, among, some[i]) })
	first := make(map[string]string, len(names)) // name of the plan by the one of vCenter
	for _, d := range slices.Concat(answers...) {
		one := known{d.Host, d.Err}
		if d.Err == nil {
			if other := cmp.Or(first[d.Host.ID], d.Name); other != d.Name {
				one.err = fmt.Errorf("%s and %s are one host of vCenter, %s", other, d.Name, d.Host.Name)
			}
			first[d.Host.ID] = cmp.Or(first[d.Host.ID], d.Name)
		}
		out[d.Name] = one
	}
	return out
}

// String names the hosts and the roads to them.
func (v *VSphere) String() string {
	text := draw.Names(v.names(), 4)
	if v.shell() {
		text += ", by " + byShell
	}
	if v.api() {
		text += ", by " + byAPI + " of " + v.Plan.VSphere.VCenter.Server
	}
	return text
}

// NoPods says of each node of a plan that nobody logs in to it.
func NoPods(p *fabric.Plan) (lost []fabric.Missing) {
	for _, n := range p.Nodes {
		lost = append(lost, fabric.Missing{What: n.Name, Source: "launcher kubernetes", Reason: "nobody logs in to pods; their facts come from files: railwright check --snapshot"})
	}
	return lost
}
