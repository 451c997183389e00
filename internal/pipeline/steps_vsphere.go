package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/run"
)

// hasHosts reports whether the run has ESX hosts.
func (o Options) hasHosts() bool { return o.VSphere != nil }

// vsphere brings the ESX hosts to the plan, with the reboots that takes, and gives vCenter what it lacks. Repeated, it goes on from
// where it was stopped. Without virtual machines what follows says so; a host that failed ends the run.
func (u *up) vsphere(ctx context.Context) (string, error) {
	u.VSphere.Open(ctx)
	change := VSphereChange{File: u.folder.Path(run.ClusterFile)}
	results := u.VSphere.Apply(ctx, change)
	done := map[fabric.Status]int{}
	vCenter := ""
	for _, r := range results {
		u.applied, u.report.Applied = append(u.applied, r), append(u.report.Applied, applied(r))
		if r.Node == fabric.OnVCenter {
			vCenter = strings.ReplaceAll(r.Status.String(), "_", " ")
			continue
		}
		done[r.Status]++
	}
	if err := u.VSphere.Stopped(results, change); err != nil {
		for _, r := range results {
			if r.Error != "" && !strings.HasPrefix(r.Error, "not begun") {
				return "", fmt.Errorf("%s: %s; repeat to go on from here", r.Node, r.Error)
			}
		}
		return "", err
	}
	var notes []string
	for _, s := range slices.Sorted(maps.Keys(done)) {
		notes = append(notes, fabric.Count(done[s], "ESX host")+" "+s.String())
	}
	return strings.Join(append(notes, "vCenter "+vCenter), ", "), nil
}

// nextOnVSphere is what a person does where no road led, and to get from classes to virtual machines.
func (u *up) nextOnVSphere(file string, script func(string) string, add func(what string, commands ...string)) {
	if !u.VSphere.shell() || !u.VSphere.api() {
		add("Take the steps on hosts, switches and vCenter that were not taken here, in their order; each has its check", "railwright apply -f "+file+" --runbook runbook.md")
	}
	if u.Plan.VSphere.Kube != nil {
		add("Let the Supervisor make the virtual machines, logged in to its vSphere namespace", "kubectl apply -f "+script("vks-cluster.yaml"))
	}
	add("Check ESX hosts and their virtual machines, from what their tools print where nobody reaches them", "railwright check -f "+file,
		"railwright collect --text texts/HOST > facts/HOST.json", "railwright check -f "+file+" --snapshot facts")
}
