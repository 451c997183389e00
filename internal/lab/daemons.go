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

// Machines returns the hosts of the lab, then its leaf, where it has one.
func (l *Lab) Machines() ([]host.Namespace, error) {
	hosts, err := l.Hosts()
	if err != nil || l.Spec.Leaf == "" {
		return hosts, err
	}
	leaf, err := l.Host(l.Spec.Leaf)
	return append(hosts, leaf), err
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

// renames reports whether a fault gives ports of the leaf other names. A switch whose cables are exchanged
// keeps its port names; here it is the ports that move, and lldpd would for some seconds still say the old
// ones. So it takes its leave before, and starts again afterwards.
func (l *Lab) renames(faults []Fault) bool {
	return l.LLDP == "" && slices.ContainsFunc(faults, func(f Fault) bool {
		k, err := faultKind(f.Kind)
		return err == nil && k.Ports
	})
}

func (l *Lab) stopLeafLLDP(ctx context.Context, faults []Fault) error {
	const stop = "read pid < /run/lldpd.pid && kill $pid && while kill -0 $pid 2>/dev/null; do sleep 0.05; done"
	return l.onLeaf(ctx, faults, host.Command{Argv: []string{"timeout", "10", "sh", "-c", stop}})
}

func (l *Lab) startLeafLLDP(ctx context.Context, faults []Fault) error {
	return l.onLeaf(ctx, faults, host.Command{Argv: startLLDP})
}

func (l *Lab) onLeaf(ctx context.Context, faults []Fault, c host.Command) error {
	if !l.renames(faults) {
		return nil
	}
	leaf, err := l.Host(l.Spec.Leaf)
	if err != nil {
		return err
	}
	_, err = host.Output(ctx, leaf, c)
	return err
}
