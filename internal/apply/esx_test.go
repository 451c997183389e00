//go:build linux

package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/prepare"
)

// played is a host in memory: a file that is read at the start, maintenance mode, and a shell that fails when it is told to.
type played struct {
	file, read, maintenance bool
	vms                     string
	boots, said, failAt     int
	away                    bool // does not come back
	booted                  time.Time
}

func (p *played) Close() error { return nil }

func (p *played) Say(_ context.Context, command string) ([]byte, error) {
	p.said++
	if p.said == p.failAt {
		return nil, errors.New("connection lost")
	}
	switch {
	case command == "esxcli vm process list":
		return []byte(p.vms), nil
	case command == "esxcli system stats uptime get":
		return fmt.Appendf(nil, "%d\n", time.Since(p.booted).Microseconds()), nil
	case command == "edit":
		p.file = true
	case strings.HasPrefix(command, "esxcli system maintenanceMode set -e "):
		p.maintenance = strings.HasSuffix(command, "true")
	case strings.HasPrefix(command, "esxcli system shutdown reboot"):
		if !p.maintenance {
			return nil, errors.New("exit status 1: not in maintenance mode")
		}
		if !p.away {
			p.read, p.booted, p.boots = p.file, time.Now(), p.boots+1
		}
	default:
		return nil, fmt.Errorf("exit status 127: %s", command)
	}
	return nil, nil
}

// plan sees what facts see: the file, and not whether it was read.
func (p *played) plan(context.Context, ESXShell) (prepare.Preparation, error) {
	if p.file {
		return prepare.Preparation{}, nil
	}
	s := prepare.Stage{Reboot: true}
	if !p.maintenance {
		s.Steps = append(s.Steps, prepare.Step{ID: "maintenance-enter", Commands: []string{"esxcli system maintenanceMode set -e true"}})
	}
	s.Steps = append(s.Steps, prepare.Step{ID: "reset-rule", Commands: []string{"edit"}})
	return prepare.Preparation{Stages: []prepare.Stage{s}}, nil
}

func (p *played) host(folder string) ESX {
	return ESX{Host: "esx1", Folder: folder, Wait: time.Second, Every: time.Millisecond, Plan: p.plan, Doing: func(string, ...any) {},
		Dial: func(context.Context) (ESXShell, error) { return p, nil }}
}

// Wherever the connection breaks, repeating ends with the file read at a start, and out of maintenance mode.
func TestESXResumed(t *testing.T) {
	for at := range 14 {
		p := &played{failAt: at, booted: time.Now().Add(-time.Hour)}
		folder := t.TempDir()
		for range 3 {
			if _, err := p.host(folder).Prepare(t.Context()); err == nil {
				break
			}
		}
		if !p.read || p.maintenance || p.boots < 1 || p.boots > 1 {
			t.Errorf("broken at %d: %+v", at, p)
		}
	}
}

func TestESXRefused(t *testing.T) {
	for name, c := range map[string]struct {
		p    played
		want string
	}{
		"virtual machines run": {played{vms: "vm1\n   World ID: 1\n"}, "powered on"},
		"does not come back":   {played{away: true}, "was not started within"},
	} {
		p := c.p
		p.booted = time.Now().Add(-time.Hour)
		_, err := p.host(t.TempDir()).Prepare(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || p.boots > 0 {
			t.Errorf("%s: %v, %+v", name, err, p)
		}
	}
}
