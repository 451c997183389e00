//go:build linux

// Package esxi brings hosts that are played (see shell) from the state in which they are delivered to the goals of the examples:
// whole, interrupted anywhere, refused, and back again. Commands run in busybox, which is the shell of ESX, in a root of their own;
// a part of the tests sends them through a real sshd.
package esxi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/prepare"
)

// shell is the program that plays hosts, built once.
var shell = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "railwright-esxi-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(folder, "shell")
	_, err = host.Output(context.Background(), host.Local{}, host.Command{Argv: []string{"go", "build", "-o", name, "./shell"}, Env: []string{"CGO_ENABLED=0"}})
	return name, err
})

func TestMain(m *testing.M) {
	if order := os.Getenv(childVariable); order != "" {
		os.Exit(child(order))
	}
	status := m.Run()
	if name, err := shell(); err == nil {
		_ = os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(status)
}

// goals are those of the examples, with the bundles that the played datastore has.
func goals(t testing.TB, example string) fabric.ESXGoal {
	t.Helper()
	small := example == "small"
	if small {
		example = "vcf-h100"
	}
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(example, 2, cat)
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse("cluster.yaml", text, cat)
	if err != nil {
		t.Fatal(err)
	}
	c.VSphere.Depots = []string{"/vmfs/volumes/ds1/nmst.zip", "/vmfs/volumes/ds1/mft.zip"}
	p, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	g := p.VSphere.Goal
	if small {
		g.NICs, g.GPUs, g.NVSwitches = 1, 1, 0
	}
	return g
}

// played is a host of the shell program.
type played struct {
	t       testing.TB
	name    string
	folder  string
	program string
	goal    fabric.ESXGoal

	said   int
	cut    int                                           // the connection breaks at this command; 0: never
	after  bool                                          // it breaks when the command has ended, and not before it
	die    func()                                        // what happens instead
	dialer func(context.Context) (apply.ESXShell, error) // nil: without sshd
	labels map[string]string                             // what the API says; nil: nobody reads it
	api    apply.ESXAPI                                  // nil: none
}

func newHost(t testing.TB, example, name string) *played {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a root of its own takes root")
	}
	if _, err := os.Stat("/bin/busybox"); err != nil {
		t.Skip("busybox is not installed (package busybox-static)")
	}
	program, err := shell()
	if err != nil {
		t.Fatal(err)
	}
	p := &played{t: t, name: name, folder: filepath.Join(t.TempDir(), name), program: program, goal: goals(t, example)}
	if _, err := host.Output(t.Context(), host.Local{}, host.Command{Argv: []string{program, "make", p.folder, example}}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *played) state() map[string]any {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, ".state/host.json"))
	var s map[string]any
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// change sets a field of the state.
func (p *played) change(field string, value any) *played {
	p.t.Helper()
	s := p.state()
	s[field] = value
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.folder, ".state/host.json"), text, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return p
}

// copied is the same host a second time, with a copy of the journal.
func (p *played) copied(folder string) *played {
	p.t.Helper()
	q := *p
	q.folder = filepath.Join(folder, "esx1")
	if _, err := host.Output(p.t.Context(), host.Local{}, host.Command{Argv: []string{"cp", "-a", p.folder, q.folder}}); err != nil {
		p.t.Fatal(err)
	}
	return &q
}

// kept is what a rollback has to give back: everything but the moments of starts. What ESX says again at the next start is that.
func (p *played) kept() string {
	s := p.state()
	for _, passing := range []string{"started", "starts", "down", "answers", "takes", "away", "full", "slips", "fades", "faults", "map"} {
		delete(s, passing)
	}
	if s["next"] == nil {
		delete(s, "next")
	}
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		p.t.Fatal(err)
	}
	rules, err := os.ReadFile(filepath.Join(p.folder, "etc/vmware/passthru.map"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text) + string(rules)
}

func (p *played) starts() int { return int(p.state()["starts"].(float64)) }

// calls are the programs that ran, each with when.
func (p *played) calls() (lines []string) {
	text, err := os.ReadFile(filepath.Join(p.folder, ".state/log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (p *played) esx(folder string) apply.ESX {
	dial := p.dialer
	if dial == nil {
		dial = p.dial
	}
	return apply.ESX{Host: p.name, Folder: folder, Dial: dial, Plan: p.plan, API: p.api, Wait: p.wait(), Every: 20 * time.Millisecond, Doing: func(string, ...any) {}}
}

// wait is not long where the host is not to be reached any more.
func (p *played) wait() time.Duration {
	if p.cut > 0 {
		return time.Second
	}
	return 20 * time.Second
}

func (p *played) plan(ctx context.Context, shell apply.ESXShell) (prepare.Preparation, error) {
	f := facts.CollectESX(ctx, shell, p.name)
	if f.ESX != nil && p.labels != nil {
		for i := range f.ESX.Devices {
			d := &f.ESX.Devices[i]
			d.Label, d.Labels = p.labels[d.Address], true
		}
	}
	return prepare.For(p.name, p.goal, f), ctx.Err()
}

func (p *played) apply(folder string) apply.Applied {
	return unlocked(func() apply.Applied { return apply.ESXHosts{Hosts: []apply.ESX{p.esx(folder)}}.Apply(p.t.Context())[0] })
}

// unlocked repeats what finds a lock that was given up: a process that another test is just starting has it still, until it is
// another program.
func unlocked(do func() apply.Applied) (a apply.Applied) {
	for range 50 {
		if a = do(); !strings.Contains(a.Error, apply.ErrBusy.Error()) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return a
}

func (p *played) dryRun(folder string) apply.Applied {
	return apply.ESXHosts{Hosts: []apply.ESX{p.esx(folder)}, DryRun: true}.Apply(p.t.Context())[0]
}

func (p *played) rollback(folder string) apply.Applied {
	return unlocked(func() apply.Applied {
		return apply.ESXHosts{Hosts: []apply.ESX{p.esx(folder)}}.Rollback(p.t.Context())[0]
	})
}

// dial logs in without sshd. A host that is away does not answer.
func (p *played) dial(ctx context.Context) (apply.ESXShell, error) {
	l := local{p}
	if _, err := l.run(ctx, "true"); err != nil {
		return nil, err
	}
	return l, nil
}

// local is a shell without sshd.
type local struct{ p *played }

var errLost = errors.New("connection lost")

func (l local) Close() error { return nil }

func (l local) command(command string) host.Command {
	return host.Command{Argv: []string{l.p.program, l.p.folder}, Env: []string{"SSH_ORIGINAL_COMMAND=" + command}}
}

func (l local) Start(ctx context.Context, c host.Command) (*host.Process, error) {
	if len(c.Argv) != 3 || c.Argv[0] != "sh" || c.Argv[1] != "-c" {
		return nil, fmt.Errorf("command %q: is not for a shell", c.Argv)
	}
	if l.breaks() {
		if l.p.die != nil {
			l.p.die()
		}
		return nil, errLost
	}
	return host.Local{}.Start(ctx, l.command(c.Argv[2]))
}

// breaks counts commands, and reports whether the connection breaks at this one.
func (l local) breaks() bool {
	l.p.said++
	if l.p.said == l.p.cut && l.p.die != nil && !l.p.after {
		l.p.die()
	}
	return l.p.cut > 0 && l.p.said >= l.p.cut
}

func (l local) Say(ctx context.Context, command string) ([]byte, error) {
	broken := l.breaks()
	if broken && (!l.p.after || l.p.said > l.p.cut) {
		return nil, errLost
	}
	out, err := l.run(ctx, command)
	if broken {
		if l.p.die != nil {
			l.p.die()
		}
		return nil, errLost
	}
	return out, err
}

func (l local) run(ctx context.Context, command string) ([]byte, error) {
	out, err := host.Output(ctx, host.Local{}, l.command(command))
	if exit, ok := errors.AsType[*host.ExitError](err); ok && exit.Status == 255 {
		return nil, errLost
	}
	return out, err
}

func lines(changes []apply.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%-8s %s (%s)\n", c.Kind, c.Path, c.Reason)
	}
	return b.String()
}

func count(changes []apply.Change, part string) (n int) {
	for _, c := range changes {
		if strings.Contains(c.Path, part) {
			n++
		}
	}
	return n
}

func examples() []string { return []string{"vcf-h100", "vsphere8-sriov"} }

func contains(changes []apply.Change, kind apply.Kind) bool {
	return slices.ContainsFunc(changes, func(c apply.Change) bool { return c.Kind == kind })
}
