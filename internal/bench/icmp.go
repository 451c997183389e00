package bench

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// ICMP types (RFC 792).
const (
	echoReply   = 0
	unreachable = 3
	echoRequest = 8
)

// The payload of an echo: a nonce of 8 bytes, its ends of 4 each, its size of 1, then zeros.
const (
	icmpHeader  = 8
	ipv4Header  = 20
	echoPayload = 8 + 4 + 4 + 1

	protocolICMP = 1 // of the IPv4 header (RFC 790)
)

// encodeEcho makes an echo request whose IP packet, without options, has so many bytes.
func encodeEcho(nonce uint64, k echoKey, bytes int) []byte {
	p := make([]byte, max(bytes-ipv4Header, icmpHeader+echoPayload))
	p[0] = echoRequest
	binary.BigEndian.PutUint16(p[4:], uint16(nonce))
	payload := p[icmpHeader:]
	binary.BigEndian.PutUint64(payload, nonce)
	binary.BigEndian.PutUint32(payload[8:], k.from)
	binary.BigEndian.PutUint32(payload[12:], k.to)
	payload[16] = byte(k.size)
	binary.BigEndian.PutUint16(p[2:], checksum(p))
	return p
}

func decodeEcho(nonce uint64, payload []byte) (echoKey, bool) {
	if len(payload) < echoPayload || binary.BigEndian.Uint64(payload) != nonce || payload[16] > byte(full) {
		return echoKey{}, false
	}
	return echoKey{binary.BigEndian.Uint32(payload[8:]), binary.BigEndian.Uint32(payload[12:]), size(payload[16])}, true
}

// checksum is the Internet checksum (RFC 1071) of a message whose own checksum field is zero.
func checksum(b []byte) uint16 {
	var sum uint32
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// seenPacket is an ICMP message with an echo of a mesh in it.
type seenPacket struct {
	kind    byte
	nic     string // on which it came in
	at      time.Time
	payload []byte // of the echo
	text    string // of an error
}

// parsePacket finds the echo in an IPv4 packet with an ICMP message: its own, or the one that an error quotes.
func parsePacket(b []byte) (seenPacket, bool) {
	message, ok := ipv4Payload(b)
	if !ok || len(message) < icmpHeader {
		return seenPacket{}, false
	}
	p := seenPacket{kind: message[0]}
	if p.kind == echoReply || p.kind == echoRequest {
		p.payload = message[icmpHeader:]
		return p, true
	}
	quoted, ok := ipv4Payload(message[icmpHeader:])
	if !ok || len(quoted) < icmpHeader {
		return seenPacket{}, false
	}
	p.payload = quoted[icmpHeader:]
	p.text = fmt.Sprintf("destination unreachable, code %d, from %s", message[1], net.IP(b[12:16]))
	const fragmentationNeeded = 4
	if message[1] == fragmentationNeeded {
		p.text = fmt.Sprintf("fragmentation needed: %s takes %d bytes", net.IP(b[12:16]), binary.BigEndian.Uint16(message[6:]))
	}
	return p, true
}

func ipv4Payload(b []byte) ([]byte, bool) {
	if len(b) < ipv4Header || b[0]>>4 != 4 {
		return nil, false
	}
	header := int(b[0]&15) * 4
	if header < ipv4Header || header > len(b) || b[9] != protocolICMP {
		return nil, false
	}
	return b[header:], true
}
