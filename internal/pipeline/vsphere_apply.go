package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/prepare"
)

// Waiting for an ESX host that starts: a server with 2 TB of memory tests it for a quarter of an hour, and cards load firmware.
const (
	hostStarts = 45 * time.Minute
	hostAsked  = 3 * time.Second // between two questions whether it is there
)

// VSphereChange is how the ESX hosts and the vCenter of a plan are changed.
type VSphereChange struct {
	File   string // the cluster file, for what a person does next
	DryRun bool
	Force  bool // change what others made in vCenter
}

// Apply brings the ESX hosts to what the plan says, and then gives vCenter what it lacks; or says what that would be. What no road
// leads to is unknown, with what a person does instead. After a host that failed nothing else is begun.
func (v *VSphere) Apply(ctx context.Context, o VSphereChange) []apply.Applied {
	hosts := v.changeHosts(o, func(h apply.ESXHosts) []apply.Applied { return h.Apply(ctx) })
	if why := v.Stopped(hosts, o); why != nil {
		return append(hosts, notApplied(fabric.OnVCenter, why))
	}
	return append(hosts, v.changeVCenter(o, func(c apply.VSphere) []apply.Applied { return c.Apply(ctx) })...)
}

// Rollback takes back what the applies from this machine changed: in vCenter, and then on the hosts.
func (v *VSphere) Rollback(ctx context.Context, o VSphereChange) []apply.Applied {
	results := v.changeVCenter(o, func(c apply.VSphere) []apply.Applied { return c.Rollback(ctx) })
	results = append(results, v.changeHosts(o, func(h apply.ESXHosts) []apply.Applied { return h.Rollback(ctx) })...)
	for i := range results {
		r := &results[i]
		inVCenter := r.Node == fabric.OnVCenter
		switch {
		case inVCenter && !v.api() || !inVCenter && !v.shell():
			r.Status, r.Error, r.Reason = fabric.NotApplicable, "", "the cluster file has no way to it (vsphere.vcenter, vsphere.ssh): nothing was applied by this file as it is"
		case strings.Contains(r.Error, apply.ErrNoJournal.Error()):
			r.Status, r.Error, r.Reason = fabric.NotApplicable, "", apply.ErrNoJournal.Error()
		}
	}
	return results
}

// Stopped is why nothing that stands on the hosts is begun; nil: it may be. Hosts that people prepare stop nothing.
func (v *VSphere) Stopped(results []apply.Applied, o VSphereChange) error {
	if o.DryRun || !v.shell() {
		return nil
	}
	for _, r := range results {
		if r.Steps && (r.Error != "" || r.Status == fabric.Fail) {
			return fmt.Errorf("not begun: ESX host %s comes first", r.Node)
		}
	}
	return nil
}

// changeHosts carries something out on the hosts, where somebody may log in to them.
func (v *VSphere) changeHosts(o VSphereChange, do func(apply.ESXHosts) []apply.Applied) []apply.Applied {
	folder, err := apply.ESXFolder()
	switch {
	case !v.shell():
		err = errors.New("the cluster file has no vsphere.ssh: a person takes the steps that this writes: railwright apply -f " + fabric.ShellWord(o.File) + " --runbook runbook.md")
	case v.closed != nil && !o.DryRun: // labels, and hosts that are empty, need it
		err = v.closed
	}
	if err != nil {
		var results []apply.Applied
		for _, name := range v.names() {
			r := notApplied(name, err)
			r.Steps = true
			results = append(results, r)
		}
		return results
	}
	hosts := apply.ESXHosts{Parallel: v.Plan.VSphere.Parallel, DryRun: o.DryRun}
	if o.DryRun {
		hosts.Parallel = shellsAtOnce
	}
	for _, name := range v.names() {
		hosts.Hosts = append(hosts.Hosts, v.host(name, filepath.Join(folder, v.Plan.Name)))
	}
	return do(hosts)
}

// host is how one host is changed.
func (v *VSphere) host(name, folder string) apply.ESX {
	e := apply.ESX{Host: name, Folder: folder, Wait: hostStarts, Every: hostAsked, Doing: v.Say,
		Dial: func(ctx context.Context) (apply.ESXShell, error) {
			login, err := v.login(ctx, name)
			if err != nil {
				return nil, err
			}
			return login, nil
		},
		Plan: func(ctx context.Context, shell apply.ESXShell) (prepare.Preparation, error) {
			f, err := v.one(ctx, name, shell)
			if err != nil {
				return prepare.Preparation{}, err
			}
			return prepare.For(name, v.Plan.VSphere.Goal, f), nil
		}}
	if v.client != nil {
		e.API = v.client
	}
	return e
}

// changeVCenter carries something out in vCenter, where the cluster file says where that is.
func (v *VSphere) changeVCenter(o VSphereChange, do func(apply.VSphere) []apply.Applied) []apply.Applied {
	folder, err := apply.VSphereFolder()
	switch {
	case !v.api():
		err = errors.New("the cluster file has no vsphere.vcenter: a person takes the steps that this writes: railwright apply -f " + fabric.ShellWord(o.File) + " --runbook runbook.md")
	case v.closed != nil:
		err = v.closed
	}
	if err != nil {
		return []apply.Applied{notApplied(fabric.OnVCenter, err)}
	}
	return do(apply.VSphere{Client: v.client, Plan: v.Plan, Folder: folder, DryRun: o.DryRun, Force: o.Force, Doing: v.Doing})
}
