//go:build !linux

package bench

import "railwright.dev/railwright/internal/host"

// sender and watchers need raw sockets of Linux.
type (
	sender     struct{}
	watcher    struct{}
	arpWatcher struct{}
)

func newARPWatcher() *arpWatcher { return &arpWatcher{} }

func (*arpWatcher) finish() map[string][]string { return nil }

func newSender(meshNIC) *sender { return &sender{} }

func (*sender) send([]byte, string) error { return host.ErrNeedsLinux }

func (*sender) close() error { return nil }

func newWatcher(func(seenPacket)) (*watcher, error) { return nil, host.ErrNeedsLinux }

func (*watcher) finish() error { return nil }
