package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intake"
	"railwright.dev/railwright/internal/results"
)

// podRun is a run of pods: a banner, and either rows at a share of what is expected or a footer alone.
type podRun struct {
	command string
	hosts   []string
	buses   [][]string // of each host, as the banner prints them
	gpu     string
	rows    string
	average float64
}

func (r podRun) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# nThread 1 nGpus 1 minBytes 8388608 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n", r.command)
	rank := 0
	for i, host := range r.hosts {
		for d, bus := range r.buses[i] {
			fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid %6d on %s device %2d [%s] %s\n", rank, 900+rank, host, d, bus, r.gpu)
			rank++
		}
	}
	fmt.Fprintf(&b, "%s# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g\n#\n", r.rows, r.average)
	return b.String()
}

func explainText(t *testing.T, text string, hw fabric.Hardware) fabric.Explained {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	in, err := Knowledge(cat)
	if err != nil {
		t.Fatal(err)
	}
	in.Hardware = hw
	found, err := results.Read("run.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Explain(t.Context(), &intake.Content{Results: found}, in, time.Unix(0, 0))
	if err != nil || len(x.Results) != 1 {
		t.Fatal(len(x.Results), err)
	}
	return x.Results[0]
}

// buses are the addresses of a machine's GPUs by index.
func buses(indexes ...int) (list []string) {
	for _, i := range indexes {
		list = append(list, fmt.Sprintf("0000:%02x:00", []int{0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf}[i]))
	}
	return list
}

func TestRunsOfPartsOfMachines(t *testing.T) {
	const gib, other = "/usr/local/gib/scripts/run_nccl_tests.sh -t reduce_scatter -b 8M -e 8G a b", "mpirun -np 8 reduce_scatter_perf -b 8M -e 8G -f 2"
	halves := [][]string{buses(0, 1, 2, 3), buses(4, 5, 6, 7)}
	mixed := [][]string{buses(0, 3, 4, 7), buses(1, 2, 5, 6)}
	two := []string{"trainer-0", "trainer-1"}
	for name, test := range map[string]struct {
		run     podRun
		hw      fabric.Hardware
		verdict fabric.Verdict
		cause   fabric.CauseID
		says    []string
	}{
		"mixed pods, slow": {podRun{gib, two, mixed, "NVIDIA B200", "", 31}, fabric.Hardware{}, fabric.VerdictDegraded, fabric.CauseGPUNICMisaligned,
			[]string{"2 workers of 4 GPUs on 1 machine", "trainer-0: GPUs 0, 3, 4, 7: 2 of 4", "2 to 4 where a claim admits"}},
		"halves, slow: the NICs may still be crossed": {podRun{gib, two, halves, "NVIDIA B200", "", 31}, fabric.Hardware{}, fabric.VerdictDegraded, fabric.CauseGPUNICMisaligned,
			[]string{"trainer-1: GPUs 4, 5, 6, 7: 0 to 4 of 4"}},
		"halves, as expected: an average proves no health": {podRun{gib, two, halves, "NVIDIA B200", "", 160}, fabric.Hardware{}, fabric.VerdictUnknown, "",
			[]string{"an average shows no more than that a run is slow"}},
		"no sign of the cloud": {podRun{other, two, mixed, "NVIDIA B200", "", 31}, fabric.Hardware{}, fabric.VerdictUnknown, "",
			[]string{"--machine a4-highgpu-8g or --machine hgx-b200"}},
		"the machine is stated": {podRun{other, two, mixed, "NVIDIA B200", "", 31}, fabric.Hardware{Machine: "hgx-b200", Nodes: 1}, fabric.VerdictDegraded, fabric.CauseGPUNICMisaligned,
			[]string{"2 workers of 4 GPUs on 1 machine"}},
		"nodes that contradict the banner": {podRun{other, two, mixed, "NVIDIA B200", "", 31}, fabric.Hardware{Machine: "hgx-b200", Nodes: 3}, fabric.VerdictUnknown, "",
			[]string{"--nodes 3 is stated"}},
		"a cloud without that GPU": {podRun{gib, two, mixed, "NVIDIA H100 80GB HBM3", "", 31}, fabric.Hardware{}, fabric.VerdictUnknown, "", nil},
		"a machine whose tree is unknown": {podRun{gib, two, mixed, "NVIDIA H200", "", 31}, fabric.Hardware{}, fabric.VerdictDegraded, "",
			[]string{"which NICs are near which GPUs of a3-ultragpu-8g is not in the catalog"}},
		"GPUs that cannot be told": {podRun{gib, two, [][]string{buses(0, 1, 2), buses(0, 1, 2)}, "NVIDIA B200", "", 31}, fabric.Hardware{}, fabric.VerdictDegraded, "",
			[]string{"3 of its 8 PCI addresses"}},
		"no collective": {podRun{"", two, mixed, "NVIDIA B200", "", 31}, fabric.Hardware{Machine: "hgx-b200"}, fabric.VerdictUnknown, "",
			[]string{"nothing says of which collective"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := explainText(t, test.run.text(), test.hw)
			said := got.Why + "\n" + got.Next
			for _, n := range got.Notes {
				said += "\n" + n.Value
			}
			if got.Verdict != test.verdict {
				t.Errorf("%s, want %s: %s", got.Verdict, test.verdict, said)
			}
			if test.cause != "" && (len(got.Causes) == 0 || got.Causes[0].ID != test.cause) {
				t.Errorf("causes %+v, want %s first", got.Causes, test.cause)
			}
			for _, want := range test.says {
				if !strings.Contains(said, want) {
					t.Errorf("no %q in:\n%s", want, said)
				}
			}
		})
	}
}

// TestPodsWithRows: rows are judged as those of whole machines are, against aligned pods.
func TestPodsWithRows(t *testing.T) {
	run := podRun{"gib: /usr/local/gib/scripts/run_nccl_tests.sh -t all_gather", []string{"w-a", "w-b", "w-c", "w-d"},
		[][]string{buses(0, 1), buses(2, 3), buses(4, 5), buses(6, 7)}, "NVIDIA B200", "", 1}
	const ranks = 8
	rows := func(gbs float64) string {
		text := "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
		for size := int64(8 << 20); size <= 8<<30; size *= 2 {
			alg := gbs * float64(size) / float64(size+20e6)
			us, bus := float64(size)/alg/1000, alg*(ranks-1)/ranks
			text += fmt.Sprintf("%d %d float none -1 %.1f %.2f %.2f 0 %.1f %.2f %.2f 0\n", size, size/4/ranks, us, alg, bus, us, alg, bus)
		}
		return text
	}
	for gbs, want := range map[float64]fabric.Verdict{107: fabric.VerdictHealthy, 55: fabric.VerdictDegraded} {
		run.rows = rows(gbs)
		got := explainText(t, run.text(), fabric.Hardware{})
		if got.Verdict != want {
			t.Errorf("%.0f GB/s: %s, want %s: %s", gbs, got.Verdict, want, got.Why)
		}
		blamed := slices.ContainsFunc(got.Causes, func(c fabric.Cause) bool { return c.ID == fabric.CauseGPUNICMisaligned && c.Confidence > 0.1 })
		if blamed != (want == fabric.VerdictDegraded) {
			t.Errorf("%.0f GB/s: causes %+v", gbs, got.Causes)
		}
	}
}
