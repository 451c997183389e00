package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"railwright.dev/railwright/internal/fabric"
)

// ESXHosts are the ESX hosts of a plan.
type ESXHosts struct {
	Hosts    []ESX
	Parallel int // hosts that are worked on, and out of use, at a time; below 1: 1
	DryRun   bool
}

// ESXFolder is where the journals of ESX hosts are on this machine (XDG Base Directory: state).
func ESXFolder() (string, error) { return stateFolder("esx") }

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
	var mutex sync.Mutex
	next, failed := 0, ""
	take := func() int {
		mutex.Lock()
		defer mutex.Unlock()
		if next == len(h.Hosts) || failed != "" || ctx.Err() != nil {
			return -1
		}
		next++
		return next - 1
	}
	var workers sync.WaitGroup
	for range min(max(h.Parallel, 1), len(h.Hosts)) {
		workers.Go(func() {
			for i := take(); i >= 0; i = take() {
				results[i] = one(h.Hosts[i], ctx)
				mutex.Lock()
				if stops && results[i].Error != "" && failed == "" {
					failed = h.Hosts[i].Host
				}
				mutex.Unlock()
			}
		})
	}
	workers.Wait()
	for i := next; i < len(results); i++ {
		why := "was interrupted"
		if failed != "" {
			why = "host " + failed + " failed"
		}
		results[i] = h.Hosts[i].result()
		results[i].Status, results[i].Error = fabric.Unknown, fmt.Sprintf("not begun: %s", why)
	}
	return results
}

// result is one without changes.
func (e ESX) result() Applied { return Applied{Node: e.Host, Steps: true, Changes: []Change{}} }
