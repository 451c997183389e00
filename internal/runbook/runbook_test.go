package runbook

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
)

var update = flag.Bool("update", false, "rewrite golden files")

func parts(t *testing.T) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// example plans an example of the cluster file at a size; 0 is its own.
func example(t *testing.T, name string, nodes int) *fabric.Plan {
	t.Helper()
	cat := parts(t)
	text, err := intent.Example(name, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := intent.Parse(name, text, cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(cluster, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// roce is the plan of the golden file: nothing in it that the examples may change.
func roce() *fabric.Plan {
	return &fabric.Plan{
		Name: "pod1", Platform: "baremetal", Transport: fabric.RoCE, MTU: 9000,
		Nodes: []fabric.Node{
			{Name: "host1", Machine: "xe9680-mi300x-thor2", NICs: []string{"eth1", "eth2"}},
			{Name: "host2", Machine: "xe9680-mi300x-thor2", NICs: []string{"eth1", "eth2"}},
		},
		Machines: []fabric.NominalMachine{{ID: "xe9680-mi300x-thor2", GPU: "mi300x", GPUs: 8, NIC: "thor2", NICs: 8, NICGbps: 400}},
		Traffic: &fabric.Traffic{Share: 50, Classes: []fabric.TrafficClass{
			{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{}},
		}},
	}
}

func TestGolden(t *testing.T) {
	got := New(roce(), parts(t)).Markdown()
	const file = "testdata/roce.md"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestGroups(t *testing.T) {
	for name, c := range map[string]struct {
		plan     *fabric.Plan
		unknown  string
		steps    bool
		complete bool
	}{
		"roce-mi300x": {example(t, "roce-mi300x", 0), "", true, true},
		"hgx-h100-ib": {example(t, "hgx-h100-ib", 0), "no vendor steps are known for it", true, false},
		"spark":       {&fabric.Plan{Platform: "spark", Nodes: []fabric.Node{{Name: "a"}}}, "platform spark", false, false},
		"no machine":  {&fabric.Plan{Platform: bareMetal, Nodes: []fabric.Node{{Name: "a"}}}, "names no machine", false, false},
		"no hosts":    {&fabric.Plan{Platform: bareMetal}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(c.plan, parts(t))
			if r.Complete() != c.complete {
				t.Errorf("complete: %v", r.Complete())
			}
			for _, g := range r.Groups {
				if (len(g.Steps) > 0) != c.steps || c.unknown == "" && len(g.Unknown) > 0 || !strings.Contains(strings.Join(g.Unknown, "\n"), c.unknown) {
					t.Errorf("%d steps, unknown %q", len(g.Steps), g.Unknown)
				}
			}
		})
	}
}

// TestEqualHostsAreOneGroup: a runbook of 10,000 hosts is no longer than one of two, but for the range in its heading.
func TestEqualHostsAreOneGroup(t *testing.T) {
	p := roce()
	small := len(New(p, parts(t)).Markdown())
	p.Nodes = nil
	for i := range 10000 {
		p.Nodes = append(p.Nodes, fabric.Node{Name: fmt.Sprintf("gpu%05d", i), Machine: "xe9680-mi300x-thor2", NICs: []string{"eth1", "eth2"}})
	}
	r := New(p, parts(t))
	text := string(r.Markdown())
	if len(r.Groups) != 1 || len(text) > small+100 || !strings.Contains(text, "\n## gpu[00000-09999]\n\n10000 hosts") {
		t.Errorf("%d groups, %d bytes, small %d", len(r.Groups), len(text), small)
	}
	p.Nodes[5000].NICs = []string{"eth1", "eth3"}
	if r := New(p, parts(t)); len(r.Groups) != 2 || len(r.Groups[1].Hosts) != 1 {
		t.Errorf("a host with other NICs: %d groups", len(r.Groups))
	}
}

func TestSteps(t *testing.T) {
	g := New(roce(), parts(t)).Groups[0]
	var rules []string
	for _, r := range check.Rules() {
		rules = append(rules, r.ID)
	}
	ids := map[string]bool{}
	reboots, lastInstall, initramfsAt := 0, 0, 0
	for i, s := range g.Steps {
		if ids[s.ID] || s.Title == "" || s.Check.Expect == "" || s.Undo == "" || s.Source == "" || strings.HasSuffix(s.When, ".") || strings.HasSuffix(s.Check.Expect, ".") {
			t.Errorf("step %q: twice, or a field is missing or ends with a stop: %+v", s.ID, s)
		}
		ids[s.ID] = true
		if s.Check.Rule != "" && !slices.Contains(rules, s.Check.Rule) {
			t.Errorf("step %q: no rule %q", s.ID, s.Check.Rule)
		}
		switch s.Phase {
		case Reboot:
			reboots++
		case Install:
			lastInstall = i
			if reboots > 0 {
				t.Errorf("step %q changes after the reboot", s.ID)
			}
		}
		if s.ID == "initramfs" {
			initramfsAt = i
		}
		if s.ID == "nic-software" && initramfsAt > 0 {
			t.Error("the RAM disk is made before the driver is installed")
		}
		for _, c := range append(s.Commands, Script{Lines: s.Check.Lines}) {
			if out, err := shell(t, "-n", strings.Join(c.Lines, "\n")); err != nil {
				t.Errorf("step %q: %v: %s", s.ID, err, out)
			}
		}
	}
	if reboots != 1 || g.Reboots != 1 || lastInstall == 0 {
		t.Errorf("%d reboots, group says %d", reboots, g.Reboots)
	}
}

// shell runs or, with -n, parses a script.
func shell(t *testing.T, flag, script string) (string, error) {
	t.Helper()
	argv := []string{"sh", "-c", script}
	if flag != "" {
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		argv = []string{"sh", flag, file}
	}
	out, _, err := host.OutputMost(context.Background(), host.Local{}, host.Command{Argv: argv, Merged: true}, 1<<20)
	return string(out), err
}

// TestFirmwareOfAnotherPart runs the step that matches firmware to cards, with lspci faked: the release's file of the card's
// own part is taken, that of a sibling never, and a card whose part was not read stops it.
func TestFirmwareOfAnotherPart(t *testing.T) {
	for name, c := range map[string]struct {
		part  string
		files []string
		want  string // empty: refused
	}{
		"its own":             {"BCM957608-P1400GDF00", []string{"BCM957608-P1400GQF00", "BCM957608-P1400GDF00"}, "BCM957608-P1400GDF00.pkg"},
		"revision not read":   {"BCM957608-P1400GD", []string{"BCM957608-P1400GQF00", "BCM957608-P1400GDF00"}, "BCM957608-P1400GDF00.pkg"},
		"sibling only":        {"BCM957608-P1400GDF00", []string{"BCM957608-P1400GQF00", "BCM957608-N1400GDF00"}, ""},
		"longer name only":    {"BCM957608-P2200G", []string{"BCM957608-P2200GQF00"}, ""},
		"card without a part": {"", []string{"BCM957608-P1400GDF00"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			release := filepath.Join(folder, "release", "bnxt")
			if err := os.MkdirAll(release, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, f := range c.files {
				if err := os.WriteFile(filepath.Join(release, f+".pkg"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			lspci := "#!/bin/sh\ncat <<'E'\n1d:00.0 Ethernet controller: Broadcom\n\t\tRead-only fields:\n"
			if c.part != "" {
				lspci += "\t\t\t[PN] Part number: " + c.part + "\n"
			}
			if err := os.WriteFile(filepath.Join(folder, "lspci"), []byte(lspci+"\t\t\t[SN] Serial number: 1\nE\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			var step Step
			for _, s := range New(roce(), parts(t)).Groups[0].Steps {
				if s.ID == "firmware-file" {
					step = s
				}
			}
			script := strings.ReplaceAll(strings.Join(step.Check.Lines, "\n"), "/root/bcm_"+nicRelease, filepath.Join(folder, "release"))
			out, err := shell(t, "", "PATH="+folder+":$PATH\n"+script)
			if c.want == "" && err == nil || c.want != "" && (err != nil || out != fmt.Sprintf("eth1 %s %s\neth2 %s %s\n", c.part, c.want, c.part, c.want)) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestWizardFlags: the installer's defaults are never what is left.
func TestWizardFlags(t *testing.T) {
	s := scene{traffic: roce().Traffic}
	if flags, _ := s.wizardFlags(); flags != " -o ECNPFC -r 3 -d 26 -c 7 -p 48 -b 50" {
		t.Error(flags)
	}
	s.traffic.Classes[1].ECN = nil
	if flags, _ := s.wizardFlags(); !strings.HasPrefix(flags, " -o PFC ") {
		t.Error(flags)
	}
	s.traffic.Classes[1].Lossless, s.traffic.Share = false, 0
	if flags, _ := s.wizardFlags(); flags != " -o NOOP -r 3 -d 26 -c 7 -p 48" {
		t.Error(flags)
	}
	if flags, why := (scene{}).wizardFlags(); flags != "" || !strings.Contains(why, "no traffic classes") {
		t.Error(flags, why)
	}
}
