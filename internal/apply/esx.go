package apply

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/prepare"
)

// ESXShell is the shell of an ESX host.
type ESXShell interface {
	Say(ctx context.Context, command string) ([]byte, error)
	Close() error
}

// ESX is a host on which a preparation is carried out.
type ESX struct {
	Host   string
	Folder string // of the journals of ESX hosts, on this machine
	Dial   func(ctx context.Context) (ESXShell, error)
	Plan   func(ctx context.Context, shell ESXShell) (prepare.Preparation, error) // reads the host anew
	Label  func(ctx context.Context, host, address, label string) error           // nil: no vSphere API
	Wait   time.Duration                                                          // for a start of the host, most
	Every  time.Duration                                                          // between two questions whether it is there
	Doing  func(format string, args ...any)
}

// mostStarts bounds the starts of one run: the tools, recovery mode, the settings, and one more.
const mostStarts = 4

// Prepare carries out what the host lacks, from wherever an earlier run ended. It stops at the first step that fails.
func (e ESX) Prepare(ctx context.Context) (unknown []string, err error) {
	j, err := e.openJournal()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.lock.Close()) }()
	shell, err := e.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shell.Close()) }()
	if j.Restart != nil {
		if shell, err = e.restart(ctx, shell, j); err != nil {
			return nil, err
		}
	}
	for starts := 0; ; starts++ {
		p, err := e.Plan(ctx, shell)
		switch {
		case err != nil:
			return nil, err
		case len(p.Conflicts) > 0:
			return p.Unknown, fmt.Errorf("host %s: %s: %s", e.Host, p.Conflicts[0].Text, p.Conflicts[0].Fix)
		case len(p.Stages) == 0 && j.Pending:
			p.Stages = []prepare.Stage{{Reboot: true}}
		case len(p.Stages) == 0:
			return p.Unknown, e.leave(ctx, shell, j)
		case starts == mostStarts:
			return p.Unknown, fmt.Errorf("host %s: started %d times, and still is not as planned", e.Host, starts)
		}
		if err := e.stage(ctx, shell, j, p.Stages[0]); err != nil {
			return p.Unknown, err
		}
		if !p.Stages[0].Reboot && !j.Pending {
			continue
		}
		if shell, err = e.restart(ctx, shell, j); err != nil {
			return p.Unknown, err
		}
	}
}

func (e ESX) stage(ctx context.Context, shell ESXShell, j *esxJournal, stage prepare.Stage) error {
	for _, s := range stage.Steps {
		if len(s.Commands) == 0 && s.Change == nil {
			return fmt.Errorf("host %s: a person has to %s; then repeat", e.Host, s.Title)
		}
		if s.Change != nil && e.Label == nil {
			return fmt.Errorf("host %s: %s: only the vSphere API does it: give vsphere.vcenter; then repeat", e.Host, s.Title)
		}
	}
	for _, s := range stage.Steps {
		e.Doing("%s: %s", e.Host, s.Title)
		if s.ID == "maintenance-enter" {
			if err := e.empty(ctx, shell); err != nil {
				return err
			}
		}
		j.Pending = j.Pending || stage.Reboot
		if err := j.begin(s); err != nil {
			return err
		}
		if c := s.Change; c != nil {
			if err := e.Label(ctx, e.Host, c.Address, c.Label); err != nil {
				return err
			}
		}
		for _, command := range s.Commands {
			if _, err := shell.Say(ctx, command); err != nil {
				return fmt.Errorf("%s: %w", s.Title, err)
			}
		}
	}
	return nil
}

// empty refuses maintenance mode where virtual machines run: they would be waited for without end.
func (e ESX) empty(ctx context.Context, shell ESXShell) error {
	out, err := shell.Say(ctx, "esxcli vm process list")
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(string(out)); text != "" {
		first, _, _ := strings.Cut(text, "\n")
		return fmt.Errorf("host %s: virtual machines are powered on (%q and maybe more): move them or power them off", e.Host, first)
	}
	return nil
}

// leave ends the maintenance mode that this program entered, and no other.
func (e ESX) leave(ctx context.Context, shell ESXShell, j *esxJournal) error {
	if !j.Entered {
		return nil
	}
	if _, err := shell.Say(ctx, "esxcli system maintenanceMode set -e false"); err != nil {
		return err
	}
	j.Entered = false
	return j.save()
}

// restart starts the host and waits until it was started: its moment of start is another one, whatever its port answers.
func (e ESX) restart(ctx context.Context, shell ESXShell, j *esxJournal) (ESXShell, error) {
	at, err := started(ctx, shell)
	if err != nil {
		return shell, err
	}
	if j.Restart == nil {
		j.Restart = &at
		if err := j.save(); err != nil {
			return shell, err
		}
	}
	if !again(*j.Restart, at) {
		e.Doing("%s: starts again", e.Host)
		_, err := shell.Say(ctx, "esxcli system shutdown reboot -r railwright")
		if refused := err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "exit"); refused {
			return shell, fmt.Errorf("reboot: %w", err) // a lost connection is no refusal
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.Wait, fmt.Errorf("host %s: was not started within %s: look at its console; repeat to go on from here", e.Host, e.Wait))
	defer cancel()
	for {
		if next, err := e.Dial(ctx); err == nil {
			if at, err := started(ctx, next); err == nil && again(*j.Restart, at) {
				_ = shell.Close() // of before the start
				j.Restart, j.Pending = nil, false
				return next, j.save()
			}
			_ = next.Close() // it is still going down
		}
		select {
		case <-ctx.Done():
			return shell, context.Cause(ctx)
		case <-time.After(e.Every):
		}
	}
}

// started is when the host was started, by the clock of this machine: that of a host jumps.
func started(ctx context.Context, shell ESXShell) (time.Time, error) {
	out, err := shell.Say(ctx, "esxcli system stats uptime get")
	if err != nil {
		return time.Time{}, err
	}
	up, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64) // microseconds
	if err != nil || up < 0 {
		return time.Time{}, fmt.Errorf("uptime %q: is not a number of microseconds", out)
	}
	return time.Now().Add(-time.Duration(up) * time.Microsecond), nil
}

// again reports whether two moments of start are of two starts: the way of an answer takes some seconds, a start minutes.
func again(before, after time.Time) bool { return after.Sub(before) > 20*time.Second }
