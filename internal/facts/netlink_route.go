package facts

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// readRoutes returns the IPv4 unicast routes of all tables, in kernel order.
func readRoutes(ctx context.Context, h host.Host, f *fabric.Facts) {
	raw, ok := netlinkDump(ctx, h, f, fabric.FactRoutes, linux.RTM_GETROUTE, familyIPv4)
	if !ok {
		return
	}
	routes, err := decodeRoutes(raw, namesOf(f))
	if err != nil {
		miss(f, fabric.FactRoutes, "netlink", err)
	}
	f.Routes = routes
}

// decodeRoutes reads RTM_NEWROUTE messages. A route over several next hops becomes one Route each.
func decodeRoutes(raw []byte, names map[int]string) ([]fabric.Route, error) {
	var routes []fabric.Route
	err := eachMessage(raw, linux.RTM_NEWROUTE, func(data []byte) error {
		var m rtnetlink.RouteMessage
		if err := m.UnmarshalBinary(data); err != nil {
			return err
		}
		if m.Family != familyIPv4 || m.Type != linux.RTN_UNICAST || m.Flags&linux.RTM_F_CLONED != 0 {
			return nil
		}
		route, err := routeOf(m)
		if err != nil {
			return err
		}
		hops, err := nextHops(data[linux.SizeofRtMsg:])
		if err != nil {
			return fmt.Errorf("route to %s in table %d: %w", route.Destination, route.Table, err)
		}
		for _, hop := range hops {
			route.Gateway = hop.gateway
			if route.NIC, err = nicName(names, hop.index); err != nil {
				return fmt.Errorf("route to %s in table %d: %w", route.Destination, route.Table, err)
			}
			routes = append(routes, route)
		}
		return nil
	})
	return routes, err
}

// routeOf reads what all next hops of a route share.
func routeOf(m rtnetlink.RouteMessage) (fabric.Route, error) {
	r := fabric.Route{
		Table:       int(m.Table),
		Destination: anyIPv4(),
		Source:      address(m.Attributes.Src),
		Metric:      int(m.Attributes.Priority),
		Protocol:    int(m.Protocol),
	}
	if m.Attributes.Table != 0 { // the header has one byte only
		r.Table = int(m.Attributes.Table)
	}
	if m.DstLength == 0 && m.Attributes.Dst == nil {
		return r, nil
	}
	var err error
	r.Destination, err = prefix(m.Attributes.Dst, m.DstLength)
	return r, err
}

// nextHop is where a route leads: an interface, and a gateway unless the destination is on link.
type nextHop struct {
	gateway netip.Addr
	index   uint32
}

// nextHops returns the next hops of a route, from its attributes.
func nextHops(attributes []byte) ([]nextHop, error) {
	hop, several, err := hopOf(attributes)
	switch {
	case err != nil:
		return nil, err
	case len(several) > 0:
		return multipath(several)
	case hop.index == 0:
		return nil, errors.New("no interface: the route names a next hop object only")
	default:
		return []nextHop{hop}, nil
	}
}

// hopOf reads one next hop, and what RTA_MULTIPATH holds where there are several. The library's message does
// not know RTA_VIA, the IPv6 gateway of an IPv4 route (RFC 8950, as unnumbered BGP uses it): such a route
// would read as on link.
func hopOf(attributes []byte) (hop nextHop, several []byte, err error) {
	ad, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return nextHop{}, nil, err
	}
	for ad.Next() {
		switch ad.Type() {
		case linux.RTA_OIF:
			hop.index = ad.Uint32()
		case linux.RTA_GATEWAY:
			hop.gateway = address(ad.Bytes())
		case linux.RTA_VIA:
			if hop.gateway, err = via(ad.Bytes()); err != nil {
				return nextHop{}, nil, err
			}
		case linux.RTA_MULTIPATH:
			several = ad.Bytes()
		}
	}
	return hop, several, ad.Err()
}

// multipath reads a row of struct rtnexthop {u16 length; u8 flags; u8 hops; s32 index}, each with its
// attributes behind it.
func multipath(b []byte) ([]nextHop, error) {
	var hops []nextHop
	for len(b) > 0 {
		if len(b) < linux.SizeofRtNexthop {
			return nil, fmt.Errorf("next hop cut short: %d bytes", len(b))
		}
		size := int(binary.NativeEndian.Uint16(b))
		if size < linux.SizeofRtNexthop || size > len(b) {
			return nil, fmt.Errorf("next hop of %d bytes in %d", size, len(b))
		}
		hop, _, err := hopOf(b[linux.SizeofRtNexthop:size])
		if err != nil {
			return nil, err
		}
		hop.index = binary.NativeEndian.Uint32(b[4:])
		hops = append(hops, hop)
		aligned := (size + linux.RTA_ALIGNTO - 1) &^ (linux.RTA_ALIGNTO - 1)
		b = b[min(aligned, len(b)):]
	}
	return hops, nil
}

// via reads struct rtvia {u16 family; u8 address[]}.
func via(b []byte) (netip.Addr, error) {
	if len(b) > 2 {
		if a := address(b[2:]); a.IsValid() {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("gateway of %d bytes: not an address", len(b))
}
