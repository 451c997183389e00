package pipeline

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
)

// TestUnreadOutputIsSaid: an output that was recognized and could not be read is a result of its own with the reason; one that
// was read is none, and neither is what no text was given for.
func TestUnreadOutputIsSaid(t *testing.T) {
	const whole = "DCBX mode: OS controlled\nPriority trust state: dscp\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0\n"
	for text, want := range map[string]int{whole: 0, strings.Replace(whole, "6   7", "6   9", 1): 1} {
		o := facts.NewOutputs()
		o.File("a.txt", "")
		for _, line := range append([]string{"$ mlnx_qos -i eth1"}, strings.Split(strings.TrimSpace(text), "\n")...) {
			o.Line("", []string{line}, nil, false)
		}
		have := unreadIn(o.Facts())
		if len(have) != want {
			t.Fatalf("%d results, want %d: %+v", len(have), want, have)
		}
		for _, r := range have {
			if r.Verdict != fabric.VerdictUnknown || !strings.Contains(r.Why, "mlnx_qos") || !strings.Contains(r.Why, "0 to 7") {
				t.Errorf("%+v", r)
			}
		}
	}
}
