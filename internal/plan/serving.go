package plan

import (
	"cmp"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

// serve plans on how many machines the model of the cluster file is served, and with which commands: on all of them if the
// engine can spread it so and it fits, else on the most that it can. What fits on none is no error: the network is planned all
// the same, and the plan says why.
func serve(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	if c.Serving == nil || len(p.Nodes) == 0 {
		return nil
	}
	s, req, err := served(c, cat)
	if err != nil {
		return err
	}
	p.Serving = s
	remoteCode(p, c, cat)
	if err := s.Spread(len(p.Nodes), func(nodes int) (*fabric.SizingPlan, string, error) { return layoutOn(req, nodes) }); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	if s.Refused != "" {
		p.Notes = append(p.Notes, fmt.Sprintf("%s is not served: %s", s.Model, s.Refused))
		return nil
	}
	launch(p, s)
	return nil
}

// served is the model of the cluster file with its engine, and what sizes it on machines of the first group.
func served(c *intent.Cluster, cat *catalog.Catalog) (*fabric.Serving, sizing.Request, error) {
	id := c.Nodes[0].Machine
	image := cat.EngineImage(c.Serving.Engine, id)
	s := &fabric.Serving{Engine: c.Serving.Engine, Version: cmp.Or(c.Serving.Version, image.Version), Image: image.Image, ImageSource: image.Source}
	if c.Serving.Image != "" {
		s.Image, s.ImageSource = c.Serving.Image, "cluster file"
	}
	model, err := llm.Open(c.Serving.Model, cat)
	if err != nil {
		return nil, sizing.Request{}, fmt.Errorf("serving.model: %w", err)
	}
	found, err := cat.Model(c.Serving.Model)
	if err != nil {
		return nil, sizing.Request{}, fmt.Errorf("serving.model: %w", err)
	}
	s.Model = found.Published
	s.RemoteCode = c.Serving.RemoteCode != nil && *c.Serving.RemoteCode
	machine, err := sizing.MachineOf(cat, id)
	if err != nil {
		return nil, sizing.Request{}, fmt.Errorf("serving: %w", err)
	}
	return s, sizing.Request{Model: model, Machine: machine, Engine: s.Engine, EngineVersion: s.Version, Context: int64(c.Serving.Context)}, nil
}

// remoteCode notes that a model needs code of its repository, which no engine runs unless it is told to, where the cluster file leaves
// it open. Whoever sets the field has decided.
func remoteCode(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) {
	if found, err := cat.Model(c.Serving.Model); err == nil && found.Entry.RemoteCode != "" && c.Serving.RemoteCode == nil {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %s may refuse it unless it may run Python code of the model's repository (%s): read that code, then set serving.trust_remote_code: true, or false where it starts without it",
			found.Published, p.Serving.Engine, found.Entry.RemoteCode))
	}
}

// trust is the argument with which an engine runs code of the model's repository: of SGLang and of vLLM the same.
func trust(s *fabric.Serving) []string {
	if s.RemoteCode {
		return []string{"--trust-remote-code"}
	}
	return nil
}

// layoutOn is the layout of a model on so many machines, the one that holds most tokens; nil where none fits, and why.
func layoutOn(req sizing.Request, nodes int) (*fabric.SizingPlan, string, error) {
	req.Nodes = nodes
	answer, err := sizing.Plan(req)
	if err != nil {
		return nil, "", err
	}
	var best *fabric.SizingPlan
	for i, plan := range answer.Plans {
		if plan.Fits && plan.Nodes == nodes && plan.DP == 1 && (best == nil || plan.KVTokens > best.KVTokens) {
			best = &answer.Plans[i]
		}
	}
	if best != nil {
		return best, "", nil
	}
	var why []string
	for _, plan := range answer.Plans {
		why = append(why, plan.Limits...)
	}
	for _, r := range answer.Refused {
		why = append(why, r.Layout+": "+r.Reason)
	}
	return nil, cmp.Or(strings.Join(why[:min(len(why), 2)], "; "), "no layout of it fits"), nil
}

// masterPort is where the ranks of an engine meet: any free one, which neither engine takes for its answers (vLLM 8000, SGLang 30000).
const masterPort = 29501

// launch gives each machine its rank, its addresses and its command. On a pair and on a switch the head is reached by its first
// address on the fabric; in a ring machines reach it by different cables, so there its name on the ordinary network is used.
func launch(p *fabric.Plan, s *fabric.Serving) {
	addresses := p.Addressing.ByNode()
	at := func(node string) string {
		if nics := addresses[node].NICs; p.Wiring() != fabric.WiredRing && len(nics) > 0 {
			return nics[0].Address.Addr().String()
		}
		return ""
	}
	head := p.Nodes[0].Name
	for i, n := range p.Nodes {
		if i >= s.Layout.Nodes {
			s.Idle = append(s.Idle, fabric.ServingIdle{Node: n.Name, Why: s.Left[len(s.Left)-1].Why})
			continue
		}
		r := fabric.ServingRank{Node: n.Name, Address: at(n.Name), Head: cmp.Or(at(head), head)}
		r.Command = command(s, r, i)
		s.Ranks = append(s.Ranks, r)
	}
}

// command is the engine's, of vLLM from 0.11.1 on without Ray (see sizing's start of it) and of SGLang.
func command(s *fabric.Serving, r fabric.ServingRank, rank int) []string {
	several := s.Layout.Nodes > 1
	var words []string
	switch s.Engine {
	case "vllm":
		words = []string{"vllm", "serve", s.Model}
	default:
		words = []string{"python3", "-m", "sglang.launch_server", "--model-path", s.Model, "--host", "0.0.0.0"}
	}
	words = append(words, trust(s)...)
	for _, f := range s.Layout.Flags {
		words = append(words, strings.Fields(f)...)
	}
	switch {
	case !several:
	case s.Engine == "vllm":
		words = append(words, "--distributed-executor-backend", "mp", "--nnodes", fmt.Sprint(s.Layout.Nodes), "--node-rank", fmt.Sprint(rank),
			"--master-addr", r.Head, "--master-port", fmt.Sprint(masterPort))
		if rank > 0 {
			words = append(words, "--headless")
		}
	default:
		words = append(words, "--node-rank", fmt.Sprint(rank), "--dist-init-addr", fmt.Sprintf("%s:%d", r.Head, masterPort))
	}
	return words
}
