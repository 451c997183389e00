package render

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Files of the launch of an engine. The token is the owner's own file: it is read where it exists, and never written.
const (
	composePath = "/etc/railwright/serve/compose.yaml"
	runPath     = "/etc/railwright/serve/run.sh"
	tokenPath   = "/etc/railwright/serve/token.env"
)

// CheckServe returns why an engine is not launched: the model fits on no number of machines, or there is no image.
func CheckServe(s *fabric.Serving) error {
	switch {
	case s == nil:
		return nil
	case s.Refused != "":
		return fmt.Errorf("%s is not served: %s", s.Model, s.Refused)
	case s.Image == "":
		return fmt.Errorf("no image of %s is known for this machine: set serving.image and serving.engine_version", s.Engine)
	}
	return nil
}

// Serve renders how a machine starts its rank: a compose file, and the same as one docker run. None for a machine that serves
// nothing.
func Serve(node string, s *fabric.Serving, ring bool) []fabric.Artifact {
	rank, ok := rankOf(node, s)
	if !ok {
		return nil
	}
	c := container{Serving: s, ServingRank: rank, ring: ring}
	return []fabric.Artifact{
		newArtifact(node, composePath, modePublic, c.compose()),
		newArtifact(node, runPath, modeProgram, c.run()),
	}
}

func rankOf(node string, s *fabric.Serving) (fabric.ServingRank, bool) {
	if s == nil || CheckServe(s) != nil {
		return fabric.ServingRank{}, false
	}
	for _, r := range s.Ranks {
		if r.Node == node {
			return r, true
		}
	}
	return fabric.ServingRank{}, false
}

// container is one rank of an engine in a container.
type container struct {
	*fabric.Serving
	fabric.ServingRank
	ring bool
}

// officialVLLM is the image whose entrypoint is `vllm serve`; others take a whole command.
const officialVLLM = "vllm/vllm-openai"

// program is the entrypoint to set, empty for the image's own, and the words behind it.
func (c container) program() (entrypoint string, words []string) {
	if c.Engine == "vllm" && strings.HasPrefix(c.Image, officialVLLM) {
		return c.Command[0], c.Command[1:]
	}
	return "", c.Command
}

// environment is what this rank needs beside the environment of collectives.
func (c container) environment() (names []string) {
	if c.Engine == "vllm" && c.Address != "" {
		names = append(names, "VLLM_HOST_IP="+c.Address)
	}
	return names
}

// head says what the files are, as comment lines.
func (c container) head(start string) string {
	l := c.Layout
	text := fmt.Sprintf(`# Written by railwright from the plan; a change here is lost when it is rendered again.
# %s %s serves %s on %s: tp %d, pp %d, %d tokens of KV cache. It starts by itself on no machine:
#   %s
# on each of them, the head first; the head answers on its port once all have joined.
#
# Image: %s
# (%s)
# /dev/infiniband and unlimited locked memory are for RDMA, the host's network for its interfaces; nothing here needs
# a privileged container. GPU memory is the machine's own memory, and no memory limit of a container counts it: the
# engine's fraction, %s, keeps it in bounds, and the kernel ends this container before it ends sshd.
# A token for the download of weights belongs into %s, mode 600, as HF_TOKEN; it is read where it exists.
`, c.Engine, c.Version, c.Model, fabric.Count(l.Nodes, "machine"), l.TP, l.PP, l.KVTokens, start, c.Image, c.ImageSource,
		strconv.FormatFloat(l.MemFraction, 'g', 3, 64), tokenPath)
	if c.ring {
		text += "# In a ring the NCCL inside the image counts, not the host's: 2.30.7 or later, or one that was changed for it. NCCL_DEBUG\n" +
			"# VERSION makes it say its version, and `railwright explain` judges that log.\n"
	}
	return text
}

// sharedMemory of the container, for the queues between the engine's own processes. With one GPU per machine no collective
// passes through it, and every byte of it is missing to the model.
const sharedMemory = "2gb"

// oomScore makes this container the first that the kernel ends when memory is short (proc(5), oom_score_adj: -1000 to 1000).
const oomScore = 500

const weightsFolder = "/root/.cache/huggingface"

// compose writes every string in JSON's quotes, which YAML takes too. '$' is doubled against compose's own variables.
func (c container) compose() []byte {
	quote := func(word string) string { return strconv.QuoteToASCII(strings.ReplaceAll(word, "$", "$$")) }
	b := []byte(c.head("docker compose -f " + composePath + " up"))
	b = fmt.Appendf(b, "name: railwright-serve\nservices:\n  %s:\n    image: %s\n    network_mode: host\n    shm_size: %s\n    oom_score_adj: %d\n", c.Engine, quote(c.Image), sharedMemory, oomScore)
	b = fmt.Appendf(b, "    ulimits:\n      memlock: -1\n    devices:\n    - /dev/infiniband:/dev/infiniband\n")
	b = append(b, "    deploy:\n      resources:\n        reservations:\n          devices:\n          - driver: nvidia\n            count: all\n            capabilities: [gpu]\n"...)
	b = fmt.Appendf(b, "    env_file:\n    - path: %s\n    - path: %s\n      required: false\n", ncclPath, tokenPath)
	if names := c.environment(); len(names) > 0 {
		b = append(b, "    environment:\n"...)
		for _, n := range names {
			b = fmt.Appendf(b, "    - %s\n", quote(n))
		}
	}
	b = fmt.Appendf(b, "    volumes:\n    - ${MODELS:-${HOME}/.cache/huggingface}:%s\n", weightsFolder)
	entrypoint, words := c.program()
	if entrypoint != "" {
		b = fmt.Appendf(b, "    entrypoint: [%s]\n", quote(entrypoint))
	}
	b = append(b, "    command:\n"...)
	for _, w := range words {
		b = fmt.Appendf(b, "    - %s\n", quote(w))
	}
	return b
}

// run writes the same as one docker run.
func (c container) run() []byte {
	b := append([]byte("#!/bin/sh\n"), c.head("sudo "+runPath)...)
	b = append(b, "set -eu\nset --\n"...)
	b = fmt.Appendf(b, "if [ -f %s ]; then set -- --env-file %s; fi\n", tokenPath, tokenPath)
	line := func(format string, args ...any) { b = fmt.Appendf(b, " \\\n    "+format, args...) }
	b = append(b, "exec docker run --rm --name railwright-serve"...)
	line("--gpus all --network host --shm-size %s --oom-score-adj %d", sharedMemory, oomScore)
	line("--ulimit memlock=-1 --device /dev/infiniband")
	line("--env-file %s \"$@\"", ncclPath)
	for _, n := range c.environment() {
		line("--env %s", fabric.ShellWord(n))
	}
	line("--volume \"${MODELS:-$HOME/.cache/huggingface}:%s\"", weightsFolder)
	entrypoint, words := c.program()
	if entrypoint != "" {
		line("--entrypoint %s", fabric.ShellWord(entrypoint))
	}
	line("%s", fabric.ShellWord(c.Image))
	for i := 0; i < len(words); {
		part := fabric.ShellWord(words[i])
		if i++; strings.HasPrefix(part, "--") && i < len(words) && !strings.HasPrefix(words[i], "-") {
			part += " " + fabric.ShellWord(words[i])
			i++
		}
		line("%s", part)
	}
	return append(b, '\n')
}
