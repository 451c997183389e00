package launch

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// capture is a launch of the shared data, with its answer.
type capture struct {
	Kind      string
	Engine    string
	Facts     map[string]any
	LastStage string `json:"last_stage"`
	Outcome   string
	Reason    *string
}

// kindsOfReasons are the kinds that the reasons of the index come to. Where a reason is nowhere in the text, such as a
// library that another one replaced, none can be named: "".
var kindsOfReasons = map[string]string{
	"13": "nccl-sockets", "20": "rank-late", "21": "rank-late", "22": "", "23": "ray-local", "24": "gloo-interface", "25": "gloo-interface", "26": "leader-address", "27": "memory-fraction",
	"28": "gpu-memory", "29": "port-in-use", "30": "kv-too-small", "31": "unsupported-gpu", "32": "ib-path", "33": "shared-memory", "34": "port-in-use", "35": "nvlink-workspace", "37": "gpu-memory", "38": "",
}

func captures(t *testing.T) (folder string, all map[string]capture) {
	t.Helper()
	folder = filepath.Join("..", "..", "..", "shared", "data", "serving")
	raw, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		t.Skip("the shared data are not there")
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return folder, all
}

func read(t *testing.T, path string) fabric.Launch {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return readText(t, strings.TrimSuffix(filepath.Base(path), ".txt"), string(raw))
}

func readText(t *testing.T, pod, text string) fabric.Launch {
	t.Helper()
	w := New(nil)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		w.Line(Line{Pod: pod, Text: line})
	}
	groups := w.Result(time.Time{}).Groups
	if len(groups) != 1 {
		t.Fatalf("%s: %d groups", pod, len(groups))
	}
	return groups[0]
}

// TestCaptures prints a score: stage, outcome, reason and figures of the published launches.
func TestCaptures(t *testing.T) {
	folder, all := captures(t)
	var ids []string
	for id, c := range all {
		if c.Kind == "launch" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var stage, outcome, strict, reason, reasons, figures, facts int
	for _, id := range ids {
		c := all[id]
		l := read(t, filepath.Join(folder, id+".txt"))
		var wrong []string
		if sameStage(string(l.Stage), c.LastStage) {
			stage++
		} else {
			wrong = append(wrong, fmt.Sprintf("stage %q, want %s", l.Stage, c.LastStage))
		}
		switch {
		case string(l.Outcome) == c.Outcome:
			outcome++
			strict++
		case l.Outcome == fabric.LaunchOpen && c.Outcome != "died": // an excerpt, or a log that does not say how long it was silent
			outcome++
		default:
			wrong = append(wrong, fmt.Sprintf("outcome %s, want %s", l.Outcome, c.Outcome))
		}
		named := names(l)
		if c.Reason != nil || c.Outcome != "ready" {
			reasons++
			if want := kindsOfReasons[id]; want == "" && len(named) == 0 || want != "" && slices.Contains(named, want) && named[0] == want {
				reason++
			} else {
				wrong = append(wrong, fmt.Sprintf("reason %v, want %q", named, want))
			}
		}
		ok, n, off := compareFacts(l, c.Facts)
		figures, facts = figures+ok, facts+n
		if len(off) > 0 {
			wrong = append(wrong, "figures "+strings.Join(off, ", "))
		}
		if l.Outcome == fabric.LaunchReady && c.Outcome != "ready" {
			t.Errorf("%s: ready", id)
		}
		if len(wrong) > 0 {
			t.Logf("%s: %s", id, strings.Join(wrong, "; "))
		}
	}
	t.Logf("of %d launches: stage %d, outcome %d (%d by the word), reason %d of %d, figures %d of %d", len(ids), stage, outcome, strict, reason, reasons, figures, facts)
	if stage < len(ids)-2 || outcome < len(ids) || reason < reasons-1 || figures*100 < facts*95 {
		t.Error("less than what was reached before")
	}
}

// sameStage compares with the words of the index: it has no start, no compilation and no serving.
func sameStage(got, want string) bool {
	switch got {
	case "start":
		got = "init"
	case "compile":
		got = "graphs"
	case "serving":
		got = "ready"
	}
	return got == want
}

// names are the causes that a launch names, the first one first.
func names(l fabric.Launch) (out []string) {
	if l.Cause != nil {
		out = append(out, l.Cause.Kind)
	}
	if l.Stall != nil {
		for _, c := range l.Stall.Candidates {
			out = append(out, c.Kind)
		}
	}
	for _, r := range l.Remarks {
		if r.Kind == "nccl-sockets" {
			out = append(out, r.Kind)
		}
	}
	return out
}

// TestOverlong: the log of case 04 is of a server whose full context never fits.
func TestOverlong(t *testing.T) {
	l := result(t, []string{"[2025-03-08 12:29:29 TP0] max_total_num_tokens=46611, max_running_requests=2049, context_len=131072"})
	if len(l.Remarks) != 1 || l.Remarks[0].Kind != "context-over-cache" {
		t.Errorf("%+v", l.Remarks)
	}
}

// factNames are the figures of the index by the names of this package.
var factNames = map[string]string{
	"weights_GiB": "weights", "weights_GB": "weights", "load_s": "load", "model_load_s": "model_load", "compile_s": "compile", "kv_avail_GiB": "kv", "kv_tokens": "kv_tokens",
	"max_model_len": "context", "max_concurrency_x": "concurrency", "graph_s": "graphs", "graph_GiB": "graph_mem", "graph_GB": "graph_mem", "graph_est_GiB": "graph_estimate",
	"init_engine_s": "init_engine", "init_mem_GB": "init_mem", "avail_before_load_GB": "avail_before_load", "avail_after_load_GB": "avail_after_load", "k_GB": "k", "v_GB": "v",
	"avail_after_pool_GB": "avail_after_pool", "avail_final_GB": "avail_final", "max_running": "max_running", "context_len": "context", "kv_GB": "kv", "load_s_min": "load", "load_s_max": "load",
	"swa_tokens": "swa_tokens", "bytes_per_token": "kv_bytes_per_token", "consumed_GiB": "consumed", "peak_activation_GiB": "activations", "non_torch_GiB": "non_torch", "activation_GiB": "activations",
	"kv_GiB": "kv", "avail_after_pool_GB_min": "avail_after_pool", "avail_after_load_GB_min": "avail_after_load", "init_s_max": "init",
}

func compareFacts(l fabric.Launch, facts map[string]any) (ok, n int, off []string) {
	for key, value := range facts {
		what, known := factNames[key]
		if !known {
			continue
		}
		wants, isList := value.([]any)
		if !isList {
			wants = []any{value}
		}
		i := slices.IndexFunc(l.Numbers, func(x fabric.LaunchNumber) bool { return x.What == what })
		for _, want := range wants {
			w, isNumber := want.(float64)
			if !isNumber {
				continue
			}
			n++
			bar := slices.IndexFunc(l.Numbers, func(x fabric.LaunchNumber) bool { return what == "load" && x.What == "reading" }) // of a log that only has the bar
			if i >= 0 && hasValue(l.Numbers[i], w) || bar >= 0 && hasValue(l.Numbers[bar], w) {
				ok++
			} else {
				off = append(off, fmt.Sprintf("%s %v", key, want))
			}
		}
	}
	slices.Sort(off)
	return ok, n, off
}

func hasValue(n fabric.LaunchNumber, want float64) bool {
	near := func(x float64) bool { return math.Abs(x-want) <= 0.006*math.Max(1, math.Abs(want)) }
	return near(n.Min) || near(n.Max) || slices.ContainsFunc(n.Values, near)
}
