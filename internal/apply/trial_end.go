package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// NoteKind is that of what the end of a trial leaves on a node.
const NoteKind = "ActivationNote"

// NoteFile is where a node keeps why it took the last activation back.
const NoteFile = GuardFolder + "/note.json"

// Note says that an activation was taken back, and why.
type Note struct {
	fabric.Meta
	ID  string    `json:"id"`
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// String is the note for a person.
func (n Note) String() string {
	return fmt.Sprintf("the activation of %s was taken back: %s", n.At.UTC().Format(time.RFC3339), n.Why)
}

// noted returns why the last activation was taken back; empty: it was not, or there was none. One that a restart ended has
// left its program.
func (p places) noted() string {
	if _, err := os.Stat(p.program()); err == nil {
		t, err := p.load()
		switch {
		case err != nil:
			return err.Error()
		case t == nil:
			return "an activation was cut off by a restart of the machine, which brought the old network back"
		}
		left, err := t.left()
		if err == nil && left > 0 {
			return fmt.Sprintf("%v: it takes itself back in %.0f s", ErrWaits, left)
		}
		return "an activation was not taken back by its timer: the next apply or rollback does it"
	}
	text, err := os.ReadFile(p.note())
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var n Note
	if err == nil {
		err = fabric.Decode(text, NoteKind, &n)
	}
	if err != nil {
		return fmt.Sprintf("why the last activation was taken back cannot be read: %v", err)
	}
	return n.String()
}

// end takes a trial back: the old files are in effect and it is noted why. The caller holds the journal.
func (t *trial) end(ctx context.Context, n network, j *journal, why string) error {
	if err := t.uncover(); err != nil {
		return err // the state stays, so that the guard, or the next apply or rollback, tries again
	}
	var errs []error
	// Of files that were being written to last some may be new already: first all are as before, then they take effect.
	errs = append(errs, j.recover())
	if t.Same {
		errs = append(errs, t.undoApply(j))
	}
	errs = append(errs, n.back(ctx, t.Bundle, t.Before), t.Before.restoreSysctls())
	if err := errors.Join(errs...); err != nil {
		why += "; and not all of the old network is back: " + err.Error()
	}
	text, err := json.Marshal(Note{Meta: fabric.NewMeta(NoteKind), ID: t.ID, At: time.Now(), Why: why})
	if err == nil { // on a full disk it is the reason that is lost, not the network
		errs = append(errs, replaceFile(t.places.note(), text, 0o600))
	}
	return errors.Join(append(errs, t.forget())...)
}

// undoApply undoes the last apply where it wrote the very files that were tried: without that they would be in effect again.
func (t *trial) undoApply(j *journal) error {
	e, err := j.last()
	if errors.Is(err, ErrNoJournal) {
		return nil
	}
	if err != nil {
		return err
	}
	wrote := make(map[string]string)
	for _, s := range e.Files {
		wrote[s.Path] = s.Wrote
	}
	for _, a := range t.Bundle.Artifacts {
		if t.places.passing(a.Path) == "" || wrote[a.Path] != a.SHA256 {
			continue
		}
		if err := e.check(); err != nil {
			return err
		}
		if err := e.become(open); err != nil {
			return err
		}
		_, err := e.undo()
		return err
	}
	return nil
}

// Confirm ends the trial of this machine that has this id: its files are written to last. It is called over a connection
// that was made after the network was brought up, which is what proves that the machine can be reached.
func Confirm(ctx context.Context, id, journal string) (Result, error) {
	a, err := placesOf(journal).confirm(ctx, id, networkHere())
	a.Status = a.judge(false)
	return Result{fabric.NewMeta(ResultKind), a}, err
}

func (p places) confirm(ctx context.Context, id string, n network) (a Applied, err error) {
	if _, err := os.Lstat(p.state); absent(err) {
		return a, errors.New(cmp.Or(p.noted(), "no activation waits for a confirmation"))
	}
	j, err := openJournal(p.journal)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	t, err := p.load()
	switch {
	case err != nil:
		return a, err
	case t == nil || t.ID != id:
		return a, errors.New(cmp.Or(p.noted(), "no activation waits for a confirmation"))
	}
	a = Applied{Node: t.Bundle.Node, Changes: Diff(t.Bundle.Artifacts)}
	if left, err := t.left(); err != nil || left <= 0 {
		return a, errors.Join(errors.New("the confirmation comes too late: the old network is brought back"), err)
	}
	if cut, err := t.Before.lost(); err != nil || len(cut) > 0 {
		why := "the new one cuts what is not of the fabric: " + strings.Join(cut, "; ")
		return a, errors.Join(errors.New("the old network was brought back: "+why), err, t.end(ctx, n, j, why))
	}
	// Saved before the files are written: a guard that comes after that, because this process was killed, ends it either way.
	t.Confirmed = true
	if err := t.save(); err != nil {
		return a, err
	}
	if a.Changes, err = j.write(t.Bundle.Artifacts); err != nil {
		return a, errors.Join(err, t.end(ctx, n, j, "its files could not be written to last: "+err.Error()))
	}
	return t.lasts(ctx, a)
}

// lasts ends a trial whose files are written, and says what of the whole bundle is in effect.
func (t *trial) lasts(ctx context.Context, a Applied) (Applied, error) {
	err := t.settled()
	activation := Activation{Network: t.Bundle.network(), Confirmed: true}
	if sysctls, e := sysctlsOf(t.Bundle.Artifacts); e != nil {
		err = errors.Join(err, e)
	} else if InLab() {
		activation.Pending, activation.Skipped, e = setSysctls(sysctls)
		err = errors.Join(err, e)
	} else {
		activation.Pending = loadSysctls(ctx, t.Bundle.Artifacts)
	}
	differs, e := notInEffect(t.Bundle)
	activation.Pending = append(activation.Pending, differs...)
	if rest := t.Bundle.later(); rest != "" && !InLab() {
		activation.Skipped = append(activation.Skipped, rest)
	}
	activation.Proofs = t.proved(ctx, activation)
	a.Activation = &activation
	return a, errors.Join(err, e)
}

// settled removes what a trial needed, and the reason of an earlier one.
func (t *trial) settled() error {
	if err := t.uncover(); err != nil {
		return err
	}
	return errors.Join(ignoreAbsent(os.Remove(t.places.note())), t.forget())
}

// uncover removes the passing files, so that the lasting ones count.
func (t *trial) uncover() error {
	var errs []error
	for _, f := range t.places.shadowed(t.Bundle.Artifacts) {
		errs = append(errs, ignoreAbsent(os.Remove(stagingName(f.Path))), ignoreAbsent(os.Remove(f.Path)))
	}
	return errors.Join(errs...)
}

// network names the program that configures the NICs of a bundle.
func (b Bundle) network() string {
	for _, a := range b.Artifacts {
		if filepath.Dir(a.Path) == keyfileFolder {
			return "NetworkManager"
		}
	}
	return ByNetworkd
}

// later says of the files that are not of the network when they take effect; empty: there are none.
func (b Bundle) later() string {
	var rest []Change
	for _, a := range b.Artifacts {
		switch filepath.Dir(a.Path) {
		case "/etc/netplan", keyfileFolder, "/etc/sysctl.d":
		default:
			rest = append(rest, Change{Path: a.Path, Kind: Create})
		}
	}
	if len(rest) == 0 {
		return ""
	}
	return "the other files " + TakesEffect(rest)
}

// TakeBack ends the trial that waits on this machine. It returns what became of it, or of an earlier one that was
// not reported here yet; empty: there is nothing of either.
func TakeBack(ctx context.Context, journal string) (note string, err error) {
	return placesOf(journal).tellAndForget(ctx, networkHere())
}

func (p places) tellAndForget(ctx context.Context, n network) (note string, err error) {
	t, err := p.load()
	if err != nil {
		return "", err
	}
	if t != nil {
		if err := p.takeBack(ctx, t.ID, n, "by railwright rollback"); err != nil {
			return "", err
		}
	}
	note = p.noted()
	return note, errors.Join(ignoreAbsent(os.Remove(p.note())), ignoreAbsent(os.Remove(p.program())))
}

// Guard takes the trial of this machine that has this id back, when its time is up. It returns when there is nothing left to
// do, so that it does not outlive what it guards.
func Guard(ctx context.Context, id, journal string) error {
	return placesOf(journal).watch(ctx, id, networkHere())
}

func (p places) watch(ctx context.Context, id string, n network) error {
	for {
		t, err := p.load()
		if err != nil || t != nil && t.ID != id {
			return err
		}
		if _, gone := os.Lstat(p.program()); t == nil && gone != nil {
			return nil
		}
		if t == nil {
			break // it is over; what a process left that was killed at the end of it goes too
		}
		left, err := t.left()
		if err != nil {
			return err
		}
		if left <= 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	const tries, pause = 10, 3 * time.Second
	for i := 1; ; i++ {
		err := p.takeBack(ctx, id, n, "")
		if err == nil || i == tries {
			return err
		}
		time.Sleep(pause)
	}
}

// takeBack ends the trial with this id. Without a reason it was not confirmed in time.
func (p places) takeBack(ctx context.Context, id string, n network, why string) error {
	j, err := p.hold(id)
	if err != nil {
		return err
	}
	defer func() { _ = j.close() }() // the end of this process does it too
	t, err := p.load()
	if err != nil || t != nil && t.ID != id {
		return err
	}
	if t == nil {
		return ignoreAbsent(os.Remove(p.program()))
	}
	if t.Confirmed && !pendingFiles(t.Bundle) {
		return t.settled() // confirmed by a process that was killed after its files were written
	}
	if why == "" {
		why = fmt.Sprintf("it was not confirmed over a new connection within %d s: the machine may not have been reachable", t.Within)
	}
	return t.end(ctx, n, j, why)
}

func pendingFiles(b Bundle) bool {
	for _, c := range Diff(b.Artifacts) {
		if c.Kind != Same {
			return true
		}
	}
	return false
}

// hold opens the journal. A process that still brings the network of this trial up is ended: it should have given up by now.
func (p places) hold(id string) (*journal, error) {
	const patience, step = 10 * time.Second, 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += step {
		j, err := openJournal(p.journal)
		if !errors.Is(err, ErrBusy) || waited > 2*patience {
			return j, err
		}
		if waited == patience {
			if err := p.endSession(id); err != nil {
				return nil, err
			}
		}
		time.Sleep(step)
	}
}

// endSession kills the process that began a trial, if it is the one.
func (p places) endSession(id string) error {
	t, err := p.load()
	if err != nil || t == nil || t.ID != id || t.PID == os.Getpid() {
		return err
	}
	return host.KillIf(t.PID, func() bool {
		is, err := host.Describe(t.PID)
		return err == nil && is.Start == t.Started
	})
}
