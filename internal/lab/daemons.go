package lab

import (
	"context"
	"errors"
	"sync"

	"railwright.dev/railwright/internal/host"
)

// StartLLDP lets every machine of the lab say on its cables who it is, with the real lldpd. Where lldpd
// cannot run, LLDP says why and cabling stays unknown.
func (l *Lab) StartLLDP(ctx context.Context) error {
	machines, err := l.Machines()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var failed error
	host.Each(machines, len(machines), func(m host.Namespace) {
		// lldpd puts itself into the background when it is ready.
		_, err := host.Output(ctx, m, host.Command{Argv: []string{"lldpd"}})
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
	})
	if failed != nil {
		l.LLDP = "lldpd does not run: " + failed.Error()
	}
	return l.save()
}

// Machines are the hosts of the lab, then its leaf.
func (l *Lab) Machines() ([]host.Namespace, error) {
	hosts, err := l.Hosts()
	if err != nil {
		return nil, err
	}
	leaf, err := l.Host(l.Spec.Leaf)
	return append(hosts, leaf), err
}

// Hosts are the hosts of the lab, in plan order.
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
