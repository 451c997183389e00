//go:build linux

package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/prepare"
)

// played is a host in memory: a file that is read at the start, maintenance mode, and a shell that fails when it is told to.
type played struct {
	file, read, maintenance bool
	slips, stuck, manual    bool // nothing sticks, no reboot is done, SSH is not started with the host
	token                   string
	vms                     string
	boots, said, failAt     int
	away                    bool // does not come back
	booted                  time.Time
}

func (p *played) Close() error { return nil }

func (p *played) Start(context.Context, host.Command) (*host.Process, error) {
	return nil, errors.New("nothing is started here")
}

func (p *played) Say(_ context.Context, command string) ([]byte, error) {
	p.said++
	if p.said == p.failAt {
		return nil, errors.New("connection lost")
	}
	refuse := &host.ExitError{Command: command, Status: 1, Stderr: "no"}
	switch {
	case command == "esxcli system uuid get":
		return []byte("5f3c0000-0000-0000-0000-000000000001\n"), nil
	case command == "esxcli vm process list":
		return []byte(p.vms), nil
	case command == "esxcli system stats uptime get":
		return fmt.Appendf(nil, "%d\n", time.Since(p.booted).Microseconds()), nil
	case command == "edit":
		p.file = !p.slips
	case command == "cat":
		return fmt.Appendf(nil, "file %t\nread %t\n", p.file, p.read), nil
	case command == "esxcli system maintenanceMode get":
		return []byte(map[bool]string{true: "Enabled\n", false: "Disabled\n"}[p.maintenance]), nil
	case strings.HasPrefix(command, "esxcli system maintenanceMode set -e "):
		p.maintenance = strings.HasSuffix(command, "true")
	case strings.HasPrefix(command, "chkconfig"):
		return []byte("SSH                     " + map[bool]string{true: "off", false: "on"}[p.manual] + "\n"), nil
	case strings.HasPrefix(command, "echo "):
		p.token = strings.Fields(command)[1]
	case strings.HasPrefix(command, "if test -e "):
		return []byte(cmp.Or(p.token, "none") + "\n"), nil
	case strings.HasPrefix(command, "esxcli system shutdown reboot"):
		if !p.maintenance || p.stuck {
			return nil, refuse
		}
		if !p.away {
			p.read, p.booted, p.token, p.boots = p.file, time.Now(), "", p.boots+1
			return nil, errors.New("the exit of the shell was lost")
		}
	default:
		return nil, &host.ExitError{Command: command, Status: 127}
	}
	return nil, nil
}

// plan sees what facts see: the file, and not whether it was read.
func (p *played) plan(context.Context, ESXShell) (prepare.Preparation, error) {
	if p.file {
		return prepare.Preparation{}, nil
	}
	st := prepare.Stage{Reboot: true}
	if !p.maintenance {
		st.Steps = append(st.Steps, prepare.Maintenance(true))
	}
	st.Steps = append(st.Steps, prepare.Step{ID: "reset-rule", Title: "edit", Commands: []string{"edit"}, Starts: true,
		Check: prepare.Check{Command: "cat", Of: "file|read", Now: []string{"^file true$"}, Started: []string{"^read true$"}}})
	return prepare.Preparation{Stages: []prepare.Stage{st}, Reboots: 1}, nil
}

func (p *played) host(folder string) ESX {
	return ESX{Host: "esx1", Folder: folder, Wait: time.Second, Every: time.Millisecond, Plan: p.plan, Doing: func(string, ...any) {},
		Dial: func(context.Context) (ESXShell, error) { return p, nil }}
}

func (p *played) apply(t *testing.T, folder string) Applied {
	t.Helper()
	return ESXHosts{Hosts: []ESX{p.host(folder)}}.Apply(t.Context())[0]
}

// Wherever the connection breaks, repeating ends with the file read at a start, and out of maintenance mode.
func TestESXResumed(t *testing.T) {
	for at := range 24 {
		p := &played{failAt: at, booted: time.Now().Add(-time.Hour)}
		folder := t.TempDir()
		for range 3 {
			if a := p.apply(t, folder); a.Error == "" {
				break
			}
		}
		if !p.read || p.maintenance || p.boots != 1 {
			t.Errorf("broken at %d: %+v", at, p)
		}
	}
}

func TestESXRefused(t *testing.T) {
	for name, c := range map[string]struct {
		p    played
		want string
	}{
		"virtual machines run": {played{vms: "vm1\n   World ID: 1\n"}, "powered on: vm1: move"},
		"does not come back":   {played{away: true}, "was not rebooted within"},
		"does not stick":       {played{slips: true}, `it did not stick: cat printed "file false", "read false"`},
		"no reboot":            {played{stuck: true}, "reboot: command"},
		"SSH is not started":   {played{manual: true}, "chkconfig SSH on"},
	} {
		p := c.p
		p.booted = time.Now().Add(-time.Hour)
		a := p.apply(t, t.TempDir())
		if a.Status != fabric.Unknown || !strings.Contains(a.Error, c.want) || p.boots > 0 {
			t.Errorf("%s: %s, %q, %+v", name, a.Status, a.Error, p)
		}
	}
}
