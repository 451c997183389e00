package report

import (
	"bytes"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Tests of bandwidth are part of the verdict of a run, of its text and of its page, and of none without them.
func TestRunWithBench(t *testing.T) {
	test := func(status fabric.Status, title string) fabric.BenchResult {
		return fabric.BenchResult{BenchTest: fabric.BenchTest{Title: title}, Verdict: fabric.BenchVerdict{Status: status, Measured: "13.4 Gb/s", Expected: "97.1 to 115 Gb/s", Why: "<slow>"}}
	}
	run := func(results ...fabric.BenchResult) Run {
		r := passingRun(2)
		if len(results) > 0 {
			r.Bench = &fabric.Bench{Tests: results}
			for _, b := range results {
				r.Bench.Summary.Count(b.Verdict.Status)
			}
			r.Steps = append(r.Steps, Step{Name: "bench", Status: r.Bench.Summary.Status()})
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		run   Run
		want  fabric.Status
		words []string
	}{
		{"none", run(), fabric.Pass, nil},
		{"passed", run(test(fabric.Pass, "one twin alone")), fabric.Pass, []string{"one twin alone"}},
		{"one failed", run(test(fabric.Pass, "one twin alone"), test(fabric.Fail, "both twins")), fabric.Fail, []string{"both twins", "13.4 Gb/s", "97.1 to 115 Gb/s", "1 of 2 tests of bandwidth failed"}},
		{"one unknown", run(test(fabric.Unknown, "all-gather")), fabric.Unknown, []string{"all-gather"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.run.Status(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			var text, page bytes.Buffer
			if err := RunText(&text, tt.run, TextOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := HTML(&page, tt.run); err != nil {
				t.Fatal(err)
			}
			for _, w := range tt.words {
				if !strings.Contains(text.String(), w) || !strings.Contains(page.String(), w) {
					t.Errorf("no %q in\n%s", w, text.String())
				}
			}
			if has := strings.Contains(page.String(), "<h2>Bandwidth</h2>"); has != (len(tt.words) > 0) || strings.Contains(page.String(), "<slow>") {
				t.Errorf("page has the tests: %v", has)
			}
		})
	}
}
