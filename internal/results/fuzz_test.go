package results

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// fuzzFormat seeds a fuzz target with the samples whose names begin with one of the prefixes.
func fuzzFormat(f *testing.F, prefixes ...string) {
	catalogue() // read once: what the first text covers must not differ from the others
	for _, name := range samples(f) {
		for _, p := range prefixes {
			if strings.HasPrefix(name, "testdata/"+p) {
				b, err := os.ReadFile(name)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := Read("fuzz", bytes.NewReader(text))
		again, errAgain := Read("fuzz", bytes.NewReader(text))
		if (err == nil) != (errAgain == nil) || !bytes.Equal(encode(t, found), encode(t, again)) {
			t.Fatal("the same text is read in two ways")
		}
		for _, r := range found {
			sane(t, r)
		}
	})
}

// encode fails for NaN and infinities, so it checks all numbers too.
func encode(t *testing.T, found []fabric.Result) []byte {
	t.Helper()
	b, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sane holds a result against what every reader promises.
func sane(t *testing.T, r fabric.Result) {
	t.Helper()
	forms := fabric.ResultKinds()
	k := slices.IndexFunc(forms, func(f fabric.ResultForm) bool { return f.Kind == r.Kind })
	if k < 0 || reflect.TypeOf(r.Content) != reflect.TypeOf(forms[k].Empty()) || r.Line < 1 {
		t.Fatalf("a %T in a result of kind %q on line %d", r.Content, r.Kind, r.Line)
	}
	switch c := r.Content.(type) {
	case *fabric.Table:
		saneTable(t, c)
	case *fabric.Perftest:
		for _, row := range c.Rows {
			if row.Bytes < 0 || row.AverageGbps != nil && *row.AverageGbps < 0 {
				t.Fatalf("row %+v", row)
			}
		}
	}
}

func saneTable(t *testing.T, table *fabric.Table) {
	t.Helper()
	for _, row := range table.Rows {
		cells := []*float64{row.TimeUS, row.AlgBW, row.BusBW}
		if row.InPlace != nil {
			cells = append(cells, row.InPlace.TimeUS, row.InPlace.AlgBW, row.InPlace.BusBW)
		}
		for _, c := range cells {
			if c != nil && (*c < 0 || math.IsNaN(*c) || math.IsInf(*c, 0)) {
				t.Fatalf("cell %v", *c)
			}
		}
		if row.Size < 0 || row.Size > maxSize {
			t.Fatalf("size %d", row.Size)
		}
	}
	if len(table.Rows) == 0 && table.Complete {
		t.Fatal("a table without rows is complete")
	}
}

func FuzzNCCLTests(f *testing.F)    { fuzzFormat(f, "nccl_", "rccl") }
func FuzzPerftest(f *testing.F)     { fuzzFormat(f, "perftest") }
func FuzzNCCLLog(f *testing.F)      { fuzzFormat(f, "log_") }
func FuzzOSU(f *testing.F)          { fuzzFormat(f, "osu") }
func FuzzTableFile(f *testing.F)    { fuzzFormat(f, "table") }
func FuzzObservations(f *testing.F) { fuzzFormat(f, "observations") }
func FuzzMixed(f *testing.F)        { fuzzFormat(f, "mixed", "nccl_glued") }
