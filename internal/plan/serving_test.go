package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

func planServing(t *testing.T, example string, nodes int, serving string) (*fabric.Plan, error) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(example, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse(example, append(text, "\nserving: {"+serving+"}\n"...), cat)
	if err != nil {
		return nil, err
	}
	return New(c, cat)
}

func TestServing(t *testing.T) {
	for _, tt := range []struct {
		example       string
		nodes         int
		serving       string
		ranks, tp, pp int
		head, last    string // words of the last rank's command
	}{
		{"spark-pair", 2, "model: gpt-oss-120b, engine: vllm, context: 32768", 2, 2, 1, "10.64.0.1", "--nnodes 2 --node-rank 1 --master-addr 10.64.0.1 --master-port 29501 --headless"},
		{"spark-pair", 2, "model: gpt-oss-120b, engine: sglang, context: 32768", 2, 2, 1, "10.64.0.1", "--node-rank 1 --dist-init-addr 10.64.0.1:29501"},
		{"spark-switch", 4, "model: gpt-oss-120b, engine: vllm, context: 32768", 4, 4, 1, "10.64.0.1", "--nnodes 4 --node-rank 3 --master-addr 10.64.0.1 --master-port 29501 --headless"},
		{"spark-mesh", 3, "model: gpt-oss-120b, engine: vllm, context: 32768", 3, 1, 3, "spark1", "--nnodes 3 --node-rank 2 --master-addr spark1 --master-port 29501 --headless"},
	} {
		t.Run(fmt.Sprint(tt.example, " ", tt.serving), func(t *testing.T) {
			p, err := planServing(t, tt.example, tt.nodes, tt.serving)
			if err != nil {
				t.Fatal(err)
			}
			s := p.Serving
			if s.Refused != "" || len(s.Ranks) != tt.ranks || s.Layout.TP != tt.tp || s.Layout.PP != tt.pp || s.Ranks[0].Head != tt.head {
				t.Errorf("%+v", s)
			}
			if last := strings.Join(s.Ranks[tt.ranks-1].Command, " "); !strings.HasSuffix(last, tt.last) {
				t.Errorf("%s, want %s at its end", last, tt.last)
			}
			if s.Layout.MemFraction <= 0 || s.Layout.FreeBytes < 0 || !strings.Contains(strings.Join(s.Ranks[0].Command, " "), fmt.Sprintf(" %.2g", s.Layout.MemFraction)) {
				t.Errorf("fraction %v, %d bytes free: %q", s.Layout.MemFraction, s.Layout.FreeBytes, s.Ranks[0].Command)
			}
			for _, r := range s.Ranks {
				if strings.Contains(strings.Join(r.Command, " "), "127.0.0.1") {
					t.Errorf("%s: %q", r.Node, r.Command)
				}
			}
		})
	}
}

// A model that cannot be divided by three is served by two, and the third machine has the reason.
func TestServingOnFewer(t *testing.T) {
	p, err := planServing(t, "spark-switch", 3, "model: gpt-oss-120b, engine: sglang, engine_version: 0.4.6.post5, context: 8192")
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Serving; s.Refused != "" || len(s.Ranks)+len(s.Idle) != 3 || len(s.Idle) > 0 && s.Idle[0].Why == "" || len(s.Idle) != 3-s.Layout.Nodes {
		t.Errorf("%d ranks, idle %+v, left %+v, refused %q", len(s.Ranks), s.Idle, s.Left, s.Refused)
	}
}

// What fits nowhere leaves the network planned, and says so; what the cluster file says wrongly is an error.
func TestServingRefused(t *testing.T) {
	p, err := planServing(t, "spark-pair", 2, "model: deepseek-r1, engine: vllm, context: 32768")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Serving.Refused, "weights of") || len(p.Serving.Ranks) != 0 || !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "is not served: on 2 machines") }) {
		t.Errorf("%+v %q", p.Serving, p.Notes)
	}
	for serving, want := range map[string]string{
		"model: gpt-oss-120b, engine: vllm, context: 9999999":                "context 9999999: exceeds the model's 131072",
		"model: gpt-oss-120b, engine: vllm, engine_version: new":             "serving: ",
		"model: no-such-model, engine: vllm":                                 "no-such-model",
		"model: gpt-oss-120b, engine: ray":                                   "engine",
		"model: gpt-oss-120b, engine: vllm, image: \"x; rm -rf /\"":          "image",
		"model: gpt-oss-120b, engine: vllm, image: \"$(id)\"":                "image",
		"model: gpt-oss-120b, engine: vllm, context: 32768, image: '--help'": "image",
	} {
		if _, err := planServing(t, "spark-pair", 2, serving); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", serving, err, want)
		}
	}
}

// TestRemoteCode: a model that needs code of its repository is said where the cluster file leaves it open, and runs it only by the field.
func TestRemoteCode(t *testing.T) {
	for _, tt := range []struct {
		serving     string
		noted, runs bool
	}{
		{"model: mimo-7b-base, engine: vllm, context: 8192", true, false},
		{"model: mimo-7b-base, engine: vllm, context: 8192, trust_remote_code: false", false, false},
		{"model: mimo-7b-base, engine: sglang, context: 8192, trust_remote_code: true", false, true},
		{"model: mimo-7b-base, engine: vllm, context: 8192, trust_remote_code: true", false, true},
		{"model: qwen3-0-6b, engine: vllm, context: 8192", false, false},
	} {
		p, err := planServing(t, "spark-pair", 2, tt.serving)
		if err != nil {
			t.Fatalf("%s: %v", tt.serving, err)
		}
		if p.Serving.Refused != "" {
			t.Fatalf("%s: %s", tt.serving, p.Serving.Refused)
		}
		runs := slices.Contains(p.Serving.Ranks[0].Command, "--trust-remote-code")
		noted := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "serving.trust_remote_code") })
		if runs != tt.runs || noted != tt.noted {
			t.Errorf("%s: runs %v, noted %v", tt.serving, runs, noted)
		}
	}
}
