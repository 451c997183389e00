package manifestcheck

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/pattern"
)

// count is a number of a command line.
type count struct {
	n          int
	set, known bool
	text       string
}

func (c count) or(n int) int {
	if !c.set {
		return n
	}
	return c.n
}

// engine is the command that serves a model, as far as its flags say. Names of flags: vllm/engine/arg_utils.py and
// vllm/entrypoints/openai/cli_args.py; sglang/srt/server_args.py; torch/distributed/run.py.
type engine struct {
	name              string // vllm, sglang, torchrun, ray
	cmd               manifest.Command
	tp, pp, dp        count
	dpLocal           count
	nnodes, nodeRank  count
	port, host        string
	portSet, hostSet  bool
	fraction          string // of the memory
	initAddr, model   string
	dpAttention       bool // SGLang: replicas of attention divide tp
	headless, workers bool // it serves no HTTP: vLLM's --headless, a worker of Ray
}

// engine finds the command of the container that serves a model; nil: none is known.
func (s scene) engine() *engine {
	var ray *engine
	for _, c := range s.c.Script.Commands {
		if name := engineOf(c); name == "ray" {
			ray = s.read("ray", c)
		} else if name != "" {
			return s.read(name, c)
		}
	}
	if ray != nil {
		return ray
	}
	// An image whose entry point is the engine gets the flags as its arguments: vllm/vllm-openai (docker/Dockerfile: ENTRYPOINT).
	if s.c.Script.Open && strings.Contains(s.c.Image.Value, "vllm-openai") && len(s.c.Script.Commands) > 0 {
		return s.read("vllm", s.c.Script.Commands[0])
	}
	return nil
}

func engineOf(c manifest.Command) string {
	switch {
	case len(c.Words) == 0:
	case c.Runs("vllm", "serve"), c.Runs("-m", "vllm.entrypoints.openai.api_server"), c.Runs("-m", "vllm.entrypoints.api_server"), c.Runs("-m", "dynamo.vllm"):
		return "vllm"
	case c.Runs("-m", "sglang.launch_server"), c.Runs("sglang", "serve"), c.Runs("-m", "dynamo.sglang"):
		return "sglang"
	case c.Runs("torchrun"), c.Runs("-m", "torch.distributed.run"), c.Runs("-m", "torch.distributed.launch"):
		return "torchrun"
	case c.Runs("ray", "start"):
		return "ray"
	}
	return ""
}

func (s scene) read(name string, c manifest.Command) *engine {
	e := &engine{name: name, cmd: c}
	e.tp = s.count(c, "--tensor-parallel-size", "-tp", "--tp", "--tp-size")
	e.pp = s.count(c, "--pipeline-parallel-size", "-pp", "--pp", "--pp-size")
	e.dp = s.count(c, "--data-parallel-size", "-dp", "--dp", "--dp-size")
	e.dpLocal = s.count(c, "--data-parallel-size-local", "-dpl")
	e.nnodes, e.nodeRank = s.count(c, "--nnodes", "-n"), s.count(c, "--node-rank", "-r")
	if name != "vllm" && name != "sglang" {
		e.nnodes, e.nodeRank = s.count(c, "--nnodes"), s.count(c, "--node-rank")
	}
	e.port, e.portSet = c.Flag("--port")
	e.host, e.hostSet = c.Flag("--host")
	e.port, e.host = s.expand(e.port), s.expand(e.host)
	e.fraction, _ = c.Flag("--gpu-memory-utilization", "--mem-fraction-static")
	e.fraction = s.expand(e.fraction)
	e.initAddr, _ = c.Flag("--dist-init-addr", "--nccl-init-addr", "--master-addr", "--rdzv-endpoint", "--data-parallel-address", "-dpa")
	e.model, _ = c.Flag("--model", "--model-path")
	_, e.headless = c.Flag("--headless")
	_, e.dpAttention = c.Flag("--enable-dp-attention")
	if address, ok := c.Flag("--address"); ok && name == "ray" && address != "" {
		e.workers = true
	}
	return e
}

// count reads a whole number of a flag.
func (s scene) count(c manifest.Command, names ...string) count {
	v, ok := c.Flag(names...)
	if !ok {
		return count{}
	}
	v = s.expand(v)
	n, err := strconv.Atoi(v)
	return count{n: n, set: true, known: err == nil, text: v}
}

var reference = pattern.Plain(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)`)

// expand puts the values of variables where a word refers to them: $(NAME) of Kubernetes, $NAME and ${NAME:-default} of a shell.
// What is unknown stays as it is. LWS sets LWS_GROUP_SIZE itself (pkg/utils/pod/pod_utils.go).
func (s scene) expand(word string) string {
	return reference().ReplaceAllStringFunc(word, func(ref string) string {
		m := reference().FindStringSubmatch(ref)
		name := m[1] + m[2] + m[4]
		if t, ok := s.setting(name); ok && t.Known() {
			return t.Value
		}
		if name == "LWS_GROUP_SIZE" && s.w.Kind == "LeaderWorkerSet" && s.w.Group > 0 {
			return strconv.Itoa(s.w.Group)
		}
		if m[3] != "" {
			return m[3]
		}
		return ref
	})
}

// world is how many GPUs one server takes in all: tp x pp for each replica of data parallelism. Replicas of SGLang's attention
// divide tp instead (server_args.py: enable_dp_attention, tp_size must be divisible by dp_size).
func (e *engine) world() (n int, known bool) {
	for _, c := range []count{e.tp, e.pp, e.dp} {
		if c.set && !c.known {
			return 0, false
		}
	}
	n = e.tp.or(1) * e.pp.or(1)
	if !e.dpAttention {
		n *= e.dp.or(1)
	}
	return n, true
}

// processes reports whether one container runs several ranks, which meet in /dev/shm.
func (s scene) processes() (n int, why string) {
	g, known, has := s.gpus()
	if e := s.engine(); e != nil {
		if w, ok := e.world(); ok && w > 1 {
			local := w
			if nodes, _, _ := s.nodes(); nodes > 1 {
				local = max(1, w/nodes)
			}
			if local > 1 {
				return local, "its engine starts " + strconv.Itoa(local) + " ranks here"
			}
		}
	}
	if has && known && g > 1 {
		return g, "it has " + strconv.Itoa(g) + " GPUs"
	}
	return 0, ""
}
