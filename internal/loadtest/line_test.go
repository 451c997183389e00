package loadtest

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// loadsOf makes results of one workload: concurrency, ms to the first token, tokens/s, verdict.
func loadsOf(rows ...[3]float64) (all []fabric.JudgedLoad) {
	for _, r := range rows {
		c, rate := int(r[0]), r[2]/200
		out := r[2]
		all = append(all, fabric.JudgedLoad{Status: fabric.Pass, Test: fabric.LoadTest{
			Concurrency: &c, TTFT: fabric.LoadSpread{"avg": r[1]}, OutputTokensS: &out, RequestsS: &rate,
			Input: fabric.LoadSpread{"avg": 200}, Output: fabric.LoadSpread{"avg": 200},
		}})
	}
	return all
}

func usual() []Workload { return []Workload{{Name: "short translation", Input: 200, Output: 200}} }

func TestLines(t *testing.T) {
	// the shape of VCF 11.2: the last loads hardly bring more, and the one before is an outlier
	tests := loadsOf([3]float64{125, 3000, 3500}, [3]float64{1, 120, 60}, [3]float64{25, 400, 1100}, [3]float64{50, 700, 2400}, [3]float64{100, 2500, 1800})
	lines := Lines(tests, "avg", usual())
	if len(lines) != 1 || lines[0].Name != "short translation (200/200)" {
		t.Fatalf("lines %+v", lines)
	}
	var loads []string
	for _, p := range lines[0].Points {
		loads = append(loads, p.Load)
	}
	if got := strings.Join(loads, " "); got != "1 25 50 100 125" {
		t.Errorf("loads %s", got)
	}
	if text := strings.Join(lines[0].Remarks, "\n"); !strings.Contains(text, "load 100 has 1800 tokens/s") {
		t.Errorf("the outlier is not named: %s", text)
	}
	saturated := Lines(loadsOf([3]float64{1, 100, 60}, [3]float64{10, 150, 550}, [3]float64{50, 900, 1000}, [3]float64{75, 1800, 1010}, [3]float64{100, 2900, 1005}), "avg", nil)
	if saturated[0].Saturated != "50" {
		t.Errorf("saturated from %q, want 50", saturated[0].Saturated)
	}
	if growing := Lines(loadsOf([3]float64{1, 100, 60}, [3]float64{2, 101, 119}, [3]float64{4, 102, 236}), "avg", nil); growing[0].Saturated != "" {
		t.Errorf("a line that grows is saturated from %q", growing[0].Saturated)
	}
}

func TestChoose(t *testing.T) {
	tests := loadsOf([3]float64{1, 100, 60}, [3]float64{10, 150, 550}, [3]float64{50, 900, 1000})
	for _, c := range []struct {
		target, rate float64
		fail         int // number of the test that failed, from 1
		load         string
		replicas     int
		status       fabric.Status
	}{
		{target: 500, load: "10", status: fabric.Pass},
		{target: 500, rate: 20, load: "10", replicas: 8, status: fabric.Pass}, // 2.75 requests/s each
		{target: 5000, load: "50", status: fabric.Pass},
		{rate: 5, load: "50", replicas: 1, status: fabric.Pass},
		{target: 50, status: fabric.Fail},
		{target: 500, fail: 2, load: "1", status: fabric.Pass},
	} {
		all := append([]fabric.JudgedLoad{}, tests...)
		if c.fail > 0 {
			all[c.fail-1].Status = fabric.Fail
		}
		got := Choose(Lines(all, "avg", nil)[0], "avg", c.target, c.rate)
		load := ""
		if got.Point != nil {
			load = got.Point.Load
		}
		if load != c.load || got.Replicas != c.replicas || got.Status != c.status {
			t.Errorf("target %v, rate %v: %s at %q with %d replicas: %s", c.target, c.rate, got.Status, load, got.Replicas, got.Text)
		}
	}
	tests[1].Status = fabric.Unknown
	if got := Choose(Lines(tests, "avg", nil)[0], "avg", 500, 0); got.Status != fabric.Unknown {
		t.Errorf("a choice that rests on an unknown result is %s", got.Status)
	}
}
