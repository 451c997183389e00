package pipeline

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestTroubleOfPods: the file of NCCL in which a CUDA call failed decides what is looked at first, and a reboot of the
// machine comes last.
func TestTroubleOfPods(t *testing.T) {
	for name, test := range map[string]struct {
		line  string
		cause fabric.CauseID
		first string // of the fix or what confirms
	}{
		"multicast, with a thread":      {"job-7-worker-3:1201:1777 [5] transport/nvls.cc:158 NCCL WARN Cuda failure 1 'invalid argument'", fabric.CauseFabricManager, "nvidia-fabricmanager"},
		"multicast, older text":         {"h800-02:242431:242479 [5] transport/nvls.cc:165 NCCL WARN Cuda failure 'invalid argument'", fabric.CauseFabricManager, "nvidia-fabricmanager"},
		"multicast, with a time":        {"[2025-11-02 10:01:56] n128:348:349 [0] transport/nvls.cc:402 NCCL WARN Cuda failure 401 'the operation cannot be performed in the present state'", fabric.CauseFabricManager, "nvidia-fabricmanager"},
		"multicast, of a tagged output": {"[1,12]<stdout>:pod-1:88:93 [3] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'", fabric.CauseFabricManager, "nvidia-fabricmanager"},
		"multicast without memory":      {"pod-1:88:93 [3] transport/nvls.cc:254 NCCL WARN Cuda failure 2 'out of memory'", fabric.CauseGPUMemory, ""},
		"another part of NCCL":          {"pod-1:88:93 [3] misc/shmutils.cc:87 NCCL WARN Cuda failure 1 'invalid argument'", fabric.CauseGPUDriver, ""},
		"a rank too many":               {"bench-0: Test CUDA failure all_reduce.cu:77 'invalid device ordinal'", fabric.CauseLauncherSetup, "nvidia-smi -L"},
		"a rank too many, on AMD":       {" .. mi300-3 pid 9: Test HIP failure common.cu:898 'invalid device ordinal'", fabric.CauseLauncherSetup, "nvidia-smi -L"},
	} {
		t.Run(name, func(t *testing.T) {
			got := explainText(t, test.line+"\n", fabric.Hardware{})
			if got.Verdict == fabric.VerdictHealthy || len(got.Causes) == 0 || got.Causes[0].ID != test.cause {
				t.Fatalf("%s: %s, causes %+v; want %s first", got.Verdict, got.Why, got.Causes, test.cause)
			}
			c := got.Causes[0]
			if !strings.Contains(c.Confirm, test.first) {
				t.Errorf("%s is confirmed by %q: no %s", c.ID, c.Confirm, test.first)
			}
			if at := strings.Index(c.Fix, "reboot"); test.first != "" && (at < 0 || strings.Contains(c.Fix[at:], "\n")) {
				t.Errorf("%s is fixed by %q: a reboot is not the last resort", c.ID, c.Fix)
			}
		})
	}
}
