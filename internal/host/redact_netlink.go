package host

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/linux"
)

// redaction says what becomes of the payload of a netlink attribute. The length never changes. What no table
// names is dropped: type 0, which every reader skips, and zeros.
type redaction uint8

const (
	dropped      redaction = iota
	kept                   // numbers, and names of kinds and devices
	ipAddress              // of the message's family
	destination            // an address with the header's second byte as its length
	origin                 // an address with the header's third byte as its length
	linkAddress            // by its length
	nicName                // in which a MAC address may stand
	linkInfo               // nested: kinds are kept, their settings are not
	nicNames               // nested: alternative names
	nextHops               // struct rtnexthop, each with attributes of a route
	viaAddress             // struct rtvia: family, address
	inetSettings           // nested: those of IPv4 are kept
)

// dumpKind is a kind of rtnetlink message: bytes of its fixed header, and what to do with its attributes.
type dumpKind struct {
	header     int
	attributes map[uint16]redaction
}

// Attributes that x/sys does not name (linux/if_link.h, neighbour.h, rtnetlink.h).
const (
	iflaPropList  = 52
	iflaAltName   = 53
	iflaPermanent = 54
	iflaParent    = 56
	iflaParentBus = 57
	ndaProtocol   = 12
	rtaNextHop    = 30

	maxAttribute = 1<<14 - 1 // the two bits above are flags (NLA_F_NESTED, NLA_F_NET_BYTEORDER)
)

func dumpKinds() map[uint16]dumpKind {
	return map[uint16]dumpKind{
		linux.RTM_NEWLINK: {linux.SizeofIfInfomsg, redactions(
			[]uint16{
				linux.IFLA_MTU, linux.IFLA_LINK, linux.IFLA_QDISC, linux.IFLA_STATS, linux.IFLA_MASTER, linux.IFLA_TXQLEN, linux.IFLA_MAP,
				linux.IFLA_OPERSTATE, linux.IFLA_LINKMODE, linux.IFLA_NUM_VF, linux.IFLA_STATS64, linux.IFLA_GROUP, linux.IFLA_EXT_MASK,
				linux.IFLA_PROMISCUITY, linux.IFLA_NUM_TX_QUEUES, linux.IFLA_NUM_RX_QUEUES, linux.IFLA_CARRIER, linux.IFLA_CARRIER_CHANGES,
				linux.IFLA_LINK_NETNSID, linux.IFLA_PHYS_PORT_NAME, linux.IFLA_PROTO_DOWN, linux.IFLA_GSO_MAX_SEGS, linux.IFLA_GSO_MAX_SIZE,
				linux.IFLA_XDP, linux.IFLA_CARRIER_UP_COUNT, linux.IFLA_CARRIER_DOWN_COUNT, linux.IFLA_MIN_MTU, linux.IFLA_MAX_MTU,
				iflaParent, iflaParentBus,
			},
			map[uint16]redaction{
				linux.IFLA_ADDRESS: linkAddress, linux.IFLA_BROADCAST: linkAddress, iflaPermanent: linkAddress, linux.IFLA_IFNAME: nicName,
				linux.IFLA_LINKINFO: linkInfo, linux.IFLA_AF_SPEC: inetSettings, iflaPropList: nicNames,
			})},
		linux.RTM_NEWADDR: {linux.SizeofIfAddrmsg, redactions(
			[]uint16{linux.IFA_CACHEINFO, linux.IFA_FLAGS, linux.IFA_RT_PRIORITY},
			map[uint16]redaction{
				linux.IFA_ADDRESS: ipAddress, linux.IFA_LOCAL: ipAddress, linux.IFA_BROADCAST: ipAddress, linux.IFA_ANYCAST: ipAddress,
				linux.IFA_MULTICAST: ipAddress, linux.IFA_LABEL: nicName,
			})},
		linux.RTM_NEWROUTE: {linux.SizeofRtMsg, routeAttributes()},
		linux.RTM_NEWNEIGH: {linux.SizeofNdMsg, redactions(
			[]uint16{linux.NDA_CACHEINFO, linux.NDA_PROBES, linux.NDA_VLAN, linux.NDA_PORT, linux.NDA_VNI, linux.NDA_IFINDEX, linux.NDA_MASTER, ndaProtocol},
			map[uint16]redaction{linux.NDA_DST: ipAddress, linux.NDA_LLADDR: linkAddress})},
		linux.RTM_NEWRULE: {linux.SizeofRtMsg, redactions(
			[]uint16{
				linux.FRA_GOTO, linux.FRA_PRIORITY, linux.FRA_FWMARK, linux.FRA_FLOW, linux.FRA_TUN_ID, linux.FRA_SUPPRESS_IFGROUP,
				linux.FRA_SUPPRESS_PREFIXLEN, linux.FRA_TABLE, linux.FRA_FWMASK, linux.FRA_L3MDEV, linux.FRA_UID_RANGE, linux.FRA_PROTOCOL,
				linux.FRA_IP_PROTO, linux.FRA_SPORT_RANGE, linux.FRA_DPORT_RANGE,
			},
			map[uint16]redaction{linux.FRA_DST: destination, linux.FRA_SRC: origin, linux.FRA_IIFNAME: nicName, linux.FRA_OIFNAME: nicName})},
	}
}

func routeAttributes() map[uint16]redaction {
	return redactions(
		[]uint16{
			linux.RTA_IIF, linux.RTA_OIF, linux.RTA_PRIORITY, linux.RTA_METRICS, linux.RTA_FLOW, linux.RTA_CACHEINFO, linux.RTA_TABLE,
			linux.RTA_MARK, linux.RTA_PREF, linux.RTA_ENCAP_TYPE, linux.RTA_EXPIRES, linux.RTA_UID, rtaNextHop,
		},
		map[uint16]redaction{
			linux.RTA_DST: destination, linux.RTA_SRC: origin, linux.RTA_GATEWAY: ipAddress, linux.RTA_PREFSRC: ipAddress,
			linux.RTA_VIA: viaAddress, linux.RTA_MULTIPATH: nextHops,
		})
}

func redactions(keep []uint16, others map[uint16]redaction) map[uint16]redaction {
	for _, attribute := range keep {
		others[attribute] = kept
	}
	return others
}

// dumped is the part of a message that its attributes need.
type dumped struct {
	header     []byte
	attributes map[uint16]redaction
}

// dump replaces in the messages of a dump, at their places. One of an unknown kind is an error.
func (r *redactor) dump(raw []byte) ([]byte, error) {
	raw = append([]byte{}, raw...)
	return raw, eachDumped(raw, func(m dumped, body []byte) error { return r.attributes(m, body) })
}

// eachDumped returns each message with attributes; the others of a dump (its end, an error) hold no names.
func eachDumped(raw []byte, f func(m dumped, body []byte) error) error {
	kinds := dumpKinds()
	messages, err := Messages(raw)
	if err != nil {
		return err
	}
	for _, m := range messages {
		at := raw[:m.Header.Length]
		raw = raw[min(len(raw), int(m.Header.Length+linux.NLMSG_ALIGNTO-1)&^(linux.NLMSG_ALIGNTO-1)):]
		messageType := uint16(m.Header.Type)
		if messageType < linux.NLMSG_MIN_TYPE {
			continue
		}
		kind, ok := kinds[messageType]
		body := at[linux.SizeofNlMsghdr:]
		if !ok || len(body) < kind.header {
			return fmt.Errorf("unknown netlink message of type %d, %d bytes", messageType, len(body))
		}
		if err := f(dumped{body[:kind.header], kind.attributes}, body[kind.header:]); err != nil {
			return err
		}
	}
	return nil
}

// eachAttribute walks a row of struct rtattr. The payload given is part of the row.
func eachAttribute(row []byte, f func(attribute, payload []byte) error) error {
	for len(row) >= linux.SizeofRtAttr {
		size := int(binary.NativeEndian.Uint16(row))
		if size < linux.SizeofRtAttr || size > len(row) {
			return fmt.Errorf("netlink attribute of %d bytes in %d", size, len(row))
		}
		if err := f(row[:linux.SizeofRtAttr], row[linux.SizeofRtAttr:size]); err != nil {
			return err
		}
		row = row[min(len(row), (size+linux.RTA_ALIGNTO-1)&^(linux.RTA_ALIGNTO-1)):]
	}
	if len(row) > 0 {
		return fmt.Errorf("netlink attribute cut short: %d bytes", len(row))
	}
	return nil
}

func (r *redactor) attributes(m dumped, row []byte) error {
	return eachAttribute(row, func(attribute, payload []byte) error {
		switch m.attributes[attributeType(attribute)] {
		case kept:
		case ipAddress:
			r.ipBytes(payload)
		case destination:
			r.prefixBytes(payload, m.header[1])
		case origin:
			r.prefixBytes(payload, m.header[2])
		case linkAddress:
			r.hardware(payload)
		case nicName:
			r.nicNameBytes(payload)
		case viaAddress:
			r.ipBytes(payload[min(2, len(payload)):])
		case nextHops:
			return r.hops(m, payload)
		case linkInfo:
			return r.attributes(dumped{m.header, map[uint16]redaction{linux.IFLA_INFO_KIND: kept, linux.IFLA_INFO_SLAVE_KIND: kept}}, payload)
		case nicNames:
			return r.attributes(dumped{m.header, map[uint16]redaction{iflaAltName: nicName}}, payload)
		case inetSettings:
			return r.attributes(dumped{m.header, map[uint16]redaction{linux.AF_INET: kept}}, payload)
		default:
			binary.NativeEndian.PutUint16(attribute[2:], 0)
			clear(payload)
		}
		return nil
	})
}

func attributeType(attribute []byte) uint16 {
	return binary.NativeEndian.Uint16(attribute[2:]) & maxAttribute
}

// hops walks the next hops of a route: struct rtnexthop {u16 length; u8 flags; u8 hops; s32 index}.
func (r *redactor) hops(m dumped, row []byte) error {
	for len(row) >= linux.SizeofRtNexthop {
		size := int(binary.NativeEndian.Uint16(row))
		if size < linux.SizeofRtNexthop || size > len(row) {
			return fmt.Errorf("next hop of %d bytes in %d", size, len(row))
		}
		if err := r.attributes(dumped{m.header, routeAttributes()}, row[linux.SizeofRtNexthop:size]); err != nil {
			return err
		}
		row = row[min(len(row), (size+linux.RTA_ALIGNTO-1)&^(linux.RTA_ALIGNTO-1)):]
	}
	return nil
}

func (r *redactor) prefixBytes(b []byte, bits byte) {
	a, ok := netip.AddrFromSlice(b)
	if p := netip.PrefixFrom(a, int(bits)); ok && p.IsValid() {
		copy(b, r.subnet(p).Addr().AsSlice())
	}
}

// nicNameBytes replaces a MAC address in the name of an interface, whose length stays.
func (r *redactor) nicNameBytes(b []byte) {
	text := string(b)
	copy(b, replaceSpans(text, r.findDigits(text, ""))) // digits for digits: as long as it was
}

// learnDump notes the subnets and the MAC addresses of a dump. What it cannot read is left for dump to refuse.
func (r *redactor) learnDump(raw []byte) {
	_ = eachDumped(raw, func(m dumped, row []byte) error {
		return eachAttribute(row, func(attribute, payload []byte) error {
			switch action := m.attributes[attributeType(attribute)]; {
			case action == linkAddress && len(payload) == 6:
				r.macs[[6]byte(payload)] = true
			case action == destination:
				r.learnSubnet(payload, int(m.header[1]))
			case action == ipAddress && len(m.header) == linux.SizeofIfAddrmsg:
				r.learnSubnet(payload, int(m.header[1]))
			case action == ipAddress || action == origin:
				r.learnSubnet(payload, 8*len(payload))
			}
			return nil
		})
	})
}

func (r *redactor) learnSubnet(b []byte, bits int) {
	if a, ok := netip.AddrFromSlice(b); ok {
		r.nets.add(netip.PrefixFrom(a, bits))
	}
}
