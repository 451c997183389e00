package intent

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

func TestPartition(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	const file = `apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: a}
platform: baremetal
nodes:
- {names: a1, machine: hgx-h100, nics: "ib[0-7]"}
fabric:
  kind: KIND
  pkey: "PKEY"
  leaf: {model: LEAF}
`
	for _, tt := range []struct{ kind, leaf, pkey, want string }{
		{"infiniband", "qm9700", "0x8001", ""},
		{"infiniband", "qm9700", "0x1", ""},
		{"infiniband", "qm9700", "0x8000", `c:9:9: fabric.pkey: P_Key "0x8000": want a number from 0x1 to 0x7fff`},
		{"infiniband", "qm9700", "0x0", `c:9:9: fabric.pkey: P_Key "0x0": want a number from 0x1 to 0x7fff`},
		{"infiniband", "qm9700", "1", `c:9:9: fabric.pkey: invalid value "1": must match`},
		{"roce", "z9664f, os: sonic", "0x1", `c:9:9: fabric.pkey: only InfiniBand has partitions`},
	} {
		text := strings.NewReplacer("KIND", tt.kind, "LEAF", tt.leaf, "PKEY", tt.pkey).Replace(file)
		_, err := Parse("c", []byte(text), cat)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: %v, want %q", tt.kind, tt.pkey, err, tt.want)
		}
	}
}
