package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/prepare"
)

// played is a host in memory: a file that is read at the start, maintenance mode, and a shell that fails when it is told to.
type played struct {
	kept
	slips, stuck, manual, away bool // nothing sticks, no reboot is done, SSH is not started with the host, it does not come back
	vms                        string
	said, failAt               int
	root                       string // where it is kept; empty: in memory alone
}

// kept is what of a host outlives the process of a test.
type kept struct {
	File, Read, Maintenance bool
	Booted                  time.Time
	Token                   string
	Boots                   int
}

// playedAt is a host that was kept, or a new one.
func playedAt(root string) (*played, error) {
	p := &played{root: root, kept: kept{Booted: time.Now().Add(-time.Hour)}}
	text, err := os.ReadFile(root + "/host.json")
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p.kept)
	}
	return p, err
}

func (p *played) keep() error {
	if p.root == "" {
		return nil
	}
	text, err := json.Marshal(p.kept)
	if err == nil {
		err = os.WriteFile(p.root+"/host.new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.root+"/host.new", p.root+"/host.json")
	}
	return err
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
		return fmt.Appendf(nil, "%d\n", time.Since(p.Booted).Microseconds()), nil
	case command == "edit":
		p.File = !p.slips
	case command == "unedit":
		p.File = false
	case command == "cat":
		return fmt.Appendf(nil, "file %t\nread %t\n", p.File, p.Read), nil
	case command == "esxcli system maintenanceMode get":
		return []byte(map[bool]string{true: "Enabled\n", false: "Disabled\n"}[p.Maintenance]), nil
	case strings.HasPrefix(command, "esxcli system maintenanceMode set -e "):
		p.Maintenance = strings.HasSuffix(command, "true")
	case strings.HasPrefix(command, "chkconfig"):
		return []byte("SSH                     " + map[bool]string{true: "off", false: "on"}[p.manual] + "\n"), nil
	case strings.HasPrefix(command, "echo "):
		p.Token = strings.Fields(command)[1]
	case strings.HasPrefix(command, "if test -e "):
		return []byte(cmp.Or(p.Token, "none") + "\n"), nil
	case strings.HasPrefix(command, "esxcli system shutdown reboot"):
		if !p.Maintenance || p.stuck {
			return nil, refuse
		}
		if !p.away {
			p.Read, p.Booted, p.Token, p.Boots = p.File, time.Now(), "", p.Boots+1
			if err := p.keep(); err != nil {
				return nil, err
			}
			return nil, errors.New("the exit of the shell was lost")
		}
	default:
		return nil, &host.ExitError{Command: command, Status: 127}
	}
	return nil, p.keep()
}

// plan sees what facts see: the file, and not whether it was read.
func (p *played) plan(context.Context, ESXShell) (prepare.Preparation, error) {
	if p.File {
		return prepare.Preparation{}, nil
	}
	st := prepare.Stage{Reboot: true}
	if !p.Maintenance {
		st.Steps = append(st.Steps, prepare.Maintenance(true))
	}
	st.Steps = append(st.Steps, prepare.Step{ID: "reset-rule", Title: "edit", Commands: []string{"edit"}, Starts: true,
		Undo: []string{"unedit"}, Check: prepare.Check{Command: "cat", Of: "file|read", Now: []string{"^file true$"}, Started: []string{"^read true$"}, Back: []string{"^file false$"}}})
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
		p := &played{failAt: at, kept: kept{Booted: time.Now().Add(-time.Hour)}}
		folder := t.TempDir()
		for range 3 {
			if a := p.apply(t, folder); a.Error == "" {
				break
			}
		}
		if !p.Read || p.Maintenance || p.Boots != 1 {
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
		p.Booted = time.Now().Add(-time.Hour)
		a := p.apply(t, t.TempDir())
		if a.Status != fabric.Unknown || !strings.Contains(a.Error, c.want) || p.Boots > 0 {
			t.Errorf("%s: %s, %q, %+v", name, a.Status, a.Error, p)
		}
	}
}

// esxActs is what a process does to a kept host.
func esxActs(what, root string) error {
	p, err := playedAt(root)
	if err != nil {
		return err
	}
	e := p.host(root + "/journal")
	do := e.apply
	if what == "esx-back" {
		do = e.rollback
	}
	a := do(context.Background())
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// A process that is killed at any system call that changes something leaves what the next one goes on from, to the one end and to the
// other.
func TestESXKilled(t *testing.T) {
	needsStrace(t)
	for _, what := range []string{"esx-apply", "esx-back"} {
		prepare := func(root string) {
			if what == "esx-back" {
				if err := esxActs("esx-apply", root); err != nil {
					t.Fatal(err)
				}
			}
		}
		kills(t, []string{what}, prepare, func(root string, _ int) { esxEnds(t, root, what) })
	}
}

// esxEnds repeats what was broken off, and goes back.
func esxEnds(t *testing.T, root, what string) {
	t.Helper()
	again := esxActs(what, root)
	if what == "esx-apply" {
		p, err := playedAt(root)
		if err = errors.Join(again, err); err != nil || !p.File || !p.Read || p.Maintenance || p.Boots != 1 {
			t.Errorf("repeated: %v, %+v", err, p.kept)
		}
		again = esxActs("esx-back", root)
	}
	p, err := playedAt(root)
	if err = errors.Join(again, err); err != nil || p.File || p.Read || p.Maintenance || p.Boots > 2 {
		t.Errorf("taken back: %v, %+v", err, p.kept)
	}
}

// A full disk here costs the run, and nothing else.
func TestESXFullDisk(t *testing.T) {
	needsStrace(t)
	failed := 0
	for _, what := range []string{"esx-apply", "esx-back"} {
		for _, call := range []string{"openat", "write", "fsync", "rename", "renameat"} {
			for n, unharmed := 1, 0; unharmed < 3; n++ { // some calls may fail; three in a row were not made
				root := emptyRoot(t)
				if what == "esx-back" {
					if err := esxActs("esx-apply", root); err != nil {
						t.Fatal(err)
					}
				}
				by := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=?" + call, "-e", fmt.Sprintf("inject=?%s:error=ENOSPC:when=%d", call, n)}
				if status, _ := ended(t, actor(by, what, root)); status == 0 {
					unharmed++
				} else {
					unharmed, failed = 0, failed+1
				}
				if esxEnds(t, root, what); t.Failed() {
					t.Fatalf("%s: no space at %s number %d", what, call, n)
				}
			}
		}
	}
	t.Logf("%d failures", failed)
	if failed < 30 {
		t.Errorf("only %d failures", failed)
	}
}

// What is a start and what is none, whatever the clock here says.
func TestESXStartedAgain(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		name        string
		before, now time.Duration // uptime
		ago         time.Duration // since it was asked for, by the clock of this machine
		gone        bool          // the token
		want        bool
	}{
		{"still going down", hour, hour + 20*time.Second, 20 * time.Second, false, false},
		{"started", hour, time.Minute, 9 * time.Minute, true, true},
		{"started, and its files are kept", hour, time.Minute, 9 * time.Minute, false, true},
		{"had run for a minute only", time.Minute, 2 * time.Minute, 10 * time.Minute, true, true},
		{"looked at a day later", time.Minute, 23 * hour, 24 * hour, true, true},
		{"never asked, and somebody took the token", hour, 25 * hour, 24 * hour, true, false},
		{"the clock went back a year", hour, time.Minute, -365 * 24 * hour, true, true},
		{"the clock went forward a year, still going down", hour, hour + 20*time.Second, 365 * 24 * hour, false, false},
		{"the clock went forward a year", hour, 2 * time.Minute, 365 * 24 * hour, true, true},
	} {
		p := &played{kept: kept{Booted: time.Now().Add(-c.now), Token: "T"}}
		if c.gone {
			p.Token = ""
		}
		w := &esxWork{ESX: p.host(t.TempDir()), j: &esxJournal{Restart: &esxRestart{Token: "T", Uptime: c.before.Microseconds(), Asked: time.Now().Add(-c.ago)}}}
		if got, err := w.startedAgain(t.Context(), p); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func TestESXGrouped(t *testing.T) {
	in := []Change{{"1: pass 0000:1b:00.0 through", Update, ""}, {"1: pass 0000:3d:00.0 through", Update, ""}, {"1: pass 0000:4e:00.0 through", Update, ""}, {"1: reboot", Update, ""}, {"2: pass 0000:1b:00.0 through", Update, ""},
		{"set 0000:1a:00.0: A=1", Update, ""}, {"set 0000:1c:00.0: A=1", Update, ""}, {"set 0000:1d:00.0: A=2", Update, ""}, {"set 0000:1e:00.0: A=2", Unknown, ""}}
	want := []string{"1: pass 0000:1b:00.0, 0000:3d:00.0, 0000:4e:00.0 through", "1: reboot", "2: pass 0000:1b:00.0 through", "set 0000:1a:00.0, 0000:1c:00.0: A=1", "set 0000:1d:00.0: A=2", "set 0000:1e:00.0: A=2"}
	var got []string
	for _, c := range grouped(in) {
		got = append(got, c.Path)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
