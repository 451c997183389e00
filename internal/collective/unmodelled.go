package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclenv"
)

// modelled are the settings that change a prediction where they matter.
func (c *Cluster) modelled() []string {
	both := []string{"NCCL_ALGO", "NCCL_PROTO", "NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_NET_GDR_LEVEL", "NCCL_P2P_DISABLE", "NCCL_SOCKET_NTHREADS"}
	if c.gpu.amd {
		return append(both, "RCCL_MSCCL_ENABLE")
	}
	own := []string{
		"NCCL_NVLS_ENABLE", "NCCL_COLLNET_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_SHM_DISABLE", "NCCL_SWITCHLESS_RING_ONLY",
		"NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", "NCCL_MAX_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MIN_CTAS",
		"NCCL_MAX_P2P_NCHANNELS", "NCCL_P2P_NVL_CHUNKSIZE", "NCCL_NTHREADS", "NCCL_LL128_NTHREADS", "NCCL_BUFFSIZE",
	}
	return slices.Concat(both, own, searches())
}

// Follows reports whether a prediction changes with a setting, on machines where it matters.
func (c *Cluster) Follows(name string) bool { return slices.Contains(c.modelled(), name) }

// settingsSaid says of each setting of a job what the prediction does not show: what the library makes of a value that is none, which
// settings it does not know, which are read by something else, which it knows and the prediction does not follow, and which take no
// part in the time. Those that it does not follow are listed too.
func (c *Cluster) settingsSaid(job Job) (remarks, beyond []string) {
	var others, silent []string
	for _, name := range slices.Sorted(maps.Keys(job.Env)) {
		set := name + "=" + job.Env[name]
		v, known := ncclenv.Known(name)
		reader := ncclenv.Beside(name)
		if known {
			remarks = append(remarks, c.valueSaid(v, job)...)
		}
		switch {
		case known && !c.reads(v, job):
			remarks = append(remarks, fmt.Sprintf("%s: %s does not read it: it has no effect", set, c.notReading(v, job)))
		case c.Follows(name) || c.setsLinks(job, name):
		case known && v.Quiet():
			silent = append(silent, set)
		case known:
			beyond = append(beyond, set)
		case reader != "":
			others = append(others, fmt.Sprintf("%s (%s)", set, reader))
		case ncclenv.Ours(strings.ToUpper(name)): // nccl_debug is meant to be one
			remarks = append(remarks, c.unknownSaid(name))
		default:
			others = append(others, set)
		}
	}
	for _, l := range []struct {
		what string
		all  []string
	}{
		{"not modelled, the prediction is the one without", beyond},
		{"not read by " + c.library() + " and not modelled, the prediction is the one without", others},
		{"takes no part in the time of a collective", silent},
	} {
		if len(l.all) > 0 {
			remarks = append(remarks, l.what+": "+strings.Join(l.all, ", "))
		}
	}
	return remarks, beyond
}

// unknownSaid is what a name means that begins as those of the library do and is none of them.
func (c *Cluster) unknownSaid(name string) string {
	said := fmt.Sprintf("%s knows no variable %s: it has no effect", c.library(), name)
	if near := ncclenv.Nearest(name); len(near) > 0 {
		said += "; the nearest is " + near[0]
	}
	return said
}

// reads reports whether the library of the machine, in the version of the job, reads a variable.
func (c *Cluster) reads(v ncclenv.Variable, job Job) bool {
	if c.gpu.amd {
		return v.RCCL
	}
	return v.Read(minor(job))
}

// reading is the job with the settings that the library reads in its version.
func (c *Cluster) reading(job Job) Job {
	env := maps.Clone(job.Env)
	maps.DeleteFunc(env, func(name, _ string) bool {
		v, known := ncclenv.Known(name)
		return known && !c.reads(v, job)
	})
	job.Env = env
	return job
}

// notReading names the library that does not read a variable, in the version that was looked at.
func (c *Cluster) notReading(v ncclenv.Variable, job Job) string {
	if c.gpu.amd {
		return "RCCL " + ncclenv.NewestRCCL
	}
	if !v.NCCL {
		return "NCCL"
	}
	return fmt.Sprintf("NCCL 2.%d", minor(job))
}

// minor is the middle number of the version of NCCL of a job: as stated, else the one that is followed.
func minor(job Job) int {
	const next = 30000 // 3.0, whose variables nobody has read
	v, _ := versionOf(job)
	if stated, err := fabric.ParseNCCLVersion(job.Version); err == nil && stated < next {
		v = stated
	}
	return v.Minor()
}

// valueSaid is what the library makes of a value that is not of its kind, or out of the range that NCCL takes.
func (c *Cluster) valueSaid(v ncclenv.Variable, job Job) []string {
	value := job.Env[v.Name]
	said := v.Problem(value)
	if said == "" && v.Kind == ncclenv.Int && value != "" && !c.gpu.amd {
		_, said = ncclenv.Taken(v.Name, job.integer(v.Name, 0))
	}
	if v.Name == "NCCL_NET" && !builtIn(value) {
		said = "it names a network, and the library itself has IB and Socket: the job ends unless a plugin calls itself so"
	}
	if said == "" {
		return nil
	}
	return []string{v.Name + "=" + value + ": " + said}
}

// builtIn reports whether a network is one of the library's own (nccl, src/transport/net_ib and net_socket.cc), or none is named.
func builtIn(name string) bool {
	return name == "" || strings.EqualFold(name, "IB") || strings.EqualFold(name, "Socket")
}
