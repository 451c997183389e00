package sizing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Ports of the first server that other servers connect to: any free ones. Those of SGLang and of vLLM's data parallelism
// are the ones in their documents, that of Ray is its default.
const (
	sglangPort = 20000
	rayPort    = 6379
	dpPort     = 13345
)

// started is a command on some servers. The text names what its variables are.
func started(on string, words ...string) fabric.SizingStart {
	for _, variable := range []struct{ name, value string }{
		{"$HEAD_ADDR", "HEAD_ADDR=the address of the first server"}, {"$MODEL_PATH", "MODEL_PATH=the folder of the weights"},
	} {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, variable.name) }) {
			continue
		}
		switch {
		case on == "":
			on = "with " + variable.value
		case strings.Contains(on, " with "):
			on += " and " + variable.value
		default:
			on += ", with " + variable.value
		}
	}
	return fabric.SizingStart{On: on, Words: words}
}

// sglangStart is one command for every server (SGLang documentation, Multi-Node Deployment).
func sglangStart(s setting, model string, flags []string) []fabric.SizingStart {
	words := []string{"python3", "-m sglang.launch_server", "--model-path " + model}
	if s.Layout.Nodes < 2 {
		return []fabric.SizingStart{started("", append(words, flags...)...)}
	}
	words = append(words, "--node-rank $NODE_RANK", "--dist-init-addr $HEAD_ADDR:"+strconv.Itoa(sglangPort))
	return []fabric.SizingStart{started(fmt.Sprintf("on each server, with NODE_RANK=0 to %d", s.Layout.Nodes-1), append(words, flags...)...)}
}

// vllmStart: on several servers data parallel replicas that fit a server start by themselves (vLLM documentation, Data
// Parallel Deployment); else one replica spans servers, from 0.11.1 on by vLLM's own processes (docs/serving/
// parallelism_scaling.md; engine/arg_utils.py of the wheels has --nnodes in 0.11.1 and 0.12.0, not in 0.11.0), and by Ray
// before.
func vllmStart(s setting, model string, flags []string) []fabric.SizingStart {
	l := s.Layout
	serve := append([]string{"vllm", "serve", model}, flags...)
	with := func(more ...string) []string { return slices.Concat(serve, more) }
	if l.Nodes < 2 {
		return []fabric.SizingStart{started("", serve...)}
	}
	others := func(what string) string {
		if l.Nodes == 2 {
			return "on the second server, with " + what + "=1"
		}
		return fmt.Sprintf("on each other server, with %s=1 to %d", what, l.Nodes-1)
	}
	if replica := l.TP * l.PP; l.DP > 1 && (l.GPUs/l.Nodes)%replica == 0 {
		local := l.GPUs / l.Nodes / replica
		split := []string{"--data-parallel-size-local " + strconv.Itoa(local), "--data-parallel-address $HEAD_ADDR", "--data-parallel-rpc-port " + strconv.Itoa(dpPort)}
		return []fabric.SizingStart{
			started("on the first server", with(split...)...),
			started(firstRanks(l.Nodes, local), with(append(split, "--data-parallel-start-rank $START_RANK", "--headless")...)...),
		}
	}
	if s.version.at(0, 11, 1) {
		nodes := func(rank string) []string {
			return []string{"--nnodes " + strconv.Itoa(l.Nodes), "--node-rank " + rank, "--master-addr $HEAD_ADDR"}
		}
		return []fabric.SizingStart{
			started("on the first server", with(nodes("0")...)...),
			started(others("NODE_RANK"), with(append(nodes("$NODE_RANK"), "--headless")...)...),
		}
	}
	ray := []string{"--distributed-executor-backend ray"}
	if l.DP > 1 {
		ray = append(ray, "--data-parallel-backend ray")
	}
	return []fabric.SizingStart{
		started("first, on the first server: vLLM "+s.version.String()+" spans servers by Ray", "ray", "start", "--head", "--port "+strconv.Itoa(rayPort)),
		started("then on each other server", "ray", "start", "--address $HEAD_ADDR:"+strconv.Itoa(rayPort)),
		started("then on the first server", with(ray...)...),
	}
}

// firstRanks says on which servers the rest of the replicas start, and with which rank.
func firstRanks(nodes, local int) string {
	if nodes == 2 {
		return fmt.Sprintf("on the second server, with START_RANK=%d", local)
	}
	const all = 5 // servers whose ranks are all written out
	ranks := []string{}
	for n := 1; n < nodes && n < all; n++ {
		ranks = append(ranks, strconv.Itoa(n*local))
	}
	if nodes > all {
		ranks = append(ranks, "...", strconv.Itoa((nodes-1)*local))
	}
	return "on each other server, with START_RANK=" + strings.Join(ranks, ", ")
}
