package sizing

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// Every server of a plan gets a command, and every variable of a command is explained beside it.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		name, engine, version, model string
		layout                       fabric.Layout
		want                         []string // one per command: what it has, then on which servers
	}{
		{"one server", nameSGLang, "0.5.0rc2", "o/m", fabric.Layout{Nodes: 1, GPUs: 8, TP: 8}, []string{"--model-path o/m|"}},
		{"without a path", nameSGLang, "0.5.0rc2", "$MODEL_PATH", fabric.Layout{Nodes: 1, GPUs: 8, TP: 8}, []string{"--model-path $MODEL_PATH|with MODEL_PATH=the folder of the weights"}},
		{"SGLang on two", nameSGLang, "0.5.0rc2", "o/m", fabric.Layout{Nodes: 2, GPUs: 16, TP: 16}, []string{"--node-rank $NODE_RANK --dist-init-addr $HEAD_ADDR:20000|on each server, with NODE_RANK=0 to 1 and HEAD_ADDR="}},
		{"vLLM on one", nameVLLM, "0.11.0", "o/m", fabric.Layout{Nodes: 1, GPUs: 8, TP: 8, PP: 1, DP: 1}, []string{"vllm serve o/m|"}},
		{"vLLM on two by Ray", nameVLLM, "0.11.0", "o/m", fabric.Layout{Nodes: 2, GPUs: 16, TP: 16, PP: 1, DP: 1}, []string{
			"ray start --head|first, on the first server", "ray start --address $HEAD_ADDR:6379|then on each other server, with HEAD_ADDR=", "--distributed-executor-backend ray|then on the first server"}},
		{"vLLM on two by itself", nameVLLM, "0.11.1", "o/m", fabric.Layout{Nodes: 2, GPUs: 16, TP: 8, PP: 2, DP: 1}, []string{
			"--nnodes 2 --node-rank 0 --master-addr $HEAD_ADDR|on the first server, with HEAD_ADDR=", "--nnodes 2 --node-rank $NODE_RANK --master-addr $HEAD_ADDR --headless|on the second server, with NODE_RANK=1 and HEAD_ADDR="}},
		{"vLLM on three by itself", nameVLLM, "0.33.0", "o/m", fabric.Layout{Nodes: 3, GPUs: 24, TP: 8, PP: 3, DP: 1}, []string{
			"--node-rank 0|on the first", "--headless|on each other server, with NODE_RANK=1 to 2 and HEAD_ADDR="}},
		{"replicas of attention on two", nameVLLM, "0.11.0", "o/m", fabric.Layout{Nodes: 2, GPUs: 16, TP: 1, PP: 1, DP: 16}, []string{
			"--data-parallel-size-local 8 --data-parallel-address $HEAD_ADDR|on the first server, with HEAD_ADDR=", "--data-parallel-start-rank $START_RANK --headless|on the second server, with START_RANK=8 and HEAD_ADDR="}},
		{"replicas of attention on four", nameVLLM, "0.12.0", "o/m", fabric.Layout{Nodes: 4, GPUs: 32, TP: 8, PP: 1, DP: 4}, []string{
			"--data-parallel-size-local 1|on the first", "--headless|on each other server, with START_RANK=1, 2, 3 and HEAD_ADDR="}},
		{"replicas of attention on eight", nameVLLM, "0.12.0", "o/m", fabric.Layout{Nodes: 8, GPUs: 64, TP: 4, PP: 1, DP: 16}, []string{
			"--data-parallel-size-local 2|on the first", "--headless|on each other server, with START_RANK=2, 4, 6, 8, ..., 14 and HEAD_ADDR="}},
		{"replicas over two servers each", nameVLLM, "0.11.0", "o/m", fabric.Layout{Nodes: 4, GPUs: 32, TP: 16, PP: 1, DP: 2}, []string{
			"ray start --head|first", "ray start --address|then on each other", "--data-parallel-backend ray|then on the first server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := EngineNamed(c.engine)
			if err != nil {
				t.Fatal(err)
			}
			v, err := ParseVersion(c.version)
			if err != nil {
				t.Fatal(err)
			}
			got := e.start(setting{Placement: Placement{Layout: c.layout, Model: &llm.Model{}}, version: v}, c.model, []string{"--flag 1"})
			if len(got) != len(c.want) {
				t.Fatalf("%d commands: %+v", len(got), got)
			}
			for i, s := range got {
				words, on, _ := strings.Cut(c.want[i], "|")
				line := strings.Join(s.Words, " ")
				if !strings.Contains(line, words) || !strings.HasPrefix(s.On, on) || on == "" && s.On != "" {
					t.Errorf("%q on %q, want %q on %q", line, s.On, words, on)
				}
				if !strings.HasPrefix(line, "ray") && !slices.Contains(s.Words, "--flag 1") {
					t.Errorf("%q lacks the flags of the plan", line)
				}
				for _, name := range []string{"HEAD_ADDR", "NODE_RANK", "START_RANK", "MODEL_PATH"} {
					if strings.Contains(line, "$"+name) != strings.Contains(s.On, name+"=") {
						t.Errorf("%s: %q is explained as %q", name, line, s.On)
					}
				}
			}
		})
	}
}

// What a card is sold with is not what its driver shows: where only that is known, the answer says so.
func TestMemoryThatNobodyReadIsSaid(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"l40": true, "gb300": true, "l40s": false, "h200-sxm": false, "a40": false} {
		m, err := MachineOfGPU(c, id, 8)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(m.GPU.Source, "what its driver shows is unknown"); got != want {
			t.Errorf("%s: said %v, want %v: %s", id, got, want, m.GPU.Source)
		}
	}
}
