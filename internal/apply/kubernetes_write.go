package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/rollout"
)

// Look says what applying the artifacts to a cluster would change, as its API server sees it. It changes nothing.
func (c Kubernetes) Look(ctx context.Context, artifacts []fabric.Artifact) Applied {
	a := Applied{Node: fabric.OnKubernetes, Changes: []Change{}, Note: c.Client.Place()}
	objects, err := c.objects(artifacts)
	if err == nil {
		err = c.look(ctx, &a, objects)
	}
	if err != nil {
		a.Status, a.Error = fabric.Unknown, err.Error()
		return a
	}
	a.Status = a.judge(true)
	unknown := func(p Precondition) bool { return p.Status == fabric.Unknown }
	switch {
	case a.unmet() > 0:
		a.Status = fabric.Fail
	case a.Status == fabric.Pass && slices.ContainsFunc(a.Preconditions, unknown):
		a.Status = fabric.Unknown
	}
	return a
}

func (c Kubernetes) look(ctx context.Context, a *Applied, objects []kube.Object) error {
	steps, err := c.steps(ctx, objects)
	if err != nil {
		return err
	}
	a.Preconditions = append(c.preconditions(ctx, steps), c.unasked(steps)...)
	left, err := c.left(ctx, steps)
	switch {
	case err != nil && c.Prune:
		a.Changes = append(a.Changes, Change{Path: "what the plan no longer has", Kind: Unknown, Reason: err.Error()})
	case err != nil:
		a.Note += "; what the plan no longer has is unknown: " + err.Error()
	}
	deleted, stay := c.pruned(left)
	steps, a.Others = append(steps, deleted...), append(stay, unwaited(steps)...)
	for _, s := range steps {
		a.Changes = append(a.Changes, s.change())
	}
	a.Interrupted, err = Interrupted(c.folder())
	return err
}

// unwaited names the kinds of which nothing here knows when they are ready.
func unwaited(steps []kubeStep) (texts []string) {
	for _, s := range steps {
		text := fmt.Sprintf("%s of %s: not waited for: when one is ready is unknown here", s.object.Kind, s.object.APIVersion)
		if s.kind != Remove && rollout.Waits(rollout.KindOf(s.object.APIVersion, s.object.Kind)) == rollout.Unknown && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// Write applies the artifacts to a cluster. What was there before is in the journal first; when an object cannot be applied,
// those before it are put back. Then the objects are waited for.
func (c Kubernetes) Write(ctx context.Context, artifacts []fabric.Artifact) Applied {
	a := Applied{Node: fabric.OnKubernetes, Changes: []Change{}, Note: c.Client.Place()}
	objects, err := c.objects(artifacts)
	if err == nil {
		err = c.write(ctx, &a, objects)
	}
	if err != nil {
		a.Status, a.Error = fabric.Unknown, err.Error()
		return a
	}
	if a.Status = a.judge(false); a.unmet() > 0 && !c.Unmet {
		a.Status = fabric.Fail
	}
	return a
}

func (c Kubernetes) write(ctx context.Context, a *Applied, objects []kube.Object) (err error) {
	j, err := c.openJournal(ctx)
	if err != nil {
		return fmt.Errorf("%w: nothing was applied", err)
	}
	defer func() { err = errors.Join(err, j.close()) }()
	a.Interrupted = j.undone != nil
	steps, err := c.allowed(ctx, a, objects)
	if err != nil {
		return fmt.Errorf("%w: nothing was applied", err)
	}
	if a.unmet() > 0 && !c.Unmet {
		a.Note += fmt.Sprintf("; nothing was applied: %s not met; --ignore-preconditions applies all the same", fabric.Count(a.unmet(), "precondition"))
		return nil
	}
	return c.writeTurns(ctx, a, j, steps)
}

// allowed are the steps of an apply, if the server lets each be done.
func (c Kubernetes) allowed(ctx context.Context, a *Applied, objects []kube.Object) ([]kubeStep, error) {
	steps, err := c.steps(ctx, objects)
	if err != nil {
		return nil, err
	}
	left, err := c.left(ctx, steps)
	if err != nil && c.Prune {
		return nil, fmt.Errorf("what the plan no longer has: %w", err)
	}
	if err != nil {
		a.Note += "; what the plan no longer has is unknown: " + err.Error()
	}
	deleted, stay := c.pruned(left)
	var problems []error
	for _, s := range steps {
		if s.err != nil {
			problems = append(problems, s.err)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if a.Preconditions = c.preconditions(ctx, steps); len(a.Preconditions) > 0 {
		c.Say("%s", preconditionsText(a.Preconditions))
	}
	a.Others = append(stay, unwaited(steps)...)
	return append(steps, deleted...), ctx.Err()
}

func preconditionsText(all []Precondition) string {
	count := make(map[fabric.Status]int)
	for _, p := range all {
		count[p.Status]++
	}
	return fmt.Sprintf("%s: %d met, %d not met, %d unknown", fabric.Count(len(all), "precondition"), count[fabric.Pass], count[fabric.Fail], count[fabric.Unknown])
}

// writeTurns applies the objects turn by turn. Each turn is one entry of the journal: what is applied is kept while the next one waits for
// it, which can take hours, and a repeated apply goes on from there.
func (c Kubernetes) writeTurns(ctx context.Context, a *Applied, j *journal, steps []kubeStep) error {
	turns := inTurns(steps)
	continues := false
	for n, turn := range turns {
		var todo []kubeStep
		for _, s := range turn {
			if s.kind != Same {
				todo = append(todo, s)
			}
		}
		if pending := c.await(ctx, neededBy(todo, steps)); len(pending) > 0 {
			a.wait(pending)
			for _, s := range slices.Concat(turns[n:]...) {
				if s.kind != Same {
					a.pend(fmt.Sprintf("%s: not applied: %s is not ready; repeat railwright apply when it is", s.object, pending[0].Object))
				}
			}
			return nil
		}
		if err := c.carryOut(ctx, j, todo, steps, continues); err != nil {
			if n > 0 {
				err = fmt.Errorf("%w; what was applied before it stays: railwright rollback --kubernetes takes it back", err)
			}
			return err
		}
		continues = continues || len(todo) > 0
		for _, s := range turn {
			a.Changes = append(a.Changes, s.change())
		}
	}
	a.wait(c.await(ctx, steps))
	return nil
}

// wait notes what is not ready.
func (a *Applied) wait(pending []Unready) {
	for _, u := range pending {
		a.pend(u.String())
		a.Activation.Unready = append(a.Activation.Unready, u)
	}
}

func (a *Applied) pend(text string) {
	if a.Activation == nil {
		a.Activation = &Activation{Network: fabric.OnKubernetes, Proofs: []fabric.Proof{}}
	}
	a.Activation.Pending = append(a.Activation.Pending, text)
}

// carryOut does the steps of a turn under an entry of the journal.
func (c Kubernetes) carryOut(ctx context.Context, j *journal, todo, all []kubeStep, continues bool) error {
	if len(todo) == 0 {
		return nil
	}
	e, err := c.newEntry(j, todo, continues)
	if err != nil {
		return fmt.Errorf("journal %q: %w: nothing was applied", j.folder, err)
	}
	if err := e.become(open); err != nil {
		return fmt.Errorf("%w: nothing was applied", err)
	}
	for i, s := range todo {
		if i > 0 && lasting(todo[i-1].object) && !lasting(s.object) {
			if err := c.askAgain(ctx, all); err != nil {
				return c.takeBack(ctx, e, err)
			}
		}
		c.Doing("applying %s", s.object)
		after, err := c.do(ctx, s)
		if err == nil {
			err = e.record(i, after)
		}
		if err != nil {
			return c.takeBack(ctx, e, err)
		}
	}
	return e.become("")
}

// askAgain asks the server what it could not say before namespaces and kinds were there: whether it takes the objects in them and of
// them, and whether it admits their pods.
func (c Kubernetes) askAgain(ctx context.Context, steps []kubeStep) error {
	var problems []error
	for _, s := range steps {
		if !s.later || lasting(s.object) {
			continue
		}
		c.Doing("asking %s again about %s", c.Client.Server(), s.object)
		o, err := c.Client.Resolve(ctx, s.object)
		if err == nil {
			_, err = c.Client.Apply(ctx, o, kube.ApplyOptions{DryRun: true, Force: c.Force})
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	if !c.Unmet {
		for _, p := range c.admissions(ctx, steps) {
			switch p.Status {
			case fabric.Fail:
				problems = append(problems, errors.New(p.String()))
			case fabric.Unknown:
				c.Say("unknown: %s", p)
			}
		}
	}
	return errors.Join(problems...)
}

// takeBack undoes a part that was applied. That has its own time: the user may have interrupted the rest.
func (c Kubernetes) takeBack(ctx context.Context, e *kubeEntry, err error) error {
	const within = time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	c.Doing("putting back what was applied before that")
	undone, undo := c.undo(ctx, e)
	if undo != nil {
		return fmt.Errorf("%w: and what was applied could not be put back: %w: repeat railwright apply or rollback; the previous objects are in %q", err, undo, e.folder)
	}
	var stay []string
	for _, u := range undone {
		if u.Kind == Same {
			stay = append(stay, u.Path)
		}
	}
	if len(stay) > 0 {
		return fmt.Errorf("%w: nothing else was applied than what stays: %s", err, firstOf(stay))
	}
	return fmt.Errorf("%w: nothing was applied", err)
}

// do carries out one step and returns the object as it is afterwards.
func (c Kubernetes) do(ctx context.Context, s kubeStep) (after kube.Object, err error) {
	if s.kind == Replace || s.kind == Remove {
		if err := c.remove(ctx, s.before); err != nil || s.kind == Remove {
			return kube.Object{}, err
		}
	}
	if s.object.Namespace == "" { // its kind may have been unknown until now
		if s.object, err = c.Client.Resolve(ctx, s.object); err != nil {
			return kube.Object{}, err
		}
	}
	after, err = c.Client.Apply(ctx, s.object, kube.ApplyOptions{Force: c.Force})
	if err != nil || s.object.Kind != "CustomResourceDefinition" {
		return after, err
	}
	return after, c.awaitKind(ctx, after)
}

// remove deletes an object and waits until it is gone.
func (c Kubernetes) remove(ctx context.Context, o kube.Object) error {
	if err := c.Client.Delete(ctx, o); err != nil && !kube.NotFound(err) {
		return err
	}
	const within = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		now, err := c.Client.Get(ctx, o)
		switch {
		case kube.NotFound(err) || err == nil && now.UID != o.UID:
			return nil
		case err != nil && ctx.Err() == nil:
			return err
		}
		c.Doing("waiting until %s is gone%s", o, heldBy(now))
		if err := pause(ctx, time.Second/2); err != nil {
			return fmt.Errorf("%s: was deleted, and is still there after %s%s", o, within, heldBy(now))
		}
	}
}

// heldBy names what keeps an object that is deleted.
func heldBy(o kube.Object) string {
	f, err := kube.FieldsOf(o.JSON)
	if err != nil {
		return ""
	}
	meta, _ := f["metadata"].(map[string]any)
	if list, _ := meta["finalizers"].([]any); len(list) > 0 {
		return fmt.Sprintf(": held by %v", list)
	}
	return ""
}

// pause waits, or returns why it was ended before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
