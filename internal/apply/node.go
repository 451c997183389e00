package apply

import (
	"context"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Bundle is everything that one node needs in order to become as planned.
type Bundle struct {
	Node      string              `json:"node"`
	MTU       int                 `json:"mtu"` // bytes
	Addresses []fabric.NICAddress `json:"addresses"`
	Artifacts []fabric.Artifact   `json:"artifacts"` // with content
	DryRun    bool                `json:"dry_run,omitempty"`
}

// Applied is what became of it.
type Applied struct {
	Node       string      `json:"node"`
	Changes    []Change    `json:"changes"`
	Activation *Activation `json:"activation,omitempty"` // nil: the files wait for the next start
	Error      string      `json:"error,omitempty"`      // why nothing is known of it
}

// Activation says how the written configuration came into force, and what did not.
type Activation struct {
	Network string   `json:"network"`           // the program that configured the interfaces
	Reason  string   `json:"reason,omitempty"`  // why it was not netplan and systemd-networkd
	Pending []string `json:"pending,omitempty"` // what is not in force, and why
}

// Node writes the bundle's files on this machine, or with DryRun says what it would write. A lab host also
// takes them into force; a real one does so at its next start, so that nobody cuts the connection over
// which it was applied.
func Node(ctx context.Context, b Bundle, journal string) (Applied, error) {
	r := Applied{Node: b.Node}
	if b.DryRun {
		r.Changes = Diff(b.Artifacts)
		return r, nil
	}
	var err error
	if r.Changes, err = Write(journal, b.Artifacts); err != nil {
		return r, err
	}
	platform, err := host.ReadString(host.Local{}, host.PlatformFile)
	if host.IsAbsent(err) || platform != "lab" {
		return r, nil
	}
	a, err := bringUp(ctx, b)
	if err != nil {
		return r, err
	}
	r.Activation = &a
	return r, nil
}
