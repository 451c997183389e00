package loadtest

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// File is a text that was read, and its name.
type File struct {
	Name  string
	Text  []byte
	Found bool // in a folder: one without a result may be anything
}

// Gather reads files; those that AIPerf or GenAI-Perf wrote of one run into one folder become one result, which each of
// them must agree with.
func Gather(files []File) (tests []fabric.LoadTest, unread []fabric.Unread) {
	at := map[string]int{} // of the result of a run, by its folder and prefix
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(formRank(a.Name), formRank(b.Name)) })
	for _, f := range files {
		found, not := Read(f.Name, f.Text)
		if !f.Found || runOf(f.Name) != "" {
			unread = append(unread, not...)
		}
		key := runOf(f.Name)
		for _, t := range found {
			if i, ok := at[key]; ok && key != "" && len(found) == 1 {
				join(&tests[i], t)
				continue
			}
			if key != "" && len(found) == 1 {
				at[key] = len(tests)
			}
			tests = append(tests, t)
		}
	}
	slices.SortStableFunc(tests, func(a, b fabric.LoadTest) int {
		return cmp.Or(cmp.Compare(path.Dir(a.File), path.Dir(b.File)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return tests, unread
}

// ByProduct says that a file of a folder is one that load generators write beside their result.
func ByProduct(name string) bool {
	name = strings.ReplaceAll(name, `\`, "/")
	base := path.Base(name)
	if strings.Contains("/"+name, "/logs/") || strings.Contains("/"+name, "/phases/") {
		return true
	}
	if slices.Contains([]string{"inputs.json", "phase_manifest.json", "run_config.json", "outputs.json"}, base) {
		return true
	}
	for _, part := range []string{"server_metrics_export", "gpu_telemetry_export", "_telemetry_data", "_telemetry.csv", "_timeslices", "_raw."} {
		if strings.Contains(base, part) {
			return true
		}
	}
	return !slices.Contains([]string{".json", ".jsonl", ".csv", ".txt", ".log", ".md", ".out"}, strings.ToLower(path.Ext(base)))
}

// runOf is one text for the exports of one run; empty for another file.
func runOf(name string) string {
	dir, base := path.Split(strings.ReplaceAll(name, `\`, "/"))
	for _, end := range exportEnds() {
		if prefix, ok := strings.CutSuffix(base, end); ok && strings.HasPrefix(base, "profile_export") {
			return dir + prefix
		}
	}
	return ""
}

// exportEnds are how the names of exports end, in the order in which they are trusted.
func exportEnds() []string {
	return []string{"_aiperf.json", "_genai_perf.json", "_aiperf.csv", "_genai_perf.csv", ".jsonl", "_console.txt", "_genai_perf.log"}
}

func formRank(name string) int {
	for i, end := range exportEnds() {
		if strings.HasSuffix(name, end) {
			return i
		}
	}
	return len(exportEnds())
}

// join adds another export of the same run: what the first does not say, and an objection where they differ.
func join(t *fabric.LoadTest, other fabric.LoadTest) {
	share := 2 * slack // of a rate
	if t.DurationS != nil && *t.DurationS > 0 {
		share += endsOf(t.Tool) / *t.DurationS
	}
	check := func(what string, a, b *float64, room float64) {
		if a != nil && b != nil && math.Abs(*a-*b) > room*math.Max(math.Abs(*a), math.Abs(*b))+0.02 {
			t.Unread = append(t.Unread, fabric.Unread{Text: path.Base(other.File), Reason: fmt.Sprintf("%s is %s, in %s %s: the files are of different runs", what, digits(*b), path.Base(t.File), digits(*a))})
		}
	}
	check("output tokens/s", t.OutputTokensS, other.OutputTokensS, share)
	check("requests/s", t.RequestsS, other.RequestsS, share)
	check("time to the first token", t.TTFT.Of("avg"), other.TTFT.Of("avg"), slack)
	check("request latency", t.Latency.Of("avg"), other.Latency.Of("avg"), slack)
	if t.Done != nil && other.Done != nil && *t.Done != *other.Done {
		t.Unread = append(t.Unread, fabric.Unread{Text: path.Base(other.File), Reason: fmt.Sprintf("%d requests have an answer, in %s %d", *other.Done, path.Base(t.File), *t.Done)})
	}
	if other.Failed != nil && (t.Failed == nil || *other.Failed > *t.Failed) {
		t.Failed = other.Failed
	}
	t.WarmUp, t.Short, t.Done = either(t.WarmUp, other.WarmUp), either(t.Short, other.Short), either(t.Done, other.Done)
	t.Cut = cmp.Or(t.Cut, other.Cut)
	t.Concurrency, t.RatePerS = either(t.Concurrency, other.Concurrency), either(t.RatePerS, other.RatePerS)
	t.Model, t.Version = cmp.Or(t.Model, other.Model), cmp.Or(t.Version, other.Version)
	t.GPUs = max(t.GPUs, other.GPUs)
}
