package check

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestRecordedHardware: with a recording under the lab its hardware is judged, each finding says that it is
// recorded, and copies of one recording are not compared with each other.
func TestRecordedHardware(t *testing.T) {
	w := newWorld()
	for _, f := range w.nodes {
		f.Platform, f.Hardware = "lab", "recorded"
	}
	w.nodes[1].HCAs[0].NodeGUID = w.nodes[0].HCAs[0].NodeGUID
	pciOf(w.host1(), rail3Up).ACS.Control = 0x1d
	findings, _ := run(w.plan, nil, w.nodes...)
	if got := blamedBy(findings); len(got) != 1 || got[0] != "acs-redirect host1:"+rail3Up {
		t.Errorf("blamed %v", got)
	}
	hardware := map[string]bool{}
	for _, r := range Rules() {
		hardware[r.ID] = listed(r.Scope, withHardware().ID) || listed(r.Scope, withOwnHardware().ID)
	}
	marked := 0
	for _, f := range findings {
		last := fabric.Evidence{}
		if len(f.Evidence) > 0 {
			last = f.Evidence[len(f.Evidence)-1]
		}
		switch is := last.Value == "recorded"; {
		case is != (hardware[f.ID] && f.Status != fabric.NotApplicable):
			t.Errorf("%s on %s, %s: marked as recorded: %t", f.ID, f.Subject, f.Status, is)
		case is:
			marked++
		}
	}
	if marked == 0 {
		t.Error("no finding about hardware")
	}
}
