package cli

import (
	"fmt"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/report"
)

// cloudAnswer is a plan of machines that a cloud makes, in a line.
func cloudAnswer(p *fabric.Plan) string {
	subnets := 0
	for _, n := range p.Cloud.Networks {
		subnets += len(n.Subnets)
	}
	return sprintf("%s: %s in %s, %s with %s, MTU %d", p.Name, fabric.Count(len(p.Nodes), "node"), fabric.Count(len(p.Cloud.Pools), "node pool"),
		fabric.Count(len(p.Cloud.Networks), "network"), fabric.Count(subnets, "subnet"), p.MTU)
}

// printCloud writes what a cloud is asked for: networks with their subnets, node pools, and what their machines get.
func (a *app) printCloud(p *fabric.Plan) error {
	if p.Cloud == nil {
		return nil
	}
	c := p.Cloud
	printf(a.stdout, "\nGoogle Cloud project %s, API server in %s, machines in %s, Kubernetes %s with resource.k8s.io/%s\n", c.Project, c.Location, c.Zone, c.Version, c.DRA)
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nNETWORK\tPROFILE\tMTU\tSUBNET\tRANGE\tFIREWALL ADMITS")
	for _, n := range c.Networks {
		for _, s := range n.Subnets {
			admits := "all, by its profile"
			if n.Firewall != "" {
				admits = s.Range.String()
			}
			printf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", n.Name, orDash(n.Profile), n.MTU, s.Name, s.Range, admits)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nNODE POOL\tMACHINE TYPE\tNODES\tACCELERATOR\tGPUS")
	for _, pools := range alikePools(c.Pools) {
		first := pools[0]
		var names []string
		for _, pool := range pools {
			names = append(names, pool.Name)
		}
		printf(w, "%s\t%s\t%d\t%s\t%d\n", draw.Names(names, 4), first.MachineType, first.Nodes, first.Accelerator, first.GPUs)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nINSTALLED\tFROM")
	for _, i := range c.Installers {
		printf(w, "%s\t%s\n", i.DaemonSet, i.Source)
	}
	return w.Flush()
}

// printPods writes the pods of the plan, and what they serve.
func (a *app) printPods(p *fabric.Plan) error {
	if p.Claims != nil {
		fmt.Fprintln(a.stdout)
		if err := report.PlannedPods(a.stdout, a.textOptions(), *p.Claims); err != nil {
			return err
		}
	}
	if p.Serving == nil || p.Serving.Pods == nil {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return report.PlannedServing(a.stdout, a.textOptions(), p.Serving)
}

// alikePools joins neighbours that differ in their names only.
func alikePools(pools []fabric.NodePool) (groups [][]fabric.NodePool) {
	for _, p := range pools {
		if n := len(groups); n > 0 {
			last := groups[n-1][0]
			last.Name = p.Name
			if last == p {
				groups[n-1] = append(groups[n-1], p)
				continue
			}
		}
		groups = append(groups, []fabric.NodePool{p})
	}
	return groups
}
