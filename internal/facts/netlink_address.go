package facts

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/jsimonetti/rtnetlink/v2"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// readAddresses fills in the IPv4 and IPv6 addresses of each interface.
func readAddresses(ctx context.Context, h host.Host, f *fabric.Facts) {
	raw, ok := netlinkDump(ctx, h, f, fabric.FactNICAddresses, linux.RTM_GETADDR, linux.AF_UNSPEC)
	if !ok {
		return
	}
	byIndex, err := decodeAddresses(raw)
	if err == nil && len(byIndex) == 0 && slices.ContainsFunc(f.NICs, isLoopbackUp) {
		err = errors.New("the kernel listed none: a loopback interface that is up has one")
	}
	if err != nil {
		miss(f, fabric.FactNICAddresses, "netlink", err)
	}
	for i, n := range f.NICs {
		f.NICs[i].Addresses = byIndex[n.Index]
	}
}

func isLoopbackUp(n fabric.NIC) bool { return n.Name == "lo" && n.OperState != "down" }

// decodeAddresses reads RTM_NEWADDR messages: the addresses of each interface index, in kernel order.
func decodeAddresses(raw []byte) (map[int][]netip.Prefix, error) {
	byIndex := make(map[int][]netip.Prefix)
	err := eachMessage(raw, linux.RTM_NEWADDR, func(data []byte) error {
		var m rtnetlink.AddressMessage
		if err := m.UnmarshalBinary(data); err != nil {
			return err
		}
		var attributes rtnetlink.AddressAttributes
		if m.Attributes != nil {
			attributes = *m.Attributes
		}
		own := attributes.Local // on a point-to-point interface Address is the peer's
		if own == nil {
			own = attributes.Address
		}
		p, err := prefix(own, m.PrefixLength)
		if err != nil {
			return err
		}
		byIndex[int(m.Index)] = append(byIndex[int(m.Index)], p)
		return nil
	})
	return byIndex, err
}
