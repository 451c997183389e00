package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
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
	return a
}

func (c Kubernetes) look(ctx context.Context, a *Applied, objects []kube.Object) error {
	steps, err := c.steps(ctx, objects)
	if err != nil {
		return err
	}
	left, err := c.left(ctx, steps)
	if err != nil {
		a.Note += "; what the plan no longer has is unknown: " + err.Error()
	}
	if c.Prune {
		steps = append(steps, left...)
	} else {
		a.Others = leftTexts(left)
	}
	for _, s := range steps {
		a.Changes = append(a.Changes, s.change())
	}
	a.Interrupted, err = Interrupted(c.folder())
	return err
}

func leftTexts(left []kubeStep) (texts []string) {
	for _, s := range left {
		texts = append(texts, s.object.String()+": the plan no longer has it; --prune deletes it")
	}
	return texts
}

// Write applies the artifacts to a cluster. What was there before is in the journal first; when an object cannot be applied,
// those before it are put back. Then pods are waited for.
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
	a.Status = a.judge(false)
	return a
}

func (c Kubernetes) write(ctx context.Context, a *Applied, objects []kube.Object) (err error) {
	j, err := c.openJournal(ctx)
	if err != nil {
		return fmt.Errorf("%w: nothing was applied", err)
	}
	defer func() { err = errors.Join(err, j.close()) }()
	a.Interrupted = j.undone != nil
	steps, err := c.steps(ctx, objects)
	if err != nil {
		return fmt.Errorf("%w: nothing was applied", err)
	}
	left, err := c.left(ctx, steps)
	switch {
	case err != nil && c.Prune:
		return fmt.Errorf("what the plan no longer has: %w: nothing was applied", err)
	case err != nil:
		a.Note += "; what the plan no longer has is unknown: " + err.Error()
	case c.Prune:
		steps = append(steps, left...)
	default:
		a.Others = leftTexts(left)
	}
	var problems []error
	var todo []kubeStep
	for _, s := range steps {
		if s.err != nil {
			problems = append(problems, s.err)
		} else if s.kind != Same {
			todo = append(todo, s)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: nothing was applied", errors.Join(problems...))
	}
	if err := c.carryOut(ctx, j, todo); err != nil {
		return err
	}
	for _, s := range steps {
		a.Changes = append(a.Changes, s.change())
	}
	if pending := c.awaitPods(ctx, steps); len(pending) > 0 {
		a.Activation = &Activation{Network: fabric.OnKubernetes, Pending: pending, Proofs: []fabric.Proof{}}
	}
	return nil
}

// carryOut does the steps under an entry of the journal.
func (c Kubernetes) carryOut(ctx context.Context, j *journal, todo []kubeStep) error {
	if len(todo) == 0 {
		return nil
	}
	e, err := c.newEntry(j, todo)
	if err != nil {
		return fmt.Errorf("journal %q: %w: nothing was applied", j.folder, err)
	}
	if err := e.become(open); err != nil {
		return fmt.Errorf("%w: nothing was applied", err)
	}
	for i, s := range todo {
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

// takeBack undoes a part that was applied. That has its own time: the user may have interrupted the rest.
func (c Kubernetes) takeBack(ctx context.Context, e *kubeEntry, err error) error {
	const within = time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	c.Doing("putting back what was applied before that")
	if undo := c.undo(ctx, e); undo != nil {
		return fmt.Errorf("%w: and what was applied could not be put back: %w: repeat railwright apply or rollback; the previous objects are in %q", err, undo, e.folder)
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
