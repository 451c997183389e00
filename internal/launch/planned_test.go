package launch

import (
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

func served(groups, size int) *fabric.Serving {
	return &fabric.Serving{
		Model: "org/m", Engine: sglang, Version: "0.5.9",
		Layout: fabric.SizingPlan{Nodes: size, TP: 8 * size, PP: 1, DP: 1, MemFraction: 0.86, Prints: []fabric.EnginePrint{{What: "mem usage", Value: 40}}},
		Pods: &fabric.ServingPods{
			Kind: fabric.LeaderWorkerSets, Name: "m", Groups: groups, Size: size,
			Weights: fabric.ServingWeights{DownloadBytes: 400e9, GBs: 2, GBsSource: "serving.storage.gbs"},
			Times:   fabric.ServingTimes{Join: 1000, Imports: 300, Load: 200, Graphs: 900},
		},
	}
}

// TestPlannedBounds: each stage may take what the plan gives it, and a smaller time-out of the engine still counts.
func TestPlannedBounds(t *testing.T) {
	start := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		lines []string
		bound float64
		why   string
	}{
		{[]string{"[2026-11-02 08:00:01] server_args=ServerArgs(model_path='/m', tp_size=16)"}, 300, "imports_s"},
		{[]string{"[2026-11-02 08:00:01 TP0] Init torch distributed begin."}, 1300, "join_s"},
		{[]string{"[2026-11-02 08:00:01] server_args=ServerArgs(model_path='/m', tp_size=16, dist_timeout=700)", "[2026-11-02 08:00:01 TP0] Init torch distributed begin."}, 700, "--dist-timeout"},
		{[]string{"[2026-11-02 08:00:01 TP0] Load weight begin. avail mem=78.10 GB"}, 200, "400.0 GB at 2 GB/s"},
		{[]string{"[2026-11-02 08:00:01 TP0] Memory pool end. avail mem=8.10 GB", "[2026-11-02 08:00:01 TP0] Capture cuda graph begin."}, 900, "graphs_s"},
	} {
		w := New(Planned(served(1, 2)))
		for _, text := range c.lines {
			w.Line(Line{Pod: "m-0", At: start, Text: text})
		}
		g := w.Result(start.Add(time.Minute)).Groups[0]
		if g.Stall == nil || g.Stall.Bound != c.bound || !strings.Contains(g.Stall.BoundWhy, c.why) {
			t.Errorf("%s: %+v", c.lines[len(c.lines)-1], g.Stall)
		}
		passed := w.Result(start.Add(time.Duration(c.bound+1) * time.Second)).Groups[0]
		if passed.Outcome != fabric.LaunchStalled {
			t.Errorf("%s: %s after %g s", c.lines[len(c.lines)-1], passed.Outcome, c.bound+1)
		}
	}
}

// TestPlannedSizes: sizes are compared exactly, a load from one storage only with its slowest time, and figures of another engine not at all.
func TestPlannedSizes(t *testing.T) {
	lines := []string{
		"[2026-11-02 08:00:01] server_args=ServerArgs(model_path='/m', tp_size=8, pp_size=1, nnodes=1, mem_fraction_static=0.859)",
		"[2026-11-02 08:00:01 TP0] Load weight begin. avail mem=78.10 GB", "[2026-11-02 08:05:01 TP0] Load weight end. elapsed=300.00 s, mem usage=40.10 GB, avail mem=38.00 GB",
	}
	at := func(lines []string) fabric.Launch {
		w := New(Planned(served(1, 1)))
		for _, text := range lines {
			w.Line(Line{Pod: "m-0", Text: text})
		}
		return w.Result(time.Time{}).Groups[0]
	}
	g := at(lines)
	for what, want := range map[string]fabric.LaunchVerdict{"tp": fabric.Within, "mem_fraction": fabric.Within, "weights": fabric.Within, "load": fabric.Above} {
		if n := figureOf(t, g, what); n.Compared != want {
			t.Errorf("%s: %+v", what, n)
		}
	}
	lines[0] = strings.Replace(lines[0], "tp_size=8", "tp_size=4", 1)
	lines[2] = strings.Replace(lines[2], "elapsed=300.00", "elapsed=20.00", 1)
	g = at(lines)
	if tp, load := figureOf(t, g, "tp"), figureOf(t, g, "load"); tp.Compared != fabric.Below || tp.Words != "the plan has 8" || load.Compared != fabric.Within {
		t.Errorf("%+v %+v", tp, load)
	}
	g = at([]string{"INFO 11-02 09:00:00 [api_server.py:1977] vLLM API server version 0.33.0", "(Worker pid=8) INFO 11-02 09:00:10 [gpu_model_runner.py:5088] Model loading took 90.00 GiB memory and 12.000000 seconds"})
	if n := figureOf(t, g, "weights"); n.Compared != fabric.Uncompared || len(g.Remarks) == 0 || g.Remarks[0].Kind != "not-planned" {
		t.Errorf("%+v %+v", n, g.Remarks)
	}
}

// TestPlannedPods: leaders alone are groups by their names, and a pod without a log is a reason to look at.
func TestPlannedPods(t *testing.T) {
	w := New(Planned(served(2, 2)))
	for _, pod := range []string{"m-0", "m-0-1", "m-1", "m-7", "other-0"} {
		w.Line(Line{Pod: pod, Text: "[2026-11-02 08:00:01 TP" + pod[len(pod)-1:] + "] Init torch distributed begin."})
	}
	absent := map[string]string{}
	for _, g := range w.Result(time.Time{}).Groups {
		absent[g.Group] = ""
		for _, r := range g.Remarks {
			if r.Kind == "pod-missing" {
				absent[g.Group] = r.Text
			}
		}
	}
	if len(absent) != 4 || absent["m-0"] != "" || !strings.Contains(absent["m-1"], "m-1-1") || absent["m-7"] != "" || absent["other-0"] != "" {
		t.Error(absent)
	}
	many := New(Planned(served(1, 10000)))
	many.Line(Line{Pod: "m-0", Text: "[2026-11-02 08:00:01 TP0] Init torch distributed begin."})
	if r := many.Result(time.Time{}).Groups[0].Remarks; len(r) != 1 || len(r[0].Text) > 500 || !strings.Contains(r[0].Text, "m-0-12 and 9987 more") {
		t.Errorf("%+v", r)
	}
	ranks := served(1, 1)
	ranks.Pods = nil // machines without pods
	w = New(Planned(ranks))
	w.Line(Line{Pod: "spark1", Text: "[2026-11-02 08:00:01 TP0] Init torch distributed begin."})
	if g := w.Result(time.Time{}).Groups[0]; g.Stall.Bound != initBound {
		t.Errorf("%+v", g.Stall)
	}
}

// TestPlannedJobSets: the pods of a JobSet are one group, whatever is random in their names, with the leader first.
func TestPlannedJobSets(t *testing.T) {
	plan := served(2, 3)
	plan.Pods.Kind = fabric.JobSets
	w := New(Planned(plan))
	for pod, rank := range map[string]string{"m-0-leader-0-0-x7k2p": "0", "m-0-workers-0-0-bcdfg": "8", "m-0-workers-0-1-zz224": "16", "m-1-leader-0-0": "0", "m-1-workers-0-1-hjklm": "16"} {
		w.Line(Line{Pod: pod, Text: "[2026-11-02 08:00:01 TP" + rank + "] Init torch distributed begin."})
	}
	groups := map[string]fabric.Launch{}
	for _, g := range w.Result(time.Time{}).Groups {
		groups[g.Group] = g
	}
	if len(groups) != 2 || len(groups["m-0"].Pods) != 3 || groups["m-0"].Pods[0].Name != "m-0-leader-0-0-x7k2p" || groups["m-0"].Pods[2].Index != 2 {
		t.Errorf("%+v", groups)
	}
	if r := groups["m-0"].Remarks; len(r) != 0 {
		t.Errorf("%+v", r)
	}
	if r := groups["m-1"].Remarks; len(r) != 1 || r[0].Kind != "pod-missing" || !strings.Contains(r[0].Text, "m-1-workers-0-0)") {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"m-0-leader-0-0-server", "m-0-leader-0-1", "m-0-workers-1-0-x7k2p", "leader-0-0-x7k2p", "m-0-1"} {
		if set, rank, ok := jobSetPod(name); ok {
			t.Errorf("%s is taken for pod %d of the JobSet %s", name, rank, set)
		}
	}
}
