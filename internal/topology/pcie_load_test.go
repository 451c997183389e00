package topology

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// The three samples of Broadcom's guide, B.4, in MB/s: at rest, while the test begins, and in the middle of it.
func guideSamples() [3][8]float64 {
	return [3][8]float64{
		{0.018, 1.385, 0.026, 0.009, 0.026, 0.728, 0.035, 0.000},
		{1441.457, 18290.621, 111.046, 8335.574, 20420.376, 21314.964, 21409.510, 21592.331},
		{21303.333, 21573.090, 21352.123, 21854.864, 21693.946, 21848.413, 21749.485, 21810.975},
	}
}

func bandwidthText(samples ...[8]float64) string {
	var b strings.Builder
	for _, s := range samples {
		b.WriteString("============================= Measured PCIe Bandwidth ==============================\n")
		for gpu, mbs := range s {
			fmt.Fprintf(&b, "GPU[%d]\t\t: Estimated maximum PCIe bandwidth over the last second (MB/s): %.3f\n", gpu, mbs)
		}
		b.WriteString("====================================================================================\n")
	}
	return b.String()
}

const (
	pidHead    = "=============================== GPUs Indexed by PID ================================\n"
	oneProcess = pidHead + "PID 2632418 is using 8 DRM device(s):\n0 3 4 2 1 7 6 5\n"
)

func eightProcesses() string {
	text := pidHead
	for _, gpu := range []int{6, 4, 2, 0, 7, 5, 3, 1} {
		text += fmt.Sprintf("PID %d is using 1 DRM device(s):\n %d\n", 2632520+gpu, gpu)
	}
	return text
}

func TestReadROCmLoad(t *testing.T) {
	g := guideSamples()
	behind := g[2]
	behind[3] = 400
	for name, c := range map[string]struct {
		text, placement, why string
		status               fabric.Status
		states               string
	}{
		"B.3, -g 8":               {oneProcess + oneProcess, "one process on 8 GPUs, as -g 8 of rccl-tests", "no sample of the bandwidth", fabric.Unknown, ""},
		"B.3, a process a GPU":    {eightProcesses() + eightProcesses(), "8 processes, one a GPU", "no sample", fabric.Unknown, ""},
		"B.4, the whole loop":     {bandwidthText(g[0], g[1], g[2]), "", "no GPU is behind", fabric.Pass, "idle uneven even"},
		"B.4, the third alone":    {bandwidthText(g[2]) + oneProcess, "one process on 8 GPUs, as -g 8 of rccl-tests", "no GPU is behind", fabric.Pass, "even"},
		"B.4, the second alone":   {bandwidthText(g[1]), "", "the one busy sample is uneven", fabric.Unknown, "uneven"},
		"B.4, the first alone":    {bandwidthText(g[0]), "", "every sample is idle", fabric.Unknown, "idle"},
		"ends in a sample":        {bandwidthText(g[2], g[1]), "", "the last sample is uneven", fabric.Unknown, "even uneven"},
		"a GPU behind in each":    {bandwidthText(behind, g[1], behind), "", "GPU3: less than half of the busiest GPU in each of 3 samples", fabric.Fail, "uneven uneven uneven"},
		"a GPU always behind":     {bandwidthText(behind, behind), "", "GPU3: less than half of the busiest GPU in each of 2 samples", fabric.Fail, "uneven uneven"},
		"older form":              {"GPU[0] : Estimated maximum PCIe bandwidth over the last second: 21303.333 MB/s\n", "", "no GPU is behind", fabric.Pass, "even"},
		"half of a sample":        {strings.Join(strings.SplitAfter(bandwidthText(g[2], g[2]), "\n")[:14], ""), "", "sample 2 has 3 of 8 GPUs", fabric.Unknown, "even even"},
		"a GPU that is left out":  {strings.Replace(bandwidthText(g[2]), "GPU[3]", "GPU[x]", 1), "", "sample 1 has 7 of 8 GPUs", fabric.Unknown, "even"},
		"no process":              {pidHead + "No KFD PIDs currently running\n", "no process uses a GPU", "no sample", fabric.Unknown, ""},
		"a process without a GPU": {pidHead + "PID 9 is using 0 DRM device(s)\n", "no process uses a GPU", "no sample", fabric.Unknown, ""},
		"two on one GPU":          {pidHead + "PID 9 is using 1 DRM device(s):\n0\nPID 10 is using 1 DRM device(s):\n0\n", "2 processes on 1 GPU; up to 2 share one", "no sample", fabric.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ReadROCmLoad(c.text)
			if err != nil {
				t.Fatal(err)
			}
			var states []string
			for _, s := range l.Samples {
				states = append(states, map[bool]string{true: "idle"}[s.Idle]+map[bool]string{true: "uneven"}[s.Uneven]+map[bool]string{true: "even"}[!s.Idle && !s.Uneven])
			}
			if l.Placement != c.placement || !strings.Contains(l.Why, c.why) || l.Status != c.status || strings.Join(states, " ") != c.states {
				t.Errorf("%+v", l)
			}
		})
	}
	for name, text := range map[string]string{
		"nothing":               "",
		"another tool":          "GPU0 X NV18\n",
		"the list is cut":       pidHead + "PID 2632418 is using 8 DRM device(s):\n0 3 4",
		"the list is gone":      pidHead + "PID 2632418 is using 8 DRM device(s):",
		"no number":             pidHead + "PID 9 is using 1 DRM device(s):\nGPU0\n",
		"a bandwidth of dots":   "GPU[0] : Estimated maximum PCIe bandwidth over the last second (MB/s): 1.2.3\n",
		"more than is accepted": strings.Repeat("x", maxTopoText+1),
	} {
		t.Run(name, func(t *testing.T) {
			if l, err := ReadROCmLoad(text); err == nil {
				t.Errorf("taken: %+v", l)
			}
		})
	}
}

func FuzzReadROCmLoad(f *testing.F) {
	g := guideSamples()
	f.Add(bandwidthText(g[1], g[2]) + eightProcesses() + oneProcess)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadROCmLoad(text)
		if err != nil {
			return
		}
		if l.Status == fabric.Pass && len(l.Samples) == 0 {
			t.Errorf("passes without a sample: %q", text)
		}
	})
}
