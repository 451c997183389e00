package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/lab"
)

// whereOptions say on which machines a command works.
type whereOptions struct {
	file string
	lab  bool
}

func (o *whereOptions) flags(c *cobra.Command) {
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.lab, "lab", false, "the lab that is up")
	c.MarkFlagsMutuallyExclusive("lab", "file")
}

// where is a plan and its machines, ready to work on.
type where struct {
	plan    *fabric.Plan
	waivers []check.Waiver
	crew    *crew
	lldp    bool // false: LLDP cannot run here, so nobody waits for it
}

// reach goes to the machines of the lab that is up, or of a cluster file.
func (a *app) reach(ctx context.Context, o whereOptions) (*where, error) {
	if o.lab {
		l, err := lab.Open()
		if err != nil {
			return nil, err
		}
		c, err := labCrew(l)
		return &where{plan: l.Plan, crew: c, lldp: l.LLDP == ""}, err
	}
	if o.file == "" {
		return nil, errors.New("which machines: -f FILE of a cluster (make one with: railwright init), or --lab")
	}
	in, err := a.readCluster(o.file)
	if err != nil {
		return nil, err
	}
	waivers, err := in.waivers()
	if err != nil {
		return nil, err
	}
	c, err := in.crew(ctx)
	return &where{plan: in.plan, waivers: waivers, crew: c, lldp: true}, err
}

// crew logs in to the machines of a cluster file.
func (in *input) crew(ctx context.Context) (*crew, error) {
	if in.cluster.Launcher != intent.SSH {
		return nil, errors.New("launcher " + string(in.cluster.Launcher) + ": machines are reached by launcher ssh only, or by --lab")
	}
	var names []string
	login := make(map[string]string)
	for _, g := range in.cluster.Nodes {
		group, err := fabric.ExpandNames(g.Names)
		if err != nil {
			return nil, err
		}
		names = append(names, group...)
		for _, name := range group {
			if g.SSH != nil {
				login[name] = g.SSH.User
			}
		}
	}
	return sshCrew(ctx, names, login)
}
