package apply

import (
	"context"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/prepare"
	"railwright.dev/railwright/internal/vcenter"
)

// enter puts the host into maintenance mode. By the vSphere API virtual machines may move; without it none may run.
func (w *esxWork) enter(ctx context.Context, s prepare.Step) error {
	if w.API == nil {
		if err := w.empty(ctx); err != nil {
			return err
		}
	}
	w.j.Entered = true
	if err := w.j.save(); err != nil {
		return err
	}
	if w.API != nil {
		if _, err := w.API.EnterMaintenance(ctx, w.Host, vcenter.Maintenance{Mine: true}); err != nil {
			return fmt.Errorf("%s: %w", s.Title, err)
		}
	} else if err := w.do(ctx, s); err != nil {
		return err
	}
	return w.verify(ctx, s, s.Check.Now)
}

// empty refuses maintenance mode where virtual machines run: they would be waited for without end.
func (w *esxWork) empty(ctx context.Context) error {
	out, err := w.say(ctx, "esxcli vm process list")
	if err != nil {
		return err
	}
	var names []string
	for line := range strings.Lines(out) {
		if line[0] != ' ' && line[0] != '\t' && strings.TrimSpace(line) != "" {
			names = append(names, strings.TrimSpace(line))
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("virtual machines are powered on: %s: move them or power them off, or give vsphere.vcenter, which lets them move; then repeat", firstOf(names))
	}
	return nil
}

// inside reports whether the host is in maintenance mode.
func (w *esxWork) inside(ctx context.Context) (bool, error) {
	out, err := w.say(ctx, "esxcli system maintenanceMode get")
	switch {
	case err != nil:
		return false, err
	case out == "Enabled":
		return true, nil
	case out == "Disabled":
		return false, nil
	}
	return false, fmt.Errorf("esxcli system maintenanceMode get printed %q: unknown", out)
}

// leave ends the maintenance mode that this program entered, and no other.
func (w *esxWork) leave(ctx context.Context) error {
	if !w.j.Entered {
		return nil
	}
	inside, err := w.inside(ctx)
	if err != nil {
		return err
	}
	if inside {
		step := prepare.Maintenance(false)
		w.Doing("%s: %s", w.Host, step.Title)
		err := w.do(ctx, step) // by the shell: vCenter may not yet reach a host that was just rebooted
		if err == nil {
			err = w.verify(ctx, step, step.Check.Now)
		}
		if err != nil {
			return err
		}
		w.note(step.Title, "")
	}
	w.j.Entered = false
	return w.j.save()
}
