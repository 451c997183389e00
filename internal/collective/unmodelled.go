package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// quiet reports whether a variable only says what is printed, or how processes meet, which takes no part of the time.
func quiet(v ncclenv.Variable) bool {
	return v.Kind == ncclenv.Level || v.Kind == ncclenv.Subsystems || strings.HasPrefix(v.Name, "NCCL_DEBUG")
}

// unread says which settings of an environment the library does not know, and which it knows and the prediction does not
// follow: a prediction with them is the one without.
func (c *Cluster) unread(env map[string]string) (remarks []string) {
	var beyond []string
	follows := c.modelled()
	for _, o := range c.otherLinks() {
		if env[o.name] == o.value {
			follows = append(follows, o.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		v, known := ncclenv.Known(name)
		switch {
		case slices.Contains(follows, name):
		case known && !quiet(v):
			beyond = append(beyond, name+"="+env[name])
		case !known && ncclenv.Ours(name) && ncclenv.Beside(name) == "":
			said := fmt.Sprintf("%s knows no variable %s: it has no effect", c.library(), name)
			if near := ncclenv.Nearest(name); len(near) > 0 {
				said += "; the nearest is " + near[0]
			}
			remarks = append(remarks, said)
		}
	}
	if len(beyond) > 0 {
		remarks = append(remarks, "not modelled, the prediction is the one without: "+strings.Join(beyond, ", "))
	}
	return remarks
}

// Follows reports whether a prediction changes with a setting, on machines where it matters.
func (c *Cluster) Follows(name string) bool { return slices.Contains(c.modelled(), name) }
