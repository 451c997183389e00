package facts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// parseNetworkd reads what networkd saves of an interface: records of a little-endian 64-bit length and an
// Ethernet frame. What was read before an error is given too.
func parseNetworkd(b []byte) ([]fabric.LLDPNeighbour, error) {
	const lengthSize = 8
	var found []fabric.LLDPNeighbour
	for len(b) > 0 {
		if len(b) < lengthSize {
			return found, fmt.Errorf("record cut short: %d bytes", len(b))
		}
		size := binary.LittleEndian.Uint64(b)
		b = b[lengthSize:]
		if size > uint64(len(b)) {
			return found, fmt.Errorf("record of %d bytes in %d", size, len(b))
		}
		n, err := parseLLDPFrame(b[:size])
		if err != nil {
			return found, err
		}
		n.Source = "networkd"
		found = append(found, n)
		b = b[size:]
	}
	return found, nil
}

// Layout of an Ethernet frame and of LLDP in it, in bytes (IEEE 802.1AB-2016, 7 and 8).
const (
	ethernetType   = 12
	ethernetHeader = 14
	etherTypeLLDP  = 0x88cc
	tlvHeader      = 2
	tlvLengthBits  = 9

	tlvEnd             = 0
	tlvChassisID       = 1
	tlvPortID          = 2
	tlvTimeToLive      = 3
	tlvPortDescription = 4
	tlvSystemName      = 5

	portInterfaceAlias = 1
	portMAC            = 3
	portAddress        = 4
	portInterfaceName  = 5
	portLocal          = 7

	addressIPv4 = 1 // IANA address family numbers
	addressIPv6 = 2
)

// parseLLDPFrame reads a frame with its Ethernet header. Chassis id, port id and time to live must stand
// first, in this order, once each.
func parseLLDPFrame(frame []byte) (fabric.LLDPNeighbour, error) {
	var n fabric.LLDPNeighbour
	if len(frame) < ethernetHeader || binary.BigEndian.Uint16(frame[ethernetType:]) != etherTypeLLDP {
		return n, errors.New("not an LLDP frame")
	}
	rest := frame[ethernetHeader:]
	for position := tlvChassisID; len(rest) > 0; position++ {
		kind, value, after, err := nextTLV(rest)
		if err != nil {
			return n, err
		}
		if mandatory := kind >= tlvChassisID && kind <= tlvTimeToLive; position <= tlvTimeToLive && kind != position ||
			position > tlvTimeToLive && mandatory {
			return n, fmt.Errorf("LLDP: type %d at place %d", kind, position)
		}
		if kind == tlvEnd {
			return n, nil
		}
		if err := readTLV(&n, kind, value); err != nil {
			return n, err
		}
		rest = after
	}
	return n, errors.New("LLDP: no end")
}

// nextTLV splits off 7 bits of type, 9 bits of length, and the value.
func nextTLV(b []byte) (kind int, value, rest []byte, err error) {
	if len(b) < tlvHeader {
		return 0, nil, nil, errors.New("LLDP: cut short")
	}
	header := int(binary.BigEndian.Uint16(b))
	size := header & (1<<tlvLengthBits - 1)
	b = b[tlvHeader:]
	if size > len(b) {
		return 0, nil, nil, fmt.Errorf("LLDP: value of %d bytes in %d", size, len(b))
	}
	return header >> tlvLengthBits, b[:size], b[size:], nil
}

func readTLV(n *fabric.LLDPNeighbour, kind int, value []byte) error {
	switch kind {
	case tlvChassisID:
		if len(value) < 2 { // a subtype and at least a byte
			return errors.New("LLDP: empty chassis id")
		}
	case tlvPortID:
		if len(value) < 2 {
			return errors.New("LLDP: empty port id")
		}
		n.Port = portID(value[0], value[1:])
	case tlvTimeToLive:
		if len(value) < 2 {
			return errors.New("LLDP: time to live cut short")
		}
	case tlvPortDescription:
		n.PortText = fabric.Printable(string(value))
	case tlvSystemName:
		n.System = fabric.Printable(string(value))
	}
	return nil
}

// portID writes a port id as its subtype asks; one that is neither text nor an address is hexadecimal.
func portID(subtype byte, value []byte) string {
	switch subtype {
	case portMAC:
		return net.HardwareAddr(value).String()
	case portInterfaceAlias, portInterfaceName, portLocal:
		return fabric.Printable(string(value))
	case portAddress:
		if a, ok := netip.AddrFromSlice(value[1:]); ok && (value[0] == addressIPv4 || value[0] == addressIPv6) {
			return a.String()
		}
	}
	return fmt.Sprintf("%x", value)
}
