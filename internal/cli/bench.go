package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/bench"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/report"
)

func (a *app) benchCommand() *cobra.Command {
	var inLab bool
	var suite string
	c := &cobra.Command{
		Use:   "bench --lab [--suite ping]",
		Short: "Ping every NIC from every NIC of the other hosts, and explain what fails",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if suite != "ping" {
				return fmt.Errorf("flag --suite: %q is not known: known is ping", suite)
			}
			if !inLab {
				return errors.New("bench reaches the hosts of the lab only: give --lab")
			}
			return a.benchLab(c.Context())
		},
	}
	c.Flags().BoolVar(&inLab, "lab", false, "the lab that is up")
	c.Flags().StringVar(&suite, "suite", "ping", "what to run: ping")
	return c
}

func (a *app) benchLab(ctx context.Context) error {
	l, err := lab.Open()
	if err != nil {
		return err
	}
	collected, err := collectLab(ctx, l)
	if err != nil {
		return err
	}
	found, err := findings(l.Plan, nil, all(collected))
	if err != nil {
		return err
	}
	mesh, err := meshLab(ctx, l)
	if err != nil {
		return err
	}
	causes := diagnose.Mesh(mesh, found.Findings)
	if a.json() {
		err = report.JSON(a.stdout, struct {
			Mesh   *fabric.Mesh   `json:"mesh"`
			Causes *fabric.Causes `json:"causes"`
		}{mesh, causes})
	} else {
		err = report.RunText(a.stdout, report.Run{ID: l.Plan.Name, Plan: l.Plan, Findings: found, Mesh: mesh, Causes: causes}, a.textOptions())
	}
	return errors.Join(err, exitOf(meshStatus(mesh)))
}

// meshStatus is never Pass while a node was absent.
func meshStatus(m *fabric.Mesh) fabric.Status {
	status := m.Summary().Status()
	if status == fabric.Pass && len(m.Absent) > 0 {
		return fabric.Unknown
	}
	return status
}

// meshWait is how long an echo of a lab may take, on each of two tries: a round trip through namespaces is
// some tens of microseconds, asking for a neighbour's address some more.
const (
	meshWait    = 500 * time.Millisecond
	meshTimeout = 30 * time.Second
)

func meshLab(ctx context.Context, l *lab.Lab) (*fabric.Mesh, error) {
	hosts, err := l.Hosts()
	if err != nil {
		return nil, err
	}
	nodes := make(map[string]host.Runner)
	for _, h := range hosts {
		nodes[h.Name()] = h
	}
	argv, err := self("mesh")
	if err != nil {
		return nil, err
	}
	return bench.Mesh(ctx, l.Plan, nodes, bench.MeshOptions{Command: argv, Wait: meshWait, Timeout: meshTimeout})
}
