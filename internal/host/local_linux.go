package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ReadFile opens the file once and reads it whole.
func (Local) ReadFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}

// ReadDir lists names, sorted.
func (Local) ReadDir(name string) ([]string, error) {
	// Without the flag a named pipe would be waited for until somebody opens its other end.
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// ReadLink reads a symbolic link.
func (Local) ReadLink(name string) (string, error) { return os.Readlink(name) }

// Dump asks the kernel of this network namespace. An answer that the kernel marks as interrupted,
// because the table changed meanwhile, is asked for again.
func (Local) Dump(_ context.Context, messageType uint16, family uint8) ([]byte, error) {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{})
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	defer c.Close()
	// A strict kernel checks the whole fixed header of the request; 12 bytes hold every rtnetlink
	// header whose first byte is the family (rtmsg, fib_rule_hdr, ndmsg); ifinfomsg has 16, ifaddrmsg 8.
	request := make([]byte, headerSize(messageType))
	request[0] = family
	const tries = 4
	for range tries {
		messages, err := c.Execute(netlink.Message{
			Header: netlink.Header{Type: netlink.HeaderType(messageType), Flags: netlink.Request | netlink.Dump},
			Data:   request,
		})
		if errors.Is(err, unix.EINTR) || interrupted(messages) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("netlink dump %d: %w", messageType, err)
		}
		return marshal(messages)
	}
	return nil, fmt.Errorf("netlink dump %d: interrupted %d times: the table keeps changing", messageType, tries)
}

func headerSize(messageType uint16) int {
	switch messageType {
	case unix.RTM_GETLINK:
		return unix.SizeofIfInfomsg
	case unix.RTM_GETADDR:
		return unix.SizeofIfAddrmsg
	default:
		return unix.SizeofRtMsg
	}
}

func interrupted(messages []netlink.Message) bool {
	return slices.ContainsFunc(messages, func(m netlink.Message) bool {
		return m.Header.Flags&netlink.DumpInterrupted != 0
	})
}

func marshal(messages []netlink.Message) ([]byte, error) {
	var out []byte
	for _, m := range messages {
		b, err := m.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("netlink message: %w", err)
		}
		out = append(out, b...)
	}
	return out, nil
}

// Open opens a file of this machine.
func (Local) Open(name string) (io.ReadCloser, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	return patient(f, err)
}
