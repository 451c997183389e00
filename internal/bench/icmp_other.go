//go:build !linux

package bench

import "railwright.dev/railwright/internal/host"

// sender and watcher need raw sockets of Linux.
type (
	sender  struct{}
	watcher struct{}
)

func newSender(meshNIC) *sender { return &sender{} }

func (*sender) send([]byte, string) error { return host.ErrNeedsLinux }

func (*sender) close() error { return nil }

func newWatcher(func(seenPacket)) (*watcher, error) { return nil, host.ErrNeedsLinux }

func (*watcher) finish() error { return nil }
