package facts

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jsimonetti/rtnetlink/v2"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// readNeighbours returns the IPv4 neighbour (ARP) table.
func readNeighbours(ctx context.Context, h host.Host, f *fabric.Facts) {
	raw, ok := netlinkDump(ctx, h, f, fabric.FactNeighbours, linux.RTM_GETNEIGH, familyIPv4)
	if !ok {
		return
	}
	neighbours, err := decodeNeighbours(raw, namesOf(f))
	if err != nil {
		miss(f, fabric.FactNeighbours, "netlink", err)
	}
	f.Neighbours = neighbours
}

// decodeNeighbours reads RTM_NEWNEIGH messages, sorted by interface and address: the kernel's order is that
// of a hash. Entries that need no resolution (NOARP: multicast, loopback) are left out.
func decodeNeighbours(raw []byte, names map[int]string) ([]fabric.Neighbour, error) {
	var neighbours []fabric.Neighbour
	err := eachMessage(raw, linux.RTM_NEWNEIGH, func(data []byte) error {
		var m rtnetlink.NeighMessage
		if err := m.UnmarshalBinary(data); err != nil {
			return err
		}
		if m.Family != familyIPv4 || m.State&linux.NUD_NOARP != 0 {
			return nil
		}
		if m.Attributes == nil || !address(m.Attributes.Address).IsValid() {
			return errors.New("neighbour without an address")
		}
		name, err := nicName(names, m.Index)
		if err != nil {
			return err
		}
		neighbours = append(neighbours, fabric.Neighbour{
			NIC:     name,
			Address: address(m.Attributes.Address),
			MAC:     m.Attributes.LLAddress.String(),
			State:   neighbourState(m.State),
		})
		return nil
	})
	slices.SortStableFunc(neighbours, func(a, b fabric.Neighbour) int {
		return cmp.Or(cmp.Compare(a.NIC, b.NIC), a.Address.Compare(b.Address))
	})
	return neighbours, err
}

// neighbourState writes the one bit that is set as ip neigh does.
func neighbourState(state uint16) string {
	names := []struct {
		bit  uint16
		name string
	}{
		{linux.NUD_INCOMPLETE, "INCOMPLETE"},
		{linux.NUD_REACHABLE, "REACHABLE"},
		{linux.NUD_STALE, "STALE"},
		{linux.NUD_DELAY, "DELAY"},
		{linux.NUD_PROBE, "PROBE"},
		{linux.NUD_FAILED, "FAILED"},
		{linux.NUD_PERMANENT, "PERMANENT"},
	}
	for _, n := range names {
		if state&n.bit != 0 {
			return n.name
		}
	}
	return "NONE"
}
