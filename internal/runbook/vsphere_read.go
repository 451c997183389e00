package runbook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/prepare"
)

// readGroups are the ESX hosts whose facts are known, those that need the same in one group, and the names of the others.
func readGroups(p *fabric.Plan, known []*fabric.Facts) (groups []Group, unread []string) {
	at := map[string]int{}
	for _, h := range p.VSphere.Hosts {
		i := slices.IndexFunc(known, func(f *fabric.Facts) bool { return f.Node == h.Name && f.ESX != nil })
		if i < 0 {
			unread = append(unread, h.Name)
			continue
		}
		need := prepare.For("", p.VSphere.Goal, known[i])
		lacks := unlabelled(p.VSphere, known[i].ESX)
		key, err := json.Marshal([]any{need, lacks})
		if err != nil {
			unread = append(unread, h.Name)
			continue
		}
		j, same := at[string(key)]
		if !same {
			j = len(groups)
			at[string(key)] = j
			groups = append(groups, readGroup(p, need, lacks))
		}
		groups[j].Hosts = append(groups[j].Hosts, h.Name)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return need(b) - need(a) })
	return groups, unread
}

// need is how much a group has to do: conflicts before everything.
func need(g Group) int {
	n := len(g.Steps)
	for _, s := range g.Steps {
		if strings.HasPrefix(s.ID, conflict) {
			n += 1000
		}
	}
	return n
}

const conflict = "conflict-"

// unlabelled are the labels of the nodes' classes that no device of a host has, or more than one.
func unlabelled(v *fabric.VSphere, e *fabric.ESX) (lacks []string) {
	for _, c := range v.Classes {
		for _, d := range c.Devices {
			n, read := 0, false
			for _, p := range e.Devices {
				read = read || p.Labels || p.Label != ""
				if p.Label == d.Label && p.Vendor == d.Vendor && p.Device == d.Device {
					n++
				}
			}
			if v.Mode == fabric.Passthrough && len(c.Nodes) > 0 && n != 1 && !slices.Contains(lacks, d.Label) {
				if !read {
					return []string{unreadLabels}
				}
				lacks = append(lacks, d.Label)
			}
		}
	}
	return lacks
}

// unreadLabels stands for labels that the source of the facts does not give.
const unreadLabels = "?"

// readGroup is the steps of hosts that need the same.
func readGroup(p *fabric.Plan, need prepare.Preparation, lacks []string) Group {
	g := Group{Title: "ESX hosts, by what was read of them", Hosts: []string{}, Machine: machineOf(p), Unknown: append([]string{}, need.Unknown...)}
	again := Check{Lines: []string{"# on your own machine", "railwright check -f cluster.yaml"}, Expect: "nothing of this host failed"}
	steps := []Step{}
	for _, c := range need.Conflicts {
		steps = append(steps, Step{ID: conflict + c.ID, Phase: Before, Title: "Conflict: " + c.Text, When: c.Fix + ". With it nothing else is planned: then read the host and write this runbook again",
			Check: again, Undo: "none", Source: "practice"})
	}
	for i, stage := range need.Stages {
		phase, restarts, id := Install, Reboot, "reboot"
		switch {
		case i == len(need.Stages)-1 && !stage.Reboot && i > 0:
			phase = After
		case i > 0:
			phase, restarts, id = Second, SecondReboot, "second-reboot"
		}
		for _, s := range stage.Steps {
			step := readStep(s, phase)
			step.Reboot = stage.Reboot
			steps = append(steps, step)
		}
		if len(stage.Later) > 0 {
			steps = append(steps, Step{ID: "later", Phase: phase, Title: "What shows only after the reboot above", When: "read the host again, and write this runbook again from that: it then has the commands. To come: " + strings.Join(stage.Later, "; "),
				Commands: atHome("railwright collect -f cluster.yaml -d facts", "railwright apply -f cluster.yaml --snapshot facts --runbook next.md"),
				Check:    Check{Expect: "next.md has the steps of this host"}, Undo: "nothing was changed", Reboot: stage.Reboot, Source: "practice"})
		}
		if stage.Reboot {
			steps = append(steps, restart(restarts, id))
		}
	}
	if len(lacks) > 0 && len(need.Conflicts) == 0 {
		label := labelStep(*p.VSphere)
		label.Phase, label.When = Install, "these labels are on no device of their kind, or on more than one: "+strings.Join(lacks, ", ")+". "+sentence(label.When)
		if lacks[0] == unreadLabels {
			label.When = "the shell of ESX does not show labels: look which there are. " + sentence(labelStep(*p.VSphere).When)
		}
		steps = append([]Step{label}, steps...)
	}
	switch {
	case len(steps) == 0 && len(need.Unknown) == 0:
		g.Title = "ESX hosts that are as planned, as far as it was read: nothing to do but what only the BMC shows"
	case len(steps) == 0:
		g.Title = "ESX hosts of which not everything was read: what was read is as planned"
	}
	bios := vSphereBIOS(*p.VSphere)
	bios.Title = "BIOS and firmware of the server, which ESX does not show"
	if need.Reboots == 0 {
		bios.When += ". A setting that is changed needs a start of the host"
		bios.Phase, bios.Reboot = Before, false
	}
	if len(need.Conflicts) == 0 {
		steps = append([]Step{bios}, steps...)
	}
	g.Steps, _ = ordered(steps)
	g.Reboots = need.Reboots
	return g
}

// readStep is a step as people read it.
func readStep(s prepare.Step, phase Phase) Step {
	out := Step{ID: strings.ReplaceAll(s.ID, " ", "-"), Phase: phase, Title: sentence(s.Title), When: s.Why, Check: Check{Expect: s.Check.Want}, Undo: "none", Source: s.Source}
	if len(s.Commands) > 0 {
		out.Commands = everywhere(s.Commands...)
	}
	if c := s.Change; c != nil {
		out.When = strings.TrimSuffix(out.When+". ", ". ") + fmt.Sprintf("; in the vSphere Client: host, Configure, PCI Devices, device %s, Hardware Label %q", c.Address, c.Label)
		out.When = strings.TrimPrefix(out.When, "; ")
		out.Undo = fmt.Sprintf("the label %q, in the same place", c.Before)
	}
	if s.Check.Command != "" {
		out.Check.Lines = []string{s.Check.Command}
	}
	if out.Check.Expect == "" {
		out.Check.Expect = "as the step says"
	}
	if len(s.Undo) > 0 {
		out.Undo = strings.Join(s.Undo, "; ")
	}
	if out.Source == "" {
		out.Source = "practice"
	}
	return out
}
