package collective

import (
	"cmp"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Job is what runs on a Cluster.
type Job struct {
	Collective fabric.Collective
	Env        map[string]string   // of NCCL or RCCL, by name: NCCL_ALGO, NCCL_PROTO, NCCL_NVLS_ENABLE, ...
	Processes  int                 // per node: 1 drives all GPUs of a node (-g 8); 0 is one for each GPU, or as Each says
	Each       int                 // GPUs for which one thread of a process launches kernels (-g); 0: unknown
	Iterations int                 // launches of the test before it waits (-n); 0: what nccl-tests has, 20
	DType      string              // as nccl-tests prints it: float, int8, ...; empty is float
	Tuning     []fabric.TuningCell // of a debug log: they replace the model's own estimate
	Version    string              // of the library: 2.25.1; empty: unknown
	Placement  *Placement          // which GPUs and NICs each worker has; nil: whole nodes
}

// JobOf reads the config of a table file: keys with NCCL_, RCCL_ and UCX_ are environment variables; dtype, procs
// (processes per node), ngpus (GPUs of a thread, as the banner of nccl-tests has it), iterations, nccl or rccl (version) and launch (text:
// "-g 8", "1 process per node, 8 GPUs") are known; anything else has no effect.
func JobOf(c fabric.Collective, config map[string]string) Job {
	j := Job{Collective: c, Env: map[string]string{}, DType: config["dtype"], Version: cmp.Or(config["nccl"], config["rccl"])}
	for k, v := range config {
		if strings.HasPrefix(k, "NCCL_") || strings.HasPrefix(k, "RCCL_") || strings.HasPrefix(k, "UCX_") {
			j.Env[k] = strings.Trim(v, " ?") // who wrote the table marks a guess so
		}
	}
	if n, err := strconv.Atoi(config["procs"]); err == nil && n > 0 {
		j.Processes = n
	}
	if n, err := strconv.Atoi(config["ngpus"]); err == nil && n > 0 {
		j.Each = n
	}
	if n, err := strconv.Atoi(config["iterations"]); err == nil && n > 0 {
		j.Iterations = n
	}
	if j.Processes == 0 && j.Each == 0 {
		j.started(config["launch"])
	}
	return j
}

// started reads how a test was started, as people write it: "-g 8", "8 processes per node", "1 process per GPU".
func (j *Job) started(launch string) {
	words := strings.Fields(strings.ToLower(strings.NewReplacer(",", " ", "(", " ", ")", " ").Replace(launch)))
	for i, w := range words {
		number := func(at int) int {
			if at < 0 || at >= len(words) {
				return 0
			}
			n, err := strconv.Atoi(words[at])
			if err != nil || n < 1 {
				return 0
			}
			return n
		}
		switch {
		case w == "-g" || w == "--ngpus":
			j.Each = number(i + 1)
		case (w == "process" || w == "processes") && i+2 < len(words) && words[i+1] == "per" && words[i+2] == "gpu":
			j.Each = number(i - 1)
		case (w == "process" || w == "processes") && number(i-1) > 0:
			j.Processes = number(i - 1)
		}
	}
}
