package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// message is a netlink message whose header says that it has so many bytes.
func message(kind uint16, length uint32, payload string) []byte {
	b := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(payload))
	binary.NativeEndian.PutUint32(b, length)
	binary.NativeEndian.PutUint16(b[4:], kind)
	return append(b, payload...)
}

func TestMessages(t *testing.T) {
	whole := append(message(unix.RTM_NEWLINK, 20, "abcd"), message(unix.RTM_NEWADDR, 16, "")...)
	tests := []struct {
		name  string
		raw   []byte
		kinds []netlink.HeaderType
		err   string
	}{
		{"nothing", nil, nil, ""},
		{"two", whole, []netlink.HeaderType{unix.RTM_NEWLINK, unix.RTM_NEWADDR}, ""},
		{"cut in the payload", whole[:18], nil, "netlink dump: message of 20 bytes in 18"},
		{"cut in the second header", whole[:30], []netlink.HeaderType{unix.RTM_NEWLINK}, "netlink dump: 10 bytes left, less than a header"},
		{"cut before the second", whole[:20], []netlink.HeaderType{unix.RTM_NEWLINK}, ""},
		{"length 0", message(unix.RTM_NEWLINK, 0, "abcd"), nil, "netlink dump: message of 0 bytes in 20"},
		{"length less than a header", message(unix.RTM_NEWLINK, 15, "abcd"), nil, "netlink dump: message of 15 bytes in 20"},
		{"length beyond the end", message(unix.RTM_NEWLINK, 24, "abcd"), nil, "netlink dump: message of 24 bytes in 20"},
		{"length beyond everything", message(unix.RTM_NEWLINK, 1<<32-1, "abcd"), nil, "netlink dump: message of 4294967295 bytes in 20"},
		{"length that rounds beyond the end", message(unix.RTM_NEWLINK, 18, "ab"), nil, "netlink dump: message of 18 bytes in 18"},
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

// What the kernel of this machine says goes through Dump and Messages whole.
func TestDump(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []uint16{unix.RTM_GETLINK, unix.RTM_GETADDR, unix.RTM_GETROUTE, unix.RTM_GETRULE, unix.RTM_GETNEIGH} {
		raw, err := Local{}.Dump(ctx, kind, unix.AF_UNSPEC)
		if err != nil {
			t.Fatalf("dump %d: %v", kind, err)
		}
		messages, err := Messages(raw)
		if err != nil {
			t.Fatalf("dump %d: %v", kind, err)
		}
		again, err := marshal(messages)
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("dump %d: %d bytes became %d, %v", kind, len(raw), len(again), err)
		}
	}
	raw, err := Local{}.Dump(ctx, unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := Messages(raw)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range messages {
		var l rtnetlink.LinkMessage
		if err := l.UnmarshalBinary(m.Data); err != nil {
			t.Fatal(err)
		}
		names = append(names, l.Attributes.Name)
	}
	if len(names) == 0 || names[0] != "lo" {
		t.Errorf("interfaces %v: every machine has lo first", names)
	}
}

func TestDumpOfNoTable(t *testing.T) {
	const nothing = 4094 // no message type has this number
	if _, err := (Local{}).Dump(context.Background(), nothing, 0); err == nil || !strings.Contains(err.Error(), "netlink dump 4094: ") {
		t.Errorf("error %v", err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte{})
	f.Add(append(message(unix.RTM_NEWLINK, 20, "abcd"), message(unix.RTM_NEWADDR, 16, "")...))
	f.Add(message(unix.RTM_NEWROUTE, 1<<32-1, "abcdefgh"))
	f.Add(message(unix.RTM_NEWROUTE, 18, "ab\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		messages, err := Messages(raw)
		rest := raw
		for _, m := range messages {
			if len(rest) < unix.SizeofNlMsghdr || !bytes.HasPrefix(rest[unix.SizeofNlMsghdr:], m.Data) {
				t.Fatalf("%x holds no message with %x", rest, m.Data)
			}
			rest = rest[unix.SizeofNlMsghdr+(len(m.Data)+3)&^3:] // messages begin at multiples of 4
		}
		if err == nil && len(rest) > 0 {
			t.Errorf("%d bytes are left, and no error", len(rest))
		}
	})
}
