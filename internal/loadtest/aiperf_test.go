package loadtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// folder reads the exports below a folder of testdata.
func folder(t *testing.T, root string) (all []File) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, File{Name: filepath.ToSlash(path), Text: text, Found: true})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What AIPerf wrote of a model that ran: see test/aiperf.
func TestAIPerfRuns(t *testing.T) {
	files := slices.DeleteFunc(folder(t, "testdata/aiperf"), func(f File) bool { return strings.Contains(f.Name, "/failed/") })
	r, err := Report(files, Expect{Model: "tiny-random"}, Wish{TargetMs: 500, RequestsS: 20})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != fabric.Pass || len(r.Tests) != 8 || len(r.Lines) != 2 {
		t.Fatalf("%s, %d results, %d lines", r.Status, len(r.Tests), len(r.Lines))
	}
	for _, j := range r.Tests {
		if j.Test.Version != AIPerf || j.Test.Tool != toolAIPerf || *j.Test.Failed != 0 || *j.Test.WarmUp == 0 || j.Test.Entries == nil {
			t.Errorf("%s: version %s, failed %v, warm-up %v", j.Test.File, j.Test.Version, j.Test.Failed, j.Test.WarmUp)
		}
	}
	for i, loads := range [][]string{{"1", "2", "4", "8"}, {"1", "2", "4", "8"}} {
		var got []string
		for _, p := range r.Lines[i].Points {
			got = append(got, p.Load)
		}
		if !slices.Equal(got, loads) {
			t.Errorf("line %s: loads %v", r.Lines[i].Name, got)
		}
	}
	if c := r.Choices[0]; c.Point == nil || c.Point.Load != "4" || c.Replicas != 2 {
		t.Errorf("operating point %+v", c)
	}
}

// Each export of a run that partly failed says so by itself.
func TestAIPerfFailed(t *testing.T) {
	for _, f := range folder(t, "testdata/aiperf/failed") {
		got := one(t, f.Name, string(f.Text))
		if got.Failed == nil || *got.Failed != 4 || *got.Done != 16 {
			t.Errorf("%s: done %v, failed %v", f.Name, got.Done, got.Failed)
		}
		if j := Judge(got, Expect{}); j.Status != fabric.Fail {
			t.Errorf("%s is %s", f.Name, j.Status)
		}
	}
}

// The exports of one run are one result; one of another run is an objection.
func TestExportsOfOneRun(t *testing.T) {
	const dir = "testdata/aiperf/64-32-concurrency2"
	files := folder(t, dir)
	tests, _ := Gather(files)
	if len(tests) != 1 || len(tests[0].Unread) > 0 {
		t.Fatalf("%d results, unread %v", len(tests), tests[0].Unread)
	}
	other, err := os.ReadFile("testdata/aiperf/64-32-concurrency1/profile_export_aiperf.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if strings.HasSuffix(files[i].Name, "_aiperf.json") {
			files[i].Text = other
		}
	}
	tests, _ = Gather(files)
	if j := Judge(tests[0], Expect{}); len(tests) != 1 || j.Status == fabric.Pass {
		t.Errorf("exports of two runs are %s", j.Status)
	}
}

// A change in AIPerf's JSON keeps it from passing.
func TestAIPerfMutations(t *testing.T) {
	text, err := os.ReadFile("testdata/aiperf/64-32-concurrency2/profile_export_aiperf.json")
	if err != nil {
		t.Fatal(err)
	}
	name := "profile_export_aiperf.json"
	if statusOf(string(text), name, Expect{}) != fabric.Pass {
		t.Fatal("does not pass as it is")
	}
	for old, with := range map[string]string{
		`"was_cancelled": false`: `"was_cancelled": true`, `"is_complete": true`: `"is_complete": false`,
		`"requests": 20`: `"requests": 400`, `"entries": 20`: `"entries": 3`, `"concurrency": 2`: `"concurrency": 64`,
		`"mean": 32.0`: `"mean": 320.0`, `"error_summary": []`: `"error_summary": [{"error_details": {"code": 500}, "count": 3}]`,
		`"time_to_first_token": {
    "unit": "ms"`: `"time_to_first_token": {
    "unit": "s"`, `"request_latency": {
    "unit": "ms"`: `"request_latency": {
    "unit": "us"`, `"request_throughput": {
    "unit": "requests/sec"`: `"request_throughput": {
    "unit": "requests/min"`, `"inter_token_latency": {`: `"inter_token_latenzy": {`, `"time_to_first_token": {`: `"time_to_token": {`,
		`"output_sequence_length": {`: `"osl_": {`, `"output_token_throughput": {`: `"throughput_": {`, `"request_count": {`: `"requests_": {`,
		`"request_latency": {`: `"latency_": {`,
	} {
		changed := strings.Replace(string(text), old, with, 1)
		if changed == string(text) {
			t.Errorf("%s: is not in the file", old)
		}
		// several of these stand in the file of a warm-up too
		if s := statusOf(strings.ReplaceAll(string(text), old, with), name, Expect{}); s == fabric.Pass {
			t.Errorf("passes with %s", with)
		}
	}
}
