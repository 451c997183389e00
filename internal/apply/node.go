package apply

import (
	"context"

	"railwright.dev/railwright/internal/fabric"
)

// Bundle is everything that one node needs for its planned configuration.
type Bundle struct {
	Node      string              `json:"node"`
	MTU       int                 `json:"mtu"` // bytes
	Addresses []fabric.NICAddress `json:"addresses"`
	Artifacts []fabric.Artifact   `json:"artifacts"` // with content
	DryRun    bool                `json:"dry_run,omitempty"`
}

// Applied is the result for a target: a node, or a switch of the plan.
type Applied struct {
	Node       string        `json:"node"`   // or switch
	Status     fabric.Status `json:"status"` // pass: as planned, or written; fail: a dry run found changes; unknown: see Error
	Changes    []Change      `json:"changes"`
	Activation *Activation   `json:"activation,omitempty"` // nil: the files take effect at the next start
	Error      string        `json:"error,omitempty"`      // why its status is unknown
	Reason     string        `json:"reason,omitempty"`     // why it is not applicable
}

// Activation describes how the written configuration took effect, and what did not.
type Activation struct {
	Network string   `json:"network"`           // the program that configured the interfaces
	Reason  string   `json:"reason,omitempty"`  // why it was not netplan and systemd-networkd
	Pending []string `json:"pending,omitempty"` // what is not in effect, and why
}

// judge returns the status of a node that answered: Unknown where a file could not be read, and of a dry run
// Fail where something is to be changed.
func (a Applied) judge(dryRun bool) fabric.Status {
	status := fabric.Pass
	for _, c := range a.Changes {
		switch {
		case dryRun && c.Kind != Same && c.Kind != Unknown:
			return fabric.Fail
		case c.Kind == Unknown:
			status = fabric.Unknown
		}
	}
	return status
}

// Node writes the bundle's files on this machine, or with DryRun says what it would write. On a lab host
// they also take effect; on a real one they do at its next start, so that the connection over which they
// were applied is not cut.
func Node(ctx context.Context, b Bundle, journal string) (Applied, error) {
	r := Applied{Node: b.Node}
	if b.DryRun {
		r.Changes = Diff(b.Artifacts)
		r.Status = r.judge(true)
		return r, nil
	}
	var err error
	if r.Changes, err = Write(journal, b.Artifacts); err != nil {
		return r, err
	}
	r.Status = r.judge(false)
	if !InLab() {
		return r, nil
	}
	a, err := bringUp(ctx, b)
	if err != nil {
		return r, err
	}
	r.Activation = &a
	return r, nil
}
