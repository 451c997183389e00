package main

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

// The bars of the diagnosis hold on every file whose answer is known.
func TestDiagnosisReport(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !diagnosisReport(&out, cat, "../shared/data/diagnosis-2026-11", "test/accuracy/testdata/planted") {
		t.Errorf("a bar is missed:\n%s", out.String())
	}
	t.Log(out.String())
}

// Where nothing can be seen, no bar is met.
func TestDiagnosisReportWithoutFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	var out strings.Builder
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diagnosisReport(&out, cat, "threads", "planted") {
		t.Errorf("met without files:\n%s", out.String())
	}
}
