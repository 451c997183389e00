package launch

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// FuzzWatch: whatever is read, the result can be written, and is ready only where a line can say so.
func FuzzWatch(f *testing.F) {
	for _, name := range []string{"sglang-two-nodes.log", "vllm-one-node.log"} {
		raw, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Add("Loading safetensors checkpoint shards: 1/ [<, it/s]\r\x1b[[rank3]:[E1 (")
	f.Fuzz(func(t *testing.T, text string) { judgedSafely(t, text) })
}

func judgedSafely(t *testing.T, text string) {
	t.Helper()
	w := New(nil)
	for line := range strings.SplitSeq(text, "\n") {
		w.Line(Line{Pod: "pod", Text: line})
	}
	r := w.Result(time.Time{})
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	says := false
	plainText := plain(text)
	for _, s := range []string{"Uvicorn running", "fired up", "Application startup complete", "\"POST /v1/", "\"POST /generate"} {
		says = says || strings.Contains(plainText, s)
	}
	for _, g := range r.Groups {
		if g.Status == fabric.Pass && !says {
			t.Errorf("ready: %s", text)
		}
		if (g.Status == fabric.Fail) != (g.Cause != nil) {
			t.Errorf("%s with cause %+v", g.Status, g.Cause)
		}
	}
}

// TestMutations: lines are lost, doubled, cut, swapped between pods and mixed with failures.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	samples := [][]string{sample(t, "sglang-two-nodes.log"), sample(t, "vllm-one-node.log")}
	bad := []string{"torch.OutOfMemoryError: CUDA out of memory.", "Killed", "[rank1]: KeyError: 'x'", "OSError: [Errno 98] Address already in use", "\x00\xff\xfe", "[2026-03-02 08:00:12 TP1] Received sigquit from a child process."}
	for range 2000 {
		var lines []string
		for _, l := range samples[r.IntN(len(samples))] {
			switch r.IntN(12) {
			case 0:
				continue
			case 1:
				lines = append(lines, l)
			case 2:
				l = l[:r.IntN(len(l)+1)]
			case 3:
				l = strings.Replace(l, "r1-0/", "r1-0-1/", 1)
			case 4:
				lines = append(lines, bad[r.IntN(len(bad))])
			case 5:
				l = strings.ReplaceAll(l, "0", "-9")
			}
			lines = append(lines, l)
		}
		judgedSafely(t, strings.Join(lines, "\n"))
	}
}
