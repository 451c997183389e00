package main

import (
	"strings"
	"testing"
)

// The bars of the diagnosis hold on every file whose answer is known.
func TestDiagnosisReport(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	if !diagnosisReport(&out) {
		t.Errorf("a bar is missed:\n%s", out.String())
	}
	t.Log(out.String())
}

// Where nothing can be seen, no bar is met.
func TestDiagnosisReportWithoutFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	var out strings.Builder
	if diagnosisReport(&out) {
		t.Errorf("met without files:\n%s", out.String())
	}
}
