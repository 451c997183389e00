package main

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

// TestRecordedPairs: what is predicted to be gained is near what was measured after the change.
func TestRecordedPairs(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if !gainsReport(&out, cat, gainFiles{"testdata/gains.json", "testdata/h200x2", "testdata/planted/tables"}) {
		t.Errorf("the bar is missed:\n%s", out.String())
	}
	t.Log(out.String())
}
