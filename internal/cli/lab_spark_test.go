//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// DGX Sparks in the sizes that are planned: all checks pass, and every twin reaches those that the plan lets it reach, with what
// the real netplan and networkd made of the rendered files.
func TestLabOfSparks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		example  string
		machines int
		pairs    int // of twins in one subnet, both ways
	}{
		{"spark-pair", 2, 4},
		{"spark-switch", 2, 4}, {"spark-switch", 3, 12}, {"spark-switch", 6, 60}, // 2 subnets, n x (n-1) each
		{"spark-mesh", 3, 12}, {"spark-mesh", 4, 16}, {"spark-mesh", 6, 24}, // n cables, 2 twins, both ways
	} {
		t.Run(tt.example+" "+strconv.Itoa(tt.machines), func(t *testing.T) {
			t.Parallel()
			l := newTestLab(t)
			r := call("", "init", "--example", tt.example, "--nodes", strconv.Itoa(tt.machines))
			file := filepath.Join(t.TempDir(), "cluster.yaml")
			if err := os.WriteFile(file, []byte(r.stdout), 0o600); err != nil || r.status != 0 {
				t.Fatal(err, r)
			}
			up := l.up("-f", file)
			if n := strings.Count(up.stderr, ": configured by netplan + systemd-networkd\n"); n != tt.machines {
				t.Skipf("the rendered files were not run by networkd on %d of %d hosts: %s", tt.machines-n, tt.machines, up.stderr)
			}
			if s := l.findings(0).Summary; s.Pass < 30 || s.Fail+s.Unknown > 0 {
				t.Errorf("%+v", s)
			}
			mesh, status := l.bench()
			if s := mesh.Summary(); status != 0 || s.Pass != tt.pairs || len(mesh.Pairs) != tt.pairs {
				t.Errorf("bench exits with %d: %+v, want %d pairs that pass", status, s, tt.pairs)
			}
		})
	}
}
