package main

import (
	"os"
	"path/filepath"
	"testing"
)

// tableOf is the table of a run with one row, of 4 MiB.
func tableOf(busbw string) string {
	return "# nThread 1 nGpus 1 minBytes 4194304 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n" +
		"# Collective test starting: all_reduce_perf\n" +
		"#  Rank  0 Group  0 Pid   2288 on         vm device  0 [0000:00:06] NVIDIA H200\n#  Rank  1 Group  0 Pid   2288 on         vm device  1 [0000:00:07] NVIDIA H200\n" +
		"#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n" +
		"     4194304       1048576     float     sum      -1    16.62   " + busbw + "   " + busbw + "       0    17.06   " + busbw + "   " + busbw + "       0\n" +
		"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : " + busbw + "\n"
}

// A run with two faults is a pair with each run that has one of them and with the one that has none.
func TestPlantedPairs(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"index.json": `[{"name": "default", "table": "default.txt", "control": "", "settings": [], "affinity": ""},
			{"name": "default-again", "table": "default.txt", "control": "default", "settings": [], "affinity": ""},
			{"name": "proto-ll", "table": "proto-ll.txt", "control": "default", "settings": ["NCCL_PROTO=LL"], "affinity": ""},
			{"name": "one-core", "table": "one-core.txt", "control": "default", "settings": [], "affinity": "core 0"},
			{"name": "proto-ll-one-core", "table": "both.txt", "control": "default", "settings": ["NCCL_PROTO=LL"], "affinity": "core 0"},
			{"name": "elsewhere", "table": "default.txt", "control": "", "settings": [], "affinity": ""}]`,
		"default.txt": tableOf("60.00"), "proto-ll.txt": tableOf("40.00"), "one-core.txt": tableOf("30.00"), "both.txt": tableOf("20.00"),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pairs, err := plantedPairs(folder)
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		faults, fixed int
		before, after float64
	}
	want := map[string]seen{
		"proto-ll": {1, 1, 40, 60}, "one-core": {1, 1, 30, 60}, "proto-ll-one-core": {2, 2, 20, 60},
		"proto-ll-one-core to proto-ll": {2, 1, 20, 40}, "proto-ll-one-core to one-core": {2, 1, 20, 30},
	}
	if len(pairs) != len(want) {
		t.Errorf("%d pairs, want %d", len(pairs), len(want))
	}
	for _, p := range pairs {
		if got := (seen{len(p.Faults), len(p.Fixed), p.Before, p.After}); got != want[p.What] {
			t.Errorf("%s is %+v, want %+v", p.What, got, want[p.What])
		}
	}
}
