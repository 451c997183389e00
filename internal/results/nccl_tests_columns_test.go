package results

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// TestColumns: values go by the header, whatever its order, and a row that has not as many as the header names, or one that
// cannot be of its column, is unread with its reason.
func TestColumns(t *testing.T) {
	const (
		header = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
		row    = "1048576 262144 float sum -1 16.14 64.97 113.70 0 17.17 61.08 106.89 0\n"
	)
	number := func(v float64) *float64 { return &v }
	zero := new(int64)
	whole := fabric.Row{Line: 1, Size: 1 << 20, TimeUS: number(16.14), AlgBW: number(64.97), BusBW: number(113.70), Wrong: zero, InPlace: &fabric.InPlace{TimeUS: number(17.17), AlgBW: number(61.08), BusBW: number(106.89), Wrong: zero}}
	half := whole
	half.InPlace = nil
	without := func(change func(*fabric.Row)) fabric.Row {
		r := whole
		in := *whole.InPlace
		r.InPlace = &in
		change(&r)
		return r
	}
	for _, c := range []struct {
		name, text string
		want       fabric.Row // not in it: count, type, operation
		unread     string
	}{
		{"as printed", header + row, whole, ""},
		{"no header", row, whole, ""},
		{"a remark behind it", header + strings.Replace(row, "\n", " <-- slow\n", 1), whole, ""},
		{"a rank before each piece", "[0] " + header + "[0] 1048576 262144 float sum -1[0] 16.14 64.97 113.70 0[0] 17.17 61.08 106.89 0\n", whole, ""},
		{"no operation", "# size count type redop time algbw busbw error time algbw busbw error\n1048576 262144 float 16.14 64.97 113.70 0e+00 17.17 61.08 106.89 0e+00\n", whole, ""},
		{"differences, one beyond the threshold", "# size count type redop time algbw busbw error time algbw busbw error\n1048576 262144 float sum 16.14 64.97 113.70 1e+00 17.17 61.08 106.89 2e-01*\n",
			without(func(r *fabric.Row) { one := int64(1); r.Wrong, r.InPlace.Wrong = nil, &one }), ""},
		{"one half", header + "1048576 262144 float sum -1 16.14 64.97 113.70 0\n", half, ""},
		{"one half without a header", "1048576 262144 float sum -1 16.14 64.97 113.70 0\n", half, ""},
		{"no time out of place", "# size count type redop root algbw busbw #wrong time algbw busbw #wrong\n1048576 262144 float sum -1 64.97 113.70 0 17.17 61.08 106.89 0\n",
			without(func(r *fabric.Row) { r.TimeUS = nil }), ""},
		{"no algbw in place", "# size count type redop root time algbw busbw #wrong time busbw #wrong\n1048576 262144 float sum -1 16.14 64.97 113.70 0 17.17 106.89 0\n",
			without(func(r *fabric.Row) { r.InPlace.AlgBW = nil }), ""},
		{"another order", "# size count busbw time algbw busbw time algbw\n1048576 262144 113.70 16.14 64.97 106.89 17.17 61.08\n",
			without(func(r *fabric.Row) { r.Wrong, r.InPlace.Wrong = nil, nil }), ""},
		{"type before size", "# type size count redop root time algbw busbw #wrong time algbw busbw #wrong\nfloat 1048576 262144 sum -1 16.14 64.97 113.70 0 17.17 61.08 106.89 0\n", whole, ""},
		{"a cell too many", header + strings.Replace(row, "113.70", "113.70 113.70", 1), fabric.Row{}, "the row has 14 cells for 13 columns"},
		{"a cell too few", header + strings.Replace(row, "64.97 ", "", 1), fabric.Row{}, "the row ends after 12 of 13 columns"},
		{"a cell too many without a header", strings.Replace(row, "113.70", "113.70 113.70", 1), fabric.Row{}, "the row has no layout that nccl-tests prints"},
		{"no algbw without a header", strings.NewReplacer("64.97 ", "", "61.08 ", "").Replace(row), fabric.Row{}, "the row has no layout that nccl-tests prints"},
		{"busbw and #wrong swapped", header + strings.Replace(row, "113.70 0", "0 113.70", 1), fabric.Row{}, `"113.70" is no #wrong`},
		{"root and operation swapped", header + strings.Replace(row, "sum -1", "-1 sum", 1), fabric.Row{}, `"-1" is no redop`},
		{"busbw twice in the header", strings.Replace(header, "busbw", "busbw busbw", 1) + strings.Replace(row, "113.70", "113.70 113.70", 1), fabric.Row{},
			"the header names the columns of a half twice, or not enough of them: time algbw busbw busbw #wrong time algbw busbw #wrong"},
		{"size twice in the header", strings.Replace(header, "size", "size size", 1) + "1048576 " + row, fabric.Row{}, "the header names size twice"},
		{"no size in the header", strings.Replace(header, "size ", "", 1) + row, fabric.Row{}, "the header names no size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := Read("x", strings.NewReader(c.text))
			if err != nil || len(found) != 1 || tableOf(found[0]) == nil {
				t.Fatalf("%v, %v", found, err)
			}
			table := tableOf(found[0])
			if c.unread != "" {
				if len(table.Rows) > 0 || len(table.Unread) != 1 || table.Unread[0].Reason != c.unread {
					t.Errorf("%d rows, unread %+v, want %q", len(table.Rows), table.Unread, c.unread)
				}
				return
			}
			if len(table.Rows) != 1 || len(table.Unread) > 0 {
				t.Fatalf("%d rows, unread %+v", len(table.Rows), table.Unread)
			}
			got := table.Rows[0]
			got.Count, got.Type, got.RedOp, got.Line = nil, "", "", 1
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
