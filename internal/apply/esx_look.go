package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/prepare"
)

// look is a dry run: it reads the host, and the journal of it.
func (e ESX) look(ctx context.Context) (a Applied) {
	a = e.result()
	fail := func(err error) Applied {
		a.Status, a.Error = fabric.Unknown, fmt.Sprintf("host %s: %v", e.Host, err)
		return a
	}
	folder, err := e.journalFolder()
	if err != nil {
		return fail(err)
	}
	j, err := readESXJournal(folder)
	if err != nil {
		return fail(err)
	}
	shell, err := e.Dial(ctx)
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := shell.Close(); err != nil && a.Error == "" {
			a = fail(err)
		}
	}()
	p, err := e.Plan(ctx, shell)
	if err != nil {
		return fail(err)
	}
	w := esxWork{ESX: e, j: j}
	return w.foretell(a, p)
}

// foretell says what an apply would do.
func (w *esxWork) foretell(a Applied, p prepare.Preparation) Applied {
	if len(p.Conflicts) > 0 {
		a.Status, a.Error = fabric.Unknown, fmt.Sprintf("host %s: %v", w.Host, conflict(p))
		return a
	}
	switch {
	case w.j.Back:
		a.Note = "a rollback was interrupted: repeat railwright rollback first"
	case w.j.Restart != nil:
		a.Note = "an apply was interrupted while the host was rebooted: the next one goes on from there"
	case w.j.Pending:
		a.Note = "an apply was interrupted before a reboot: the next one goes on from there"
	}
	if w.j.Pending && p.Reboots == 0 {
		p.Stages, p.Reboots = append([]prepare.Stage{{Reboot: true, Why: []string{"what was set before takes effect"}}}, p.Stages...), 1
	}
	a.Changes = append(a.Changes, grouped(stagesText(p))...)
	if w.j.Entered && len(p.Stages) == 0 {
		a.Changes = append(a.Changes, Change{Path: prepare.Maintenance(false).Title, Kind: Update})
	}
	a.Status = fabric.Pass
	if len(a.Changes) > 0 {
		a.Status = fabric.Fail
	}
	for _, text := range w.settled(p) {
		a.Changes = append(a.Changes, Change{Path: text, Kind: Unknown})
		if a.Status == fabric.Pass {
			a.Status = fabric.Unknown
		}
	}
	if len(a.Changes) == 0 {
		a.Changes = []Change{{Path: "nothing to do", Kind: Same}}
	}
	return a
}

// stagesText is the stages of a host, a line for each step and reboot.
func stagesText(p prepare.Preparation) (all []Change) {
	reboot := 0
	for i, s := range p.Stages {
		add := func(what, why string) {
			all = append(all, Change{Path: fmt.Sprintf("stage %d: %s", i+1, what), Kind: Update, Reason: why})
		}
		with := 0
		for _, step := range s.Steps {
			what := step.Title
			if len(step.Commands) == 0 && step.Change == nil {
				what = "for a person: " + what
			}
			add(what, step.Why)
			if step.Starts {
				with++
			}
		}
		for _, later := range s.Later {
			add(later, "decided when it is reached")
		}
		if s.Reboot {
			reboot++
			why := slices.Clone(s.Why)
			if with > 0 {
				why = append(why, fabric.Count(with, "step")+" of this stage take effect with it")
			}
			add(fmt.Sprintf("reboot %d of %d", reboot, p.Reboots), strings.Join(why, "; "))
		}
	}
	return all
}

// lookBack is a dry run of a rollback: what the journal has.
func (e ESX) lookBack(context.Context) Applied {
	a := e.result()
	folder, err := e.journalFolder()
	var j *esxJournal
	if err == nil {
		j, err = readESXJournal(folder)
	}
	switch {
	case err != nil:
		a.Status, a.Error = fabric.Unknown, fmt.Sprintf("host %s: %v", e.Host, err)
		return a
	case !j.used():
		a.Status, a.Reason = fabric.NotApplicable, ErrNoJournal.Error()
		return a
	}
	for _, b := range slices.Backward(j.Begun) {
		if !b.Undone {
			a.Changes = append(a.Changes, Change{Path: "undo: " + b.Title, Kind: Restore})
		}
	}
	if j.Entered {
		a.Changes = append(a.Changes, Change{Path: prepare.Maintenance(false).Title, Kind: Restore})
	}
	a.Status, a.Changes = fabric.Fail, grouped(a.Changes)
	return a
}
