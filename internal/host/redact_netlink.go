package host

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
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
		unix.RTM_NEWLINK: {unix.SizeofIfInfomsg, redactions(
			[]uint16{
				unix.IFLA_MTU, unix.IFLA_LINK, unix.IFLA_QDISC, unix.IFLA_STATS, unix.IFLA_MASTER, unix.IFLA_TXQLEN, unix.IFLA_MAP,
				unix.IFLA_OPERSTATE, unix.IFLA_LINKMODE, unix.IFLA_NUM_VF, unix.IFLA_STATS64, unix.IFLA_GROUP, unix.IFLA_EXT_MASK,
				unix.IFLA_PROMISCUITY, unix.IFLA_NUM_TX_QUEUES, unix.IFLA_NUM_RX_QUEUES, unix.IFLA_CARRIER, unix.IFLA_CARRIER_CHANGES,
				unix.IFLA_LINK_NETNSID, unix.IFLA_PHYS_PORT_NAME, unix.IFLA_PROTO_DOWN, unix.IFLA_GSO_MAX_SEGS, unix.IFLA_GSO_MAX_SIZE,
				unix.IFLA_XDP, unix.IFLA_CARRIER_UP_COUNT, unix.IFLA_CARRIER_DOWN_COUNT, unix.IFLA_MIN_MTU, unix.IFLA_MAX_MTU,
				iflaParent, iflaParentBus,
			},
			map[uint16]redaction{
				unix.IFLA_ADDRESS: linkAddress, unix.IFLA_BROADCAST: linkAddress, iflaPermanent: linkAddress, unix.IFLA_IFNAME: nicName,
				unix.IFLA_LINKINFO: linkInfo, unix.IFLA_AF_SPEC: inetSettings, iflaPropList: nicNames,
			})},
		unix.RTM_NEWADDR: {unix.SizeofIfAddrmsg, redactions(
			[]uint16{unix.IFA_CACHEINFO, unix.IFA_FLAGS, unix.IFA_RT_PRIORITY},
			map[uint16]redaction{
				unix.IFA_ADDRESS: ipAddress, unix.IFA_LOCAL: ipAddress, unix.IFA_BROADCAST: ipAddress, unix.IFA_ANYCAST: ipAddress,
				unix.IFA_MULTICAST: ipAddress, unix.IFA_LABEL: nicName,
			})},
		unix.RTM_NEWROUTE: {unix.SizeofRtMsg, routeAttributes()},
		unix.RTM_NEWNEIGH: {unix.SizeofNdMsg, redactions(
			[]uint16{unix.NDA_CACHEINFO, unix.NDA_PROBES, unix.NDA_VLAN, unix.NDA_PORT, unix.NDA_VNI, unix.NDA_IFINDEX, unix.NDA_MASTER, ndaProtocol},
			map[uint16]redaction{unix.NDA_DST: ipAddress, unix.NDA_LLADDR: linkAddress})},
		unix.RTM_NEWRULE: {unix.SizeofRtMsg, redactions(
			[]uint16{
				unix.FRA_GOTO, unix.FRA_PRIORITY, unix.FRA_FWMARK, unix.FRA_FLOW, unix.FRA_TUN_ID, unix.FRA_SUPPRESS_IFGROUP,
				unix.FRA_SUPPRESS_PREFIXLEN, unix.FRA_TABLE, unix.FRA_FWMASK, unix.FRA_L3MDEV, unix.FRA_UID_RANGE, unix.FRA_PROTOCOL,
				unix.FRA_IP_PROTO, unix.FRA_SPORT_RANGE, unix.FRA_DPORT_RANGE,
			},
			map[uint16]redaction{unix.FRA_DST: destination, unix.FRA_SRC: origin, unix.FRA_IIFNAME: nicName, unix.FRA_OIFNAME: nicName})},
	}
}

func routeAttributes() map[uint16]redaction {
	return redactions(
		[]uint16{
			unix.RTA_IIF, unix.RTA_OIF, unix.RTA_PRIORITY, unix.RTA_METRICS, unix.RTA_FLOW, unix.RTA_CACHEINFO, unix.RTA_TABLE,
			unix.RTA_MARK, unix.RTA_PREF, unix.RTA_ENCAP_TYPE, unix.RTA_EXPIRES, unix.RTA_UID, rtaNextHop,
		},
		map[uint16]redaction{
			unix.RTA_DST: destination, unix.RTA_SRC: origin, unix.RTA_GATEWAY: ipAddress, unix.RTA_PREFSRC: ipAddress,
			unix.RTA_VIA: viaAddress, unix.RTA_MULTIPATH: nextHops,
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

// eachDumped gives each message with attributes; the others of a dump (its end, an error) hold no names.
func eachDumped(raw []byte, f func(m dumped, body []byte) error) error {
	kinds := dumpKinds()
	messages, err := Messages(raw)
	if err != nil {
		return err
	}
	for _, m := range messages {
		at := raw[:m.Header.Length]
		raw = raw[min(len(raw), int(m.Header.Length+unix.NLMSG_ALIGNTO-1)&^(unix.NLMSG_ALIGNTO-1)):]
		messageType := uint16(m.Header.Type)
		if messageType < unix.NLMSG_MIN_TYPE {
			continue
		}
		kind, ok := kinds[messageType]
		body := at[unix.SizeofNlMsghdr:]
		if !ok || len(body) < kind.header {
			return fmt.Errorf("netlink message of type %d and %d bytes is not known", messageType, len(body))
		}
		if err := f(dumped{body[:kind.header], kind.attributes}, body[kind.header:]); err != nil {
			return err
		}
	}
	return nil
}

// eachAttribute walks a row of struct rtattr. The payload given is part of the row.
func eachAttribute(row []byte, f func(attribute, payload []byte) error) error {
	for len(row) >= unix.SizeofRtAttr {
		size := int(binary.NativeEndian.Uint16(row))
		if size < unix.SizeofRtAttr || size > len(row) {
			return fmt.Errorf("netlink attribute of %d bytes in %d", size, len(row))
		}
		if err := f(row[:unix.SizeofRtAttr], row[unix.SizeofRtAttr:size]); err != nil {
			return err
		}
		row = row[min(len(row), (size+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1)):]
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
			return r.attributes(dumped{m.header, map[uint16]redaction{unix.IFLA_INFO_KIND: kept, unix.IFLA_INFO_SLAVE_KIND: kept}}, payload)
		case nicNames:
			return r.attributes(dumped{m.header, map[uint16]redaction{iflaAltName: nicName}}, payload)
		case inetSettings:
			return r.attributes(dumped{m.header, map[uint16]redaction{unix.AF_INET: kept}}, payload)
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
	for len(row) >= unix.SizeofRtNexthop {
		size := int(binary.NativeEndian.Uint16(row))
		if size < unix.SizeofRtNexthop || size > len(row) {
			return fmt.Errorf("next hop of %d bytes in %d", size, len(row))
		}
		if err := r.attributes(dumped{m.header, routeAttributes()}, row[unix.SizeofRtNexthop:size]); err != nil {
			return err
		}
		row = row[min(len(row), (size+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1)):]
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
			case action == ipAddress && len(m.header) == unix.SizeofIfAddrmsg:
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
