package results

import (
	"os"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestCollectiveOfColumns: a table whose program is not named is of the one collective that looks like it; where several do,
// it is of none, and they are named.
func TestCollectiveOfColumns(t *testing.T) {
	const (
		header = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
		banner = "# Using devices\n#  Rank  0 Group  0 Pid 1 on a device  0 [0000:1b:00] NVIDIA L40S\n#  Rank  1 Group  0 Pid 1 on a device  1 [0000:43:00] NVIDIA L40S\n"
		eight  = "#  Rank  7 Group  0 Pid 1 on a device  7 [0000:43:00] NVIDIA L40S\n"
	)
	for _, c := range []struct {
		name, text string
		want       fabric.Collective
		possible   string
	}{
		{"all_reduce of eight", header + "1048576 262144 float sum -1 16.14 64.97 113.70 0 17.17 61.08 106.89 0\n", fabric.AllReduce, ""},
		{"all_reduce of two", header + "1048576 262144 float sum -1 16.14 64.97 64.97 0 17.17 61.08 61.08 0\n", fabric.AllReduce, ""},
		{"all_reduce of two or sendrecv, not compared", header + "1048576 262144 float sum -1 16.14 64.97 64.97 N/A 17.17 61.08 61.08 N/A\n", "", "all_reduce or sendrecv"},
		{"all_reduce of two or sendrecv, without a half", "# size count type redop root time algbw busbw #wrong\n1048576 262144 float sum -1 16.14 64.97 64.97 0\n", "", "all_reduce or sendrecv"},
		{"sendrecv of many", banner + eight + header + "1048576 262144 float sum -1 16.14 64.97 64.97 N/A 17.17 61.08 61.08 N/A\n", fabric.SendRecv, ""},
		{"sendrecv", header + "1048576 262144 float sum -1 16.14 64.97 64.97 0 17.17 61.08 61.08 N/A\n", fabric.SendRecv, ""},
		{"all_gather", header + "1048576 131072 float none -1 16.14 64.97 32.48 0 17.17 61.08 30.54 0\n", fabric.AllGather, ""},
		{"alltoall", header + "1048576 131072 float none -1 16.14 64.97 32.48 0 17.17 61.08 30.54 N/A\n", fabric.AllToAll, ""},
		{"all_gather or alltoall", header + "1048576 131072 float none -1 16.14 64.97 32.48 N/A 17.17 61.08 30.54 N/A\n", "", "all_gather or alltoall"},
		{"reduce_scatter", header + "1048576 131072 float sum -1 16.14 64.97 32.48 0 17.17 61.08 30.54 0\n", fabric.ReduceScatter, ""},
		{"broadcast", header + "1048576 262144 float none 0 16.14 64.97 64.97 0 17.17 61.08 61.08 0\n", fabric.Broadcast, ""},
		{"reduce", header + "1048576 262144 float sum 3 16.14 64.97 64.97 0 17.17 61.08 61.08 0\n", fabric.Reduce, ""},
		{"gather or scatter", header + "1048576 32768 float none 0 16.14 64.97 56.85 0 17.17 61.08 53.45 0\n", "", "gather or scatter"},
		{"no collective of two ranks", banner + header + "1048576 262144 float sum -1 16.14 64.97 113.70 0 17.17 61.08 106.89 0\n", "", ""},
		{"named below", header + "1048576 262144 float sum -1 16.14 64.97 64.97 N/A 17.17 61.08 61.08 N/A\n# Collective test concluded: sendrecv_perf\n", fabric.SendRecv, ""},
		{"one rank by itself", header + "1048576 262144 float sum -1 16.14 64.97 0.00 0 17.17 61.08 0.00 0\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := Read("x", strings.NewReader(c.text))
			if err != nil || len(found) != 1 {
				t.Fatalf("%v, %v", found, err)
			}
			if table := tableOf(found[0]); table.Collective != c.want || table.Config["possible_collectives"] != c.possible {
				t.Errorf("%q, possible %q, want %q, %q", table.Collective, table.Config["possible_collectives"], c.want, c.possible)
			}
		})
	}
}

// TestCollectiveIsNeverAnother: tables of every collective between two GPUs, read without the names of their programs, are of
// theirs or of none.
func TestCollectiveIsNeverAnother(t *testing.T) {
	text, err := os.ReadFile("../../test/accuracy/testdata/h200x2/tables.txt")
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	const starting = "# Collective test starting: "
	for _, part := range strings.Split(string(text), starting)[1:] {
		part, _, _ = strings.Cut(part, "\n$ ")
		program, rest, _ := strings.Cut(part, "\n")
		named, bare := readText(t, starting+part), readText(t, rest)
		if len(named) == 0 || len(bare) == 0 || tableOf(named[0]) == nil || tableOf(bare[0]) == nil {
			t.Fatalf("%s: %d and %d results", program, len(named), len(bare))
		}
		switch got := tableOf(bare[0]).Collective; got {
		case tableOf(named[0]).Collective:
			right++
		case "":
		default:
			t.Errorf("%s is read as %s", program, got)
		}
	}
	if right < 5 {
		t.Errorf("%d collectives were recognised", right)
	}
}

func readText(t *testing.T, text string) []fabric.Result {
	t.Helper()
	found, err := Read("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
