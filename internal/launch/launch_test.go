package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

func sample(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

func result(t *testing.T, lines []string) fabric.Launch {
	t.Helper()
	w := New(nil)
	for _, l := range lines {
		w.Line(Line{Pod: "pod", Text: l})
	}
	groups := w.Result(time.Time{}).Groups
	if len(groups) != 1 {
		t.Fatalf("%d groups", len(groups))
	}
	return groups[0]
}

func figureOf(t *testing.T, l fabric.Launch, what string) fabric.LaunchNumber {
	t.Helper()
	for _, n := range l.Numbers {
		if n.What == what {
			return n
		}
	}
	t.Fatalf("no figure %q", what)
	return fabric.LaunchNumber{}
}

func TestHealthy(t *testing.T) {
	l := result(t, sample(t, "sglang-two-nodes.log"))
	if l.Status != fabric.Pass || l.Group != "r1-0" || len(l.Pods) != 2 || l.Engine != sglang || l.World != 4 || l.Network != "IB" || len(l.Missing) > 0 || l.Pods[1].Index != 1 {
		t.Errorf("%+v", l)
	}
	if n := figureOf(t, l, "load"); n.Min != 41 || n.Max != 50 || n.MaxRank != "r1-0-1 TP3" || n.Ranks != 4 {
		t.Errorf("%+v", n)
	}
	for _, s := range l.Stages {
		if s.Stage == fabric.StageWeights && (s.Slowest != "r1-0-1 TP3" || s.Spread != 9 || s.Seconds != 50 || s.Ended != 4) {
			t.Errorf("%+v", s)
		}
	}
	l = result(t, sample(t, "vllm-one-node.log"))
	if l.Status != fabric.Pass || l.Engine != vllm || l.Version != "0.14.0" || l.World != 2 || len(l.Failures) > 0 {
		t.Errorf("%+v", l)
	}
	if n := figureOf(t, l, "kv_tokens"); n.Max != 499384 {
		t.Errorf("%+v", n)
	}
}

// isReadyLine reports whether a line says that a server takes requests; of SGLang's workers none does.
func isReadyLine(line string) bool {
	return !strings.Contains(line, "pod/r1-0-1/") && (strings.Contains(line, "Uvicorn running on") || strings.Contains(line, "fired up") || strings.Contains(line, "(APIServer") && strings.Contains(line, "startup complete"))
}

// TestCutAnywhere: a log that is cut at any line is never ready before the line that says so, and never failed.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"sglang-two-nodes.log", "vllm-one-node.log"} {
		lines := sample(t, name)
		ready := false
		for n := 1; n <= len(lines); n++ {
			ready = ready || isReadyLine(lines[n-1])
			l := result(t, lines[:n])
			if l.Status == fabric.Pass != ready || l.Status == fabric.Fail {
				t.Errorf("%s, %d lines: %s %s, want ready %v: %s", name, n, l.Status, l.Outcome, ready, lines[n-1])
			}
		}
		for cut := range len(lines) { // and without any one of its lines
			rest := append(append([]string{}, lines[:cut]...), lines[cut+1:]...)
			if l := result(t, rest); l.Status == fabric.Fail {
				t.Errorf("%s without line %d: %+v", name, cut+1, l.Cause)
			}
		}
	}
}

// TestCapturesCutAnywhere does the same with published logs: nothing is ready before a line that can say so.
func TestCapturesCutAnywhere(t *testing.T) {
	folder, all := captures(t)
	for id, c := range all {
		if c.Kind != "launch" || c.Outcome != "ready" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(folder, id+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
		said := false
		for n := 1; n <= len(lines); n++ {
			for _, text := range []string{"Uvicorn running", "fired up", "startup complete", "\"POST /v1/"} {
				said = said || strings.Contains(lines[n-1], text)
			}
			if l := result(t, lines[:n]); l.Status == fabric.Pass && !said || l.Status == fabric.Fail {
				t.Errorf("%s, %d lines: %s: %+v", id, n, l.Status, l.Cause)
			}
		}
	}
}

// TestDisguises: what a terminal, a collector of logs or an interleaving adds changes nothing.
func TestDisguises(t *testing.T) {
	for _, name := range []string{"sglang-two-nodes.log", "vllm-one-node.log"} {
		lines := sample(t, name)
		want := result(t, lines)
		disguises := map[string]func(string) string{
			"color":            func(s string) string { return "\x1b[1;36m" + s + "\x1b[0m" },
			"carriage return":  func(s string) string { return "  5%|=  | 1/20 [00:01<00:19,  1.00s/it]\r" + s + "\r" },
			"a very long line": func(s string) string { return s + " " + strings.Repeat("x", 1<<20) },
		}
		if !strings.HasPrefix(lines[0], "[pod/") {
			disguises["compose"] = func(s string) string { return "engine-1  | " + s }
			disguises["stern"] = func(s string) string { return "engine-0 vllm " + s }
			disguises["times"] = func(s string) string { return "2026-03-02T09:00:00.123456789Z " + s }
		} else {
			disguises["stern"] = func(s string) string {
				pod, rest, _ := strings.Cut(strings.TrimPrefix(s, "[pod/"), "/engine] ")
				return pod + " engine " + rest
			}
		}
		for how, do := range disguises {
			var other []string
			for _, l := range lines {
				if how == "carriage return" && strings.HasPrefix(l, "[pod/") {
					head, rest, _ := strings.Cut(l, "] ")
					other = append(other, head+"] "+do(rest))
					continue
				}
				other = append(other, do(l))
			}
			got := result(t, other)
			if got.Status != want.Status || got.Stage != want.Stage || got.World != want.World || len(got.Failures) > 0 {
				t.Errorf("%s, %s: %s %s, %d failures", name, how, got.Status, got.Stage, len(got.Failures))
			}
			for _, n := range want.Numbers {
				if g := figureOf(t, got, n.What); g.Min != n.Min || g.Max != n.Max || g.Ranks != n.Ranks {
					t.Errorf("%s, %s: %+v, want %+v", name, how, g, n)
				}
			}
		}
	}
}

// died is the healthy log up to a line, with what a rank then prints.
func died(t *testing.T, name, upTo string, then ...string) fabric.Launch {
	t.Helper()
	var lines []string
	for _, l := range sample(t, name) {
		lines = append(lines, l)
		if strings.Contains(l, upTo) {
			break
		}
	}
	return result(t, append(lines, then...))
}

func TestFirstFailure(t *testing.T) {
	const file = "sglang-two-nodes.log"
	for _, c := range []struct {
		name, upTo string
		then       []string
		kind, pod  string
		stage      fabric.LaunchStage
	}{
		{"the rank that waited is not the cause", "TP3] Load weight begin", []string{
			"[pod/r1-0-1/engine] [2026-03-02 08:00:40 TP3] Scheduler hit an exception: Traceback (most recent call last):",
			"[pod/r1-0-1/engine] OSError: [Errno 28] No space left on device",
			"[pod/r1-0-1/engine] [2026-03-02 08:00:41] Received sigquit from a child process. It usually means the child failed.",
			"[pod/r1-0/engine] [rank0]:[E302 08:10:41.730311765 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE) ran for 600050 milliseconds before timing out.",
			"[pod/r1-0/engine] torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:81, remote process exited or there was a network error",
		}, "disk-full", "r1-0-1", fabric.StageWeights},
		{"what was printed first, though it is read last", "TP0] Memory pool end", []string{
			"[pod/r1-0/engine] [2026-03-02 08:02:40 TP0] RuntimeError: something general went wrong",
			"[pod/r1-0-1/engine] [2026-03-02 08:01:30 TP2] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.",
		}, "gpu-memory", "r1-0-1", fabric.StageKV},
		{"only a rank that waited", "TP1] Load weight end", []string{
			"[pod/r1-0/engine] ValueError: TP rank 0 could finish the model loading, but there are other ranks that didn't finish loading. It is likely due to unexpected failures (e.g., OOM) or a slow node.",
		}, "rank-late", "r1-0", fabric.StageWeights},
		{"an exception of no known kind", "TP0] Capture cuda graph begin", []string{
			"[pod/r1-0/engine] [2026-03-02 08:01:30 TP0] Scheduler hit an exception: Traceback (most recent call last):",
			"[pod/r1-0/engine] KeyError: 'layers.3'",
			"[pod/r1-0/engine] [2026-03-02 08:01:31] Received sigquit from a child process.",
		}, "exception", "r1-0", fabric.StageGraphs},
		{"a hint explains a failure that says little", "TP0] sglang is using nccl", []string{
			"[pod/r1-0/engine] r1-0:88:99 [0] NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1",
			"[pod/r1-0/engine] RuntimeError: NCCL error: unhandled system error",
		}, "ib-path", "r1-0", fabric.StageInit},
		{"nobody says why", "TP0] Init torch distributed begin", []string{
			"[pod/r1-0/engine] [2026-03-02 08:01:31] Received sigquit from a child process.",
		}, "unknown", "r1-0", fabric.StageInit},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := died(t, file, c.upTo, c.then...)
			if l.Status != fabric.Fail || !l.Hopeless || l.Cause == nil || l.Cause.Kind != c.kind || l.Cause.Pod != c.pod || l.Stage != c.stage {
				t.Errorf("%s %s %s: %+v", l.Status, l.Outcome, l.Stage, l.Cause)
			}
		})
	}
}

// TestOtherRanksGoOn: a traceback has a tag in its first line only; that others go on does not undo it.
func TestOtherRanksGoOn(t *testing.T) {
	l := died(t, "sglang-two-nodes.log", "TP3] Load weight begin",
		"[pod/r1-0/engine] [2026-03-02 08:00:30 TP1] Scheduler hit an exception: Traceback (most recent call last):",
		"[pod/r1-0/engine]   File \"x.py\", line 3, in load_weights",
		"[pod/r1-0/engine] KeyError: 'layers.3'",
		"[pod/r1-0/engine] [2026-03-02 08:00:31 TP0] Load weight end. elapsed=11.00 s, mem usage=40.50 GB.")
	if l.Status != fabric.Fail || l.Cause == nil || l.Cause.Rank != "TP1" || l.Cause.Kind != "exception" || l.Stage != fabric.StageWeights {
		t.Errorf("%s %s %+v", l.Status, l.Stage, l.Cause)
	}
}

// TestQuoted: who waits for the line, or quotes it, does not say it.
func TestQuoted(t *testing.T) {
	for _, line := range []string{
		`waiting until the log says "Application startup complete."`, "grep -q 'The server is fired up and ready to roll!' log", "until Uvicorn running on port 8000 do sleep 1",
		"INFO:     Waiting for application startup.", "Application startup completed with errors", "INFO: Application startup failed. Exiting.",
	} {
		if l := result(t, []string{line}); l.Status == fabric.Pass {
			t.Errorf("%s: ready", line)
		}
	}
}

// TestCrashLoop: the same failure in every start, and the last one has only begun.
func TestCrashLoop(t *testing.T) {
	var lines []string
	for range 3 {
		lines = append(lines, "[2026-03-02 08:00:12 TP0] Init torch distributed begin.", "[2026-03-02 08:00:15 TP0] Scheduler hit an exception: Traceback (most recent call last):",
			"OSError: [Errno 98] Address already in use", "[2026-03-02 08:00:16] Received sigquit from a child process. It usually means the child failed.")
	}
	l := result(t, lines)
	if l.Status != fabric.Fail || l.Cause.Kind != "port-in-use" || len(l.Died) != 2 || l.Cause.Start != 3 {
		t.Errorf("%s %+v %+v", l.Status, l.Cause, l.Died)
	}
	l = result(t, append(lines, "[2026-03-02 08:00:12 TP0] Init torch distributed begin."))
	if l.Status != fabric.Unknown || len(l.Died) != 3 {
		t.Errorf("%s %+v", l.Status, l.Died)
	}
}

// TestSurvived: what a launch went on after is no failure.
func TestSurvived(t *testing.T) {
	lines := sample(t, "vllm-one-node.log")
	for _, bad := range []string{
		"ImportError: cannot import name 'x' from 'y'", "(Worker_TP0 pid=101) WARNING 03-02 09:00:17 [x.py:1] torch.OutOfMemoryError: CUDA out of memory, trying less",
		"[W302 09:00:16.1 socket.cpp:752] [c10d] The client socket has failed to connect to [node]:20000 (errno: 111 - Connection refused).",
		"(APIServer pid=1) INFO 03-02 09:00:17 [x.py:1] Error: none",
	} {
		with := append(append(append([]string{}, lines[:6]...), bad), lines[6:]...)
		if l := result(t, with); l.Status != fabric.Pass {
			t.Errorf("%s: %s %+v", bad, l.Status, l.Cause)
		}
	}
}

// TestRecreated: the group is made again; what it died of is kept, and the new one decides.
func TestRecreated(t *testing.T) {
	lines := sample(t, "sglang-two-nodes.log")
	first := append(append([]string{}, lines[:18]...),
		"[pod/r1-0-1/engine] [2026-03-02 08:00:50 TP3] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
		"[pod/r1-0-1/engine] [2026-03-02 08:00:51] Received sigquit from a child process.",
		"[pod/r1-0/engine] torch.distributed.DistBackendError: NCCL error in: x, ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.")
	l := result(t, append(first, lines...))
	if l.Status != fabric.Pass || len(l.Died) != 1 || l.Died[0].Kind != "gpu-memory" || l.Died[0].Pod != "r1-0-1" || l.Pods[0].Starts != 2 {
		t.Errorf("%s %+v %+v", l.Status, l.Died, l.Pods)
	}
	l = result(t, append(first, lines[:12]...))
	if l.Status != fabric.Unknown || len(l.Died) != 1 {
		t.Errorf("%s %+v", l.Status, l.Died)
	}

	w := New(nil)
	for _, text := range lines[:18] {
		w.Line(Line{Text: text})
	}
	w.Exited("r1-0-1", 137, "OOMKilled", time.Time{})
	if l := w.Result(time.Time{}).Groups[0]; l.Status != fabric.Fail || l.Cause.Kind != "killed" || l.Cause.Pod != "r1-0-1" {
		t.Errorf("%+v", l.Cause)
	}
	w.Restarted("r1-0")
	w.Restarted("r1-0-1")
	if l := w.Result(time.Time{}).Groups[0]; l.Status != fabric.Unknown || len(l.Died) != 1 || l.Died[0].Kind != "killed" {
		t.Errorf("%s %+v", l.Status, l.Died)
	}
}

// TestComposeExit: docker compose says how a container ended.
func TestComposeExit(t *testing.T) {
	l := result(t, []string{"engine-1  | [2026-03-02 08:00:20 TP0] Load weight begin. avail mem=78.10 GB", "engine-1 exited with code 137"})
	if l.Status != fabric.Fail || l.Cause.Kind != "killed" || l.Stage != fabric.StageWeights || l.Pods[0].Exit != "137" {
		t.Errorf("%+v %+v", l.Cause, l.Pods)
	}
}

// TestUnprefixed: bars have no prefix in logs that have one elsewhere.
func TestUnprefixed(t *testing.T) {
	l := result(t, []string{
		"Attaching to engine-1",
		"engine-1  | (Worker pid=312) INFO 03-01 11:11:26 [parallel_state.py:1716] rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1",
		"Loading safetensors checkpoint shards:  53% Completed | 8/15 [11:02<10:44, 92.12s/it]",
	})
	if l.Group != "engine-1" || len(l.Pods) != 1 || l.Stage != fabric.StageWeights || l.Pods[0].Percent != 53 || len(l.Missing) != 1 || l.Missing[0] != "0" {
		t.Errorf("%+v %v", l.Pods, l.Missing)
	}
}

func TestStall(t *testing.T) {
	start := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	w := New(nil)
	for _, text := range sample(t, "sglang-two-nodes.log")[:4] { // the worker has only begun
		if !strings.Contains(text, "r1-0-1") {
			w.Line(Line{Text: text, At: start})
		}
	}
	if l := w.Result(start.Add(time.Minute)).Groups[0]; l.Outcome != fabric.LaunchOpen || l.Stall.Passed || l.Stall.Seconds != 60 {
		t.Errorf("%s %+v", l.Outcome, l.Stall)
	}
	l := w.Result(start.Add(11 * time.Minute)).Groups[0]
	if l.Outcome != fabric.LaunchStalled || l.Status != fabric.Unknown || len(l.Stall.Candidates) != 1 || l.Stall.Candidates[0].Kind != "rank-missing" || len(l.Missing) != 2 {
		t.Errorf("%s %+v %v", l.Outcome, l.Stall, l.Missing)
	}
}

// TestWaits: what an engine says that it waits for.
func TestWaits(t *testing.T) {
	base := sample(t, "vllm-one-node.log")[:5]
	wait := func(remote int) string {
		return fmt.Sprintf("(APIServer pid=1) DEBUG 03-02 09:01:00 [v1/engine/utils.py:1262] Waiting for 1 local, %d remote core engine proc(s) to start.", remote)
	}
	for remote, named := range map[int]bool{0: false, 2: true} {
		l := result(t, append(append([]string{}, base...), wait(remote), wait(remote), wait(remote)))
		if l.Outcome != fabric.LaunchStalled || l.Status != fabric.Unknown {
			t.Errorf("%s %s", l.Outcome, l.Status)
		}
		if got := len(l.Stall.Candidates) == 1 && l.Stall.Candidates[0].Kind == "rank-missing" && strings.Contains(l.Stall.Candidates[0].Text, "2 engines of other nodes"); got != named {
			t.Errorf("%d remote: %+v", remote, l.Stall.Candidates)
		}
	}
	l := result(t, []string{"[2026-03-02 08:00:12 TP0] Init torch distributed begin.", "[Gloo] Rank 0 is connected to 6 peer ranks. Expected number of connected peer ranks is : 7"})
	if len(l.Stall.Candidates) != 1 || l.Stall.Candidates[0].Text != "Gloo connected 6 of 7 other ranks" {
		t.Errorf("%+v", l.Stall.Candidates)
	}
}

// TestCompared: figures beside what was computed.
func TestCompared(t *testing.T) {
	w := New(&Expectation{
		Plan:    fabric.SizingPlan{Prints: []fabric.EnginePrint{{What: "mem usage", Value: 40.33, Unit: gib}, {What: "KV cache tokens", Value: 600000, Unit: tokens}}},
		Storage: &fabric.SizingStorage{DownloadBytes: 40e9, Loads: []fabric.StorageLoad{{Storage: "slow", Seconds: 36}, {Storage: "fast", Seconds: 2}}},
	})
	for _, text := range sample(t, "sglang-two-nodes.log") {
		w.Line(Line{Text: text})
	}
	l := w.Result(time.Time{}).Groups[0]
	for what, want := range map[string]fabric.LaunchVerdict{"weights": fabric.Within, "kv_tokens": fabric.Below, "load": fabric.Above, "graphs": fabric.Uncompared} {
		if n := figureOf(t, l, what); n.Compared != want {
			t.Errorf("%s: %+v", what, n)
		}
	}
}

// TestGroups: which pods are one launch.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		pods string
		want int
	}{
		{"a-0 a-0-1 a-1 a-1-1", 2}, {"a-0 a-0-1 a-0-2", 1}, {"node1 node2", 1}, {"a-0 a-1", 2}, {"web-7d9f8c-abcde", 1},
	} {
		w := New(nil)
		for _, pod := range strings.Fields(c.pods) {
			w.Line(Line{Pod: pod, Text: "[2026-03-02 08:00:12 TP0] Init torch distributed begin."})
		}
		if got := w.Result(time.Time{}).Groups; len(got) != c.want {
			t.Errorf("%s: %d groups, want %d", c.pods, len(got), c.want)
		}
	}
	w := New(nil)
	for i := range 2 { // a StatefulSet: its pods have ranks of their own
		w.Line(Line{Pod: fmt.Sprintf("a-%d", i), Text: fmt.Sprintf("[2026-03-02 08:00:12 TP%d] Init torch distributed begin.", i)})
	}
	if got := w.Result(time.Time{}).Groups; len(got) != 1 || got[0].Group != "a" {
		t.Errorf("%+v", got)
	}
}

// TestKinds: every kind is described, and every description is of a kind.
func TestKinds(t *testing.T) {
	used := map[string]bool{"exit": true, "rank-missing": true}
	for _, f := range allForms() {
		if f.does < root || f.does > hint || f.does == effect {
			continue
		}
		used[f.kind] = true
		if k, ok := kinds()[f.kind]; !ok || k.title == "" || k.means == "" {
			t.Errorf("%s: no description", f.kind)
		}
	}
	for name := range kinds() {
		if !used[name] {
			t.Errorf("%s: no form", name)
		}
	}
}

// TestLarge: 64 ranks of 10,000 lines each. Ten times as many take ten times as long: 9 s of one core.
func TestLarge(t *testing.T) {
	ranks, each := 64, 10_000
	if testing.Short() {
		each = 1000
	}
	w := New(nil)
	began := time.Now()
	for i := range each {
		for r := range ranks {
			w.Line(Line{Pod: "p", Text: fmt.Sprintf("[2026-03-02 08:00:%02d TP%d] Decode batch, #running-req: %d, #token: 69888, token usage: 0.18, gen throughput (token/s): 16.30, #queue-req: 0", i%60, r, i)})
		}
	}
	l := w.Result(time.Time{}).Groups[0]
	t.Logf("%d lines in %v", l.Lines, time.Since(began))
	if l.Status != fabric.Unknown || l.Lines != ranks*each {
		t.Errorf("%s, %d lines", l.Status, l.Lines)
	}
}
