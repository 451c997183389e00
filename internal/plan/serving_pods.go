package plan

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

const (
	servingPort = 8000 // that vLLM answers on by default; of SGLang it is set
	// mostPods of a group that are tried: the largest layouts that internal/sizing searches.
	mostPods = 16
	// sharedPerGPU is of /dev/shm, in bytes: 16 GiB for 8 GPUs in example 5 of "Deploy Distributed LLM Inference with GPUDirect RDMA over
	// InfiniBand in VMware Private AI". It is a limit, and not taken at once.
	sharedPerGPU = 2 << 30
	// slowestGBs is what a machine reads of storage of which nothing is known: less than half of what the slowest in use for this does
	// (1.13 GB/s, 10.4 of that document).
	slowestGBs = 0.5
	// downloadGBs is an uplink of 1 Gb/s less a fifth: what a site has at least that downloads hundreds of GB.
	downloadGBs = 0.1
	longestName = 40 // of a group: the names of its pods, volumes and revisions end with more, and have 63 characters at most
)

// The parts of a start that do not depend on the weights, in seconds.
const (
	// joinTime: the image of an engine is 10 to 20 GB, and a machine that has it not yet is at 20 MB/s of a slow registry last.
	joinTime    = 1000
	importsTime = 300  // Python imports and the model's configuration, a minute or two on a cold image
	graphsTime  = 1200 // SGLang's documents give around 10 min for compiling DeepGEMM's kernels; twice that
	// loadBarrier is how long SGLang waits for the last rank after the first has loaded, which nothing sets (model_runner.py,
	// UNBALANCED_MODEL_LOADING_TIMEOUT_S).
	loadBarrier = 480
)

// serveInPods plans how pods serve the model of the cluster file: as many groups as there are pods for, each of the fewest on which the
// model fits. What fits nowhere is no error: the cluster is planned all the same, and the plan says why.
func serveInPods(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	if c.Serving == nil || c.Launcher != intent.Kubernetes || p.Pods == nil || len(p.Nodes) == 0 {
		return nil
	}
	s, req, err := served(c, cat)
	if err != nil {
		return err
	}
	p.Serving = s
	remoteCode(p, c, cat)
	g := podGroups{plan: p, cluster: c, serving: s, request: req}
	if s.Refused, err = g.fit(); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	if s.Refused != "" {
		p.Notes = append(p.Notes, fmt.Sprintf("%s is not served: %s", s.Model, s.Refused))
		return nil
	}
	return g.fill()
}

// podGroups is the groups of pods of a plan in the making.
type podGroups struct {
	plan    *fabric.Plan
	cluster *intent.Cluster
	serving *fabric.Serving
	request sizing.Request
}

// pods is how many the machines have room for.
func (g podGroups) pods() int {
	if c := g.plan.Claims; c != nil {
		return c.Pods
	}
	return len(g.plan.Nodes)
}

// fit chooses the layout, or says why there is none.
func (g *podGroups) fit() (refused string, err error) {
	for _, n := range g.plan.Nodes {
		if n.Machine != g.plan.Nodes[0].Machine {
			return fmt.Sprintf("machines of a group are alike, and the cluster has %s and %s: plan two clusters", g.plan.Nodes[0].Machine, n.Machine), nil
		}
	}
	if c := g.plan.Claims; c != nil && len(c.Blocks) > 1 {
		return fmt.Sprintf("the pods of a machine have %d different claims, and those of a group are alike: use kubernetes.pod.align pcie-root or none, or pods with a whole machine", len(c.Blocks)), nil
	}
	if g.request.Model.DiskBytes < 1 {
		return "the size of its weights is unknown, so no volume can be planned", nil
	}
	g.whole()
	least, most := 1, min(g.pods(), mostPods)
	if asked := g.cluster.Serving.Group; asked > 0 {
		if asked > g.pods() {
			return fmt.Sprintf("serving.group is %d, and the machines have room for %s", asked, fabric.Count(g.pods(), "pod")), nil
		}
		least, most = asked, asked
	}
	var last string
	for n := least; n <= most; n++ {
		layout, why, err := layoutOn(g.request, n)
		if err != nil {
			return "", err
		}
		if layout == nil {
			last = fmt.Sprintf("on %s: %s", fabric.Count(n, "pod"), why)
			continue
		}
		if why := g.needsRay(n); why != "" {
			return why, nil
		}
		g.serving.Layout = *layout
		return "", nil
	}
	return cmp.Or(last, "there is no pod"), nil
}

// whole makes the machine of the request that which a pod sees.
func (g *podGroups) whole() {
	pods := g.plan.Pods
	if m := &g.request.Machine; pods.GPUs < m.PerNode {
		m.PerNode, m.ScaleUp = pods.GPUs, pods.GPUs
		if pods.Rails > 0 {
			m.NICs = pods.Rails
		}
	}
}

// needsRay says why vLLM does not span pods: before 0.11.1 it does so by Ray alone, which is not rendered.
func (g *podGroups) needsRay(pods int) string {
	v, err := sizing.ParseVersion(g.serving.Version)
	if g.serving.Engine != "vllm" || pods < 2 || err != nil || v.Major > 0 || v.Minor > 11 || v.Minor == 11 && v.Patch > 0 {
		return ""
	}
	return fmt.Sprintf("vLLM %s spans machines by Ray, which is not rendered: set serving.engine_version to 0.11.1 or later, with an image of it (serving.image)", g.serving.Version)
}

// fill plans everything beside the layout.
func (g podGroups) fill() error {
	of, layout := g.cluster.Serving, g.serving.Layout
	groups := g.pods() / layout.Nodes
	if of.Replicas > groups {
		return fmt.Errorf("serving.replicas: %s of %s, and the machines have room for %d", fabric.Count(of.Replicas, "group"), fabric.Count(layout.Nodes, "pod"), groups)
	}
	groups = cmp.Or(of.Replicas, groups)
	s := &fabric.ServingPods{
		Kind: cmp.Or(g.cluster.Kubernetes.Groups, fabric.LeaderWorkerSets), Name: fabric.DNSLabel(path.Base(g.serving.Model), longestName), Namespace: g.plan.Pods.Namespace, Groups: groups, Size: layout.Nodes, Idle: g.pods() - groups*layout.Nodes,
		GPUs: g.plan.Pods.GPUs, Rails: g.plan.Pods.Rails, Port: servingPort, SharedBytes: sharedPerGPU * int64(g.plan.Pods.GPUs),
		TokenSecret: of.TokenSecret, PullSecrets: of.PullSecrets, Topology: topologyFile(g.plan.VSphere),
	}
	if q := g.cluster.Kubernetes.Queue; q != nil {
		s.Queue = &fabric.ServingQueue{With: q.With, Name: q.Name, Topology: q.Topology}
	}
	if g.plan.Cloud != nil {
		s.Cloud, s.Selector = g.plan.Cloud.Provider, "railwright="+g.plan.Cloud.Cluster
	}
	if err := g.weights(s); err != nil {
		return fmt.Errorf("serving.storage: %w", err)
	}
	g.times(s)
	g.commands(s)
	g.serving.Pods = s
	return nil
}

// weights plans volumes, and what is downloaded into them.
func (g podGroups) weights(s *fabric.ServingPods) error {
	asked := intent.Storage{}
	if g.cluster.Serving.Storage != nil {
		asked = *g.cluster.Serving.Storage
	}
	need, err := sizing.StorageFor(g.request.Model, g.request.Machine, g.serving.Layout, asked.Mode)
	if err != nil {
		return err
	}
	s.Weights = fabric.ServingWeights{
		Folder: "/weights/" + strings.ReplaceAll(g.serving.Model, "/", "--"), DownloadBytes: need.DownloadBytes, VolumeBytes: need.PVCBytes,
		Mode: need.AccessMode, Class: asked.Class, Only: need.Filter, GBs: asked.GBs, GBsSource: "serving.storage.gbs",
	}
	for _, e := range llm.Exclusions() {
		s.Weights.Except = append(s.Weights.Except, e.Pattern)
	}
	if s.Weights.GBs == 0 {
		s.Weights.GBs, s.Weights.GBsSource = slowestGBs, "assumed, as serving.storage.gbs does not say: less than half of what the slowest storage in use for this reads"
	}
	return nil
}

// times derives how long a start may take from the weights and the storage.
func (g podGroups) times(s *fabric.ServingPods) {
	load := int(math.Ceil(float64(s.Weights.DownloadBytes) / 1e9 / s.Weights.GBs))
	copies := 1
	if s.Weights.Mode == sizing.ReadWriteOnce {
		copies = s.Groups * s.Size
	}
	s.Times = fabric.ServingTimes{Join: joinTime, Imports: importsTime, Load: load, Graphs: graphsTime,
		Download: int(math.Ceil(float64(s.Weights.DownloadBytes) / 1e9 / downloadGBs * float64(copies)))}
	if g.serving.Engine == "sglang" && s.Size > 1 && load > loadBarrier {
		s.Times.Notes = append(s.Times.Notes, fmt.Sprintf("SGLang gives up %d s after its first rank has loaded, whatever is set, and loading may take %d s: the machines of a group have to read at like speed", loadBarrier, load))
	}
	if copies > 1 {
		s.Times.Notes = append(s.Times.Notes, fmt.Sprintf("%s: %d copies of %.0f GB are downloaded; with storage that all pods mount (ReadWriteMany) it is one", s.Weights.Mode, copies, float64(s.Weights.DownloadBytes)/1e9))
	}
}

// commands are the engine's: vLLM from 0.11.1 on without Ray, and SGLang (see sizing's start of both).
func (g podGroups) commands(s *fabric.ServingPods) {
	model := []string{"--served-model-name", g.serving.Model, "--host", "0.0.0.0", "--port", fmt.Sprint(s.Port)}
	switch g.serving.Engine {
	case "vllm":
		s.Command = append([]string{"vllm", "serve", s.Weights.Folder}, model...)
	default:
		s.Command = append([]string{"python3", "-m", "sglang.launch_server", "--model-path", s.Weights.Folder}, model...)
	}
	s.Command = append(s.Command, trust(g.serving)...)
	for _, f := range g.serving.Layout.Flags {
		s.Command = append(s.Command, strings.Fields(f)...)
	}
	if s.Size < 2 {
		return
	}
	limit := fmt.Sprint(s.Times.Startup())
	if g.serving.Engine != "vllm" {
		s.Command = append(s.Command, "--dist-timeout", limit)
		s.Joining = []string{"--node-rank", "$RANK", "--dist-init-addr", fmt.Sprintf("$LEADER:%d", masterPort)}
		return
	}
	s.Command = append(s.Command, "--distributed-executor-backend", "mp", "--nnodes", fmt.Sprint(s.Size))
	if v, err := sizing.ParseVersion(g.serving.Version); err == nil && (v.Major > 0 || v.Minor >= timeoutSince) {
		s.Command = append(s.Command, "--distributed-timeout-seconds", limit)
	}
	s.Joining = []string{"--node-rank", "$RANK", "--master-addr", "$LEADER", "--master-port", fmt.Sprint(masterPort)}
	s.OfWorkers = []string{"--headless"}
}

// timeoutSince is the minor version 0 of vLLM in which --distributed-timeout-seconds was read (engine/arg_utils.py).
const timeoutSince = 18

// topologyFile is that of the class of virtual machines, where all nodes have one: a pod does not know on which of several it is.
func topologyFile(v *fabric.VSphere) (name string) {
	if v == nil {
		return ""
	}
	for _, class := range v.Classes {
		switch {
		case len(class.Nodes) == 0 || class.GPUs == 0 || class.NICs == 0:
		case name != "":
			return ""
		default:
			name = class.Name + ".xml"
		}
	}
	return name
}
