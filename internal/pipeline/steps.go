package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/mesh"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// Step is a part of a run.
type Step struct {
	Name  string
	Needs string // what it reads
	Gives string // what the run has afterwards, and where it is saved

	hosts   bool               // it acts on hosts; the others compute
	onESX   bool               // among them ESX hosts
	only    func(Options) bool // nil: part of every run
	do      func(*up, context.Context) (note string, err error)
	verdict func(*up) fabric.Status // of a step that did its work; nil: pass
}

// Steps returns all steps of a run in their order.
func Steps() []Step {
	inLab := func(o Options) bool { return o.Lab }
	reached := func(o Options) bool { return !o.onKubernetes() }
	read := func(o Options) bool { return reached(o) || o.hasHosts() && o.VSphere.Roads() }
	return []Step{
		{Name: "plan", Needs: "cluster file", Gives: "plan (plan.json)", do: (*up).plan},
		{Name: "render", Needs: "plan", Gives: "files of every node and switch (artifacts/)", do: (*up).render},
		{Name: "claims", Needs: "plan", Gives: "what the claims of the planned pods would get (claims.json)", only: hasPods, do: (*up).claims, verdict: (*up).claimsStatus},
		{Name: "lab", hosts: true, Needs: "plan", Gives: "hosts in network namespaces", only: inLab, do: (*up).startLab},
		{Name: "vsphere", hosts: true, onESX: true, Needs: "plan, ESX hosts, vCenter", Gives: "ESX hosts as planned, rebooted where that takes it, and what vCenter gets", only: Options.hasHosts, do: (*up).vsphere, verdict: (*up).applyStatus},
		{Name: "reach", hosts: true, Needs: "cluster file", Gives: "logins over SSH", only: func(o Options) bool { return !o.Lab && reached(o) }, do: (*up).reach},
		{Name: "apply", hosts: true, Needs: "plan, hosts", Gives: "configured hosts; every target is applied or unknown", do: (*up).apply, verdict: (*up).applyStatus},
		{Name: "settle", hosts: true, Needs: "lab", Gives: "addresses and LLDP neighbours", only: inLab, do: (*up).settle},
		{Name: "faults", hosts: true, Needs: "lab", Gives: "planted faults", only: func(o Options) bool { return len(o.Faults) > 0 }, do: (*up).plant},
		{Name: "collect", hosts: true, onESX: true, Needs: "hosts", Gives: "facts (facts/)", only: read, do: (*up).collect},
		{Name: "check", Needs: "plan, facts", Gives: "findings (findings.json)", only: read, do: (*up).check},
		{Name: "mesh", hosts: true, Needs: "plan, hosts", Gives: "every pair of NICs measured (measurements/mesh.json)", only: reached, do: (*up).mesh},
		{Name: "bench", hosts: true, Needs: "plan, hosts", Gives: "each twin, port and collective measured (measurements/bench.json)", only: measures, do: (*up).bench, verdict: (*up).benchStatus},
		{Name: "explain", Needs: "findings, mesh", Gives: "causes (causes.json)", only: reached, do: (*up).explain},
	}
}

// measures reports whether tests of bandwidth are part of a run: on DGX Sparks, whose owner waits for the cluster. Elsewhere jobs
// may run on the machines, and railwright bench is a command of its own.
func measures(o Options) bool { return !o.Lab && o.Cluster.Platform == intent.Spark }

func (u *up) plan(context.Context) (string, error) {
	note := fmt.Sprintf("%s, %s, %s", fabric.Count(len(u.Plan.Nodes), "node"), fabric.Count(nics(u.Plan), "NIC"), u.Plan.Addressing.Scheme)
	return note, errors.Join(u.folder.WriteFile(run.ClusterFile, u.Text), u.folder.Write(run.PlanFile, u.Plan))
}

// nics counts the planned ones: of some a cable serves two, and not each has an address.
func nics(p *fabric.Plan) (n int) {
	for _, node := range p.Nodes {
		n += len(node.NICs)
	}
	return n
}

func (u *up) render(ctx context.Context) (string, error) {
	index, sum, err := Render(ctx, u.folder.Path(run.Artifacts), u.Plan)
	if err != nil {
		return "", err
	}
	u.report.Artifacts = &index
	note := fmt.Sprintf("%s, index sha256 %.12s", fabric.Count(len(index.Artifacts), "file"), sum)
	const shown = 2 // the index has all of them
	for i, m := range index.Missing {
		if i == shown {
			note += fmt.Sprintf("; and %d more", len(index.Missing)-shown)
			break
		}
		note += fmt.Sprintf("; no %s for %s: %s", m.Source, m.What, m.Reason)
	}
	return note, nil
}

func (u *up) startLab(ctx context.Context) (note string, err error) {
	if u.lab, err = lab.Up(ctx, u.Plan, lab.Options{Faults: u.Faults}); err != nil {
		return "", err
	}
	if u.lab.Cleared {
		u.Progress("cleared the lab that a killed run left")
	}
	u.fleet, err = LabFleet(u.lab)
	return u.lab.Spec.Shape() + " in network namespaces", err
}

func (u *up) reach(ctx context.Context) (note string, err error) {
	if u.fleet, err = fleet.Cluster(ctx, u.Cluster); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of %s over SSH", len(u.fleet.Reached()), fabric.Count(len(u.Plan.Nodes), "host")), nil
}

func (u *up) apply(ctx context.Context) (string, error) {
	if u.onKubernetes() {
		return u.leaveToPeople()
	}
	results, err := u.write(ctx)
	if err != nil {
		return "", err
	}
	hosts := make(map[string]int)
	switches := make(map[fabric.Status]int)
	u.applied = append(u.applied, results...)
	for i, r := range results {
		a := applied(r)
		u.report.Applied = append(u.report.Applied, a)
		if i < len(results)-len(u.Plan.Switches) {
			hosts[a.How]++
		} else {
			switches[a.Status]++
		}
	}
	if err := u.beyond(); err != nil {
		return "", err
	}
	var notes []string
	for _, how := range slices.Sorted(maps.Keys(hosts)) {
		done := "by " + how
		if how == "" {
			done = "not configured"
		}
		notes = append(notes, fabric.Count(hosts[how], "host")+" "+done)
	}
	for _, s := range []fabric.Status{fabric.Unknown, fabric.NotApplicable} {
		if n := switches[s]; n > 0 {
			notes = append(notes, fabric.Count(n, "switch")+" "+strings.ReplaceAll(s.String(), "_", " "))
		}
	}
	return strings.Join(notes, ", "), nil
}

// write brings the files onto the hosts. Those of a DGX Spark are activated: there is no job on it that a network which
// changes under it would end, and its owner waits for the cluster, not for the next start.
func (u *up) write(ctx context.Context) ([]apply.Applied, error) {
	if !u.Lab && u.Cluster.Platform == intent.Spark {
		return Activate(ctx, u.fleet, u.Plan, u.folder.Path(run.Artifacts), false, ActivateWithin)
	}
	return Apply(ctx, u.fleet, u.Plan, u.folder.Path(run.Artifacts), u.Lab, false)
}

// applied describes how the configuration of a target took effect.
func applied(r apply.Applied) report.Applied {
	out := report.Applied{Node: r.Node, Status: r.Status, Reason: cmp.Or(r.Error, r.Reason)}
	switch a := r.Activation; {
	case a != nil:
		var reasons []string
		if a.Reason != "" {
			reasons = append(reasons, a.Reason)
		}
		for _, p := range a.Pending {
			reasons = append(reasons, "not in effect: "+p)
		}
		if r.Note != "" {
			reasons = append(reasons, r.Note)
		}
		if out.How = a.Network; a.Network == apply.ByNothing {
			out.How = ""
		}
		out.Reason = strings.Join(append(reasons, a.Skipped...), "; ")
	case r.Status == fabric.Pass:
		out.How, out.Reason = "files", "they "+apply.TakesEffect(r.Changes)
	}
	return out
}

// applyStatus is the worst of all targets: a host on which something is not in effect fails; a machine that was not
// reached and a switch that cannot be applied are unknown.
func (u *up) applyStatus() fabric.Status { return apply.Worst(u.applied) }

func (u *up) settle(ctx context.Context) (string, error) {
	if err := u.lab.StartLLDP(ctx); err != nil {
		return "", err
	}
	note := "lldpd on every machine"
	if u.lab.LLDP != "" {
		note = "cabling stays unknown: " + u.lab.LLDP
	}
	return note, settle(ctx, u.fleet, u.lab.LLDP == "")
}

func (u *up) plant(ctx context.Context) (string, error) {
	var names []string
	for _, f := range u.Faults {
		names = append(names, f.String())
	}
	return strings.Join(names, " "), plant(ctx, u.lab, u.fleet, u.Faults)
}

func (u *up) collect(ctx context.Context) (string, error) {
	machines, what := len(u.Plan.Nodes), "host"
	if u.onKubernetes() {
		u.lost = NoPods(u.Plan)
	} else {
		u.facts, u.lost = Collect(ctx, u.fleet)
	}
	if u.hasHosts() {
		machines, what = machines+len(u.Plan.VSphere.Hosts), "machine"
		facts, lost := u.VSphere.Collect(ctx)
		u.facts, u.lost = append(facts, u.facts...), append(lost, u.lost...)
	}
	u.report.Missing = make(map[string][]fabric.Missing)
	for _, m := range u.lost {
		u.report.Missing[m.What] = []fabric.Missing{{What: report.Everything, Source: m.Source, Reason: m.Reason}}
	}
	for _, f := range u.facts {
		u.report.Missing[f.Node] = f.Missing
		u.report.Lab = cmp.Or(report.LabOf(f), u.report.Lab)
		if err := u.folder.WriteFacts(f); err != nil {
			return "", err
		}
	}
	u.report.Plugged = u.Plan.Plugged(u.facts)
	return fmt.Sprintf("facts of %d of %s", len(u.facts), fabric.Count(machines, what)), nil
}

func (u *up) check(ctx context.Context) (string, error) {
	waivers, err := Waivers(u.Cluster)
	if err != nil {
		return "", err
	}
	in := Checked{Plan: u.Plan, Waivers: waivers, At: u.Now(), Lost: u.lost}
	if u.report.Findings, err = Findings(ctx, in, u.facts); err != nil {
		return "", err
	}
	s := u.report.Findings.Summary
	note := fmt.Sprintf("%d pass, %d fail, %d unknown, %d not applicable", s.Pass, s.Fail, s.Unknown, s.NotApplicable)
	return note, u.folder.Write(run.FindingsFile, u.report.Findings)
}

func (u *up) mesh(ctx context.Context) (note string, err error) {
	if u.report.Mesh, err = Mesh(ctx, u.fleet, u.Plan); err != nil {
		return "", err
	}
	s := u.report.Mesh.Summary()
	note = fmt.Sprintf("%d of %d pairs pass, in %.0f ms", s.Pass, len(u.report.Mesh.Pairs), 1000*u.report.Mesh.Seconds)
	if n := s.NotApplicable; n > 0 {
		note += fmt.Sprintf("; %s not applicable: in different subnets, of which nothing is routed", fabric.Count(n, "pair"))
	}
	return note, u.folder.Write(run.MeshFile, u.report.Mesh)
}

func (u *up) bench(ctx context.Context) (string, error) {
	tests, err := BenchTests(u.Plan, BenchSuites())
	if err != nil {
		return "", err
	}
	u.report.Bench = Bench(ctx, u.fleet, u.Plan, tests, u.Progress)
	s := u.report.Bench.Summary
	note := fmt.Sprintf("of %s %d passed, %d failed, %d unknown", fabric.Count(len(tests), "test"), s.Pass, s.Fail, s.Unknown)
	return note, SaveBench(u.folder, u.report.Bench)
}

func (u *up) benchStatus() fabric.Status { return u.report.Bench.Summary.Status() }

func (u *up) explain(context.Context) (string, error) {
	u.report.Causes = mesh.Explain(u.Plan, u.report.Mesh, u.report.Findings.Findings)
	return fabric.Count(len(u.report.Causes.Causes), "cause"), u.folder.Write(run.CausesFile, u.report.Causes)
}
