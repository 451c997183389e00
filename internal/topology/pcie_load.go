package topology

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// PCIeLoad is what rocm-smi -b and --showpidgpus printed while a test ran.
type PCIeLoad struct {
	Samples   []LoadSample  `json:"samples"`   // of the bandwidth, in order
	Processes []GPUProcess  `json:"processes"` // of the last listing with any
	Placement string        `json:"placement"` // how the processes share the GPUs; empty: no listing
	Status    fabric.Status `json:"status"`
	Why       string        `json:"why"`
}

// LoadSample is the PCIe bandwidth in use on each GPU over a second, in MB/s of 2^20 bytes: packets received and sent times the
// largest payload, so more than the data (rocm-smi, showPCIeBw).
type LoadSample struct {
	MBs    map[int]float64 `json:"mb_s"`   // by rocm-smi's number of the GPU
	Uneven bool            `json:"uneven"` // a GPU has less than half of the busiest one
	Idle   bool            `json:"idle"`
}

// GPUProcess is a process and the GPUs that it uses, by rocm-smi's numbers.
type GPUProcess struct {
	PID  int   `json:"pid"`
	GPUs []int `json:"gpus"`
}

const (
	// idleLoad in MB/s is far above what drivers do at rest: up to 1.4 in Broadcom's RoCE guide, B.4, its first sample.
	idleLoad = 100
	// unevenLoad is the share of the busiest GPU below which another one is behind: healthy GPUs are within 3 % of each other
	// (Broadcom's RoCE guide, B.4, its third sample: 21303 to 21855 MB/s).
	unevenLoad = 0.5
)

var (
	// loadLine is "GPU[0] : Estimated maximum PCIe bandwidth over the last second (MB/s): 0.018", in older versions with
	// "second: 0.018 MB/s".
	loadLine = pattern.Plain(`^\s*GPU\[([0-9]{1,4})\]\s*: Estimated maximum PCIe bandwidth over the last second(?: \(MB/s\))?: ([0-9.]+)(?: MB/s)?\s*$`)
	pidLine  = pattern.Plain(`^\s*PID ([0-9]{1,10}) is using ([0-9]{1,4}) DRM device\(s\)(:?)\s*$`)
)

// ReadROCmLoad reads the output of rocm-smi -b, of --showpidgpus, or of both, once or in a loop. Errors: neither of them, a
// listing that is cut, a number that is none, a text of more than 16 MiB.
func ReadROCmLoad(text string) (*PCIeLoad, error) {
	if len(text) > maxTopoText {
		return nil, fmt.Errorf("text of %d bytes is longer than %d", len(text), maxTopoText)
	}
	l := &PCIeLoad{Samples: []LoadSample{}, Processes: []GPUProcess{}}
	var listing []GPUProcess
	listed := false
	lines := plainLines(text)
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case loadLine().MatchString(line):
			if err := l.bandwidth(loadLine().FindStringSubmatch(line)); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case strings.Contains(line, "GPUs Indexed by PID"):
			listing, listed = nil, true
		case pidLine().MatchString(line):
			m := pidLine().FindStringSubmatch(line)
			next := ""
			if m[3] != "" && i+1 < len(lines) {
				i++
				next = lines[i]
			}
			p, err := gpuProcess(m, next)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if listing, listed = append(listing, p), true; len(p.GPUs) > 0 {
				l.Processes = slices.Clone(listing)
			}
		}
	}
	if len(l.Samples) == 0 && !listed {
		return nil, errors.New("not the output of rocm-smi -b or --showpidgpus")
	}
	l.place(listed)
	l.judge()
	return l, nil
}

// bandwidth adds a line to the last sample, or begins the next where that has the GPU already.
func (l *PCIeLoad) bandwidth(m []string) error {
	gpu, _ := strconv.Atoi(m[1]) // at most four digits
	mbs, err := strconv.ParseFloat(m[2], 64)
	if err != nil || math.IsInf(mbs, 0) {
		return fmt.Errorf("bandwidth %s is not a number", fabric.Quote(m[2]))
	}
	if last := len(l.Samples) - 1; last >= 0 {
		if _, again := l.Samples[last].MBs[gpu]; !again {
			l.Samples[last].MBs[gpu] = mbs
			return nil
		}
	}
	l.Samples = append(l.Samples, LoadSample{MBs: map[int]float64{gpu: mbs}})
	return nil
}

// gpuProcess reads "PID 2632418 is using 8 DRM device(s):" and the numbers in the line below it.
func gpuProcess(m []string, next string) (GPUProcess, error) {
	p := GPUProcess{GPUs: []int{}}
	p.PID, _ = strconv.Atoi(m[1])
	want, _ := strconv.Atoi(m[2])
	for _, word := range strings.Fields(next) {
		gpu, err := strconv.ParseUint(word, 10, 16)
		if err != nil {
			return p, fmt.Errorf("process %d: %s is not the number of a GPU", p.PID, fabric.Quote(word))
		}
		p.GPUs = append(p.GPUs, int(gpu))
	}
	if len(p.GPUs) != want {
		return p, fmt.Errorf("process %d uses %d GPUs, and %d are listed", p.PID, want, len(p.GPUs))
	}
	slices.Sort(p.GPUs)
	return p, nil
}

func (l *PCIeLoad) place(listed bool) {
	users, most := make(map[int]int), 0
	busy := 0
	for _, p := range l.Processes {
		busy += min(len(p.GPUs), 1)
		most = max(most, len(p.GPUs))
		for _, g := range p.GPUs {
			users[g]++
		}
	}
	shared := 0
	for _, n := range users {
		shared = max(shared, n)
	}
	switch {
	case !listed:
	case busy == 0:
		l.Placement = "no process uses a GPU"
	case busy == 1 && most > 1:
		l.Placement = fmt.Sprintf("one process on %d GPUs, as -g %d of rccl-tests", most, most)
	case most == 1 && shared == 1:
		l.Placement = fabric.Count(busy, "process") + ", one a GPU"
	case shared > 1:
		l.Placement = fmt.Sprintf("%s on %s; up to %d share one", fabric.Count(busy, "process"), fabric.Count(len(users), "GPU"), shared)
	default:
		l.Placement = fmt.Sprintf("%s on %s", fabric.Count(busy, "process"), fabric.Count(len(users), "GPU"))
	}
}

// judge fails where one GPU is behind in each of several busy samples: in one alone a test may just begin or end.
func (l *PCIeLoad) judge() {
	busy := 0
	behind := make(map[int]int)
	for i := range l.Samples {
		s := &l.Samples[i]
		_, most := s.Range()
		if s.Idle = most < idleLoad; s.Idle {
			continue
		}
		busy++
		for gpu, mbs := range s.MBs {
			if mbs < unevenLoad*most {
				s.Uneven = true
				behind[gpu]++
			}
		}
	}
	var always []string
	for gpu, n := range behind {
		if n == busy && busy > 1 {
			always = append(always, fmt.Sprintf("GPU%d", gpu))
		}
	}
	slices.Sort(always)
	uneven := slices.ContainsFunc(l.Samples, func(s LoadSample) bool { return s.Uneven })
	switch {
	case l.holes() != "":
		l.Why = l.holes()
	case len(l.Samples) == 0:
		l.Why = "there is no sample of the bandwidth (rocm-smi -b)"
	case busy == 0:
		l.Why = "every sample is idle: nothing ran that crosses PCIe"
	case len(always) > 0:
		l.Status, l.Why = fabric.Fail, strings.Join(always, ", ")+fmt.Sprintf(": less than half of the busiest GPU in each of %d samples", busy)
	case uneven && busy == 1:
		l.Why = "the one busy sample is uneven: a test that begins or ends, or a GPU that is behind; take several"
	case l.Samples[len(l.Samples)-1].Uneven:
		l.Why = "the last sample is uneven: the test ended in it, or a GPU is behind; take more"
	default:
		l.Status, l.Why = fabric.Pass, "no GPU is behind in all busy samples"
	}
}

// holes says which sample lacks a GPU that another one has, or that the numbers leave out; empty where none does.
func (l *PCIeLoad) holes() string {
	count := 0
	for _, s := range l.Samples {
		for gpu := range s.MBs {
			count = max(count, gpu+1)
		}
	}
	for i, s := range l.Samples {
		if len(s.MBs) < count {
			return fmt.Sprintf("sample %d has %d of %d GPUs: it is cut, or rocm-smi could not read the others", i+1, len(s.MBs), count)
		}
	}
	return ""
}

// Range returns the least and the most of a sample, MB/s.
func (s LoadSample) Range() (least, most float64) {
	least = math.Inf(1)
	for _, mbs := range s.MBs {
		least, most = min(least, mbs), max(most, mbs)
	}
	return least, most
}
