package manifestcheck

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/ncclenv"
	"railwright.dev/railwright/internal/pattern"
)

// takesPart reports whether a container is one that serves or runs collectives.
func (s scene) takesPart() bool {
	if _, _, has := s.gpus(); has {
		return true
	}
	if len(s.nicResources()) > 0 || s.engine() != nil {
		return true
	}
	for _, e := range s.c.Env {
		if e.Name == "GLOO_SOCKET_IFNAME" || e.Name == "TP_SOCKET_IFNAME" {
			return true
		}
	}
	return len(s.settings()) > 0
}

// launches reports whether a container starts ranks in others, for which its settings are: mpirun, without GPUs of its own.
func (s scene) launches() bool {
	if _, _, has := s.gpus(); has {
		return false
	}
	return slices.ContainsFunc(s.c.Script.Commands, func(c manifest.Command) bool { return c.Runs("mpirun") || c.Runs("mpiexec") || c.Runs("orterun") })
}

// gpus is how many GPUs a container gets; known is false where a template says.
func (s scene) gpus() (n int, known, has bool) {
	for _, from := range []map[string]manifest.Text{s.c.Limits, s.c.Requests} {
		for name, t := range from {
			if !isGPU(name) {
				continue
			}
			v, err := strconv.Atoi(t.Value)
			return v, err == nil && t.Known(), true
		}
	}
	return 0, false, false
}

// isGPU reports whether a resource is GPUs: nvidia.com/gpu, amd.com/gpu, their shared and MIG forms, GKE's and Intel's.
func isGPU(name string) bool {
	domain, kind, _ := strings.Cut(name, "/")
	return (domain == "nvidia.com" || domain == "amd.com" || domain == "gpu.intel.com" || domain == "habana.ai") &&
		(strings.HasPrefix(kind, "gpu") || strings.HasPrefix(kind, "mig-") || kind == "gaudi" || strings.HasPrefix(kind, "pgpu"))
}

// isNIC reports whether an extended resource is an RDMA device: by its domain (the shared device plugin's rdma, AWS's) or by what
// the SR-IOV plugin's configurations call it.
func isNIC(name string) bool {
	domain, kind, ok := strings.Cut(strings.ToLower(name), "/")
	if !ok || isGPU(name) {
		return false
	}
	if domain == "rdma" || domain == "vpc.amazonaws.com" && kind == "efa" || strings.HasPrefix(domain, "networking.gke.io.networks") {
		return true
	}
	for _, word := range []string{"rdma", "roce", "hca", "mlnx", "infiniband", "sriov", "efa", "nic", "irdma", "aclpf"} {
		if strings.Contains(kind, word) {
			return true
		}
	}
	return strings.HasPrefix(kind, "ib") || strings.HasSuffix(kind, "ib")
}

// nicResources are the RDMA devices that a container asks a device plugin for.
func (s scene) nicResources() map[string]manifest.Text {
	out := map[string]manifest.Text{}
	for _, from := range []map[string]manifest.Text{s.c.Requests, s.c.Limits} {
		for name, t := range from {
			if isNIC(name) {
				out[name] = t
			}
		}
	}
	return out
}

// hasRDMA says by what a container has RDMA devices; empty: by nothing that the text shows.
func (s scene) hasRDMA() string {
	for name := range s.nicResources() {
		return "the resource " + name
	}
	for _, m := range s.c.Mounts {
		if strings.HasPrefix(m.Path, "/dev/infiniband") || m.Path == "/dev" {
			return "the mount of " + m.Path
		}
	}
	for _, d := range s.c.Devices {
		if strings.HasPrefix(d, "/dev/infiniband") {
			return "the device " + d
		}
	}
	switch {
	case s.pod.Claims > 0:
		return "claims"
	case s.c.Privileged:
		return "privileged, which shows it the devices of the host"
	}
	return ""
}

// wish is a setting by which a container is meant to use RDMA.
type wish struct {
	what string
	line int
}

// wantsRDMA lists the settings that ask for RDMA by verbs.
func (s scene) wantsRDMA() (out []wish) {
	for _, name := range []string{"NCCL_IB_HCA", "NVSHMEM_HCA_LIST", "UCX_NET_DEVICES"} {
		if t, ok := s.setting(name); ok && t.Value != "" && (name != "UCX_NET_DEVICES" || rdmaName(strings.SplitN(t.Value, ":", 2)[0]) == "") {
			out = append(out, wish{name + "=" + t.Value, t.Line})
		}
	}
	if t, ok := s.setting("NCCL_NET"); ok && strings.EqualFold(t.Value, "IB") {
		out = append(out, wish{"NCCL_NET=" + t.Value, t.Line})
	}
	if t, ok := s.setting("FI_PROVIDER"); ok && t.Value == "efa" {
		out = append(out, wish{"FI_PROVIDER=efa", t.Line})
	}
	return out
}

// setting is what a container's process has of a variable: what its script sets last, else its environment. ok is false where
// neither does.
func (s scene) setting(name string) (manifest.Text, bool) {
	if set := s.c.Script.Assigned(name); len(set) > 0 {
		return set[len(set)-1], true
	}
	for _, c := range s.c.Script.Commands { // mpirun -x NAME=VALUE
		if v, ok := exported(c, name); ok {
			return manifest.Text{Value: v, Line: c.Line, Open: strings.ContainsAny(v, "$`")}, true
		}
	}
	if e, ok := s.c.Variable(name); ok {
		return e.Value, true
	}
	return manifest.Text{}, false
}

// exported finds a variable that mpirun passes on: -x NAME=VALUE, -genv NAME VALUE.
func exported(c manifest.Command, name string) (string, bool) {
	for i, w := range c.Words {
		if i+1 < len(c.Words) && (w == "-x" || w == "-genv" || w == "-env") {
			key, v, ok := strings.Cut(c.Words[i+1], "=")
			if key == name && ok {
				return v, true
			}
			if key == name && !ok && w != "-x" && i+2 < len(c.Words) {
				return c.Words[i+2], true
			}
		}
	}
	return "", false
}

// settings are all variables of NCCL that the container has, those of the environment and of its script.
func (s scene) settings() map[string]manifest.Text {
	out := map[string]manifest.Text{}
	for _, e := range s.c.Env {
		if ncclenv.Ours(strings.ToUpper(e.Name)) {
			out[e.Name] = e.Value
		}
	}
	for _, c := range s.c.Script.Commands {
		for i, w := range c.Words {
			name, _, ok := strings.Cut(w, "=")
			before := i == 0 || c.Words[0] == "export" || c.Words[0] == "env" || c.Words[i-1] == "-x" || strings.Contains(c.Words[i-1], "=")
			if ok && before && ncclenv.Ours(name) && variable().MatchString(name) {
				if t, has := s.setting(name); has {
					out[name] = t
				}
			}
		}
	}
	return out
}

var variable = pattern.Plain(`^[A-Z_][A-Z0-9_]*$`)

// nodes is how many pods or machines work on one model or job, and who says so; 1 where nothing says more, 0 where it is open.
func (s scene) nodes() (n int, line int, source string) {
	if s.w.Group > 1 {
		return s.w.Group, s.w.Line, s.w.Kind + " of " + strconv.Itoa(s.w.Group) + " pods"
	}
	if e := s.engine(); e != nil && e.nnodes.set {
		if !e.nnodes.known {
			return 0, e.cmd.Line, "--nnodes " + e.nnodes.text
		}
		return e.nnodes.n, e.cmd.Line, "--nnodes " + e.nnodes.text
	}
	return 1, 0, ""
}
