package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"railwright.dev/railwright/internal/host"
)

// StartLLDP runs the real lldpd on every machine of the lab, which then announces itself on its cables. Where lldpd
// cannot run, LLDP has the reason and cabling stays unknown.
func (l *Lab) StartLLDP(ctx context.Context) error {
	machines, err := l.Machines()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	host.Each(machines, len(machines), func(m host.Namespace) {
		if _, err := host.Output(ctx, m, host.Command{Argv: startLLDP}); err != nil {
			mu.Lock()
			defer mu.Unlock()
			l.LLDP = fmt.Sprintf("lldpd does not run on %s: %s", m.Name(), said(err))
		}
	})
	return l.save()
}

// said returns what a command wrote to standard error before it failed, if anything.
func said(err error) string {
	var exit *host.ExitError
	if errors.As(err, &exit) && exit.Stderr != "" {
		return exit.Stderr
	}
	return err.Error()
}

// startLLDP starts lldpd, which becomes a daemon, and queries it: one that could not
// switch to its own user has exited by then.
var startLLDP = []string{"timeout", "5", "sh", "-c", "lldpd && lldpcli show configuration"}

// Machines returns the hosts of the lab, then its leaf and the machine that is not in the plan, where it has them.
func (l *Lab) Machines() ([]host.Namespace, error) {
	hosts, err := l.Hosts()
	if err != nil {
		return nil, err
	}
	for _, name := range l.Spec.others() {
		m, err := l.Host(name)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, m)
	}
	return hosts, nil
}

// Hosts returns the hosts of the lab, in plan order.
func (l *Lab) Hosts() ([]host.Namespace, error) {
	var hosts []host.Namespace
	for _, name := range l.Spec.hostNames() {
		h, err := l.Host(name)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// restarting lists the machines whose lldpd takes its leave before faults move cables, and starts again afterwards: it would for
// some seconds still say what was true before. On a leaf it is the ports that move, while a switch whose cables are exchanged
// keeps its port names; between hosts the interfaces at both ends of a cable go and come again.
func (l *Lab) restarting(faults []Fault) ([]host.Namespace, error) {
	moves := slices.ContainsFunc(faults, func(f Fault) bool {
		k, err := faultKind(f.Kind)
		return err == nil && k.Ports
	})
	switch {
	case l.LLDP != "" || !moves:
		return nil, nil
	case l.Spec.Leaf == "":
		return l.Machines()
	}
	leaf, err := l.Host(l.Spec.Leaf)
	return []host.Namespace{leaf}, err
}

func (l *Lab) stopLLDP(ctx context.Context, faults []Fault) error {
	const stop = "read pid < /run/lldpd.pid && kill $pid && while kill -0 $pid 2>/dev/null; do sleep 0.05; done"
	return l.onRestarting(ctx, faults, host.Command{Argv: []string{"timeout", "10", "sh", "-c", stop}})
}

func (l *Lab) startLLDP(ctx context.Context, faults []Fault) error {
	return l.onRestarting(ctx, faults, host.Command{Argv: startLLDP})
}

func (l *Lab) onRestarting(ctx context.Context, faults []Fault, c host.Command) error {
	machines, err := l.restarting(faults)
	if err != nil {
		return err
	}
	failed := make([]error, len(machines))
	order := make([]int, len(machines))
	for i := range order {
		order[i] = i
	}
	host.Each(order, max(1, len(machines)), func(i int) { _, failed[i] = host.Output(ctx, machines[i], c) })
	return errors.Join(failed...)
}
