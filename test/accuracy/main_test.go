package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

const tablesFolder = "../../../shared/data/collectives"

// TestBars holds the predictions to their bars, as the command does.
func TestBars(t *testing.T) {
	if _, err := os.Stat(tablesFolder); err != nil {
		t.Skipf("the measured tables are not here: %v", err)
	}
	missed, err := report(tablesFolder, "testdata/h200x2", "")
	if err != nil {
		t.Fatal(err)
	}
	if missed > 0 {
		t.Errorf("%d bars missed", missed)
	}
}

// TestGPURuns needs nothing but the repository: nine collectives and six forced combinations on two H200.
func TestGPURuns(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printRuns(&out, cat, "testdata/h200x2"); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	for _, want := range []string{"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce ", "sendrecv", "gather ", "scatter ", "Ring with LL ", "Tree with Simple"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line of %s", want)
		}
	}
	runs, err := readRuns("testdata/h200x2/forced.txt")
	if err != nil || len(runs) != 6 || runs[0].Config["NCCL_ALGO"] != "Ring" || len(runs[5].Rows) < 28 {
		t.Errorf("%d forced runs, %v", len(runs), err)
	}
}

func TestQuantile(t *testing.T) {
	for _, test := range []struct{ q, want float64 }{{0, 1}, {0.5, 2.5}, {1, 4}} {
		if got := quantile([]float64{4, 1, 3, 2}, test.q); got != test.want {
			t.Errorf("%v: got %v, want %v", test.q, got, test.want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("of nothing: a number")
	}
}

func TestBarDirections(t *testing.T) {
	for _, test := range []struct {
		bar bar
		met bool
	}{{bar{value: 5, limit: 5}, true}, {bar{value: 6, limit: 5}, false}, {bar{value: 89, limit: 90, least: true}, false}, {bar{value: math.NaN(), limit: 5}, false}} {
		if test.bar.met() != test.met {
			t.Errorf("%+v: met %v", test.bar, !test.met)
		}
	}
}
