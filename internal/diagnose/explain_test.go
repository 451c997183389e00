package diagnose

import (
	"testing"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

// explain explains results with the catalogue of messages and the causes of the program.
func explain(t *testing.T, results []fabric.Result, in Input) *fabric.Explanation {
	t.Helper()
	var err error
	if in.Catalogue, err = messages.Load(); err != nil {
		t.Fatal(err)
	}
	if in.Causes, err = causes.Load(); err != nil {
		t.Fatal(err)
	}
	x, err := Explain(results, in)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
