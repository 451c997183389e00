package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
)

// ActivateWithin is how long a machine waits to be reached, where nobody says: half of it is to configure its NICs, and the
// rest is enough for several logins of ten seconds.
const ActivateWithin = 90 * time.Second

// Activate puts the rendered files of each machine into effect now. Each machine takes them back by itself unless this one
// reaches it within the given time over a connection that was made afterwards. The results are as those of Apply.
func Activate(ctx context.Context, f *fleet.Fleet, p *fabric.Plan, folder string, inLab bool, within time.Duration) ([]apply.Applied, error) {
	targets, bundle, err := bundles(p)
	if err != nil {
		return nil, err
	}
	id, began := rand.Text(), time.Now()
	tried := func(node string) apply.Bundle {
		b := bundle(node)
		b.Trial = &apply.Trial{ID: id, Within: int(within / time.Second)}
		return b
	}
	asked := make(map[string]host.Outcome[apply.Result])
	for _, o := range askApply(ctx, f, tried) {
		asked[o.Name] = o
	}
	members := f.Reached()
	const longer = 45 * time.Second // after the deadline: the old network needs some seconds too
	confirmed := host.RunAll(ctx, f.Names(), len(f.Names()), within+longer, func(ctx context.Context, name string) (apply.Applied, error) {
		t := confirmation{member: members[name], id: id, bundle: tried(name), until: began.Add(within)}
		return t.end(ctx, asked[name])
	})
	results := make([]apply.Applied, 0, len(confirmed)+len(p.Switches))
	for _, o := range confirmed {
		if o.Err != nil {
			o.Value = notApplied(o.Name, o.Err)
		}
		results = append(results, o.Value)
	}
	return append(results, apply.Switches(p.Switches, targets, folder, inLab || apply.InLab())...), nil
}

// confirmation is what is to be done after a machine was asked for a trial.
type confirmation struct {
	member fleet.Member
	id     string
	bundle apply.Bundle
	until  time.Time // when the machine takes it back
}

// end confirms a trial, or finds out what became of it.
func (c confirmation) end(ctx context.Context, o host.Outcome[apply.Result]) (apply.Applied, error) {
	if exit, ok := errors.AsType[*host.ExitError](o.Err); ok {
		if exit.Status < 0 { // killed: what it had begun takes itself back
			return apply.Applied{}, fmt.Errorf("%w: what it had begun is taken back in %.0f s", o.Err, time.Until(c.until).Seconds())
		}
		return apply.Applied{}, o.Err
	}
	if o.Err == nil {
		a, err := c.bundle.Accept(o.Value)
		if err != nil || a.Waits == "" { // nothing was changed, or it is taken back already
			return a, err
		}
	} else if c.member.Runner == nil {
		return apply.Applied{}, o.Err // it was never reached
	}
	if c.member.Again == nil {
		return c.here(ctx)
	}
	a, err := c.confirm(ctx)
	if err == nil {
		return a, nil
	}
	return c.lost(ctx, errors.Join(err, o.Err))
}

// here confirms the trial of this very machine, to which no new connection is made. A person who works on it over SSH must
// not lose that: the address at which that connection arrives is still to be there.
func (c confirmation) here(ctx context.Context) (apply.Applied, error) {
	if gone := lostLogin(os.Getenv("SSH_CONNECTION")); gone != "" {
		return c.lost(ctx, fmt.Errorf("this login came to %s, an address that is gone", gone))
	}
	a, err := c.confirm(ctx)
	if err != nil {
		return c.lost(ctx, err)
	}
	a.Activation.Confirmed = false // by nobody else
	return a, nil
}

// lostLogin returns the address of this machine at which a login arrived, as sshd says it (ssh(1): client, its port, server,
// its port), if this machine does not have it any more.
func lostLogin(connection string) string {
	words := strings.Fields(connection)
	const server = 2
	if len(words) <= server {
		return ""
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return words[server]
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().String() == words[server] {
			return ""
		}
	}
	return words[server]
}

// confirm tries again and again, over a new connection each time, until the machine has given up waiting.
func (c confirmation) confirm(ctx context.Context) (a apply.Applied, err error) {
	const pause = time.Second
	for {
		var final bool
		if a, final, err = c.once(ctx); err == nil || final {
			return a, err
		}
		if time.Now().Add(pause).After(c.until) || ctx.Err() != nil {
			return a, err
		}
		time.Sleep(pause)
	}
}

// once tries to confirm. final says of an error that another try is in vain.
func (c confirmation) once(ctx context.Context) (a apply.Applied, final bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, c.until)
	defer cancel()
	out, err := c.output(ctx, append([]string{apply.GuardProgram}, append(apply.ConfirmCommand(), c.id)...))
	if err != nil {
		exit, ended := errors.AsType[*host.ExitError](err)
		// The step that brings the network up may still hold the journal, after its connection was cut.
		return a, ended && !strings.Contains(exit.Stderr, apply.ErrBusy.Error()), err
	}
	var r apply.Result
	if err := fabric.Decode(out, apply.ResultKind, &r); err != nil {
		return a, true, err
	}
	b := c.bundle
	b.Trial = nil
	a, err = b.Accept(r)
	return a, true, err
}

// output runs a command over a new connection.
func (c confirmation) output(ctx context.Context, argv []string) ([]byte, error) {
	runner := c.member.Runner
	if c.member.Again != nil {
		anew, leave, err := c.member.Again(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = leave() }() // what was asked is answered
		runner = anew
	}
	return host.Output(ctx, runner, host.Command{Argv: argv})
}

// lost waits until a machine has taken a trial back, and asks it why.
func (c confirmation) lost(ctx context.Context, why error) (apply.Applied, error) {
	const pause = time.Second
	for ; ctx.Err() == nil; time.Sleep(pause) {
		if time.Until(c.until) > 0 {
			if _, ended := errors.AsType[*host.ExitError](why); !ended {
				continue
			}
		}
		out, err := c.output(ctx, []string{"cat", apply.NoteFile})
		var n apply.Note
		if err != nil || fabric.Decode(out, apply.NoteKind, &n) != nil || n.ID != c.id {
			continue
		}
		a := apply.Applied{Node: c.bundle.Node, Status: fabric.Fail, Changes: []apply.Change{}, Note: n.String()}
		a.Activation = &apply.Activation{Network: apply.ByNothing, Undone: true, Pending: []string{"the old network is back: " + firstLine(why)}}
		return a, nil
	}
	return apply.Applied{}, fmt.Errorf("not confirmed: %w; the machine brings its old network back by itself, and was not reached since", why)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
