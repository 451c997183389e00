package main

import (
	"os"
	"path/filepath"
	"testing"
)

// tableOf is the table of a run with one row, of 1 MiB.
func tableOf(busbw string) string {
	return "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n" +
		"# Collective test starting: all_reduce_perf\n" +
		"#  Rank  0 Group  0 Pid   2288 on         vm device  0 [0000:00:06] NVIDIA H200\n#  Rank  1 Group  0 Pid   2288 on         vm device  1 [0000:00:07] NVIDIA H200\n" +
		"#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n" +
		"     1048576        262144     float     sum      -1    16.62   " + busbw + "   " + busbw + "       0    17.06   " + busbw + "   " + busbw + "       0\n" +
		"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : " + busbw + "\n"
}

// A run with two faults is a pair with each run that has one of them and with the one that has none.
func TestPlantedPairs(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"index.json": `[{"name": "proto-ll-one-core", "causes": ["cpu-affinity", "nccl-settings"], "control": "two-gpus", "settings": ["NCCL_PROTO=LL"]},
			{"name": "one-core", "causes": ["cpu-affinity"], "settings": []}]`,
		"default.table": tableOf("60.00"), "proto-ll.table": tableOf("40.00"), "one-core.table": tableOf("30.00"), "proto-ll-one-core.table": tableOf("20.00"),
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

func TestSettingOf(t *testing.T) {
	for run, want := range map[string]string{"max-nchannels-4": "NCCL_MAX_NCHANNELS=4", "proto-ll128": "NCCL_PROTO=LL128", "p2p-level-loc": "NCCL_P2P_LEVEL=LOC", "one-core": "="} {
		if name, value, _ := settingOf(run); name+"="+value != want {
			t.Errorf("%s is %s=%s, want %s", run, name, value, want)
		}
	}
}
