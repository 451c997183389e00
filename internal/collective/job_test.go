package collective

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// How a test was started is read from the banner of nccl-tests, or as people write it.
func TestHowATestWasStarted(t *testing.T) {
	for _, c := range []struct {
		key, value      string
		processes, each int
	}{
		{"procs", "1", 1, 0},
		{"ngpus", "4", 0, 4},
		{"launch", "-g 8", 0, 8},
		{"launch", "-t 8 -g 1", 0, 1},
		{"launch", "mpirun -np 16 all_reduce_perf -b 8 -e 8G -g 1", 0, 1},
		{"launch", "1 process x 8 GPUs (-g 8)", 1, 8},
		{"launch", "1 process per node, 8 GPUs", 1, 0},
		{"launch", "8 processes per node", 8, 0},
		{"launch", "1 process per GPU", 0, 1},
		{"launch", "-g", 0, 0},
		{"launch", "processes", 0, 0},
		{"launch", "-g 0 x process per gpu", 0, 0},
	} {
		j := JobOf(fabric.AllReduce, map[string]string{c.key: c.value})
		if j.Processes != c.processes || j.Each != c.each {
			t.Errorf("%s %q: %d processes, %d each; want %d and %d", c.key, c.value, j.Processes, j.Each, c.processes, c.each)
		}
	}
}

// One thread for all GPUs launches one after the other; one for each GPU, of one process or of many, does not.
func TestLaunches(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h200", Nodes: 1, GPUsPerNode: 4})
	at := func(j Job) fabric.PredictionRow {
		j.Collective = fabric.AllReduce
		return predict(t, c, j, 1<<10)[0]
	}
	each, all := at(Job{}), at(Job{Processes: 1})
	if threads := at(Job{Processes: 1, Each: 1}); threads.TimeUS != each.TimeUS {
		t.Errorf("a thread for each GPU: %.1f us, a process for each %.1f", threads.TimeUS, each.TimeUS)
	}
	if same := at(Job{Each: 4}); same.TimeUS != all.TimeUS {
		t.Errorf("-g 4: %.1f us, one process %.1f", same.TimeUS, all.TimeUS)
	}
	for name, c := range map[string]struct {
		us  float64
		row fabric.PredictionRow
	}{"a process each": {10, each}, "one process": {36, all}} { // us at 1 KiB on four H200, NCCL 2.28.9
		bus := 1024 / c.us / 1000 * 1.5
		if bus < c.row.Band[0] || bus > c.row.Band[1] {
			t.Errorf("%s: %.0f us were measured, the band is %.1f to %.1f", name, c.us, 1.024*1.5/c.row.Band[1], 1.024*1.5/c.row.Band[0])
		}
	}
}
