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
	"railwright.dev/railwright/internal/kube"
)

// The journal of a cluster is on the machine from which it is applied to, and its entries have the states of those of a host
// (see journal.go). In an entry's folder are entry.json with every object as it was and as it was applied, written before
// the first is touched, and for each object that was done a file of its number with what the server made of it.
const kubeEntryKind = "KubernetesJournalEntry"

// kubeEntry is one apply to a cluster.
type kubeEntry struct {
	*entry `json:"-"`
	fabric.Meta
	Server string `json:"server"`
	Plan   string `json:"plan"`
	// Continues says that it is a later turn of the apply of the entry before it, which is rolled back with it.
	Continues bool         `json:"continues,omitempty"`
	Objects   []heldObject `json:"objects"`
}

// heldObject is an object as it was before an apply.
type heldObject struct {
	kube.Object
	Kind   Kind            `json:"change"`           // Create, Update, Replace, Remove
	Before json.RawMessage `json:"before,omitempty"` // absent of Create
	Wrote  json.RawMessage `json:"wrote,omitempty"`  // absent of Remove
	Forced bool            `json:"forced,omitempty"` // fields were taken from others
}

// KubernetesFolder is where the journals of clusters are on this machine.
func KubernetesFolder() (string, error) { return stateFolder("kubernetes") }

// stateFolder is where this program keeps what it did elsewhere (XDG Base Directory: state).
func stateFolder(of string) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "railwright", of), nil
}

// folder is that of this cluster.
func (c Kubernetes) folder() string { return filepath.Join(c.Folder, c.Client.Identity()) }

// openJournal locks the journal of the cluster, and puts back what an apply or rollback that was interrupted had begun.
func (c Kubernetes) openJournal(ctx context.Context) (*journal, error) {
	if err := os.MkdirAll(c.folder(), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(c.folder())
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w", c.folder(), err)
	}
	j := &journal{folder: c.folder(), lock: lock}
	if err := c.recover(ctx, j); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (c Kubernetes) recover(ctx context.Context, j *journal) error {
	entries, err := listEntries(j.folder)
	if err != nil {
		return err
	}
	for _, slot := range slices.Backward(entries) {
		switch slot.state {
		case draft:
			err = os.RemoveAll(slot.folder)
		case open:
			var e *kubeEntry
			if e, err = loadKube(slot); err == nil {
				var changes []Change
				changes, err = c.undo(ctx, e)
				j.undone = append(j.undone, changes...)
			}
			if err != nil {
				err = fmt.Errorf("an apply or rollback was interrupted, and cannot be undone: %w; the previous objects are in %q: "+
					"remove that folder to keep the objects as they are now", err, slot.folder)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newEntry saves what is there before the steps.
func (c Kubernetes) newEntry(j *journal, todo []kubeStep, continues bool) (*kubeEntry, error) {
	slot, err := j.newEntry()
	if err != nil {
		return nil, err
	}
	e := &kubeEntry{entry: slot, Meta: fabric.NewMeta(kubeEntryKind), Server: c.Client.Server(), Plan: c.Plan, Continues: continues}
	for _, s := range todo {
		h := heldObject{Object: s.object, Kind: s.kind, Before: s.before.JSON, Wrote: s.object.JSON, Forced: c.Force}
		if h.UID = s.before.UID; s.kind == Remove {
			h.Wrote = nil
		}
		e.Objects = append(e.Objects, h)
	}
	text, err := json.Marshal(e)
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

// record saves what the server made of an object; nothing of one that was deleted.
func (e *kubeEntry) record(i int, after kube.Object) error {
	if len(after.JSON) == 0 {
		return nil
	}
	if err := writeNew(e.copyOf(i), after.JSON, 0o600); err != nil {
		return err
	}
	return syncFolder(e.folder)
}

// loadKube reads an entry. One of another kind or shape is an error: nothing is put back by guessing.
func loadKube(slot *entry) (*kubeEntry, error) {
	e := &kubeEntry{entry: slot}
	text, err := os.ReadFile(filepath.Join(slot.folder, entryFile))
	if err == nil {
		err = fabric.Decode(text, kubeEntryKind, e)
	}
	if err == nil {
		err = e.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("journal entry %q: %w", slot.folder, err)
	}
	return e, nil
}

func (e *kubeEntry) validate() error {
	if len(e.Objects) == 0 {
		return errors.New("has no objects")
	}
	for i, h := range e.Objects {
		before, wrote := len(h.Before) > 0, len(h.Wrote) > 0
		fits := map[Kind]bool{Create: !before && wrote, Update: before && wrote, Replace: before && wrote, Remove: before && !wrote}[h.Kind]
		if !fits {
			return fmt.Errorf("objects[%d] %s: is not described completely", i, h)
		}
		for _, text := range []json.RawMessage{h.Before, h.Wrote} {
			if len(text) == 0 {
				continue
			}
			if o, err := kube.Read(text); err != nil || o.Kind != h.Object.Kind || o.Name != h.Name {
				return fmt.Errorf("objects[%d] %s: is not what is saved of it", i, h)
			}
		}
	}
	return nil
}

// after returns what the server made of an object; false: the process was killed before it knew.
func (e *kubeEntry) after(i int) (kube.Object, bool, error) {
	text, err := os.ReadFile(e.copyOf(i))
	if errors.Is(err, fs.ErrNotExist) {
		return kube.Object{}, false, nil
	}
	if err != nil {
		return kube.Object{}, false, err
	}
	o, err := kube.Read(text)
	if err != nil {
		return kube.Object{}, false, nil //nolint:nilerr // half written by a process that was killed: as if it had not been
	}
	return o, true, nil
}

func (e *kubeEntry) copyOf(i int) string { return filepath.Join(e.folder, strconv.Itoa(i)+".json") }

// Rollback puts the objects of the last apply to a cluster back: those that did not exist are deleted, the others get their
// previous fields and owners. An object whose applied fields somebody changed since is an error before anything is touched.
func (c Kubernetes) Rollback(ctx context.Context) (changes []Change, err error) {
	if _, err := os.Lstat(c.folder()); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cluster %s: %w from this machine", c.Client.Server(), ErrNoJournal)
	}
	j, err := c.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	if j.undone != nil {
		return j.undone, nil
	}
	chain, err := c.lastApply(j)
	if err != nil {
		return nil, err
	}
	for _, e := range chain { // all of it is looked at before any of it is touched
		if _, err := c.undoings(ctx, e); err != nil {
			return nil, fmt.Errorf("%w: nothing was rolled back; the previous objects are in %q", err, e.folder)
		}
	}
	for _, e := range chain {
		if err := e.become(open); err != nil {
			return changes, err
		}
		undone, err := c.undo(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%w: rolled back in part: repeat railwright rollback; the previous objects are in %q", err, e.folder)
		}
		changes = append(changes, undone...)
	}
	return changes, nil
}

// lastApply are the entries of the last apply, the last of its turns first.
func (c Kubernetes) lastApply(j *journal) (chain []*kubeEntry, err error) {
	entries, err := listEntries(j.folder)
	if err != nil {
		return nil, err
	}
	for _, slot := range slices.Backward(entries) {
		e, err := loadKube(slot)
		if err != nil {
			return nil, err
		}
		if chain = append(chain, e); !e.Continues {
			return chain, nil
		}
	}
	if len(chain) == 0 {
		return nil, fmt.Errorf("cluster %s: %w from this machine", c.Client.Server(), ErrNoJournal)
	}
	return chain, nil
}
