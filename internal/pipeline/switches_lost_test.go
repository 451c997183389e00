package pipeline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
)

// attackedPlan is the plan of two hosts of two NICs on leaves with an OS.
func attackedPlan(t testing.TB, os, scheme, leaves, traffic string) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := intent.Parse("c", fmt.Appendf(nil, `apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: a}
platform: baremetal
nodes: [{names: "h[1-2]", nics: "eth[1-2]"}]
fabric:
  kind: roce
  addressing: {scheme: %s}
  leaf: {model: %s, os: %s, count: %s}
  spine: {model: %s, os: %s, count: 1}
  traffic: {%s}
`, scheme, models[os], os, leaves, models[os], os, traffic), cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(cluster, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// onlyRead are lines that people and other programs read, and that no packet of RoCE depends on.
func onlyRead(line []byte) bool {
	text := strings.TrimSpace(string(line))
	// Without its filter the policy of Junos announces all networks of the switch, those of the plan among them.
	return text == "" || strings.HasPrefix(text, "prefix-list-filter") || neutral.Match(line) || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "!")
}

// TestLostLines: every line of what is rendered is lost in turn, and every text is cut behind each line. What a lost line
// said is then named, or unknown; a pass is one only where what was read is the same: the line said nothing that is judged, or
// the system's default says it too.
func TestLostLines(t *testing.T) {
	for _, os := range []string{"sonic", "dell-sonic", "eos", "junos"} {
		for _, scheme := range []string{"p2p31", "rail24"} {
			t.Run(os+"-"+scheme, func(t *testing.T) {
				t.Parallel()
				p := attackedPlan(t, os, scheme, "2", "ecn: {}, watchdog: {}, share: 60, cable_m: 30")
				whole := renderSwitch(t, p.Switches[0], p.Traffic)
				lines := bytes.SplitAfter(whole, []byte("\n"))
				var passed []string
				counts := map[string]int{}
				attack := func(what string, text []byte, line []byte) {
					found := verdictsOn(t, p, text, nil)
					switch {
					case len(found) > 0:
						counts[what]++
					case onlyRead(line) || sameModel(t, whole, text):
						counts[what+", nothing said"]++
					default:
						passed = append(passed, what+": "+strings.TrimSpace(string(line)))
					}
				}
				step := 1
				if testing.Short() {
					step = 20 // a sample over the whole text, for the race detector
				}
				for i := 0; i < len(lines); i += step {
					line := lines[i]
					attack("lost", slices.Concat(bytes.Join(lines[:i], nil), bytes.Join(lines[i+1:], nil)), line)
				}
				for i := 0; i < len(lines)-1; i += step {
					attack("cut", bytes.Join(lines[:i], nil), nil)
				}
				t.Logf("%d lines: %v", len(lines), counts)
				if len(passed) > 0 {
					t.Errorf("%d passed:\n%s", len(passed), strings.Join(passed, "\n"))
				}
			})
		}
	}
}
