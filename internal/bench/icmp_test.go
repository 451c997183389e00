package bench

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inIPv4 puts an ICMP message behind an IPv4 header with so many bytes of options.
func inIPv4(message []byte, options int) []byte {
	b := make([]byte, ipv4Header+options)
	b[0] = 4<<4 | byte(len(b)/4)
	b[9] = 1
	copy(b[12:], []byte{10, 64, 0, 2})
	return append(b, message...)
}

func TestEchoRoundTrip(t *testing.T) {
	for _, bytes := range []int{0, smallEcho, 1500, 9000} {
		k := echoKey{from: 7, to: 131071, size: full}
		packet := inIPv4(encodeEcho(42, k, bytes), 0)
		if bytes >= smallEcho && len(packet) != bytes {
			t.Errorf("packet has %d bytes, want %d", len(packet), bytes)
		}
		p, ok := parsePacket(packet)
		if !ok || p.kind != echoRequest {
			t.Fatalf("parsePacket = %+v, %v", p, ok)
		}
		got, ok := decodeEcho(42, p.payload)
		if !ok || got != k {
			t.Errorf("decodeEcho = %+v, %v, want %+v", got, ok, k)
		}
		if _, ok := decodeEcho(43, p.payload); ok {
			t.Error("an echo with another nonce was taken for one of this mesh")
		}
	}
}

func TestChecksum(t *testing.T) {
	// RFC 1071, section 3: the sum of 0001 f203 f4f5 f6f7 is ddf2.
	if got := checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != ^uint16(0xddf2) {
		t.Errorf("checksum = %04x, want %04x", got, ^uint16(0xddf2))
	}
	packet := encodeEcho(1, echoKey{}, 85)
	if checksum(packet) != 0 {
		t.Error("the checksum of a message with its checksum in place is not 0")
	}
}

func TestParsePacketQuotedByAnError(t *testing.T) {
	k := echoKey{from: 1, to: 2, size: full}
	quoted := inIPv4(encodeEcho(42, k, 9000)[:28], 4)
	needed := append([]byte{unreachable, 4, 0, 0, 0, 0, 0x05, 0xdc}, quoted...)
	p, ok := parsePacket(inIPv4(needed, 0))
	if !ok {
		t.Fatal("not parsed")
	}
	if got, ok := decodeEcho(42, p.payload); !ok || got != k {
		t.Errorf("decodeEcho = %+v, %v", got, ok)
	}
	if diff := cmp.Diff("fragmentation needed: 10.64.0.2 takes 1500 bytes", p.text); diff != "" {
		t.Error(diff)
	}
}

func FuzzParsePacket(f *testing.F) {
	f.Add(inIPv4(encodeEcho(42, echoKey{1, 2, small}, 84), 0))
	f.Add(inIPv4(append([]byte{unreachable, 1, 0, 0, 0, 0, 0, 0}, inIPv4(make([]byte, 8), 40)...), 8))
	f.Add([]byte{0x4f})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parsePacket(b)
		if ok && !bytes.Contains(b, p.payload) {
			t.Errorf("payload %x is not in the packet", p.payload)
		}
		decodeEcho(42, p.payload)
	})
}
