//go:build linux

package esxi

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// childVariable is for a process of this test that is killed: what it does, and to which host.
const childVariable = "RAILWRIGHT_TEST_ESXI"

// child applies or rolls back, and kills itself at a command.
func child(order string) int {
	w := strings.Fields(order) // apply PROGRAM HOST JOURNAL EXAMPLE CUT AFTER
	t := &testing.T{}
	p := &played{t: t, name: "esx1", program: w[1], folder: w[2], goal: goals(t, w[4]), after: w[6] == "true"}
	p.cut, _ = strconv.Atoi(w[5])
	p.die = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	hosts, ctx := apply.ESXHosts{Hosts: []apply.ESX{p.esx(w[3])}}, context.Background()
	var a apply.Applied
	if w[0] == "apply" {
		a = hosts.Apply(ctx)[0]
	} else {
		a = hosts.Rollback(ctx)[0]
	}
	if a.Error != "" {
		fmt.Fprintln(os.Stderr, a.Error)
		return 1
	}
	return 0
}

// killed runs a child, and reports whether it was killed.
func (p *played) killed(what, example, folder string, at int, after bool) bool {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = host.Output(p.t.Context(), host.Local{}, host.Command{Argv: []string{self},
		Env: []string{childVariable + "=" + fmt.Sprint(what, " ", p.program, " ", p.folder, " ", folder, " ", example, " ", at, " ", after)}})
	if err != nil && !strings.Contains(err.Error(), "status -1") {
		p.t.Errorf("%s, killed at %d: %v", what, at, err)
	}
	return err != nil
}

// far is how many commands are between two places at which something breaks: with 1 it breaks at each.
var far = flag.Int("far", 9, "commands between two places at which something breaks")

func spread() int {
	if testing.Short() {
		return 4 * *far
	}
	return *far
}

// finish repeats until nothing is left to do, and compares with what an uninterrupted run ends with.
func (p *played) finish(where, folder, want string, most int) {
	p.t.Helper()
	p.cut, p.die = 0, nil
	a := p.apply(folder)
	if a.Status != fabric.Pass || p.kept() != want || p.starts() > most {
		p.t.Errorf("%s: %s %s, %d starts (most %d), as planned: %v\n%s", where, a.Status, a.Error, p.starts(), most, p.kept() == want, lines(a.Changes))
	}
}

// Wherever the connection breaks, before a command is read or after it was carried out, repeating ends as if nothing had happened,
// and a rollback then gives the first state. No reboot is done twice, but one that was asked for and not heard of.
func TestConnectionBreaks(t *testing.T) {
	for _, example := range []string{"small", "vsphere8-sriov"} {
		whole := newHost(t, example, "esx1")
		before := whole.kept()
		if a := whole.apply(t.TempDir()); a.Status != fabric.Pass {
			t.Fatalf("%s %s", a.Status, a.Error)
		}
		want, commands, starts := whole.kept(), whole.said, whole.starts()
		t.Logf("%s: %d commands, %d starts", example, commands, starts)
		for _, after := range []bool{false, true} {
			for lane := range 2 {
				t.Run(fmt.Sprint(example, after, lane), func(t *testing.T) {
					t.Parallel()
					by := spread()
					for at := 1 + lane*by; at <= commands; at += 2 * by {
						p, folder := newHost(t, example, "esx1"), t.TempDir()
						p.cut, p.after = at, after
						if a := p.apply(folder); a.Error == "" && p.said >= at && a.Status == fabric.Pass && !after {
							t.Errorf("at %d: %s, and the connection broke", at, a.Status)
						}
						p.finish(fmt.Sprintf("broken at %d", at), folder, want, starts)
						if at%7 != 0 {
							continue
						}
						if a := p.rollback(folder); a.Status != fabric.Pass || p.kept() != before {
							t.Errorf("broken at %d, rolled back: %s %s\n%s", at, a.Status, a.Error, p.kept())
						}
					}
				})
			}
		}
	}
}

// A process that is killed leaves nothing that the next one does not go on from; so does a rollback.
func TestKilled(t *testing.T) {
	const example = "small"
	whole := newHost(t, example, "esx1")
	before := whole.kept()
	done := t.TempDir()
	if a := whole.apply(done); a.Status != fabric.Pass {
		t.Fatalf("%s %s", a.Status, a.Error)
	}
	want, commands, starts := whole.kept(), whole.said, whole.starts()
	by := spread()
	for at := 3; at <= commands; at += by {
		p, folder := newHost(t, example, "esx1"), t.TempDir()
		p.killed("apply", example, folder, at, at%2 == 0)
		p.finish(fmt.Sprintf("killed at %d", at), folder, want, starts)
		p.killed("rollback", example, folder, at%50, at%2 == 0)
		if a := p.rollback(folder); a.Status != fabric.Pass && a.Status != fabric.NotApplicable || p.kept() != before {
			t.Errorf("rollback killed at %d: %s %s\n%s", at%50, a.Status, a.Error, p.kept())
		}
	}
}
