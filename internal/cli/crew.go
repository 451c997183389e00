package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/bench"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
)

// machine is one far end that this program works on: a host of the lab, one reached over SSH, or this one.
type machine struct {
	runner  host.Runner
	program string // path of this program there
	leave   func(context.Context) error
}

// crew are the machines of a plan, in its order. One that cannot be reached has an error instead.
type crew struct {
	names  []string
	byName map[string]host.Outcome[machine]
	close  func() error
}

// Bounds of work on many machines.
const (
	reach       = 64               // machines at once
	reachWithin = 30 * time.Second // to log in and to lay the program down: 14 MB, a second at 100 Mb/s
	stepWithin  = 60 * time.Second // for a step on one machine
	leaveWithin = 10 * time.Second // to remove the program and part
)

func newCrew(machines []host.Outcome[machine], closeAll func() error) *crew {
	c := &crew{byName: make(map[string]host.Outcome[machine]), close: closeAll}
	for _, o := range machines {
		c.names = append(c.names, o.Name)
		c.byName[o.Name] = o
	}
	return c
}

// labCrew are the hosts of a lab.
func labCrew(l *lab.Lab) (*crew, error) {
	hosts, err := l.Hosts()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var machines []host.Outcome[machine]
	for _, h := range hosts {
		machines = append(machines, host.Outcome[machine]{Name: h.Name(), Value: machine{h, program, nothingToLeave}})
	}
	return newCrew(machines, func() error { return nil }), nil
}

func nothingToLeave(context.Context) error { return nil }

// sshCrew logs in to machines by name, as root or by sudo, and lays this program down beside. login is the
// user where ssh's own configuration names none. This host itself is not logged in to. dismiss must be called.
func sshCrew(ctx context.Context, names []string, login map[string]string) (*crew, error) {
	config, err := host.LoadSSHConfig("")
	if err != nil {
		return nil, err
	}
	dialer := &host.Dialer{}
	machines := host.RunAll(ctx, names, reach, reachWithin, func(ctx context.Context, name string) (machine, error) {
		if name == (host.Local{}).Name() {
			program, err := os.Executable()
			return machine{host.Local{}, program, nothingToLeave}, err
		}
		target, err := config.Target(name, login[name])
		if err != nil {
			return machine{}, err
		}
		return board(ctx, dialer, target)
	})
	return newCrew(machines, dialer.Close), nil
}

func board(ctx context.Context, dialer *host.Dialer, target host.Target) (machine, error) {
	login, err := dialer.Dial(ctx, target)
	if err != nil {
		return machine{}, err
	}
	program, remove, err := host.Deploy(ctx, login, programFor)
	if err != nil {
		return machine{}, errors.Join(err, login.Close())
	}
	leave := func(ctx context.Context) error { return errors.Join(remove(ctx), login.Close()) }
	root, err := host.AsRoot(ctx, login)
	if err != nil {
		return machine{}, errors.Join(err, leave(ctx))
	}
	return machine{root, program, leave}, nil
}

// programFor opens this program for an architecture: itself, or the one built beside it.
func programFor(arch string) (io.ReadCloser, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" && arch == runtime.GOARCH {
		return os.Open(self)
	}
	f, err := os.Open(filepath.Join(filepath.Dir(self), "railwright-linux-"+arch))
	if err != nil {
		return nil, fmt.Errorf("no program for %s beside this one for %s (make build gives both): %w", arch, runtime.GOARCH, err)
	}
	return f, nil
}

// dismiss removes the program from every machine and parts.
func (c *crew) dismiss() error {
	parted := host.RunAll(context.Background(), c.names, reach, leaveWithin, func(ctx context.Context, name string) (struct{}, error) {
		if o := c.byName[name]; o.Err == nil {
			return struct{}{}, o.Value.leave(ctx)
		}
		return struct{}{}, nil // nothing was left there
	})
	errs := []error{c.close()}
	for _, o := range parted {
		if o.Err != nil {
			errs = append(errs, fmt.Errorf("host %q: %w", o.Name, o.Err))
		}
	}
	return errors.Join(errs...)
}

// ask runs a step of this program on every machine at once and decodes what each prints. A machine that
// could not be reached has that error.
func ask[T any](ctx context.Context, c *crew, step string, stdin func(node string) ([]byte, error)) []host.Outcome[T] {
	return host.RunAll(ctx, c.names, reach, stepWithin, func(ctx context.Context, name string) (answer T, err error) {
		o := c.byName[name]
		if o.Err != nil {
			return answer, o.Err
		}
		text, err := stdin(name)
		if err != nil {
			return answer, err
		}
		argv := []string{o.Value.program, "node", step}
		out, err := host.Output(ctx, o.Value.runner, host.Command{Argv: argv, Stdin: bytes.NewReader(text)})
		if err != nil {
			return answer, err
		}
		if err := json.Unmarshal(out, &answer); err != nil {
			return answer, fmt.Errorf("answer of %q: %w", step, err)
		}
		return answer, nil
	})
}

// collect gives the facts of every machine, in order, and why there are none of some.
func (c *crew) collect(ctx context.Context) (nodes []*fabric.Facts, lost []fabric.Missing) {
	nothing := func(string) ([]byte, error) { return nil, nil }
	for _, o := range ask[*fabric.Facts](ctx, c, "collect", nothing) {
		switch {
		case o.Err != nil:
			lost = append(lost, fabric.Missing{What: o.Name, Source: "collect", Reason: o.Err.Error()})
		case o.Value == nil || o.Value.Node == "":
			lost = append(lost, fabric.Missing{What: o.Name, Source: "collect", Reason: "it answered without facts"})
		default:
			o.Value.Node = o.Name // what the plan calls it, whatever it calls itself
			nodes = append(nodes, o.Value)
		}
	}
	return nodes, lost
}

// apply writes what is rendered for each machine, or says what that would change.
func (c *crew) apply(ctx context.Context, p *fabric.Plan, dryRun bool) ([]host.Outcome[apply.Applied], error) {
	byTarget, err := artifactsOf(p)
	if err != nil {
		return nil, err
	}
	addresses := p.Addressing.ByNode()
	return ask[apply.Applied](ctx, c, "apply", func(node string) ([]byte, error) {
		return json.Marshal(apply.Bundle{
			Node: node, MTU: p.MTU, Addresses: addresses[node].NICs, Artifacts: byTarget[node], DryRun: dryRun,
		})
	}), nil
}

// How long an echo may take, on each of two tries (a round trip through a fabric is some tens of
// microseconds, asking for a neighbour's address some more), and a node until it answers.
const (
	meshWait    = 500 * time.Millisecond
	meshTimeout = 30 * time.Second
)

func (c *crew) mesh(ctx context.Context, p *fabric.Plan) (*fabric.Mesh, error) {
	nodes := make(map[string]host.Runner)
	for name, o := range c.byName {
		if o.Err == nil {
			nodes[name] = o.Value.runner
		}
	}
	return bench.Mesh(ctx, p, nodes, bench.MeshOptions{
		Command: func(node string) []string { return []string{c.byName[node].Value.program, "node", "mesh"} },
		Wait:    meshWait, Timeout: meshTimeout,
	})
}
