package bench

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestParseARP(t *testing.T) {
	const request = "0001 0800 06 04 0001 020000000001 0a400401 000000000000 0a400403"
	for _, tt := range []struct {
		name, packet, want string
	}{
		{"a request", request, "10.64.4.1"},
		{"a reply", strings.Replace(request, "04 0001", "04 0002", 1), ""},
		{"a probe", strings.Replace(request, "0a400401", "00000000", 1), ""},
		{"cut", request[:40], ""},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			packet, err := hex.DecodeString(strings.ReplaceAll(tt.packet, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			asker, ok := parseARP(packet)
			if ok != (tt.want != "") || ok && asker.String() != tt.want {
				t.Errorf("%v, %v, want %q", asker, ok, tt.want)
			}
		})
	}
}
