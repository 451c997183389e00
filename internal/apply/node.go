package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// The kinds of the documents that go to a node and come back.
const (
	BundleKind = "ApplyBundle"
	ResultKind = "ApplyResult"
)

// Bundle is everything that one node needs for its planned configuration.
type Bundle struct {
	fabric.Meta
	Node      string              `json:"node"`
	MTU       int                 `json:"mtu"` // bytes
	Addresses []fabric.NICAddress `json:"addresses"`
	Bare      []string            `json:"bare,omitempty"` // NICs with the MTU and a link-local address alone
	Artifacts []fabric.Artifact   `json:"artifacts"`      // with content
	DryRun    bool                `json:"dry_run,omitempty"`
	Trial     *Trial              `json:"trial,omitempty"` // nil: the files are written, and take effect later
}

// Result is the answer of a node to its bundle.
type Result struct {
	fabric.Meta
	Applied Applied `json:"applied"`
}

// Applied is the result for a target: a node, or a switch of the plan.
type Applied struct {
	Node       string        `json:"node"`   // or switch
	Status     fabric.Status `json:"status"` // see judge; unknown: see Error
	Changes    []Change      `json:"changes"`
	Steps      bool          `json:"steps,omitempty"`      // of an ESX host: its changes are steps and reboots, not files
	Activation *Activation   `json:"activation,omitempty"` // nil: the files take effect at the next start
	// Drift is what the machine does not have in effect although its files are as planned.
	Drift []string `json:"drift,omitempty"`
	// Interrupted says that an apply or a rollback was killed before: a dry run found it, an apply undid it first.
	Interrupted bool `json:"interrupted,omitempty"`
	// Waits is the id of the trial that waits for its confirmation; empty: none does.
	Waits string `json:"waits,omitempty"`
	// Others are files that are not of railwright and configure the same interfaces.
	Others []string `json:"others,omitempty"`
	// Preconditions are what a cluster of Kubernetes has, or lacks, of what objects need that are to be applied.
	Preconditions []Precondition `json:"preconditions,omitempty"`
	// Note is why the last activation was taken back.
	Note string `json:"note,omitempty"`
	// Scripts are what a person runs, in this order.
	Scripts []Script `json:"scripts,omitempty"`

	Error  string `json:"error,omitempty"`  // why its status is unknown
	Reason string `json:"reason,omitempty"` // why it is not applicable
}

// Activation describes how the written configuration took effect, and what did not.
type Activation struct {
	Network string   `json:"network"`           // the program that configured the interfaces
	Reason  string   `json:"reason,omitempty"`  // why it was not netplan and systemd-networkd
	Pending []string `json:"pending,omitempty"` // what is not in effect, and why
	Skipped []string `json:"skipped,omitempty"` // what a lab host does not have, and why
	Undone  bool     `json:"undone,omitempty"`  // what it found before is in effect again
	// Unready are the objects of Kubernetes among Pending, with what was seen of them.
	Unready []Unready `json:"unready,omitempty"`

	Confirmed bool `json:"confirmed,omitempty"` // the machine was reached over a new connection afterwards

	Proofs []fabric.Proof `json:"proofs"` // of each file, in the order of the bundle
}

// judge returns the status of a node that answered. Fail: something that should be in effect is not, or a dry run found
// something to do. Unknown: a file could not be read, or there is none.
func (a Applied) judge(dryRun bool) fabric.Status {
	if a.Activation != nil && len(a.Activation.Pending) > 0 || dryRun && (a.Interrupted || len(a.Drift) > 0) {
		return fabric.Fail
	}
	if len(a.Changes) == 0 {
		return fabric.Unknown // nothing was compared
	}
	status := fabric.Pass
	for _, c := range a.Changes {
		switch {
		case c.Kind == Unknown:
			status = fabric.Unknown
		case dryRun && c.Kind != Same:
			return fabric.Fail
		}
	}
	return status
}

// Worst is the status of all targets: fail before unknown before pass. Of no target it is unknown.
func Worst(targets []Applied) fabric.Status {
	worst := fabric.Unknown
	for i, a := range targets {
		switch {
		case a.Status == fabric.Fail:
			return fabric.Fail
		case i == 0 || a.Status == fabric.Unknown:
			worst = a.Status
		case worst == fabric.NotApplicable:
			worst = a.Status
		}
	}
	return worst
}

// Accept returns the answer of a node, if it is one to this bundle: about this node and each of its files, and with the
// status that follows from it.
func (b Bundle) Accept(r Result) (Applied, error) {
	a := r.Applied
	if a.Node != b.Node {
		return Applied{}, fmt.Errorf("the answer is about %q", a.Node)
	}
	if len(a.Changes) != len(b.Artifacts) {
		return Applied{}, fmt.Errorf("the answer has %s of %d", fabric.Count(len(a.Changes), "file"), len(b.Artifacts))
	}
	for i, c := range a.Changes {
		if c.Path != b.Artifacts[i].Path || c.Kind == "" || c.Kind == Restore || c.Kind == Remove || c.Kind == Replace {
			return Applied{}, fmt.Errorf("the answer has %q for %q instead of a change of %q", c.Kind, c.Path, b.Artifacts[i].Path)
		}
	}
	if err := b.proofsFit(a.Activation); err != nil {
		return Applied{}, err
	}
	if status := a.judge(b.DryRun); status != a.Status || a.Error != "" || a.Reason != "" {
		return Applied{}, fmt.Errorf("the answer says %s, its content says %s", a.Status, status)
	}
	return a, nil
}

// proofsFit is an error unless an activation says of each file of the bundle how far it was proved.
func (b Bundle) proofsFit(a *Activation) error {
	if a == nil {
		return nil
	}
	if len(a.Proofs) != len(b.Artifacts) {
		return fmt.Errorf("the answer has %s of %d", fabric.Count(len(a.Proofs), "proof"), len(b.Artifacts))
	}
	for i, p := range a.Proofs {
		if p.Path != b.Artifacts[i].Path || !p.Valid() {
			return fmt.Errorf("the answer has %q for %q instead of a proof of %q", p.Level, p.Path, b.Artifacts[i].Path)
		}
	}
	return nil
}

// validate is an error unless the bundle is whole: of a node, with files, each with the content that its sum names.
func (b Bundle) validate() error {
	if b.Node == "" {
		return errors.New("names no node")
	}
	if len(b.Artifacts) == 0 {
		return errors.New("has no files")
	}
	for _, a := range b.Artifacts {
		switch {
		case !filepath.IsAbs(a.Path) || filepath.Clean(a.Path) != a.Path:
			return fmt.Errorf("path %q: not an absolute path", a.Path)
		case a.Mode == 0 || a.Mode&^uint32(fs.ModePerm) != 0:
			return fmt.Errorf("path %q: mode %#o: not permissions", a.Path, a.Mode)
		case digest(a.Content) != a.SHA256:
			return fmt.Errorf("path %q: its content does not have the SHA-256 %q", a.Path, a.SHA256)
		}
	}
	return nil
}

// Node writes the bundle's files on this machine, or with DryRun says what it would write. On a lab host
// they also take effect; on a real one they do at its next start, so that the connection over which they
// were applied is not cut. With a Trial they take effect now, and are taken back unless they are confirmed.
func Node(ctx context.Context, b Bundle, folder string) (r Result, err error) {
	r = Result{fabric.NewMeta(ResultKind), Applied{Node: b.Node}}
	if err := errors.Join(b.validate(), b.Trial.validate()); err != nil {
		return r, fmt.Errorf("bundle: %w", err)
	}
	switch {
	case b.DryRun:
		err = r.Applied.look(b, folder)
	case b.Trial != nil:
		if path := sharedPath(b.Artifacts); path != "" && InLab() {
			return r, sharedError(path)
		}
		r.Applied, err = placesOf(folder).try(ctx, b, networkHere(), armHere)
	default:
		err = r.Applied.write(ctx, b, folder)
	}
	r.Applied.Status = r.Applied.judge(b.DryRun)
	return r, err
}

// sharedPath returns a file outside the folders that every lab host has for itself; empty: there is none.
func sharedPath(artifacts []fabric.Artifact) string {
	for _, a := range artifacts {
		if !slices.ContainsFunc([]string{"/etc/", "/run/", "/var/lib/", "/usr/local/sbin/"}, func(own string) bool { return strings.HasPrefix(a.Path, own) }) {
			return a.Path
		}
	}
	return ""
}

func sharedError(path string) error {
	return fmt.Errorf("%q: a lab host shares it with this machine: nothing was written", path)
}

// look is a dry run.
func (a *Applied) look(b Bundle, folder string) (err error) {
	a.Changes = Diff(b.Artifacts)
	p := placesOf(folder)
	a.Note, a.Others = p.noted(), p.others(b)
	if a.Interrupted, err = Interrupted(folder); err != nil {
		return err
	}
	for _, c := range a.Changes {
		if c.Kind != Same {
			return nil // what is not written cannot be in effect
		}
	}
	a.Drift, err = notInEffect(b)
	return err
}

// write holds the journal until the files are in effect, so that of two at once one is refused.
func (a *Applied) write(ctx context.Context, b Bundle, folder string) (err error) {
	if path := sharedPath(b.Artifacts); path != "" && InLab() {
		return sharedError(path)
	}
	j, err := openJournal(folder)
	if err != nil {
		return fmt.Errorf("%w: nothing was written", err)
	}
	defer func() { err = errors.Join(err, j.close()) }()
	a.Interrupted = j.undone != nil
	p := placesOf(folder)
	if err := p.clear(ctx, networkHere(), j); err != nil {
		return fmt.Errorf("%w: nothing was written", err)
	}
	a.Others = p.others(b)
	if a.Changes, err = j.write(b.Artifacts); err == nil {
		err = ignoreAbsent(os.Remove(p.note()))
	}
	if err != nil || !InLab() {
		return err
	}
	activation, err := bringUp(ctx, b)
	a.Activation = &activation
	return err
}
