package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// try puts the network files of a bundle into effect, and leaves them so until they are confirmed or taken back. It holds
// the journal meanwhile.
func (p places) try(ctx context.Context, b Bundle, n network, start arm) (a Applied, err error) {
	a = Applied{Node: b.Node, Changes: Diff(b.Artifacts)}
	passing := p.shadowed(b.Artifacts)
	if len(passing) == 0 {
		return a, errors.New("no file of netplan or NetworkManager is planned: there is nothing to activate: use apply without --activate")
	}
	j, err := openJournal(p.journal)
	if err != nil {
		return a, fmt.Errorf("%w: nothing was changed", err)
	}
	defer func() { err = errors.Join(err, j.close()) }()
	a.Interrupted = j.undone != nil
	if err := p.clear(ctx, n, j); err != nil {
		return a, fmt.Errorf("%w: nothing was changed", err)
	}
	if others := p.others(b); len(others) > 0 {
		a.Activation = notActivated(b, others)
		return a, nil
	}
	if err := n.check(ctx, b.Artifacts); err != nil {
		a.Activation = notActivated(b, []string{err.Error() + ": nothing was changed"})
		return a, nil
	}
	t, err := p.begin(b)
	if err == nil {
		if err = start(ctx, t); err != nil {
			err = errors.Join(err, t.forget())
		}
	}
	if err != nil {
		return a, fmt.Errorf("the timer that brings the old network back: %w: nothing was changed", err)
	}
	activation := t.bringUp(ctx, n, passing, j)
	a.Activation, a.Waits = &activation, t.ID
	if activation.Undone {
		a.Waits = ""
	}
	return a, nil
}

// notActivated is the answer where nothing was changed.
func notActivated(b Bundle, why []string) *Activation {
	a := &Activation{Network: ByNothing, Pending: why}
	for _, f := range b.Artifacts {
		p := notProved("it was not written")
		p.Path = f.Path
		a.Proofs = append(a.Proofs, p)
	}
	return a
}

// clear ends what an earlier trial left. One that still waits is an error.
func (p places) clear(ctx context.Context, n network, j *journal) error {
	t, err := p.load()
	if err != nil {
		return err
	}
	if t == nil {
		return ignoreAbsent(os.Remove(p.program())) // left by a restart
	}
	left, err := t.left()
	if err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("%w: it began %s and takes itself back in %.0f s", ErrWaits, t.Since.UTC().Format(time.RFC3339), left)
	}
	return t.end(ctx, n, j, "its timer did not run: the process was killed")
}

// begin copies this program and saves the state: from here on the trial can be taken back.
func (p places) begin(b Bundle) (*trial, error) {
	for _, f := range p.shadowed(b.Artifacts) {
		if _, err := os.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%q: is there already, and goes before the file of /etc: remove it", f.Path)
		}
	}
	now, err := uptime()
	if err != nil {
		return nil, err
	}
	self, err := host.Describe(os.Getpid())
	if err != nil {
		return nil, err
	}
	t := &trial{
		Meta: fabric.NewMeta(trialKind), ID: b.Trial.ID, Since: time.Now(), Within: b.Trial.Within,
		Deadline: now + float64(b.Trial.Within), PID: os.Getpid(), Started: self.Start, Bundle: b, places: p,
	}
	t.Same = !slices.ContainsFunc(b.Artifacts, func(a fabric.Artifact) bool { return p.passing(a.Path) != "" && diff(a).Kind != Same })
	if t.Before, err = look(nicsOf(b)); err != nil {
		return nil, err
	}
	if t.Before.Sysctls, err = lookAtSysctls(b); err != nil {
		return nil, err
	}
	if err := p.copyProgram(); err != nil {
		return nil, errors.Join(err, ignoreAbsent(os.Remove(p.program())))
	}
	if err := t.save(); err != nil {
		return nil, errors.Join(err, t.forget())
	}
	return t, nil
}

// copyProgram lays this program where it outlives the connection, which takes its own copy away with it.
func (p places) copyProgram() error {
	self := p.self
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(p.guard, 0o700); err != nil {
		return err
	}
	path := p.program()
	if err := ignoreAbsent(os.Remove(path)); err != nil { // one that still runs cannot be written to
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// bringUpWithin is how long programs may take for the NICs of a node: three times what is waited for networkd.
const bringUpWithin = 3 * networkdPatience

// bringUp lays the passing files and brings them into effect. What cuts other networks of the machine, or is refused, is
// taken back at once.
func (t *trial) bringUp(ctx context.Context, n network, passing []fabric.Artifact, j *journal) Activation {
	// What hangs is ended well before the timer, so that the two never work at once, and before nobody waits for the answer.
	ctx, cancel := context.WithTimeout(ctx, min(time.Duration(t.Within)*time.Second/2, bringUpWithin))
	defer cancel()
	err := layPassing(passing)
	var a Activation
	var refused []string
	if err == nil {
		refused, err = trySysctls(t.Bundle) // before the interfaces, as at a start
	}
	if err == nil {
		a, err = n.up(ctx, t.Bundle)
		a.Pending = append(refused, a.Pending...)
	}
	var cut []string
	if err == nil {
		cut, err = t.Before.lost()
	}
	if err == nil && len(cut) == 0 {
		a.Proofs = t.proofs(ctx, a, "it is written when the activation is confirmed")
		return a
	}
	why := "the new one cuts what is not of the fabric: " + strings.Join(cut, "; ")
	if err != nil {
		why = err.Error()
	}
	a = *notActivated(t.Bundle, []string{"the old network was brought back: " + why})
	a.Undone = true
	if err := t.end(context.WithoutCancel(ctx), n, j, why); err != nil {
		a.Undone, a.Pending = false, append(a.Pending, "and not all of it could be: "+err.Error())
	}
	return a
}

func layPassing(passing []fabric.Artifact) error {
	for _, f := range passing {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := replaceFile(f.Path, f.Content, fs.FileMode(f.Mode)); err != nil {
			return err
		}
	}
	return nil
}

// proofs says of each file how far it was proved by the trial, and of one that was not, why.
func (t *trial) proofs(ctx context.Context, a Activation, whyNot string) (proofs []fabric.Proof) {
	for _, f := range t.Bundle.Artifacts {
		p := notProved(whyNot)
		if strings.HasPrefix(f.Path, "/etc/netplan/") {
			p, _ = proveNetplan(ctx, t.Bundle, f, a)
		}
		p.Path = f.Path
		proofs = append(proofs, p)
	}
	return proofs
}
