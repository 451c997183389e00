package facts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/netlink"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// netlinkDump asks the host's kernel for a table; where that fails, Missing says why and ok is false.
func netlinkDump(ctx context.Context, h host.Host, f *fabric.Facts, what string, messageType uint16, family uint8) (raw []byte, ok bool) {
	n, isNetlinker := h.(host.Netlinker)
	if !isNetlinker {
		miss(f, what, "netlink", host.ErrNotSupported)
		return nil, false
	}
	raw, err := n.Dump(ctx, messageType, family)
	if err == nil && len(raw) == 0 && neverEmpty(messageType) {
		err = errors.New("the kernel listed none: every network namespace has one")
	}
	if err != nil {
		miss(f, what, "netlink", err)
		return nil, false
	}
	return raw, true
}

// neverEmpty reports whether a dump has at least one entry: every network namespace has the loopback interface, and
// policy rules for the tables local, main and default (ip-rule(8)).
func neverEmpty(messageType uint16) bool {
	return messageType == linux.RTM_GETLINK || messageType == linux.RTM_GETRULE
}

// eachMessage decodes every message of one type. One that cannot be decoded does not stop the rest: the
// error counts them and has the first.
func eachMessage(raw []byte, messageType netlink.HeaderType, decode func(data []byte) error) error {
	messages, err := host.Messages(raw)
	var bad int
	for _, m := range messages {
		var one error
		switch m.Header.Type {
		case messageType:
			one = decode(m.Data)
		case netlink.Error:
			one = errors.New("the kernel answered with an error")
		}
		if one != nil {
			bad++
			if err == nil {
				err = one
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d messages could not be decoded: %w", bad, len(messages), err)
	}
	return err
}

// address reads an IP address of 4 or 16 bytes; the zero Addr for none.
func address(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip) // another length gives the zero Addr
	return a
}

// prefix makes a prefix of an address as the kernel keeps it, with the bits behind the mask.
func prefix(ip net.IP, bits uint8) (netip.Prefix, error) {
	p := netip.PrefixFrom(address(ip), int(bits))
	if !p.IsValid() {
		return netip.Prefix{}, fmt.Errorf("no prefix: %d bytes of address with /%d", len(ip), bits)
	}
	return p, nil
}

// anyIPv4 is the destination of a default route, which the kernel leaves out.
func anyIPv4() netip.Prefix { return netip.PrefixFrom(netip.IPv4Unspecified(), 0) }

// namesOf finds the names of interfaces by index.
func namesOf(f *fabric.Facts) map[int]string {
	names := make(map[int]string, len(f.NICs))
	for _, n := range f.NICs {
		names[n.Index] = n.Name
	}
	return names
}

// nicName names an interface of which a message speaks by its index; 0 is none.
func nicName(names map[int]string, index uint32) (string, error) {
	name, ok := names[int(index)]
	if !ok && index != 0 {
		return "", fmt.Errorf("interface index %d has no name", index)
	}
	return name, nil
}

const familyIPv4 = linux.AF_INET
