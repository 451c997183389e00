package pipeline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/switchos"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDocumentSwitches: the configuration of each switch model of Broadcom's guide, in each language that it has, in both
// schemes of addresses, for its two hosts of eight NICs. docs/roce.md says what differs from the print.
func TestDocumentSwitches(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct{ model, os string }{{"z9664f", "dell-sonic"}, {"z9664f", "sonic"}, {"sse-t8032", "dell-sonic"}, {"7060dx4-32", "eos"}, {"qfx5240", "junos"}} {
		for _, scheme := range []string{"p2p31", "rail24"} {
			name := s.model + "-" + s.os + "-" + scheme
			t.Run(name, func(t *testing.T) {
				cluster, err := intent.Parse("c", fmt.Appendf(nil, `apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: printed}
platform: baremetal
nodes: [{names: "host[1-2]", machine: xe9680-mi300x-thor2, nics: "eth[1-8]"}]
fabric:
  kind: roce
  addressing: {scheme: %s}
  leaf: {model: %s, os: %s}
  traffic: {ecn: {}, watchdog: {}}
`, scheme, s.model, s.os), cat)
				if err != nil {
					t.Fatal(err)
				}
				p, err := plan.New(cluster, cat)
				if err != nil {
					t.Fatal(err)
				}
				language, err := switchos.Find(s.os)
				if err != nil {
					t.Fatal(err)
				}
				config := language.Render(p.Switches[0], p.Traffic)
				text := string(config.Text) + "-- not in it --\n" + strings.Join(config.Omits, "\n") + "\n"
				file := filepath.Join("testdata", "switch", name+config.Extension)
				if *update {
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), text); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
				if found := verdictsOn(t, p, config.Text, plannedNICs(p)); len(found) > 0 {
					t.Errorf("read back: %s", strings.Join(found, "\n"))
				}
			})
		}
	}
}
