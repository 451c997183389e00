package host

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/mdlayher/netlink"

	"railwright.dev/railwright/internal/linux"
)

// message is a netlink message whose header says that it has so many bytes.
func message(kind uint16, length uint32, payload string) []byte {
	b := make([]byte, linux.SizeofNlMsghdr, linux.SizeofNlMsghdr+len(payload))
	binary.NativeEndian.PutUint32(b, length)
	binary.NativeEndian.PutUint16(b[4:], kind)
	return append(b, payload...)
}

func TestMessages(t *testing.T) {
	whole := append(message(linux.RTM_NEWLINK, 20, "abcd"), message(linux.RTM_NEWADDR, 16, "")...)
	tests := []struct {
		name  string
		raw   []byte
		kinds []netlink.HeaderType
		err   string
	}{
		{"nothing", nil, nil, ""},
		{"two", whole, []netlink.HeaderType{linux.RTM_NEWLINK, linux.RTM_NEWADDR}, ""},
		{"cut in the payload", whole[:18], nil, "netlink dump: message of 20 bytes in 18"},
		{"cut in the second header", whole[:30], []netlink.HeaderType{linux.RTM_NEWLINK}, "netlink dump: 10 bytes left, less than a header"},
		{"cut before the second", whole[:20], []netlink.HeaderType{linux.RTM_NEWLINK}, ""},
		{"length 0", message(linux.RTM_NEWLINK, 0, "abcd"), nil, "netlink dump: message of 0 bytes in 20"},
		{"length less than a header", message(linux.RTM_NEWLINK, 15, "abcd"), nil, "netlink dump: message of 15 bytes in 20"},
		{"length beyond the end", message(linux.RTM_NEWLINK, 24, "abcd"), nil, "netlink dump: message of 24 bytes in 20"},
		{"length beyond everything", message(linux.RTM_NEWLINK, 1<<32-1, "abcd"), nil, "netlink dump: message of 4294967295 bytes in 20"},
		{"length that rounds beyond the end", message(linux.RTM_NEWLINK, 18, "ab"), nil, "netlink dump: message of 18 bytes in 18"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			messages, err := Messages(tt.raw)
			if err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if len(messages) != len(tt.kinds) {
				t.Fatalf("%d messages, want %d", len(messages), len(tt.kinds))
			}
			for i, m := range messages {
				if m.Header.Type != tt.kinds[i] {
					t.Errorf("message %d is of type %d, want %d", i, m.Header.Type, tt.kinds[i])
				}
			}
		})
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte{})
	f.Add(append(message(linux.RTM_NEWLINK, 20, "abcd"), message(linux.RTM_NEWADDR, 16, "")...))
	f.Add(message(linux.RTM_NEWROUTE, 1<<32-1, "abcdefgh"))
	f.Add(message(linux.RTM_NEWROUTE, 18, "ab\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		messages, err := Messages(raw)
		rest := raw
		for _, m := range messages {
			if len(rest) < linux.SizeofNlMsghdr || !bytes.HasPrefix(rest[linux.SizeofNlMsghdr:], m.Data) {
				t.Fatalf("%x holds no message with %x", rest, m.Data)
			}
			rest = rest[linux.SizeofNlMsghdr+(len(m.Data)+3)&^3:] // messages begin at multiples of 4
		}
		if err == nil && len(rest) > 0 {
			t.Errorf("%d bytes are left, and no error", len(rest))
		}
	})
}
