package launch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// newest is a launch of SGLang 0.5.23: arguments as a dictionary, another name for the start of the ranks, the cache sized after the graphs, and
// weights committed after these.
func newest() []string {
	return []string{
		"[2026-11-02 08:00:01] server_args={'model_path': '/models/m', 'port': 30000, 'tp_size': 2, 'nnodes': 1, 'node_rank': 0, 'mem_fraction_static': 0.86}",
		"[2026-11-02 08:00:10 TP0] Init parallel begin.", "[2026-11-02 08:00:10 TP1] Init parallel begin.",
		"[2026-11-02 08:00:14 TP0] Init parallel ends. elapsed=4.10 s", "[2026-11-02 08:00:14 TP1] Init parallel ends. elapsed=4.12 s",
		"[2026-11-02 08:00:15 TP0] Load weight begin. avail mem=139.10 GB", "[2026-11-02 08:00:15 TP1] Load weight begin. avail mem=139.10 GB",
		"[2026-11-02 08:00:55 TP0] KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 900000, KV size: 60.00 GB",
		"[2026-11-02 08:01:02 TP0] Memory pool end. avail mem=60.00 GB",
		"[2026-11-02 08:01:03 TP0] Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, bs=[1, 2, 4], avail mem=59.00 GB",
		"[2026-11-02 08:01:13 TP0] Capture target decode CUDA graph end. elapsed=10.00 s, mem usage=1.50 GB, avail mem=57.50 GB.",
		"[2026-11-02 08:01:14 TP0] Load weight end. Committed real weights after CUDA graph capture in 3.00 s",
		"[2026-11-02 08:01:15 TP0] Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 700000, KV size: 47.00 GB",
	}
}

func TestNewestSGLang(t *testing.T) {
	lines := newest()
	l := result(t, lines)
	if l.Status != fabric.Unknown || l.Stage != fabric.StageGraphs || l.World != 2 || l.Engine != sglang {
		t.Errorf("%s %s, world %d", l.Status, l.Stage, l.World)
	}
	if n := figureOf(t, l, "kv_tokens"); n.Max != 700000 {
		t.Errorf("%+v", n)
	}
	if n := figureOf(t, l, "mem_fraction"); n.Max != 0.86 {
		t.Errorf("%+v", n)
	}
	if l := result(t, lines[:4]); l.Stage != fabric.StageInit {
		t.Errorf("stage %s", l.Stage)
	}
	twice := result(t, append(append([]string{}, lines...), lines...))
	if len(twice.Pods) != 1 || twice.Pods[0].Starts != 2 {
		t.Errorf("%+v", twice.Pods)
	}
}

func TestNewestVLLM(t *testing.T) {
	l := result(t, []string{"(EngineCore pid=90) INFO 11-02 09:00:50 [kv_cache_utils.py:1147] GPU KV cache size: 341,504 tokens, Maximum concurrency for 202,752 tokens per request: 1.68x"})
	if figureOf(t, l, "kv_tokens").Max != 341504 || figureOf(t, l, "context").Max != 202752 || figureOf(t, l, "concurrency").Max != 1.68 || l.Stage != fabric.StageKV {
		t.Errorf("%+v", l)
	}
}

// TestLogo: vLLM prints its version in a logo, in colors on a terminal, or in words.
func TestLogo(t *testing.T) {
	for _, line := range []string{
		"(APIServer pid=1) INFO 11-02 09:00:00 [startup.py:42]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.33.0",
		"(APIServer pid=1) INFO 11-02 09:00:00 [startup.py:42]  \x1b[93m▄▄\x1b[0m \x1b[94m▄█\x1b[0m \x1b[1m█     █     █ ▀▄▀ █\x1b[0m  version \x1b[1m0.33.0\x1b[0m",
		"(APIServer pid=1) INFO 11-02 09:00:00 [startup.py:42] vLLM server version 0.33.0, serving model org/m", "INFO 11-02 09:00:00 [api_server.py:1880] vLLM API server version 0.33.0",
	} {
		if l := result(t, []string{line, "(APIServer pid=1) INFO 11-02 09:00:00 [startup.py:55] non-default args: {'tensor_parallel_size': 8}"}); l.Version != "0.33.0" || l.Stage != fabric.StageStart || l.Pods[0].Starts != 1 {
			t.Errorf("%s: %q %s", line, l.Version, l.Stage)
		}
	}
}

// TestExitCodes: SGLang explains -9 beside every code, and an engine that ends its own processes is not killed from outside.
func TestExitCodes(t *testing.T) {
	const explains = " If exit code is -9 (SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."
	for _, c := range []struct {
		lines []string
		kind  string
	}{
		{[]string{"RuntimeError: Rank 0 scheduler died during initialization (exit code: -9)." + explains}, "killed"},
		{[]string{"RuntimeError: Rank 0 scheduler died during initialization (exit code: -3)." + explains}, "unknown"},
		{[]string{"AssertionError", "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1)." + explains}, "exception"},
		{[]string{"(EngineCore pid=7) ERROR 11-02 09:00:50 [multiproc_executor.py:380] Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor."}, "killed"},
		{[]string{"(EngineCore pid=7) ERROR 11-02 09:00:50 [multiproc_executor.py:380] Worker proc VllmWorker-1 died unexpectedly (exit code: 1), shutting down executor."}, "unknown"},
		{[]string{"(Worker_TP0 pid=8) ERROR 11-02 09:00:50 [x.py:1] KeyError: 'layers.3'",
			"(EngineCore pid=7) WARNING 11-02 09:00:58 [multiproc_executor.py:602] [shutdown] Executor: workers still running after SIGTERM; sending SIGKILL count=2"}, "exception"},
		{[]string{"[2026-11-02 08:01:07] Subprocess scheduler_3 (pid=22856) crashed with exit code -6."}, "crash"},
		{[]string{"RuntimeError: Rank 0 scheduler died during initialization (exit code: -7)." + explains}, "bus-error"},
		{[]string{"[2026-11-02 08:01:07] SIGQUIT received. signum=None, frame=None. It usually means one child failed."}, "unknown"},
	} {
		if l := result(t, append(newest()[:7], c.lines...)); l.Cause == nil || l.Cause.Kind != c.kind {
			t.Errorf("%s: %+v", c.lines[len(c.lines)-1], l.Cause)
		}
	}
}

// TestOtherExits: programs of a start script end too, and a server that was up may be ended by its child.
func TestOtherExits(t *testing.T) {
	for _, line := range []string{"setup.sh: pip list: exit code 0", "check finished with exit code 1", "exitcode: 0"} {
		if l := result(t, append([]string{line}, newest()...)); l.Cause != nil || len(l.Failures) > 0 {
			t.Errorf("%s: %+v", line, l.Failures)
		}
	}
	l := result(t, append(newest(), "[2026-11-02 08:01:20] The server is fired up and ready to roll!", "[2026-11-02 08:09:07] Subprocess scheduler_3 (pid=22856) crashed with exit code -6.",
		"[2026-11-02 08:09:07] SIGQUIT received. signum=None, frame=None. It usually means one child failed."))
	if l.Status != fabric.Fail || l.Cause.Kind != "crash" {
		t.Errorf("%s %+v", l.Status, l.Cause)
	}
}

// TestOtherServer: uvicorn serves many programs, and says the same of each.
func TestOtherServer(t *testing.T) {
	for text, want := range map[string]int{"INFO:     Started server process [1]": 1, "INFO 11-02 09:00:00 [api_server.py:1977] vLLM API server version 0.14.0": 0} {
		if l := result(t, []string{text, "INFO:     Application startup complete."}); l.Status != fabric.Pass || len(l.Remarks) != want {
			t.Errorf("%s: %s %+v", text, l.Status, l.Remarks)
		}
	}
}

// TestMemoryApart: the same error at the weights, the cache and the graphs.
func TestMemoryApart(t *testing.T) {
	const full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 GiB is free."
	all := newest()
	for upTo, want := range map[int]fabric.LaunchStage{7: fabric.StageWeights, 8: fabric.StageKV, 10: fabric.StageGraphs} {
		l := result(t, append(slices.Clone(all[:upTo]), "[2026-11-02 08:01:04 TP0] Scheduler hit an exception: Traceback (most recent call last):", full))
		if l.Cause == nil || l.Cause.Kind != "gpu-memory" || l.Stage != want {
			t.Errorf("%s: %s %+v", want, l.Stage, l.Cause)
		}
	}
	for text, want := range map[string]fabric.LaunchStage{
		"(Worker_TP0 pid=8) ERROR 11-02 09:00:40 [gpu_model_runner.py:5086] Failed to load model - not enough GPU memory. Try lowering --gpu-memory-utilization (original error: CUDA out of memory)": fabric.StageWeights,
		"ValueError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=0":                                                                          fabric.StageKV,
	} {
		l := result(t, []string{"INFO 11-02 09:00:00 [api_server.py:1977] vLLM API server version 0.33.0", text})
		if l.Cause == nil || l.Cause.Kind != "gpu-memory" || l.Stage != want {
			t.Errorf("%s: %s %+v", text, l.Stage, l.Cause)
		}
	}
}

// TestCutTraceback: a log that ends inside a traceback is of a process that failed; not while its end may still come, and not of a server that is up.
func TestCutTraceback(t *testing.T) {
	cut := []string{"[2026-11-02 08:01:04 TP0] Traceback (most recent call last):", "  File \"/x/cuda_graph_runner.py\", line 233, in capture_one_batch_size", "    wrapper.begin_forward("}
	lines := append(newest()[:10], cut...)
	if l := result(t, lines); l.Status != fabric.Fail || l.Stage != fabric.StageGraphs || l.Cause.Kind != "unknown" {
		t.Errorf("%s %s %+v", l.Status, l.Stage, l.Cause)
	}
	if l := result(t, append(lines, "KeyError: 'x'")); l.Cause == nil || l.Cause.Kind != "exception" {
		t.Errorf("%+v", l.Cause)
	}
	if l := result(t, append(append(newest()[:10], cut...), newest()[10:]...)); l.Status != fabric.Unknown {
		t.Errorf("the launch went on: %s %+v", l.Status, l.Cause)
	}
	up := append(newest(), "[2026-11-02 08:01:20] The server is fired up and ready to roll!")
	if l := result(t, append(up, cut...)); l.Status != fabric.Pass {
		t.Errorf("ready: %s %+v", l.Status, l.Cause)
	}
	w, start := New(nil), time.Date(2026, 11, 2, 8, 1, 4, 0, time.UTC)
	for _, text := range lines {
		w.Line(Line{Pod: "pod", At: start, Text: text})
	}
	if l := w.Result(start.Add(time.Second)).Groups[0]; l.Status != fabric.Unknown {
		t.Errorf("a second later: %s", l.Status)
	}
	if l := w.Result(start.Add(time.Minute)).Groups[0]; l.Status != fabric.Fail {
		t.Errorf("a minute later: %s", l.Status)
	}
}

// TestSockets: NCCL on sockets costs the bandwidth and nothing says so: a remark of a launch that is ready.
func TestSockets(t *testing.T) {
	lines := append(newest(), "n1:88:99 [0] NCCL INFO NET/IB : No device found.", "n1:88:99 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.7<0>", "n1:88:99 [0] NCCL INFO Using network Socket",
		"[2026-11-02 08:01:20] The server is fired up and ready to roll!")
	l := result(t, lines)
	var kinds []string
	for _, r := range l.Remarks {
		kinds = append(kinds, r.Kind)
	}
	if l.Status != fabric.Pass || l.Network != "Socket" || !slices.Contains(kinds, "nccl-sockets") || !slices.Contains(kinds, "no-rdma-device") {
		t.Errorf("%s %q %v", l.Status, l.Network, kinds)
	}
}

// TestBeforeTheEngine: what keeps a launch from its first line is a reason to wait for, not yet its end.
func TestBeforeTheEngine(t *testing.T) {
	for text, kind := range map[string]string{
		`Error from server (BadRequest): container "engine" in pod "r1-0-1" is waiting to start: trying and failing to pull image`:    "image-pull",
		"Still waiting to acquire lock on /models/.cache/huggingface/download/model-00001.safetensors.lock (elapsed: 1800.2 seconds)": "weights-lock",
	} {
		l := result(t, []string{"[2026-11-02 08:00:01] server_args={'model_path': '/models/m', 'tp_size': 2}", text})
		if l.Status != fabric.Unknown || l.Stall == nil || len(l.Stall.Candidates) != 1 || l.Stall.Candidates[0].Kind != kind {
			t.Errorf("%s: %s %+v", text, l.Status, l.Stall)
		}
		if l := result(t, append([]string{text}, newest()...)); l.Stall == nil || len(l.Stall.Candidates) > 0 {
			t.Errorf("it went on: %+v", l.Stall)
		}
	}
	l := result(t, []string{"docker: Error response from daemon: manifest for org/engine:v9 not found: manifest unknown"})
	if l.Cause == nil || l.Cause.Kind != "image-pull" {
		t.Errorf("%+v", l.Cause)
	}
}

// TestConsequences: who gives up waiting, after minutes, is not the cause, whatever it prints.
func TestConsequences(t *testing.T) {
	for _, gaveUp := range []string{
		"[pod/r1-0/engine] ValueError: TP rank 0 could finish the model loading, but there are other ranks that didn't finish loading. It is likely due to unexpected failures (e.g., OOM) or a slow node.",
		"[pod/r1-0/engine] [rank0]:[W1102 08:20:15.444220068 socket.cpp:487] [c10d] waitForInput: socket SocketImpl(fd=103, addr=[n1]:52362, remote=[n2]:5000) timed out after 600000ms",
		"[pod/r1-0/engine] torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
	} {
		lines := []string{
			"[pod/r1-0/engine] [2026-11-02 08:00:15 TP0] Load weight begin. avail mem=139.10 GB", "[pod/r1-0-1/engine] [2026-11-02 08:00:15 TP1] Load weight begin. avail mem=139.10 GB",
			"[pod/r1-0-1/engine] [2026-11-02 08:10:14 TP1] huggingface_hub.errors.HfHubHTTPError: Client error '403 Forbidden' for url 'https://hub/m'",
			"[pod/r1-0/engine] [2026-11-02 08:20:15 TP0] Scheduler hit an exception: Traceback (most recent call last):", gaveUp,
		}
		l := result(t, lines)
		if l.Cause == nil || l.Cause.Kind != "weights-gated" || l.Cause.Pod != "r1-0-1" {
			t.Errorf("%s: %+v", gaveUp, l.Cause)
		}
		if l := result(t, append(lines[:2:2], lines[3:]...)); l.Cause == nil || !strings.HasPrefix(l.Cause.Kind, "rank-late") && l.Cause.Kind != "store-timeout" {
			t.Errorf("%s, alone: %+v", gaveUp, l.Cause)
		}
	}
}

// TestMixedYears: vLLM prints no year and SGLang does, and older SGLang prints lines of both.
func TestMixedYears(t *testing.T) {
	lines := []string{"INFO 02-10 11:18:47 __init__.py:190] Automatically detected platform cuda.", "[2025-02-10 11:18:51] INFO: something else", "[2025-02-10 11:18:59 TP0] Init torch distributed begin."}
	for n := 1; n <= len(lines); n++ {
		l := result(t, lines[:n])
		if l.Outcome != fabric.LaunchOpen || l.Stall.Seconds > 12 {
			t.Errorf("%d lines: %s %+v", n, l.Outcome, l.Stall)
		}
	}
	for _, s := range result(t, lines).Stages {
		if s.Stage == fabric.StageStart && (s.Begin != "2025-02-10 11:18:47" || s.Seconds != 12) {
			t.Errorf("%+v", s)
		}
	}
}

// TestWarmUp: SGLang kills its own processes after a failed first request.
func TestWarmUp(t *testing.T) {
	l := result(t, append(newest(), "[2026-11-02 08:01:18] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)",
		"[2026-11-02 08:01:30] Initialization failed. warmup error: Traceback (most recent call last):", "AssertionError: res=<Response [403]>, res.text=''", "", "Killed"))
	if l.Status != fabric.Fail || l.Cause.Kind != "warm-up" || l.Stage != fabric.StageReady {
		t.Errorf("%s %s %+v", l.Status, l.Stage, l.Cause)
	}
}

// TestShortTags: SGLang up to 0.3 printed no day, and people cut the time off.
func TestShortTags(t *testing.T) {
	for _, tag := range []string{"[08:00:15 TP1]", "[TP1]", "[TP1 EP1]", "[2026-11-02 08:00:15 TP1]"} {
		l := result(t, []string{tag + " Load weight begin. avail mem=139.10 GB"})
		if len(l.Pods) != 1 || !slices.Equal(l.Pods[0].Ranks, []string{"TP1"}) {
			t.Errorf("%s: %+v", tag, l.Pods)
		}
	}
}

// TestLateName: the leader's name resolves late, and the launch goes on.
func TestLateName(t *testing.T) {
	const late = "[2026-11-02 08:00:02] socket.gaierror: [Errno -3] Temporary failure in name resolution"
	lines := newest()
	if l := result(t, append([]string{lines[0], late}, lines[1:]...)); l.Status != fabric.Unknown || l.Cause != nil {
		t.Errorf("%s %+v", l.Status, l.Cause)
	}
	if l := result(t, []string{lines[0], late}); l.Cause == nil || l.Cause.Kind != "leader-address" {
		t.Errorf("%+v", l.Cause)
	}
}
