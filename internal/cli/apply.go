package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// applyOptions are the flags of apply.
type applyOptions struct {
	fleetOptions
	dryRun    dryRun
	activate  bool
	within    time.Duration
	runbook   string
	snapshots []string // of ESX hosts, for the runbook
	kubeOptions
	force, replace, prune, unmet bool
	deleteData                   []string
	wait                         *time.Duration // for objects; nil: as long as is usual, or as they say
}

func (a *app) applyCommand(run func(context.Context, applyOptions) error) *cobra.Command {
	var o applyOptions
	var wait time.Duration
	c := &cobra.Command{
		Use:   "apply (-f FILE | --lab) [--dry-run] | apply -f FILE --activate | apply -f FILE --runbook FILE.md",
		Short: "Write the rendered files of every machine, and keep the previous ones",
		Long: "Write the rendered files of every machine, and keep the previous ones for `railwright rollback` on it.\n" +
			"On a real machine they take effect at its next start, so that the connection to it is not cut; on a lab host at once.\n" +
			"Files of a switch are not applied in this version: it is unknown, with the command that loads them.\n" +
			"Objects of Kubernetes are applied to the API server of a kubeconfig, as fields owned by railwright (server-side apply);\n" +
			"they are waited for, and `railwright rollback --kubernetes` from the same machine puts back what was there. Where the plan is of a cluster that a\n" +
			"cloud makes, they go to that cluster; to another one only with --context. Scripts for a cloud's command line are\n" +
			"listed for a person, and never run.\n" +
			"On platform vsphere the ESX hosts come first, vsphere.parallel at a time: over SSH (vsphere.ssh) the steps that prepare\n" +
			"each, every one checked, with the reboots that they take. Then vCenter gets what it lacks (vsphere.vcenter; as the user\n" +
			"of RAILWRIGHT_VCENTER_USER with RAILWRIGHT_VCENTER_PASSWORD). After a host that failed nothing else is begun. Stopped\n" +
			"anywhere, repeat it: it goes on from there. `railwright rollback -f FILE` takes all of it back. What no road leads to\n" +
			"is unknown, with the command that writes its steps for a person.\n\n" +
			"With --activate the network takes effect now, and cannot cost a machine: each brings its old network back by itself unless\n" +
			"it is reached over a new connection in time. Until then nothing below /etc changes, so a restart brings the old one back\n" +
			"too. Files of others that configure the same interfaces are named, never changed, and nothing is activated there.\n\n" +
			"With --runbook no machine is reached: what people must do by hand is written as Markdown, for them or for a ticket:\n" +
			"software, firmware and settings of the NIC's and GPU's vendors, with the check and the way back of each step, one reboot\n" +
			"per host, and hosts that are treated alike in one list. With --snapshot ESX hosts get the steps that they need alone.\n\n" +
			"With --dry-run nothing is changed; where the files are as planned, it reports what of them is not in effect.\n\n" +
			"Exit status with --dry-run: 0 nothing to do, 1 changes pending or not in effect, 2 cannot tell.\n" +
			"Without: 0 written, 1 not all of it is in effect on a lab host, in vCenter or with --activate, 2 a target was not reached or cannot be applied to.\n" +
			"With --runbook: 0 every part of every host has its steps, 2 for some none are known, which the runbook says.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("wait") {
				o.wait = &wait
			}
			return run(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().Var(&o.dryRun, "dry-run", "only report what would change, and which preconditions are not met; --dry-run=server is the same")
	c.Flags().Lookup("dry-run").NoOptDefVal = "server"
	c.Flags().BoolVar(&o.activate, "activate", false, "put the network into effect now; a machine that is not reached afterwards brings the old one back")
	c.Flags().DurationVar(&o.within, "within", pipeline.ActivateWithin, "with --activate: how long a machine waits to be reached before it brings its old network back")
	outputFlag(c, &o.runbook, "runbook", "file to write the steps to that people do by hand, as Markdown; - writes it to standard output")
	c.Flags().StringArrayVar(&o.snapshots, "snapshot", nil, "saved facts: of machines, which decide what selects the NICs that pods share; with --runbook of ESX hosts, which get the steps that they need and no more; can be repeated")
	o.clusterFlags(c)
	c.Flags().BoolVar(&o.force, "force-conflicts", false, "take fields of objects of Kubernetes from those who own them")
	c.Flags().BoolVar(&o.replace, "replace", false, "delete and make anew objects of Kubernetes that cannot be changed, as a ResourceClaimTemplate")
	c.Flags().BoolVar(&o.prune, "prune", false, "delete objects of Kubernetes that this plan had and no longer has")
	deleteDataFlag(c, &o.deleteData, "with --prune or --replace: an object of Kubernetes that may go with its data")
	c.Flags().BoolVar(&o.unmet, "ignore-preconditions", false, "apply to Kubernetes although it lacks something that the objects need")
	c.Flags().DurationVar(&wait, "wait", pipeline.PodsReady, "how long each object of Kubernetes is waited for; default not so long where something is in its way that nobody works on, and longer where the plan says so")
	c.MarkFlagsMutuallyExclusive("runbook", "lab")
	c.MarkFlagsMutuallyExclusive("runbook", "dry-run", "activate")
	c.MarkFlagsMutuallyExclusive("lab", "activate")
	return c
}

func (o applyOptions) validate() error {
	if least, most := apply.MinTrial*time.Second, apply.MaxTrial*time.Second; o.within < least || o.within > most {
		return fmt.Errorf("flag --within: %s is not %s to %s", o.within, least, most)
	}
	if o.within != pipeline.ActivateWithin && !o.activate {
		return errors.New("flag --within: only with --activate is something waited for")
	}
	if o.wait != nil && *o.wait < 0 {
		return fmt.Errorf("flag --wait: %s: is below 0", *o.wait)
	}
	if len(o.deleteData) > 0 && !o.prune && !o.replace {
		return errors.New("flag --delete-data: only with --prune or --replace is an object deleted")
	}
	return checkDataNames(o.deleteData)
}

func (a *app) apply(ctx context.Context, o applyOptions) (err error) {
	if o.runbook != "" {
		return a.runbook(ctx, o)
	}
	if len(o.snapshots) > 0 && (o.lab || o.file == "") {
		return errors.New("flag --snapshot: the machines of a lab are asked themselves: use it with -f FILE")
	}
	if err := o.validate(); err != nil {
		return err
	}
	results, err := a.applyAll(ctx, o)
	if err != nil && len(results) == 0 {
		return err
	}
	// What was changed is said, whatever went wrong after it.
	if err := errors.Join(a.printApplied(results, bool(o.dryRun)), err); err != nil {
		return err
	}
	status, words := applyVerdict(results, bool(o.dryRun))
	if !a.json() {
		if _, err := fmt.Fprintln(a.stdout, words); err != nil {
			return err
		}
	}
	return exitOf(status)
}

// applyAll applies what a plan has for machines, and then what it has for Kubernetes.
func (a *app) applyAll(ctx context.Context, o applyOptions) (results []apply.Applied, err error) {
	var in *input
	var m *reached
	if o.lab || o.file == "" {
		if m, err = a.reach(ctx, o.fleetOptions, nil); err != nil {
			return nil, err
		}
		in = &input{plan: m.plan}
	} else if in, err = a.readSeen(ctx, o.file, o.snapshots); err != nil {
		return nil, err
	}
	k := o.cluster(a)
	k.Force, k.Replace, k.Prune, k.DryRun, k.InLab, k.Wait = o.force, o.replace, o.prune, bool(o.dryRun), o.lab, o.wait
	k.Unmet, k.DeleteData = o.unmet, o.deleteData
	k, hosts, err := pipeline.Beyond(in.plan, k)
	if err != nil {
		return nil, err
	}
	if pipeline.HasHosts(in.plan) && !o.lab {
		var stop error
		if results, stop, err = a.applyVSphere(ctx, o, in.plan); err != nil || stop != nil {
			return append(results, pipeline.NotBegun(in.plan, hosts, k, stop)...), err
		}
	}
	if hosts && m == nil {
		if m, err = a.login(ctx, in); err != nil {
			return results, err
		}
	}
	if m != nil {
		applied, err := a.applyHosts(ctx, o, m)
		if results = append(results, applied...); err != nil {
			return results, err
		}
	}
	if err := a.begin(ctx); err != nil {
		return results, err
	}
	return append(results, k.Apply(ctx)...), nil
}

// applyVSphere applies what a plan has for ESX hosts and vCenter; stop is why nothing that stands on them is begun.
func (a *app) applyVSphere(ctx context.Context, o applyOptions, p *fabric.Plan) (results []apply.Applied, stop, err error) {
	if err := a.begin(ctx); err != nil {
		return nil, nil, err
	}
	v := a.vsphere(p)
	v.Open(ctx)
	defer func() { err = errors.Join(err, v.Close()) }()
	a.doing("working on %s", v)
	change := pipeline.VSphereChange{File: o.file, DryRun: bool(o.dryRun), Force: o.force}
	results = v.Apply(ctx, change)
	return results, v.Stopped(results, change), nil
}

// applyHosts applies the files of machines and switches.
func (a *app) applyHosts(ctx context.Context, o applyOptions, m *reached) (results []apply.Applied, err error) {
	defer func() { err = errors.Join(err, m.fleet.Close()) }()
	if o.activate {
		return pipeline.Activate(ctx, m.fleet, m.plan, "", o.lab, o.within)
	}
	return pipeline.Apply(ctx, m.fleet, m.plan, "", o.lab, bool(o.dryRun))
}

// applyVerdict decides the exit status of an apply, and its words.
func applyVerdict(results []apply.Applied, dryRun bool) (fabric.Status, string) {
	failed, done := "not in effect", "files as planned"
	if slices.ContainsFunc(results, func(r apply.Applied) bool { return r.Steps || r.Node == fabric.OnVCenter }) {
		done = "as planned"
	}
	if dryRun {
		failed, done = "changes pending, or not in effect", "nothing to do"
	}
	count := make(map[fabric.Status]int)
	for _, r := range results {
		count[r.Status]++
	}
	var parts []string
	for _, p := range []struct {
		status fabric.Status
		words  string
	}{{fabric.Fail, failed}, {fabric.Unknown, "unknown"}, {fabric.Pass, done}} {
		if n := count[p.status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s on %s", p.words, fabric.Count(n, "target")))
		}
	}
	status := apply.Worst(results)
	return status, strings.ToUpper(status.String()) + ": " + cmp.Or(strings.Join(parts, ", "), "no target")
}

// applyResults is what apply and rollback print as JSON.
type applyResults struct {
	fabric.Meta
	Results []apply.Applied `json:"results"`
}

// printApplied writes the changes of each target; targets whose changes are alike share one block.
func (a *app) printApplied(results []apply.Applied, dryRun bool) error {
	if a.json() {
		return report.JSON(a.stdout, applyResults{Meta: fabric.NewMeta("Applied"), Results: append([]apply.Applied{}, results...)})
	}
	targets := make(map[string][]string)
	var order []string
	for _, r := range results {
		text := changesText(r, dryRun)
		if targets[text] == nil {
			order = append(order, text)
		}
		targets[text] = append(targets[text], r.Node)
	}
	for _, text := range order {
		if _, err := fmt.Fprintf(a.stdout, "%s\n%s", fabric.Printable(draw.Names(targets[text], 8)), text); err != nil {
			return err
		}
	}
	return nil
}

// changesText describes the changes of a target, what of them is not in effect, and why.
func changesText(r apply.Applied, dryRun bool) string {
	var b strings.Builder
	line := func(word, text string) { printf(&b, "  %-8s %s\n", word, text) }
	switch {
	case r.Error != "":
		line("unknown", r.Error)
	case r.Status == fabric.NotApplicable:
		printf(&b, "  %s\n", r.Reason)
	}
	if r.Interrupted {
		line("note", interruptedText(dryRun))
	}
	if r.Note != "" {
		line("note", r.Note)
	}
	for _, o := range r.Others {
		line("other", o)
	}
	for _, p := range r.Preconditions {
		if word := map[fabric.Status]string{fabric.Fail: "not met", fabric.Unknown: "unknown"}[p.Status]; word != "" {
			line(word, p.String())
		}
	}
	for i, f := range r.Scripts {
		printf(&b, "  %-8d %s\n", i+1, strings.TrimSuffix(f.File+": "+f.Doc, ": "))
		for line := range strings.Lines(f.Text) {
			printf(&b, "    %s\n", strings.TrimRight(line, "\n")) // so that no line of a script looks like one of ours
		}
	}
	changed := false
	for _, c := range r.Changes {
		changed = changed || c.Kind != apply.Same
		text := c.Path
		if c.Reason != "" {
			text += " (" + c.Reason + ")"
		}
		line(string(c.Kind), text)
	}
	for _, d := range r.Drift {
		line("drift", d)
	}
	if v := r.Activation; v != nil {
		for _, p := range v.Pending {
			line("pending", p)
		}
		for _, u := range v.Unready {
			unreadyText(&b, u)
		}
		for _, s := range v.Skipped {
			line("skipped", s)
		}
		switch {
		case v.Reason != "":
			line("note", "configured by "+v.Network+": "+v.Reason)
		case v.Confirmed:
			line("note", "activated by "+v.Network+", and confirmed over a new connection")
		}
	} else if changed && !dryRun && r.Node != fabric.OnKubernetes && r.Node != fabric.OnVCenter && !r.Steps {
		line("note", "the files "+apply.TakesEffect(r.Changes))
	}
	return b.String()
}

// unreadyText is what was seen of an object that did not get ready.
func unreadyText(b *strings.Builder, u apply.Unready) {
	if len(u.Events)+len(u.Log) == 0 {
		return
	}
	printf(b, "  what was seen of %s:\n", u.Object)
	for _, e := range u.Events {
		printf(b, "    event  %s\n", e)
	}
	if len(u.Log) > 0 {
		printf(b, "    log of %s:\n", u.Of)
	}
	for _, l := range u.Log {
		printf(b, "      %s\n", l)
	}
}

func interruptedText(dryRun bool) string {
	if dryRun {
		return "an apply or rollback was interrupted, or is running: the next one restores the files from before it first"
	}
	return "an apply or rollback was interrupted: the files from before it were restored first"
}
