package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/rollout"
)

// undoing is what puts one object back.
type undoing func(context.Context) error

// restoring is an object that is put back.
type restoring struct {
	change Change  // for people
	do     undoing // nil: it is as it was, or stays as it is
}

// undo puts every object of an entry back, the last one first, and deletes the entry, which is open. Nothing is touched if
// somebody changed one of them since.
func (c Kubernetes) undo(ctx context.Context, e *kubeEntry) (changes []Change, err error) {
	todo, err := c.undoings(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, u := range todo {
		changes = append(changes, u.change)
		if u.do == nil {
			continue
		}
		if err := u.do(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.become(draft); err != nil {
		return nil, err
	}
	return changes, os.RemoveAll(e.folder)
}

// undoings looks at every object of an entry, and returns what puts each back.
func (c Kubernetes) undoings(ctx context.Context, e *kubeEntry) (todo []restoring, err error) {
	for i, h := range slices.Backward(e.Objects) {
		s, err := c.standing(ctx, e, i, h)
		if err != nil {
			return nil, err
		}
		u := restoring{change: Change{Path: h.String(), Kind: Restore}}
		if h.Kind == Create {
			u.change.Kind = Remove
			if why := c.staying(s); why != "" {
				u.change.Kind, u.change.Reason = Same, why
			}
		}
		if u.do, err = c.back(ctx, s); err != nil {
			return nil, err
		}
		todo = append(todo, u)
	}
	return todo, nil
}

// standing finds how an object is now, and what it was.
func (c Kubernetes) standing(ctx context.Context, e *kubeEntry, i int, h heldObject) (s standing, err error) {
	s = standing{held: h}
	if s.after, s.done, err = e.after(i); err != nil {
		return s, err
	}
	which := h.Object
	if s.done {
		which = s.after // its namespace may have been found out when it was applied
	}
	served, err := c.Client.Serves(ctx, which.APIVersion, which.Kind)
	if err != nil || !served && h.Kind == Create {
		return s, err // its kind is gone, and it with it
	}
	if which, err = c.Client.Resolve(ctx, which); err != nil {
		return s, err
	}
	s.now, err = c.Client.Get(ctx, which)
	if err != nil && !kube.NotFound(err) {
		return s, err
	}
	s.there = err == nil
	if h.Before != nil {
		s.before, err = kube.Read(h.Before)
		return s, err
	}
	return s, nil
}

// standing is an object before, after and now.
type standing struct {
	held          heldObject
	before, after kube.Object
	done          bool // after is known
	now           kube.Object
	there         bool // now
}

// back decides what puts an object back; nil: nothing is left to be done.
func (c Kubernetes) back(ctx context.Context, s standing) (undoing, error) {
	original := s.there && s.before.UID != "" && s.now.UID == s.before.UID
	if s.held.Kind == Update {
		if err := s.kept(original); err != nil {
			return nil, err
		}
	}
	switch {
	case s.held.Kind == Create && !s.there:
		return nil, nil
	case original && s.held.Kind != Update && !deleting(s.now):
		return nil, nil // not reached yet
	case (s.held.Kind == Remove || s.held.Kind == Replace) && s.there && !original && s.madeAgain():
		return func(ctx context.Context) error { return c.Client.Disown(ctx, s.now, kube.Managed(s.before)) }, nil
	case s.held.Kind == Remove && s.there && !original:
		return nil, fmt.Errorf("%s: somebody made it anew since it was deleted", s.held)
	case !s.there || original && s.held.Kind != Update:
		return func(ctx context.Context) error { return c.again(ctx, s.before, s.there) }, nil
	}
	if s.held.Kind == Update {
		if same, err := likeBefore(s); err != nil || same {
			return nil, err
		}
	}
	if err := c.asWritten(ctx, s); err != nil {
		return nil, err
	}
	return c.undone(s), nil
}

// kept is nil where an object whose fields were changed is there still; original: it is the same one.
func (s standing) kept(original bool) error {
	switch {
	case !s.there:
		return fmt.Errorf("%s: was deleted since it was applied", s.held)
	case !original:
		return fmt.Errorf("%s: is another one since it was applied", s.held)
	}
	return nil
}

// undone undoes what was done to an object that is as it was left; nil: it stays.
func (c Kubernetes) undone(s standing) undoing {
	switch s.held.Kind {
	case Create:
		if c.staying(s) != "" {
			return nil
		}
		return func(ctx context.Context) error { return c.remove(ctx, s.now) }
	case Replace:
		return func(ctx context.Context) error {
			if err := c.remove(ctx, s.now); err != nil {
				return err
			}
			return c.again(ctx, s.before, false)
		}
	}
	return func(ctx context.Context) error { return c.restore(ctx, s) }
}

// lasting reports whether an object is one in which, or of which, others make objects: these would go with it.
func lasting(o kube.Object) bool {
	return o.Kind == "Namespace" || o.Kind == "CustomResourceDefinition"
}

// staying says why an object that was made is left there; empty: it goes. A claim that never got a volume holds nothing.
func (c Kubernetes) staying(s standing) string {
	switch {
	case lasting(s.held.Object):
		return "it stays: what others made in it would go with it"
	case s.there && s.held.Object.Kind == "PersistentVolumeClaim" && c.keeps(s.now) && rollout.Holds(s.now.JSON):
		return "it stays for its data: --delete-data " + Named(s.now) + " deletes both"
	}
	return ""
}

func deleting(o kube.Object) bool {
	f, err := kube.FieldsOf(o.JSON)
	meta, _ := f["metadata"].(map[string]any)
	return err == nil && meta["deletionTimestamp"] != nil
}

// madeAgain reports whether an object that was deleted is there again as it was, and is not the one that replaced it: a rollback
// was killed before its owners were said.
func (s standing) madeAgain() bool {
	now, err := kube.FieldsOf(s.now.JSON)
	was, err2 := kube.FieldsOf(s.before.JSON)
	return err == nil && err2 == nil && (!s.done || s.now.UID != s.after.UID) && len(kube.Differences(now, was)) == 0
}

// again makes an object that was deleted. Its UID is another one; all else is as it was.
func (c Kubernetes) again(ctx context.Context, before kube.Object, there bool) error {
	if there { // its deletion has begun, and cannot be taken back
		if err := c.remove(ctx, before); err != nil {
			return err
		}
	}
	fresh, err := kube.Fresh(before)
	if err != nil {
		return err
	}
	made, err := c.Client.Create(ctx, fresh)
	if err != nil {
		return err
	}
	return c.Client.Disown(ctx, made, kube.Managed(before))
}

// likeBefore reports whether the fields that were applied, and their owners, are as they were before.
func likeBefore(s standing) (bool, error) {
	differ, err := touchedFields(s, s.before)
	return len(differ) == 0 && bytes.Equal(kube.Managed(s.now), kube.Managed(s.before)), err
}

// touchedFields returns in which of the applied fields, and of those that the apply gave up, an object differs from now.
func touchedFields(s standing, from kube.Object) ([]string, error) {
	tree, err := s.tree()
	if err != nil {
		return nil, err
	}
	now, err := kube.FieldsOf(s.now.JSON)
	if err != nil {
		return nil, err
	}
	was, err := kube.FieldsOf(from.JSON)
	if err != nil {
		return nil, err
	}
	return kube.Differences(kube.Part(was, tree), kube.Part(now, tree)), nil
}

// tree is the fields that an apply sets, and those that it had set before.
func (s standing) tree() (kube.Fields, error) {
	wrote, err := kube.FieldsOf(s.held.Wrote)
	if err != nil {
		return nil, err
	}
	return kube.Merged(wrote, kube.OwnFields(s.before)), nil
}

// asWritten is an error if somebody changed an object since it was applied.
func (c Kubernetes) asWritten(ctx context.Context, s standing) error {
	if s.done {
		differ, err := touchedFields(s, s.after)
		switch {
		case err != nil:
			return err
		case s.now.UID != s.after.UID:
			return fmt.Errorf("%s: is another one since it was applied", s.held)
		case len(differ) > 0 && !s.restoredBefore():
			return fmt.Errorf("%s: changed since it was applied: %s", s.held, firstOf(differ))
		}
		return nil
	}
	// The process was killed before it knew the answer: the object is as applied if applying it once more changes nothing.
	if kube.OwnFields(s.now) == nil {
		return fmt.Errorf("%s: is there, and not from this apply", s.held)
	}
	wrote, err := kube.Read(s.held.Wrote)
	if err != nil {
		return err
	}
	if wrote, err = c.Client.Resolve(ctx, wrote); err != nil {
		return err
	}
	would, err := c.Client.Apply(ctx, wrote, kube.ApplyOptions{DryRun: true, Force: s.held.Forced})
	if err != nil {
		return err
	}
	now, err := kube.FieldsOf(s.now.JSON)
	if err != nil {
		return err
	}
	gets, err := kube.FieldsOf(would.JSON)
	if err != nil {
		return err
	}
	if differ := kube.Differences(now, gets); len(differ) > 0 {
		return fmt.Errorf("%s: changed since it was applied: %s", s.held, firstOf(differ))
	}
	return nil
}

// restoredBefore reports whether the fields are as before already: a rollback was killed between them and their owners.
func (s standing) restoredBefore() bool {
	differ, err := touchedFields(s, s.before)
	return s.before.JSON != nil && err == nil && len(differ) == 0
}

// restore gives an object the fields that it had, and then the owners. If somebody else's apply came in between, the other
// owners stay as they are now and this program's part alone is as before.
func (c Kubernetes) restore(ctx context.Context, s standing) error {
	tree, err := s.tree()
	if err != nil {
		return err
	}
	part, err := kube.PartOf(s.before, tree)
	if err != nil {
		return err
	}
	managed := s.owners()
	restored, err := c.Client.Apply(ctx, part, kube.ApplyOptions{Force: true})
	if err != nil {
		return err
	}
	return c.Client.Disown(ctx, restored, managed)
}

// owners are those that an object had before. What others did since is theirs, and so is its status.
func (s standing) owners() json.RawMessage {
	own := func(m manager) bool {
		return m.Manager == kube.Manager && m.Subresource == ""
	}
	ofStatus := func(m manager) bool { return m.Subresource != "" }
	ofOthers := func(m manager) bool { return !own(m) && !ofStatus(m) }
	from := s.before
	if s.done && !slices.EqualFunc(managers(s.now, ofOthers), managers(s.after, ofOthers), func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		from = s.now
	}
	all := append([]json.RawMessage{}, managers(from, ofOthers)...)
	all = append(append(all, managers(s.before, own)...), managers(s.now, ofStatus)...)
	text, err := json.Marshal(all)
	if err != nil {
		return kube.Managed(s.before)
	}
	return text
}

// manager is who owns fields of an object.
type manager struct {
	Manager     string `json:"manager"`
	Subresource string `json:"subresource"`
}

// managers returns some of metadata.managedFields as they are.
func managers(o kube.Object, which func(manager) bool) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(kube.Managed(o), &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(text json.RawMessage) bool {
		var m manager
		return json.Unmarshal(text, &m) != nil || !which(m)
	})
}
