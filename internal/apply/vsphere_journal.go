package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// The journal of a vCenter is on the machine from which it is applied to, and its entries have the states of those of a host (see
// journal.go). In an entry's folder are entry.json with everything as it was and as it is wanted, written before the first is
// touched, and for each class that was done a file of its number with what vCenter made of it.
const sphereEntryKind = "VSphereJournalEntry"

// sphereEntry is one apply to a vCenter.
type sphereEntry struct {
	*entry `json:"-"`
	fabric.Meta
	Server string        `json:"server"`
	Plan   string        `json:"plan"`
	Writes []sphereWrite `json:"writes"`
}

// sphereWrite is one thing that is made or changed: one of the three is there.
type sphereWrite struct {
	Kind      Kind             `json:"change"` // Create, Update; Same: it is not in the journal
	Class     *sphereClass     `json:"class,omitempty"`
	Namespace *sphereNamespace `json:"namespace,omitempty"`
	Machine   *sphereMachine   `json:"machine,omitempty"`
}

type sphereClass struct {
	Want   fabric.VMClass `json:"want"`
	About  string         `json:"about"`
	Before *vcenter.Class `json:"before,omitempty"` // absent of Create
}

type sphereNamespace struct {
	Put    vcenter.Namespace  `json:"put"`
	Own    []string           `json:"own"`              // classes of the plan among those that it is given
	Before *vcenter.Namespace `json:"before,omitempty"` // absent of Create

	policy, library string // by their names in the plan, for people
}

type sphereMachine struct {
	Name   string           `json:"name"`
	Change vcenter.VMChange `json:"change"` // only what differs
	Before fabric.VM        `json:"before"`
}

func (w sphereWrite) String() string {
	switch {
	case w.Class != nil:
		return "class " + w.Class.Want.Name
	case w.Namespace != nil:
		return "namespace " + w.Namespace.Put.Name
	case w.Machine != nil:
		return "virtual machine " + w.Machine.Name
	}
	return "nothing"
}

// folder is that of this vCenter.
func (v VSphere) folder() string { return filepath.Join(v.Folder, v.Client.Identity()) }

// openJournal locks the journal of the vCenter, and puts back what an apply or rollback that was interrupted had begun.
func (v VSphere) openJournal(ctx context.Context) (*journal, error) {
	if id := v.Client.Identity(); id == "" || id != filepath.Base(id) {
		return nil, fmt.Errorf("%s: says no id of its own, and its journal is named after that", v.Client.Place())
	}
	if err := os.MkdirAll(v.folder(), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(v.folder())
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w", v.folder(), err)
	}
	j := &journal{folder: v.folder(), lock: lock}
	if err := v.recover(ctx, j); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (v VSphere) recover(ctx context.Context, j *journal) error {
	entries, err := listEntries(j.folder)
	if err != nil {
		return err
	}
	for _, slot := range slices.Backward(entries) {
		switch slot.state {
		case draft:
			err = os.RemoveAll(slot.folder)
		case open:
			var e *sphereEntry
			if e, err = loadSphere(slot); err == nil {
				if err = v.undo(ctx, e); err == nil {
					j.undone = append(j.undone, e.changes()...)
				}
			}
			if err != nil {
				err = fmt.Errorf("an apply or rollback was interrupted, and cannot be undone: %w; what was there before is in %q: "+
					"remove that folder to keep everything as it is now", err, slot.folder)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newEntry saves what is there before the writes.
func (v VSphere) newEntry(j *journal, todo []sphereWrite) (*sphereEntry, error) {
	slot, err := j.newEntry()
	if err != nil {
		return nil, err
	}
	e := &sphereEntry{entry: slot, Meta: fabric.NewMeta(sphereEntryKind), Server: v.Client.Place(), Plan: v.Plan.Name, Writes: todo}
	text, err := json.MarshalIndent(e, "", " ")
	if err == nil {
		err = writeNew(filepath.Join(e.folder, entryFile), text, 0o600)
	}
	if err == nil {
		err = syncFolder(e.folder)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(e.folder))
	}
	return e, nil
}

// record saves what vCenter made of a class.
func (e *sphereEntry) record(i int, after *vcenter.Class) error {
	if after == nil {
		return nil
	}
	text, err := json.Marshal(after)
	if err != nil {
		return err
	}
	if err := writeNew(e.copyOf(i), text, 0o600); err != nil {
		return err
	}
	return syncFolder(e.folder)
}

// after is what vCenter made of a class; nil: the process was killed before it knew.
func (e *sphereEntry) after(i int) (*vcenter.Class, error) {
	text, err := os.ReadFile(e.copyOf(i))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c vcenter.Class
	if json.Unmarshal(text, &c) != nil {
		return nil, nil // half written by a process that was killed: as if it had not been
	}
	return &c, nil
}

func (e *sphereEntry) copyOf(i int) string { return filepath.Join(e.folder, strconv.Itoa(i)+".json") }

// loadSphere reads an entry. One of another kind or shape is an error: nothing is put back by guessing.
func loadSphere(slot *entry) (*sphereEntry, error) {
	e := &sphereEntry{entry: slot}
	text, err := os.ReadFile(filepath.Join(slot.folder, entryFile))
	if err == nil {
		err = fabric.Decode(text, sphereEntryKind, e)
	}
	if err == nil {
		err = e.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("journal entry %q: %w", slot.folder, err)
	}
	return e, nil
}

func (e *sphereEntry) validate() error {
	if len(e.Writes) == 0 {
		return errors.New("has nothing that was written")
	}
	for i, w := range e.Writes {
		var fits bool
		switch {
		case w.Class != nil && w.Namespace == nil && w.Machine == nil:
			fits = w.Class.Want.Name != "" && (w.Kind == Create && w.Class.Before == nil || w.Kind == Update && w.Class.Before != nil)
		case w.Namespace != nil && w.Class == nil && w.Machine == nil:
			fits = w.Namespace.Put.Name != "" && (w.Kind == Create && w.Namespace.Before == nil || w.Kind == Update && w.Namespace.Before != nil)
		case w.Machine != nil && w.Class == nil && w.Namespace == nil:
			fits = w.Machine.Name != "" && w.Machine.Before.Name == w.Machine.Name && w.Kind == Update
		}
		if !fits {
			return fmt.Errorf("writes[%d] %s: is not described completely", i, w)
		}
	}
	return nil
}

// changes describes what undoing the entry does.
func (e *sphereEntry) changes() []Change {
	changes := make([]Change, 0, len(e.Writes))
	for _, w := range slices.Backward(e.Writes) {
		change := Change{Path: w.String(), Kind: Restore}
		switch {
		case w.Kind == Create && w.Namespace != nil:
			change.Reason = "it stays, without the classes and libraries that it was given: what others made in it would go with it"
		case w.Kind == Create:
			change.Kind = Remove
		}
		changes = append(changes, change)
	}
	return changes
}
