package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/pipeline"
)

// fleetOptions select the machines that a command works on.
type fleetOptions struct {
	file string
	lab  bool
}

func (o *fleetOptions) flags(c *cobra.Command) {
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.lab, "lab", false, "the lab that is running")
	c.MarkFlagsMutuallyExclusive("lab", "file")
}

// reached is the machines of a plan, after login.
type reached struct {
	plan    *fabric.Plan
	waivers []check.Waiver
	fleet   *fleet.Fleet
}

// reach connects to the machines of the running lab, or of a cluster file. Nobody logs in to pods: ofPods says what to do instead.
func (a *app) reach(ctx context.Context, o fleetOptions, ofPods func(p *fabric.Plan, file string) error) (*reached, error) {
	if o.lab {
		if err := a.begin(ctx); err != nil {
			return nil, err
		}
		l, err := lab.Open()
		if err != nil {
			return nil, err
		}
		f, err := pipeline.LabFleet(l)
		return &reached{plan: l.Plan, fleet: f}, err
	}
	if o.file == "" {
		return nil, errors.New("no machines given: use -f FILE (make one with: railwright init) or --lab")
	}
	in, err := a.readCluster(o.file)
	if err != nil {
		return nil, err
	}
	if ofPods != nil && in.cluster.Launcher == intent.Kubernetes {
		return nil, ofPods(in.plan, o.file)
	}
	return a.login(ctx, in)
}

// login connects to the machines of a cluster file that was read.
func (a *app) login(ctx context.Context, in *input) (*reached, error) {
	waivers, err := pipeline.Waivers(in.cluster)
	if err != nil {
		return nil, err
	}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	a.doingSSH("logging in to", nodesOf(in.plan))
	f, err := fleet.Cluster(ctx, in.cluster)
	a.doingSSH("working with", nodesOf(in.plan))
	return &reached{plan: in.plan, waivers: waivers, fleet: f}, err
}

// nodesOf are the names of a plan's machines.
func nodesOf(p *fabric.Plan) []string {
	var names []string
	for _, n := range p.Nodes {
		names = append(names, n.Name)
	}
	return names
}
