// Package runbook writes down what people must do by hand on the hosts of a plan, or hand over as a ticket: the software,
// firmware and settings of the vendors of its NICs and GPUs, in an order that reboots each host once, every step with what
// proves it and what takes it back. Hosts that are to be treated alike share one list.
package runbook

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// Kind is the kind of the document.
const Kind = "Runbook"

// Runbook is the steps of all hosts of a plan.
type Runbook struct {
	fabric.Meta
	Name   string  `json:"name"`
	Groups []Group `json:"groups"`
}

// Group is hosts that are to be treated alike.
type Group struct {
	Title   string   `json:"title,omitempty"` // of what is done once, or on hosts that are no nodes; empty: the names say it
	Hosts   []string `json:"hosts"`
	Machine string   `json:"machine,omitempty"` // id in the catalog
	Steps   []Step   `json:"steps"`
	Unknown []string `json:"unknown"`           // parts for whose vendor no steps are known, and why
	Reboots int      `json:"reboots"`           // of each host, by its steps that are not optional
	Running bool     `json:"running,omitempty"` // the steps are done while the hosts run: none of them starts again
}

// Phase is when a step is due.
type Phase string

// The phases, in their order. Everything that takes effect at a start of the host is done before the one reboot; only what needs
// a program that comes with it waits for a second one.
const (
	Before       Phase = "before"        // only looks
	Install      Phase = "install"       // changes, in effect after the reboot
	Reboot       Phase = "reboot"        // the one reboot
	Second       Phase = "second"        // changes by tools that the reboot has brought
	SecondReboot Phase = "second-reboot" // for these
	After        Phase = "after"         // proves, or makes what needs all before it
	Optional     Phase = "optional"      // for a reason that the step names
)

func phases() []Phase { return []Phase{Before, Install, Reboot, Second, SecondReboot, After, Optional} }

// Step is one thing to do. Commands are lines of a POSIX shell, run as root on each host of the group.
type Step struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Phase    Phase    `json:"phase"`
	When     string   `json:"when,omitempty"` // condition or reason
	Commands []Script `json:"commands,omitempty"`
	Check    Check    `json:"check"`
	Undo     string   `json:"undo"`
	Reboot   bool     `json:"reboot"` // it takes effect at a start of the host
	Source   string   `json:"source"`
}

// Script is lines for a shell.
type Script struct {
	OS    string   `json:"os,omitempty"` // ubuntu, rhel, sles; empty: any
	Lines []string `json:"lines"`
}

// Check says how a step is proved.
type Check struct {
	Lines  []string `json:"lines,omitempty"` // for a shell
	Expect string   `json:"expect"`          // what must come of it
	Rule   string   `json:"rule,omitempty"`  // of railwright check, which judges the same
}

// scene is what the steps of a group depend on.
type scene struct {
	nics    []string // interfaces of the fabric
	nic     catalog.NICModel
	gpu     catalog.GPUModel
	gpus    int
	traffic *fabric.Traffic
	mtu     int
	nicRate float64 // Gb/s
}

// New returns the runbook of a plan. Facts of ESX hosts, where there are any, leave out what a host does not need. The same plan and
// facts give the same runbook.
func New(p *fabric.Plan, cat *catalog.Catalog, known ...*fabric.Facts) *Runbook {
	r := &Runbook{Meta: fabric.NewMeta(Kind), Name: p.Name, Groups: []Group{}}
	if p.VSphere != nil {
		r.Groups = vsphereGroups(p, known)
		return r
	}
	at := map[string]int{}
	for _, n := range p.Nodes {
		key := n.Machine + "\x00" + strings.Join(n.NICs, "\x00")
		i, known := at[key]
		if !known {
			i = len(r.Groups)
			at[key] = i
			r.Groups = append(r.Groups, group(p, n, cat))
		}
		r.Groups[i].Hosts = append(r.Groups[i].Hosts, n.Name)
	}
	return r
}

// Complete reports whether every part of every host has steps.
func (r *Runbook) Complete() bool {
	return len(r.Groups) > 0 && !slices.ContainsFunc(r.Groups, func(g Group) bool { return len(g.Unknown) > 0 })
}

// bareMetal is the platform on whose hosts people install software themselves.
const bareMetal = "baremetal"

func group(p *fabric.Plan, n fabric.Node, cat *catalog.Catalog) Group {
	g := Group{Machine: n.Machine, Steps: []Step{}, Unknown: []string{}}
	i := slices.IndexFunc(p.Machines, func(m fabric.NominalMachine) bool { return m.ID == n.Machine })
	switch {
	case p.Platform != bareMetal:
		g.Unknown = append(g.Unknown, "platform "+p.Platform+": no vendor steps are known for it, only for bare metal")
		return g
	case i < 0:
		g.Unknown = append(g.Unknown, "the cluster file names no machine of the catalog, so that NIC and GPU are unknown: no vendor steps")
		return g
	}
	m := p.Machines[i]
	s := scene{nics: n.NICs, nic: cat.NICs[m.NIC], gpu: cat.GPUs[m.GPU], gpus: m.GPUs, traffic: p.Traffic, mtu: p.MTU, nicRate: m.NICGbps}
	steps := lookSteps()
	if s.gpu.Vendor == "amd" {
		steps = append(steps, amdSteps(s)...)
	} else {
		g.Unknown = append(g.Unknown, "GPU "+m.GPU+" of machine "+n.Machine+": no vendor steps are known for it")
	}
	if s.nic.Vendor == "broadcom" && p.Transport == fabric.RoCE {
		steps = append(steps, broadcomSteps(s)...)
	} else {
		g.Unknown = append(g.Unknown, "NIC "+m.NIC+" of machine "+n.Machine+" over "+string(p.Transport)+": no vendor steps are known for it")
	}
	steps = append(steps, hostSteps(s)...)
	if s.gpu.Vendor == "amd" {
		steps = append(steps, rcclSteps(s)...)
	}
	if s.nic.Vendor != "broadcom" && s.gpu.Vendor != "amd" { // whose guide has the list
		steps = slices.DeleteFunc(steps, func(s Step) bool { return s.ID == "bios" })
	}
	g.Steps, g.Reboots = ordered(steps)
	return g
}

// ordered puts the steps into the order of their phases, each list as it was, and leaves out a reboot that no step needs.
func ordered(steps []Step) (out []Step, reboots int) {
	needed := func(phase Phase) bool {
		return slices.ContainsFunc(steps, func(s Step) bool { return s.Phase == phase && s.Reboot })
	}
	for _, phase := range phases() {
		for _, s := range steps {
			if s.Phase != phase || phase == Reboot && !needed(Install) || phase == SecondReboot && !needed(Second) {
				continue
			}
			if phase == Reboot || phase == SecondReboot {
				reboots++
			}
			out = append(out, s)
		}
	}
	return out, reboots
}
