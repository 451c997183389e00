//go:build linux

package esxi

import (
	"testing"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
)

// A host as it is delivered is brought to the goal of each example with as many reboots as were foretold, and back.
func TestRoad(t *testing.T) {
	for _, example := range examples() {
		t.Run(example, func(t *testing.T) {
			p, folder := newHost(t, example, "esx1"), t.TempDir()
			before := p.kept()
			foretold := p.dryRun(folder)
			t.Logf("dry run: %s %s\n%s", foretold.Status, foretold.Error, lines(foretold.Changes))
			if foretold.Status != fabric.Fail || p.kept() != before {
				t.Errorf("dry run: %s %s, changed: %v", foretold.Status, foretold.Error, p.kept() != before)
			}
			a := p.apply(folder)
			t.Logf("%s %s\n%s", a.Status, a.Error, lines(a.Changes))
			want := count(foretold.Changes, "reboot ")
			if a.Status != fabric.Pass || p.starts() != want || count(a.Changes, ": reboot") != want {
				t.Fatalf("%s %s, %d starts, foretold %d", a.Status, a.Error, p.starts(), want)
			}
			if p.state()["maintenance"] != false {
				t.Error("still in maintenance mode")
			}
			for _, again := range []apply.Applied{p.dryRun(folder), p.apply(folder)} {
				if again.Status != fabric.Pass || len(again.Changes) != 1 || again.Changes[0].Path != "nothing to do" {
					t.Errorf("again: %s %s\n%s", again.Status, again.Error, lines(again.Changes))
				}
			}
			if p.starts() != want {
				t.Error("a host as planned was rebooted")
			}
			back := p.rollback(folder)
			t.Logf("rollback: %s %s\n%s", back.Status, back.Error, lines(back.Changes))
			if back.Status != fabric.Pass || p.kept() != before {
				t.Errorf("rollback: %s %s; before:\n%s\nafter:\n%s", back.Status, back.Error, before, p.kept())
			}
			if last := p.rollback(folder); last.Status != fabric.NotApplicable {
				t.Errorf("a second rollback: %s %s", last.Status, last.Error)
			}
		})
	}
}
