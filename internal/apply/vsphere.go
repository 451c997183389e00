package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// VSphere is a vCenter that gets the classes, the namespace and the settings of virtual machines of a plan. Hosts are ESXHosts'.
type VSphere struct {
	Client *vcenter.Client
	Plan   *fabric.Plan // with VSphere; nil: of a rollback
	Folder string       // of the journals of vCenters, on this machine
	DryRun bool
	Force  bool // change what has the name of something planned and was made by others

	Doing func(format string, args ...any) // says what goes on
}

// VSphereFolder is where the journals of vCenters are on this machine.
func VSphereFolder() (string, error) { return stateFolder("vsphere") }

// Apply makes what the plan has and vCenter lacks, or says what that would be. What this program does not do is pending, with the
// step of the runbook that has it.
func (v VSphere) Apply(ctx context.Context) []Applied {
	a := Applied{Node: fabric.OnVCenter, Changes: []Change{}, Note: v.Client.Place()}
	var err error
	switch {
	case v.Plan == nil || v.Plan.VSphere == nil:
		err = errors.New("the plan has nothing for vCenter")
	case v.DryRun:
		err = v.dryRun(ctx, &a)
	default:
		err = v.write(ctx, &a)
	}
	if err != nil {
		a.Status, a.Error = fabric.Unknown, err.Error()
		return []Applied{a}
	}
	a.Status = a.judge(v.DryRun)
	return []Applied{a}
}

func (v VSphere) dryRun(ctx context.Context, a *Applied) error {
	s, err := v.look(ctx)
	if err != nil {
		return err
	}
	s.tell(a)
	a.Interrupted, err = Interrupted(v.folder())
	return err
}

func (v VSphere) write(ctx context.Context, a *Applied) (err error) {
	j, err := v.openJournal(ctx)
	if err != nil {
		return fmt.Errorf("%w: nothing was changed", err)
	}
	defer func() { err = errors.Join(err, j.close()) }()
	a.Interrupted = j.undone != nil
	s, err := v.look(ctx)
	if err != nil {
		return fmt.Errorf("%w: nothing was changed", err)
	}
	var problems []error
	var todo []sphereWrite
	for _, step := range s.steps {
		if step.err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", step.write, step.err))
		} else if step.write.Kind != Same {
			todo = append(todo, step.write)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: nothing was changed", errors.Join(problems...))
	}
	if err := v.carryOut(ctx, j, todo); err != nil {
		return err
	}
	if err := v.awaitNamespace(ctx, &s, todo); err != nil {
		return err
	}
	s.tell(a)
	return nil
}

// carryOut does the writes under an entry of the journal. When one cannot be done, those before it are taken back.
func (v VSphere) carryOut(ctx context.Context, j *journal, todo []sphereWrite) error {
	if len(todo) == 0 {
		return nil
	}
	e, err := v.newEntry(j, todo)
	if err != nil {
		return fmt.Errorf("journal %q: %w: nothing was changed", j.folder, err)
	}
	if err := e.become(open); err != nil {
		return fmt.Errorf("%w: nothing was changed", err)
	}
	for i, w := range todo {
		v.doing("%s: %s", v.Client.Place(), w)
		after, err := v.do(ctx, w)
		if err == nil {
			err = e.record(i, after)
		}
		if err != nil {
			if notDone(err) {
				e.Writes = e.Writes[:i] // what others did there meanwhile is theirs
			}
			return v.takeBack(ctx, e, err)
		}
	}
	return e.become("")
}

// errOvertaken means that somebody changed something between the look and the write.
var errOvertaken = errors.New("changed since it was looked at: repeat")

// notDone reports whether an error of a write says that it was not done. Of others, as a lost connection, that is unknown.
func notDone(err error) bool {
	return errors.Is(err, errOvertaken) || vcenter.Is(err, vcenter.Refused) || vcenter.Is(err, vcenter.Unknown) || vcenter.Is(err, vcenter.NotPermitted) || vcenter.Is(err, vcenter.Changed)
}

// takeBack undoes a part that was done. That has its own time: the user may have interrupted the rest.
func (v VSphere) takeBack(ctx context.Context, e *sphereEntry, err error) error {
	const within = 2 * time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	v.doing("putting back what was changed before that")
	if undo := v.undo(ctx, e); undo != nil {
		return fmt.Errorf("%w: and what was changed could not be put back: %w: repeat railwright apply or rollback; what was there before is in %q", err, undo, e.folder)
	}
	return fmt.Errorf("%w: nothing was changed", err)
}

// do does one write. Of a class it returns what vCenter has then.
func (v VSphere) do(ctx context.Context, w sphereWrite) (*vcenter.Class, error) {
	switch {
	case w.Class != nil:
		return v.putClass(ctx, *w.Class)
	case w.Namespace != nil:
		_, _, err := v.Client.PutNamespace(ctx, w.Namespace.Put)
		return nil, err
	}
	_, err := v.Client.ChangeVM(ctx, w.Machine.Name, w.Machine.Change)
	return nil, err
}

func (v VSphere) putClass(ctx context.Context, w sphereClass) (*vcenter.Class, error) {
	now, err := v.Client.Class(ctx, w.Want.Name)
	switch {
	case err != nil:
		return nil, err
	case (now == nil) != (w.Before == nil) || now != nil && !now.Same(*w.Before):
		return nil, fmt.Errorf("class %s: %w", w.Want.Name, errOvertaken)
	}
	if _, _, err := v.Client.PutClass(ctx, w.Want, w.About); err != nil {
		return nil, err
	}
	return v.Client.Class(ctx, w.Want.Name)
}

// namespaceReady is how long a namespace that was made or changed is waited for. vCenter takes seconds where nothing is wrong.
const namespaceReady = time.Minute

// awaitNamespace waits until vCenter has done what it was asked for.
func (v VSphere) awaitNamespace(ctx context.Context, s *sphereLook, todo []sphereWrite) error {
	ctx, cancel := context.WithTimeout(ctx, namespaceReady)
	defer cancel()
	for _, w := range todo {
		if w.Namespace == nil {
			continue
		}
		for {
			now, err := v.Client.Namespace(ctx, w.Namespace.Put.Name)
			if err != nil {
				return fmt.Errorf("%w: it was changed", err)
			}
			if now != nil && now.Status != "CONFIGURING" {
				if now.Status != "RUNNING" {
					s.wait("%s: vCenter says that it is %s: the Supervisor's events say why", w, now.Status)
				}
				break
			}
			v.doing("waiting until %s runs", w)
			if pause(ctx, time.Second) != nil {
				s.wait("%s: vCenter is at work on it for more than %s: repeat with --dry-run", w, namespaceReady)
				break
			}
		}
	}
	return nil
}

func (v VSphere) doing(format string, args ...any) {
	if v.Doing != nil {
		v.Doing(format, args...)
	}
}
