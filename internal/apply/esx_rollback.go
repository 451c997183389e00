package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/prepare"
)

// used reports whether there is anything to take back.
func (j *esxJournal) used() bool { return len(j.Begun) > 0 || j.Entered || j.Restart != nil }

func (e ESX) rollback(ctx context.Context) Applied {
	w := &esxWork{ESX: e, out: e.result(), stage: 1}
	folder, err := e.journalFolder()
	if err == nil {
		var j *esxJournal
		if j, err = readESXJournal(folder); err == nil && !j.used() {
			w.out.Status, w.out.Reason = fabric.NotApplicable, ErrNoJournal.Error()
			return w.out
		}
	}
	if err == nil {
		err = w.takeBack(ctx)
	}
	for i := range w.out.Changes {
		w.out.Changes[i].Kind = Restore
	}
	return w.end(nil, err)
}

// takeBack takes back what the journal has, the last first, from wherever an earlier run ended.
func (w *esxWork) takeBack(ctx context.Context) (err error) {
	if err := w.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	w.back = true
	if w.j.Restart != nil {
		if err := w.restart(ctx, nil); err != nil {
			return err
		}
	}
	if !w.j.Back {
		if err := w.untouched(ctx); err != nil {
			return err
		}
		w.j.Back = true
		if err := w.j.save(); err != nil {
			return err
		}
	}
	if err := w.vacate(ctx); err != nil {
		return err
	}
	for i := len(w.j.Begun) - 1; i >= 0; i-- {
		if err := w.undo(ctx, &w.j.Begun[i]); err != nil {
			return err
		}
	}
	if w.j.Pending {
		if err := w.restart(ctx, []string{"what was taken back takes effect"}); err != nil {
			return err
		}
	}
	if err := w.leave(ctx); err != nil {
		return err
	}
	if err := os.Remove(w.j.file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(w.j.file))
}

// untouched refuses to take back what somebody changed since: what reads neither as it was set nor as it was before.
func (w *esxWork) untouched(ctx context.Context) error {
	var changed []error
	for i, b := range w.j.Begun {
		later := w.j.Begun[i+1:]
		over := slices.ContainsFunc(later, func(l begun) bool { return subject(l.Step) == subject(b.Step) })
		if b.Undone || over || len(b.Check.Now) == 0 || !b.Done && len(b.Check.Back) == 0 || w.hidden(b.Step, later) {
			continue
		}
		out, err := w.say(ctx, b.Check.Command)
		if refused(err) && !b.Done {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: its check failed: %w", b.Title, err)
		}
		lacks, err := b.Check.Lacks(out, b.Check.Now)
		if err == nil && lacks != "" && len(b.Check.Back) > 0 {
			lacks, err = b.Check.Lacks(out, b.Check.Back)
		}
		if err != nil {
			return err
		}
		if lacks != "" {
			changed = append(changed, fmt.Errorf("%s: it was changed since: %s prints %s", b.Title, b.Check.Command, lacks))
		}
	}
	if len(changed) > 0 {
		return errors.Join(append(changed, fmt.Errorf("nothing was taken back; set it as it was, or remove %q to keep the host as it is", w.j.file))...)
	}
	return nil
}

// vacate enters maintenance mode where something that is taken back needs a reboot.
func (w *esxWork) vacate(ctx context.Context) error {
	if !w.j.Pending && !slices.ContainsFunc(w.j.Begun, func(b begun) bool { return b.Starts && !b.Undone }) {
		return nil
	}
	inside, err := w.inside(ctx)
	if err != nil || inside {
		return err
	}
	step := prepare.Maintenance(true)
	w.Doing("%s: %s", w.Host, step.Title)
	if err := w.enter(ctx, step); err != nil {
		return err
	}
	w.note(step.Title, "")
	return nil
}

// undo takes one step back. A NIC that is still passed through shows only after a start.
func (w *esxWork) undo(ctx context.Context, b *begun) error {
	if b.Undone {
		return nil
	}
	w.Doing("%s: undo: %s", w.Host, b.Title)
	w.j.Pending = w.j.Pending || b.Starts
	err := w.j.save()
	if err == nil {
		err = w.undoStep(ctx, b.Step)
	}
	if refused(err) && strings.HasPrefix(b.ID, "nic") && w.takenOut() {
		if err = w.restart(ctx, []string{"NICs are taken out of passthrough, so that mst shows them"}); err == nil {
			w.j.Pending, w.j.Shown = true, true
			if err = w.j.save(); err == nil {
				err = w.undoStep(ctx, b.Step)
			}
		}
	}
	if err != nil {
		return err
	}
	w.note("undo: "+b.Title, "")
	b.Undone = true
	return w.j.save()
}

// takenOut reports whether devices were taken out of passthrough, and the host was not started since.
func (w *esxWork) takenOut() bool {
	return !w.j.Shown && slices.ContainsFunc(w.j.Begun, func(b begun) bool { return b.Undone && strings.HasPrefix(b.ID, "passthrough ") })
}

func (w *esxWork) undoStep(ctx context.Context, s prepare.Step) error {
	if c := s.Change; c != nil {
		if w.API == nil {
			return fmt.Errorf("undo: %s: only the vSphere API does it: give vsphere.vcenter; then repeat", s.Title)
		}
		return w.label(ctx, c.Address, c.Before)
	}
	for _, command := range s.Undo {
		if _, err := w.say(ctx, command); err != nil {
			return fmt.Errorf("undo: %s: %w", s.Title, err)
		}
	}
	if len(s.Check.Back) == 0 {
		return nil
	}
	back := s
	back.Title, back.Check.Want = "undo: "+s.Title, "as it was before"
	return w.verify(ctx, back, s.Check.Back)
}
