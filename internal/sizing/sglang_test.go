package sizing

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// TestSGLangFraction compares with what SGLang's own functions gave.
func TestSGLangFraction(t *testing.T) {
	f, err := os.Open("testdata/sglang_fractions.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 800 {
		t.Fatalf("%d rows: the table is cut off", len(rows))
	}
	mla, gqa := shapeOf(r1().model()), shapeOf(llama8().model())
	for _, row := range rows[1:] {
		t.Run(strings.Join(row[:9], " "), func(t *testing.T) {
			n := func(i int) int {
				v, err := strconv.Atoi(row[i])
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			want, err := strconv.ParseFloat(row[9], 64)
			if err != nil {
				t.Fatal(err)
			}
			v, err := ParseVersion(row[0])
			if err != nil {
				t.Fatal(err)
			}
			s := setting{
				version: v, shape: gqa,
				Placement: Placement{
					Layout:  fabric.Layout{TP: n(3), PP: n(4), DP: n(5), EP: 1},
					Model:   &llm.Model{VisionLayers: int64(n(7)), VisionHidden: int64(n(8))},
					Machine: Machine{Vendor: "nvidia", GPU: fabric.SizingGPU{Name: row[1], MemoryBytes: int64(n(2)) * mib}},
				},
			}
			if row[1][:2] == "mi" {
				s.Machine.Vendor = "amd"
			}
			if n(6) == 1 {
				s.shape = mla
			}
			if got := sglangFraction(s); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v: fraction %v, want %v", row, got, want)
			}
			if chunk := int64(n(10)); chunk > 0 {
				if got := sglangChunkDefault(v, float64(n(2))); got != chunk {
					t.Errorf("%v: chunk %d, want %d", row, got, chunk)
				}
			}
		})
	}
}
