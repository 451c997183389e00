package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// Rollback puts back what the last apply from this machine changed: classes that did not exist are deleted, the others and virtual
// machines get what they had. What somebody changed since is an error before anything is touched.
func (v VSphere) Rollback(ctx context.Context) []Applied {
	a := Applied{Node: fabric.OnVCenter, Status: fabric.Pass, Changes: []Change{}, Note: v.Client.Place()}
	changes, err := v.rollback(ctx)
	if err != nil {
		a.Status, a.Error = fabric.Unknown, err.Error()
		return []Applied{a}
	}
	a.Changes, a.Activation = changes, sphereActivation(nil)
	return []Applied{a}
}

func (v VSphere) rollback(ctx context.Context) (changes []Change, err error) {
	none := fmt.Errorf("%s: %w from this machine", v.Client.Place(), ErrNoJournal)
	if _, err := os.Lstat(v.folder()); errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	j, err := v.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	if j.undone != nil {
		return j.undone, nil
	}
	entries, err := listEntries(j.folder)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, none
	}
	e, err := loadSphere(entries[len(entries)-1])
	if err != nil {
		return nil, err
	}
	if _, err := v.undoings(ctx, e); err != nil {
		return nil, fmt.Errorf("%w: nothing was rolled back; what was there before is in %q", err, e.folder)
	}
	if err := e.become(open); err != nil {
		return nil, err
	}
	if err := v.undo(ctx, e); err != nil {
		return nil, fmt.Errorf("%w: rolled back in part: repeat railwright rollback; what was there before is in %q", err, e.folder)
	}
	return e.changes(), nil
}

// undo puts everything of an entry back, the last one first, and deletes the entry, which is open. Nothing is touched if somebody
// changed something of it since.
func (v VSphere) undo(ctx context.Context, e *sphereEntry) error {
	todo, err := v.undoings(ctx, e)
	if err != nil {
		return err
	}
	for _, u := range todo {
		if err := u(ctx); err != nil {
			return err
		}
	}
	if err := e.become(draft); err != nil {
		return err
	}
	return os.RemoveAll(e.folder)
}

// undoings looks at everything of an entry, and returns what is left to be done.
func (v VSphere) undoings(ctx context.Context, e *sphereEntry) (todo []undoing, err error) {
	var names []string
	for _, w := range e.Writes {
		if w.Machine != nil {
			names = append(names, w.Machine.Name)
		}
	}
	var machines []vcenter.Machine
	if len(names) > 0 {
		if machines, err = v.Client.FindVMs(ctx, names); err != nil {
			return nil, err
		}
	}
	for i, w := range slices.Backward(e.Writes) {
		var u undoing
		switch {
		case w.Class != nil:
			u, err = v.classBack(ctx, e, i, *w.Class)
		case w.Namespace != nil:
			u, err = v.namespaceBack(ctx, *w.Namespace)
		default:
			u, err = v.machineBack(*w.Machine, machines)
		}
		if err != nil {
			return nil, err
		}
		if u != nil {
			todo = append(todo, u)
		}
	}
	return todo, nil
}

// classBack decides what puts a class back; nil: it is as it was.
func (v VSphere) classBack(ctx context.Context, e *sphereEntry, i int, w sphereClass) (undoing, error) {
	name := w.Want.Name
	after, err := e.after(i)
	if err != nil {
		return nil, err
	}
	now, err := v.Client.Class(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case now == nil && w.Before == nil:
		return nil, nil
	case now == nil:
		return nil, fmt.Errorf("class %s: was deleted since it was applied", name)
	case w.Before != nil && now.Same(*w.Before):
		return nil, nil
	case after != nil && !now.Same(*after), after == nil && (!now.Is(w.Want) || now.About != w.About):
		return nil, fmt.Errorf("class %s: changed since it was applied", name)
	}
	if w.Before == nil {
		if len(now.VMs) > 0 {
			return nil, fmt.Errorf("class %s: is in use by virtual machines %s: delete them first", name, firstOf(now.VMs))
		}
		for _, n := range now.Namespaces {
			if !e.gave(n, name) {
				return nil, fmt.Errorf("class %s: is in use by namespace %s: take it from there first", name, n)
			}
		}
	}
	return func(ctx context.Context) error { return v.Client.RestoreClass(ctx, name, w.Before) }, nil
}

// gave reports whether an entry gave a class to a namespace, which then loses it before the class goes.
func (e *sphereEntry) gave(namespace, class string) bool {
	return slices.ContainsFunc(e.Writes, func(w sphereWrite) bool {
		n := w.Namespace
		return n != nil && n.Put.Name == namespace && slices.Contains(n.Put.Classes, class) && (n.Before == nil || !slices.Contains(n.Before.Classes, class))
	})
}

// namespaceBack decides what puts a namespace back; nil: there is nothing to take from it.
func (v VSphere) namespaceBack(ctx context.Context, w sphereNamespace) (undoing, error) {
	now, err := v.Client.Namespace(ctx, w.Put.Name)
	switch {
	case err != nil:
		return nil, err
	case (now == nil || now.Status == "REMOVING") && w.Before == nil:
		return nil, nil
	case now == nil:
		return nil, fmt.Errorf("namespace %s: was deleted since it was applied", w.Put.Name)
	}
	for _, name := range w.Own {
		if w.Before != nil && slices.Contains(w.Before.Classes, name) || !slices.Contains(now.Classes, name) {
			continue
		}
		class, err := v.Client.Class(ctx, name)
		if err != nil {
			return nil, err
		}
		if class != nil && len(class.VMs) > 0 {
			return nil, fmt.Errorf("namespace %s: its class %s is in use by virtual machines %s: delete them first", w.Put.Name, name, firstOf(class.VMs))
		}
	}
	return func(ctx context.Context) error { return v.Client.TakeFromNamespace(ctx, w.Put, w.Before) }, nil
}

// machineBack decides what puts a virtual machine back; nil: it is as it was, or gone.
func (v VSphere) machineBack(w sphereMachine, machines []vcenter.Machine) (undoing, error) {
	found := slices.DeleteFunc(slices.Clone(machines), func(m vcenter.Machine) bool { return m.Name != w.Name })
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, fmt.Errorf("virtual machine %s: %d have this name now", w.Name, len(found))
	case found[0].Unread:
		return nil, fmt.Errorf("virtual machine %s: its configuration could not be read", w.Name)
	}
	now, back := found[0], vcenter.VMChange{Extra: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(w.Change.Extra)) {
		was, is := extraOf(w.Before, key), extraOf(now.VM, key)
		switch {
		case strings.EqualFold(is, was):
		case strings.EqualFold(is, w.Change.Extra[key]):
			back.Extra[key] = was
		default:
			return nil, fmt.Errorf("virtual machine %s: %s changed since it was applied: it is %q", w.Name, key, is)
		}
	}
	for _, d := range w.Change.Attach {
		if slices.ContainsFunc(now.Devices, func(h fabric.VMDevice) bool { return sameAttached(h, d) }) {
			back.Detach = append(back.Detach, d)
		}
	}
	if r := w.Change.Reserve; r != nil && now.Reserved != nil && *now.Reserved == *r {
		no := false
		back.Reserve = &no
		if w.Before.Reserved != nil {
			back.Reserve = w.Before.Reserved
		}
	}
	if len(back.Extra) == 0 && len(back.Detach) == 0 && back.Reserve == nil {
		return nil, nil
	}
	if now.Power != "off" {
		return nil, fmt.Errorf("virtual machine %s: is %s: power it off, then repeat", w.Name, now.Power)
	}
	return func(ctx context.Context) error {
		_, err := v.Client.ChangeVM(ctx, w.Name, back)
		return err
	}, nil
}

// sameAttached reports whether a device of a virtual machine is the one that was attached.
func sameAttached(have, want fabric.VMDevice) bool {
	if have.Kind != want.Kind {
		return false
	}
	if want.Kind == "direct" {
		return have.Address == want.Address
	}
	return have.Label == want.Label && strings.EqualFold(have.Vendor, want.Vendor) && strings.EqualFold(have.Device, want.Device)
}

// extraOf is a value of ExtraConfig: ESX does not look at the case of keys.
func extraOf(m fabric.VM, key string) string {
	if value, ok := m.Extra[key]; ok {
		return value
	}
	for _, k := range slices.Sorted(maps.Keys(m.Extra)) {
		if strings.EqualFold(k, key) {
			return m.Extra[k]
		}
	}
	return ""
}
