package collective

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Job is what runs on a Cluster.
type Job struct {
	Collective fabric.Collective
	Env        map[string]string   // of NCCL or RCCL, by name: NCCL_ALGO, NCCL_PROTO, NCCL_NVLS_ENABLE, ...
	Processes  int                 // per node: 1 drives all GPUs of a node (-g 8); 0 is one for each GPU
	DType      string              // as nccl-tests prints it: float, int8, ...; empty is float
	Tuning     []fabric.TuningCell // of a debug log: they replace the model's own estimate
	Version    string              // of the library: 2.25.1; empty: unknown
	Placement  *Placement          // which GPUs and NICs each worker has; nil: whole nodes
}

// JobOf reads the config of a table file: keys with NCCL_, RCCL_ and UCX_ are environment variables; dtype, procs
// (processes per node), nccl or rccl (version) and launch (text: "-g 8", "1 process per node, 8 GPUs") are known;
// anything else has no effect.
func JobOf(c fabric.Collective, config map[string]string) Job {
	j := Job{Collective: c, Env: map[string]string{}, DType: config["dtype"], Version: config["nccl"]}
	for k, v := range config {
		if strings.HasPrefix(k, "NCCL_") || strings.HasPrefix(k, "RCCL_") || strings.HasPrefix(k, "UCX_") {
			j.Env[k] = v
		}
	}
	if n, err := strconv.Atoi(config["procs"]); err == nil && n > 0 {
		j.Processes = n
	}
	launch := config["launch"]
	if j.Processes == 0 && (strings.Contains(launch, "-g ") || strings.HasPrefix(launch, "1 process per node") || strings.HasPrefix(launch, "1 process x")) {
		j.Processes = 1
	}
	return j
}
