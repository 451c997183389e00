package host

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/jsimonetti/rtnetlink/v2"

	"railwright.dev/railwright/internal/linux"
)

// What the kernel of this machine says goes through Dump and Messages whole.
func TestDump(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []uint16{linux.RTM_GETLINK, linux.RTM_GETADDR, linux.RTM_GETROUTE, linux.RTM_GETRULE, linux.RTM_GETNEIGH} {
		raw, err := Local{}.Dump(ctx, kind, linux.AF_UNSPEC)
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
	raw, err := Local{}.Dump(ctx, linux.RTM_GETLINK, linux.AF_UNSPEC)
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
