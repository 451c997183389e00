package apply

import (
	"context"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// ESXHosts are the ESX hosts of a plan.
type ESXHosts struct {
	Hosts    []ESX
	Parallel int // hosts that are worked on, and out of use, at a time; below 1: 1
	DryRun   bool
}

// ESXFolder is where the journals of ESX hosts are on this machine.
func ESXFolder() (string, error) { return stateFolder("esx") }

// Apply brings each host to its goal, or with DryRun says what it lacks. After a host that failed no other is begun.
func (h ESXHosts) Apply(ctx context.Context) []Applied {
	if h.DryRun {
		return h.each(ctx, false, ESX.look)
	}
	return h.each(ctx, true, ESX.apply)
}

// Rollback takes back what this program changed on each host, as its journal has it. After a host that failed no other is begun.
func (h ESXHosts) Rollback(ctx context.Context) []Applied {
	if h.DryRun {
		return h.each(ctx, false, ESX.lookBack)
	}
	return h.each(ctx, true, ESX.rollback)
}

// each works on the hosts in their order, some at a time, and stops at one that fails if it is to.
func (h ESXHosts) each(ctx context.Context, stops bool, one func(ESX, context.Context) Applied) []Applied {
	results := make([]Applied, len(h.Hosts))
	order := make([]int, len(h.Hosts))
	for i := range order {
		order[i] = i
	}
	var mutex sync.Mutex
	over := "" // why no other is begun
	host.Each(order, max(h.Parallel, 1), func(i int) {
		mutex.Lock()
		if over == "" && ctx.Err() != nil {
			over = "was interrupted"
		}
		why := over
		mutex.Unlock()
		if why != "" {
			results[i] = h.Hosts[i].result()
			results[i].Status, results[i].Error = fabric.Unknown, "not begun: "+why
			return
		}
		results[i] = one(h.Hosts[i], ctx)
		mutex.Lock()
		if stops && results[i].Error != "" && over == "" {
			over = "host " + h.Hosts[i].Host + " failed"
		}
		mutex.Unlock()
	})
	return results
}

// result is one without changes.
func (e ESX) result() Applied { return Applied{Node: e.Host, Steps: true, Changes: []Change{}} }
