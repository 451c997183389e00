package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// unreachable is a cluster at loopback addresses without a host.
const unreachable = `apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: pod}
platform: baremetal
nodes:
- {names: "127.255.255.[253-254]", nics: "eth[1-2]"}
fabric:
  kind: roce
  addressing: {pool: 10.64.0.0/24}
  leaf: {model: z9664f, os: sonic}
`

func options(t *testing.T) Options {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse("pod.yaml", []byte(unreachable), cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return Options{
		Text: []byte(unreachable), Cluster: c, Plan: p, Base: filepath.Join(t.TempDir(), "runs"), Version: "test", Command: "railwright up",
		Now: func() time.Time { return at }, Progress: func(string, ...any) {},
	}
}

// A run against machines that do not answer takes every step, is unknown, and writes a complete run folder.
func TestUp(t *testing.T) {
	o := options(t)
	var progress []string
	o.Progress = func(_ string, args ...any) { progress = append(progress, args[0].(string)) }
	out, err := Up(context.Background(), o)
	if err != nil || out.Stopped != nil {
		t.Fatal(err, out.Stopped)
	}
	var steps []string
	statuses := make(map[string]fabric.Status)
	for _, s := range out.Run.Steps {
		steps = append(steps, s.Name)
		statuses[s.Name] = s.Status
	}
	want := []string{"plan", "render", "reach", "apply", "collect", "check", "mesh", "explain"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, progress); diff != "" {
		t.Error(diff)
	}
	if out.Run.Status() != fabric.Unknown || statuses["apply"] != fabric.Unknown || statuses["render"] != fabric.Pass {
		t.Errorf("run %v, steps %v", out.Run.Status(), statuses)
	}
	var targets []string
	for _, a := range out.Run.Applied {
		targets = append(targets, a.Node)
		if a.Status != fabric.Unknown || a.Reason == "" {
			t.Errorf("%+v", a)
		}
	}
	if !slices.Equal(targets, []string{"127.255.255.253", "127.255.255.254", "leaf1"}) {
		t.Errorf("applied %v", targets)
	}
	folder := filepath.Dir(out.Report)
	if filepath.Base(folder) != "20260102-030405-pod" {
		t.Errorf("folder %q", folder)
	}
	for _, name := range []string{run.ClusterFile, run.PlanFile, run.FindingsFile, run.MeshFile, run.CausesFile, run.RunFile, run.ReportFile, "artifacts/leaf1.json"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
}

// A step that cannot do its work ends the run; those after it are listed as not reached, and the run does not pass.
func TestUpStops(t *testing.T) {
	o := options(t)
	o.Cluster.Launcher = intent.Slurm
	out, err := Up(context.Background(), o)
	if err != nil || out.Stopped == nil || !strings.HasPrefix(out.Stopped.Error(), `reach: launcher "slurm": `) {
		t.Fatal(err, out.Stopped)
	}
	for _, s := range out.Run.Steps {
		switch s.Name {
		case "plan", "render":
			if s.Status != fabric.Pass {
				t.Errorf("%+v", s)
			}
		case "reach":
			if s.Status != fabric.Fail {
				t.Errorf("%+v", s)
			}
		default:
			if s.Status != fabric.Unknown || s.Note != "not reached" {
				t.Errorf("%+v", s)
			}
		}
	}
	if out.Run.Status() != fabric.Unknown {
		t.Errorf("the run is %v", out.Run.Status())
	}
}

func TestUpInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, err := Up(ctx, options(t))
	if err != nil || out.Stopped == nil || out.Stopped.Error() != "plan: interrupted" {
		t.Error(err, out.Stopped)
	}
}

func TestSteps(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range Steps() {
		if s.Name == "" || s.Needs == "" || s.Gives == "" || s.do == nil || seen[s.Name] {
			t.Errorf("step %q has no name of its own, or does not list what it needs and gives", s.Name)
		}
		seen[s.Name] = true
	}
}

func TestApplied(t *testing.T) {
	for _, c := range []struct {
		name string
		in   apply.Applied
		want report.Applied
	}{
		{"not reached", apply.Applied{Node: "a", Error: "refused"}, report.Applied{Node: "a", Reason: "refused"}},
		{"in the lab", apply.Applied{Node: "leaf1", Status: fabric.NotApplicable, Reason: "a bridge"}, report.Applied{Node: "leaf1", Status: fabric.NotApplicable, Reason: "a bridge"}},
		{"files", apply.Applied{Node: "a", Status: fabric.Pass}, report.Applied{Node: "a", How: "files", Status: fabric.Pass,
			Reason: "they take effect at the next start"}},
		{"activated", apply.Applied{Node: "a", Status: fabric.Pass, Activation: &apply.Activation{Network: "netlink", Reason: "no networkd", Skipped: []string{"x: later"}}},
			report.Applied{Node: "a", How: "netlink", Status: fabric.Pass, Reason: "no networkd; x: later"}},
		{"not in effect", apply.Applied{Node: "a", Status: fabric.Fail, Activation: &apply.Activation{Network: "netlink", Pending: []string{"eth1: is down"}}},
			report.Applied{Node: "a", How: "netlink", Status: fabric.Fail, Reason: "not in effect: eth1: is down"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, applied(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every target of the plan has a result, whatever the machines answer.
func TestApplyNamesEveryTarget(t *testing.T) {
	o := options(t)
	f := fleet.New([]host.Outcome[fleet.Member]{
		{Name: "127.255.255.253", Value: fleet.Member{Runner: host.Local{}, Program: "false"}},
		{Name: "127.255.255.254", Err: errors.New("refused")},
	})
	for _, inLab := range []bool{false, true} {
		got, err := Apply(context.Background(), f, o.Plan, "", inLab, true)
		if err != nil || len(got) != 3 {
			t.Fatal(err, got)
		}
		leaf := fabric.Unknown
		if inLab {
			leaf = fabric.NotApplicable
		}
		if got[0].Error == "" || got[1].Error != "refused" || got[2].Node != "leaf1" || got[2].Status != leaf {
			t.Errorf("%+v", got)
		}
	}
}

func TestCheckOfWhatCannotBeLoaded(t *testing.T) {
	broken := errors.New("cut short")
	for _, c := range []struct {
		name  string
		nodes iter.Seq2[*fabric.Facts, error]
		want  error
	}{
		{"all of it", func(yield func(*fabric.Facts, error) bool) { yield(nil, broken) }, broken},
		{"some of it", func(yield func(*fabric.Facts, error) bool) {
			_ = yield(&fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: "a"}, nil) && yield(nil, broken)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			lost := false
			s, err := Check(context.Background(), Checked{}, c.nodes, func(f fabric.Finding) {
				lost = lost || f.ID == "facts-collected" && f.Status == fabric.Unknown
			})
			if !errors.Is(err, c.want) || c.want == nil && (!lost || s.Status() == fabric.Pass) {
				t.Errorf("%v, lost %v, %+v", err, lost, s)
			}
		})
	}
}

func TestWaivers(t *testing.T) {
	c := &intent.Cluster{Waive: []intent.Waiver{{Rule: "mtu", Subject: "a:eth1", Reason: "why", Until: "2026-12-31"}}}
	if w, err := Waivers(c); err != nil || len(w) != 1 || w[0].Until.Day() != 31 {
		t.Errorf("%+v, %v", w, err)
	}
	c.Waive[0].Until = "tomorrow"
	if _, err := Waivers(c); err == nil {
		t.Error("an invalid date was accepted")
	}
}

// Snapshots of one node under many names are one reason on many files.
func TestSnapshotsOfTheSameNode(t *testing.T) {
	folder := t.TempDir()
	text, err := json.Marshal(&fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: "host1"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("copy%02d.json", i)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	groups := report.NewGroups(report.TextOptions{Verbose: true})
	summary, err := Check(t.Context(), Checked{}, facts.LoadFrom(t.Context(), files.Disk{}, folder), groups.Add)
	if err != nil || summary.Status() != fabric.Unknown {
		t.Fatal(err, summary)
	}
	var b strings.Builder
	if err := groups.Text(&b, summary); err != nil {
		t.Fatal(err)
	}
	text2 := strings.Join(strings.Fields(strings.ReplaceAll(b.String(), folder, "DIR")), " ")
	if !strings.Contains(text2, "snapshot DIR/copy[01-29].json") || strings.Count(text2, "duplicate, first in") != 1 {
		t.Error(b.String())
	}
}

func TestCheckIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, Checked{}, All(nil), func(fabric.Finding) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
