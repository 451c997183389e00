// Package prepare says what an ESX host lacks for a plan: the steps, in stages between which the host starts again, as few times
// as possible. It is pure: it reads facts and changes nothing.
package prepare

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Preparation is what is to be done on a host. A stage whose Later is not empty is planned anew from facts that are read then.
type Preparation struct {
	Host      string     `json:"host"`
	Conflicts []Conflict `json:"conflicts,omitempty"` // with any, there are no stages
	Unknown   []string   `json:"unknown,omitempty"`   // what was not read, and is therefore not changed
	Hidden    []string   `json:"hidden,omitempty"`    // addresses of NICs of which that is so because they are passed through
	Stages    []Stage    `json:"stages,omitempty"`
	Reboots   int        `json:"reboots"` // at least
}

// Conflict is why nothing is done on a host.
type Conflict struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Fix  string `json:"fix"`
}

// Stage is steps that are done one after the other, and a start of the host after them where they need one.
type Stage struct {
	Steps  []Step   `json:"steps,omitempty"`
	Reboot bool     `json:"reboot"`
	Why    []string `json:"why,omitempty"`   // what was set before, and takes effect with that start
	Later  []string `json:"later,omitempty"` // what can be decided only after the stages before it
}

// Step is one change. Its commands are for the shell of ESX, which is that of busybox.
type Step struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Why      string   `json:"why,omitempty"`
	Commands []string `json:"commands,omitempty"`
	Change   *Change  `json:"change,omitempty"` // what only the vSphere API does
	Starts   bool     `json:"starts,omitempty"` // it takes effect with the next start of the host
	Check    Check    `json:"check"`
	Undo     []string `json:"undo,omitempty"`
	Source   string   `json:"source,omitempty"`
}

// Change is a change of a device by the vSphere API.
type Change struct {
	Address string `json:"address"` // domain:bus:device.function
	Label   string `json:"label"`
	Before  string `json:"before,omitempty"` // label that the device had
}

// The documents that steps come from.
const (
	vcf = "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI, "
	vs8 = "InfiniBand Configuration on VMware vSphere 8, "
)

// run is the preparation of a host while it is made.
type run struct {
	goal  fabric.ESXGoal
	facts *fabric.Facts
	esx   *fabric.ESX
	out   Preparation
	now   Stage    // before the first start
	later []string // after it

	unlock   []Step   // that let more be read, at once
	unlocked []string // what that is
	moved    bool     // the tool that configures NICs, or what it shows, changes with the next start
}

// For compares a host with its goal.
func For(host string, goal fabric.ESXGoal, facts *fabric.Facts) Preparation {
	r := &run{goal: goal, facts: facts, out: Preparation{Host: host}}
	if facts == nil || facts.ESX == nil {
		r.unknown("nothing was read of the host")
		return r.out
	}
	r.esx = facts.ESX
	r.conflicts()
	if len(r.out.Conflicts) > 0 {
		return r.out
	}
	r.power()
	r.vibs()
	r.settings()
	r.resetRule()
	r.takeOut()
	settled := r.nics()
	r.functions()
	r.passThrough(settled)
	r.labels()
	if len(r.out.Conflicts) > 0 { // found on the way
		return r.out
	}
	return r.stages()
}

func (r *run) unknown(text string) {
	if !slices.Contains(r.out.Unknown, text) {
		r.out.Unknown = append(r.out.Unknown, text)
	}
}

func (r *run) conflict(id, text, fix string) {
	r.out.Conflicts = append(r.out.Conflicts, Conflict{ID: id, Text: text, Fix: fix})
}

// add is a step that takes effect with the next start.
func (r *run) add(s Step) {
	s.Starts = true
	r.now.Steps, r.now.Reboot = append(r.now.Steps, s), true
}

// pending is a start for what was set before.
func (r *run) pending(why string) {
	r.now.Reboot = true
	if !slices.Contains(r.now.Why, why) {
		r.now.Why = append(r.now.Why, why)
	}
}

// when is a step that needs a start of the host, or only stores what is in force already.
func (r *run) when(start bool, s Step) {
	if start {
		r.add(s)
	} else {
		r.atOnce(s)
	}
}

// atOnce is a step that takes effect at once.
func (r *run) atOnce(s Step) { r.now.Steps = append(r.now.Steps, s) }

// stages sets maintenance mode around what needs a start of the host. What lets more be read at once comes first.
func (r *run) stages() Preparation {
	enter, leave := Maintenance(true), Maintenance(false)
	inside := r.esx.Maintenance != nil && *r.esx.Maintenance // somebody else's: it is left as it is
	if len(r.unlock) > 0 {
		r.out.Stages = append(r.out.Stages, Stage{Steps: r.unlock})
		r.now.Later = append(r.now.Later, r.unlocked...)
		r.now.Reboot = true
	}
	if len(r.later) > 0 {
		r.now.Reboot = true
	}
	if !r.now.Reboot {
		if len(r.now.Steps) > 0 {
			r.out.Stages = []Stage{r.now}
		}
		return r.out
	}
	if !inside {
		r.now.Steps = append([]Step{enter}, r.now.Steps...)
	}
	r.out.Stages = append(r.out.Stages, r.now)
	if len(r.later) > 0 {
		r.out.Stages = append(r.out.Stages, Stage{Reboot: true, Later: r.later})
	}
	if !inside {
		r.out.Stages = append(r.out.Stages, Stage{Steps: []Step{leave}})
	}
	for _, s := range r.out.Stages {
		if s.Reboot {
			r.out.Reboots++
		}
	}
	return r.out
}

// Enter is the id of the step that enters maintenance mode.
const Enter = "maintenance-enter"

// Maintenance enters maintenance mode, or leaves it.
func Maintenance(on bool) Step {
	s := Step{ID: Enter, Title: "enter maintenance mode", Why: "the host is rebooted; virtual machines that are powered on move, or the step is refused",
		Commands: []string{"esxcli system maintenanceMode set -e true"}, Undo: []string{"esxcli system maintenanceMode set -e false"},
		Check: Check{Command: "esxcli system maintenanceMode get", Want: "Enabled", Now: []string{"^Enabled$"}}, Source: vcf + "8.2"}
	if !on {
		s.ID, s.Title, s.Why = "maintenance-leave", "leave maintenance mode", ""
		s.Commands, s.Undo, s.Check.Want, s.Check.Now = s.Undo, s.Commands, "Disabled", []string{"^Disabled$"}
	}
	return s
}
