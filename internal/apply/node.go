package apply

import (
	"context"

	"railwright.dev/railwright/internal/fabric"
)

// Bundle is everything that one node needs in order to become as planned.
type Bundle struct {
	Node      string              `json:"node"`
	MTU       int                 `json:"mtu"` // bytes
	Addresses []fabric.NICAddress `json:"addresses"`
	Artifacts []fabric.Artifact   `json:"artifacts"` // with content
}

// Result is what became of it.
type Result struct {
	Node       string      `json:"node"`
	Changes    []Change    `json:"changes"`
	Activation *Activation `json:"activation,omitempty"` // nil: the files wait for the next start
}

// Activation says how the written configuration came into force, and what did not.
type Activation struct {
	Network string   `json:"network"`           // the program that configured the interfaces
	Reason  string   `json:"reason,omitempty"`  // why it was not netplan and systemd-networkd
	Pending []string `json:"pending,omitempty"` // what is not in force, and why
}

// Node writes the bundle's files on this machine; with activate, which is for lab hosts, it also brings
// them into force.
func Node(ctx context.Context, b Bundle, journal string, activate bool) (Result, error) {
	changes, err := Write(journal, b.Artifacts)
	r := Result{Node: b.Node, Changes: changes}
	if err != nil || !activate {
		return r, err
	}
	a, err := bringUp(ctx, b)
	if err != nil {
		return r, err
	}
	r.Activation = &a
	return r, nil
}
