package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/prepare"
	"railwright.dev/railwright/internal/vcenter"
)

// ESXShell is the shell of an ESX host. *host.SSH is one.
type ESXShell interface {
	host.Runner
	Say(ctx context.Context, command string) ([]byte, error)
	Close() error
}

// ESXAPI is what only the vSphere API does, and what it does better than a shell: virtual machines move away where a cluster lets
// them. *vcenter.Client is one.
type ESXAPI interface {
	EnterMaintenance(ctx context.Context, host string, how vcenter.Maintenance) (changed bool, err error)
	SetLabel(ctx context.Context, host, address, label string) (vcenter.PassthroughChange, error)
}

// ESX is a host on which a preparation is carried out.
type ESX struct {
	Host   string
	Folder string // of the journals of ESX hosts, on this machine: ESXFolder
	Dial   func(ctx context.Context) (ESXShell, error)
	Plan   func(ctx context.Context, shell ESXShell) (prepare.Preparation, error) // reads the host anew, and changes nothing
	API    ESXAPI                                                                 // nil: none
	Wait   time.Duration                                                          // for a start of the host, most
	Every  time.Duration                                                          // between two questions whether it is there
	Doing  func(format string, args ...any)                                       // says what is done
}

// mostStarts bounds the starts of one run: the tools, recovery mode, the settings, and one more.
const mostStarts = 4

// esxWork is a host while it is worked on.
type esxWork struct {
	ESX
	j     *esxJournal
	shell ESXShell
	out   Applied
	stage int // from 1

	rebooted time.Time       // the last time, in this run
	back     bool            // a rollback
	did      map[string]bool // steps of this run, by their ids
}

func (e ESX) apply(ctx context.Context) Applied {
	w := &esxWork{ESX: e, out: e.result(), did: map[string]bool{}}
	unknown, err := w.run(ctx)
	return w.end(unknown, err)
}

// run carries out what the host lacks, from wherever an earlier run ended. It stops at the first step that fails.
func (w *esxWork) run(ctx context.Context) (unknown []string, err error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if w.j.Back {
		return nil, errors.New("a rollback was interrupted: repeat railwright rollback first")
	}
	if w.j.Restart != nil {
		w.out.Note = "an apply was interrupted while the host started: it was gone on from there"
		if err := w.restart(ctx, nil); err != nil {
			return nil, err
		}
	}
	if err := w.confirm(ctx); err != nil {
		return nil, err
	}
	for starts := 0; ; starts++ {
		p, err := w.Plan(ctx, w.shell)
		switch {
		case err != nil:
			return nil, err
		case len(p.Conflicts) > 0:
			return p.Unknown, conflict(p)
		case len(p.Stages) == 0 && w.j.Pending:
			p.Stages = []prepare.Stage{{Reboot: true, Why: []string{"what was set before takes effect"}}}
			if err := w.vacate(ctx); err != nil {
				return p.Unknown, err
			}
		case len(p.Stages) == 0:
			w.stage++
			return w.settled(p), w.leave(ctx)
		case starts == mostStarts:
			return p.Unknown, fmt.Errorf("rebooted %d times, and still is not as planned", starts)
		}
		w.stage++
		first := p.Stages[0]
		if err := w.steps(ctx, first); err != nil {
			return p.Unknown, err
		}
		if !first.Reboot {
			starts-- // more can be read now
			continue
		}
		if err := w.restart(ctx, first.Why); err != nil {
			return p.Unknown, err
		}
	}
}

// confirm looks at steps that an interrupted run had begun: those that were done are not planned again.
func (w *esxWork) confirm(ctx context.Context) error {
	for i := range w.j.Begun {
		b := &w.j.Begun[i]
		if b.Done || b.Undone || len(b.Check.Now) == 0 {
			continue
		}
		out, err := w.say(ctx, b.Check.Command)
		if refused(err) {
			continue
		} else if err != nil {
			return err
		}
		lacks, err := b.Check.Lacks(out, b.Check.Now)
		if err != nil {
			return err
		}
		b.Done = lacks == ""
	}
	return w.j.save()
}

func conflict(p prepare.Preparation) error {
	var all []error
	for _, c := range p.Conflicts {
		all = append(all, fmt.Errorf("%s: %s", c.Text, c.Fix))
	}
	return errors.Join(all...)
}

// open locks the journal and logs in. The journal has to be of this host.
func (w *esxWork) open(ctx context.Context) (err error) {
	if w.j, err = w.openJournal(); err != nil {
		return err
	}
	err = w.login(ctx, w.Dial)
	if err != nil && !refused(err) && w.j.Restart != nil && ctx.Err() == nil { // it is on its way
		w.Doing("%s: waits for the reboot that was begun", w.Host)
		err = w.login(ctx, w.await)
	}
	if err != nil {
		return errors.Join(err, w.j.lock.Close())
	}
	return nil
}

func (w *esxWork) login(ctx context.Context, dial func(context.Context) (ESXShell, error)) (err error) {
	if w.shell, err = dial(ctx); err != nil {
		return err
	}
	if err = w.identify(ctx); err != nil {
		err = errors.Join(err, w.shell.Close())
	}
	return err
}

// refused reports whether a command ended with an error, and not the connection.
func refused(err error) bool {
	_, exit := errors.AsType[*host.ExitError](err)
	return exit
}

func (w *esxWork) close() error { return errors.Join(w.shell.Close(), w.j.lock.Close()) }

// identify compares the host with that of the journal: names are given to other machines.
func (w *esxWork) identify(ctx context.Context) error {
	id, err := w.say(ctx, "esxcli system uuid get")
	switch {
	case err != nil:
		return err
	case id == "":
		return errors.New("esxcli system uuid get printed nothing: which host it is, is unknown")
	case w.j.UUID != "" && w.j.UUID != id:
		return fmt.Errorf("its UUID is %s, and the journal %q is of %s: it is another host; remove that journal if the old one is gone", id, w.j.file, w.j.UUID)
	}
	w.j.UUID = id
	return nil
}

func (w *esxWork) say(ctx context.Context, command string) (string, error) {
	out, err := w.shell.Say(ctx, command)
	return strings.TrimSpace(string(out)), err
}

// steps carries out a stage, up to the start of the host.
func (w *esxWork) steps(ctx context.Context, stage prepare.Stage) error {
	if err := w.able(stage.Steps); err != nil {
		return err
	}
	for _, s := range stage.Steps {
		w.Doing("%s: %s", w.Host, s.Title)
		w.did[s.ID] = true
		if s.ID == prepare.Enter {
			if err := w.enter(ctx, s); err != nil {
				return err
			}
			w.note(s.Title, s.Why)
			continue
		}
		done, err := w.j.begin(s)
		if err != nil {
			return err
		}
		if err := w.do(ctx, s); err != nil {
			return err
		}
		w.note(s.Title, s.Why)
		if err := w.verify(ctx, s, s.Check.Now); err != nil {
			return err
		}
		if err := done(); err != nil {
			return err
		}
	}
	return nil
}

// able refuses a stage, before anything of it is done, of which not every step can be done from here.
func (w *esxWork) able(steps []prepare.Step) error {
	for _, s := range steps {
		switch {
		case w.did[s.ID]:
			return fmt.Errorf("%s: was done before, and the host reads as if it was not: it does not stick; look at %s", s.Title, s.Check.Command)
		case len(s.Commands) == 0 && s.Change == nil:
			return fmt.Errorf("a person has to %s; then repeat", s.Title)
		case s.Change != nil && w.API == nil:
			return fmt.Errorf("%s: only the vSphere API does it: give vsphere.vcenter; then repeat", s.Title)
		}
	}
	return nil
}

func (w *esxWork) do(ctx context.Context, s prepare.Step) error {
	if c := s.Change; c != nil {
		return w.label(ctx, c.Address, c.Label)
	}
	for _, command := range s.Commands {
		if _, err := w.say(ctx, command); err != nil {
			return fmt.Errorf("%s: %w", s.Title, err)
		}
	}
	return nil
}

// reconnects is how long vCenter may take until it reaches a host again that was rebooted.
const reconnects = 5 * time.Minute

// label sets a hardware label. After a reboot vCenter is asked again for a while: it says that it does not reach the host.
func (w *esxWork) label(ctx context.Context, address, label string) error {
	for {
		_, err := w.API.SetLabel(ctx, w.Host, address, label)
		if err == nil || w.rebooted.IsZero() || time.Since(w.rebooted) > min(reconnects, w.Wait) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(w.Every):
		}
	}
}

// verify runs the check of a step. What it printed is in the error.
func (w *esxWork) verify(ctx context.Context, s prepare.Step, patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	out, err := w.say(ctx, s.Check.Command)
	if err != nil {
		return fmt.Errorf("%s: its check failed: %w", s.Title, err)
	}
	lacks, err := s.Check.Lacks(out, patterns)
	if err != nil || lacks == "" {
		return err
	}
	return fmt.Errorf("%s: it did not stick: %s printed %s; wanted: %s", s.Title, s.Check.Command, lacks, s.Check.Want)
}

// note says what was done.
func (w *esxWork) note(what, why string) {
	w.out.Changes = append(w.out.Changes, Change{Path: fmt.Sprintf("stage %d: %s", w.stage, what), Kind: Update, Reason: why})
}

// settled are the unknown facts, less those of NICs whose settings were made and read before they were passed through.
func (w *esxWork) settled(p prepare.Preparation) []string {
	return p.HiddenBy(func(address string) bool {
		return slices.ContainsFunc(w.j.Begun, func(b begun) bool { return b.Done && !b.Undone && b.ID == "nic "+address })
	})
}

// end is the result of a host.
func (w *esxWork) end(unknown []string, err error) Applied {
	w.out.Changes = grouped(w.out.Changes)
	for _, text := range unknown {
		w.out.Changes = append(w.out.Changes, Change{Path: text, Kind: Unknown})
	}
	switch {
	case err != nil:
		w.out.Status, w.out.Error = fabric.Unknown, fmt.Sprintf("host %s: %v", w.Host, err)
	case len(unknown) > 0:
		w.out.Status = fabric.Unknown
	default:
		w.out.Status = fabric.Pass
	}
	if len(w.out.Changes) == 0 && err == nil {
		w.out.Changes = []Change{{Path: "nothing to do", Kind: Same}}
	}
	return w.out
}
