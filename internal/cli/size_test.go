package cli

import (
	"testing"

	"railwright.dev/railwright/internal/sizing"
)

func TestSizeOptions(t *testing.T) {
	a := &app{}
	for name, c := range map[string]struct {
		args []string
		want sizeOptions
	}{
		"defaults": {
			[]string{"deepseek-r1"},
			sizeOptions{model: "deepseek-r1", machine: "hgx-h100", perNode: 8, request: sizing.Request{Engine: "sglang"}},
		},
		"a layout": {
			[]string{"m", "--tp", "8", "--pp", "2", "--nodes", "2", "--mem-fraction", "0.85", "--context", "8192", "--machine", "dgx-spark"},
			sizeOptions{model: "m", machine: "dgx-spark", perNode: 8, request: sizing.Request{Engine: "sglang", TP: 8, PP: 2, Nodes: 2, MemFraction: 0.85, Context: 8192}},
		},
		"a GPU, an engine, a page": {
			[]string{"m", "--gpu", "h100-sxm", "--gpus-per-node", "4", "--engine", "vllm", "--net", "tcp", "--curve", "t.json", "--html", "p.html", "--explain"},
			sizeOptions{
				model: "m", machine: "hgx-h100", gpu: "h100-sxm", perNode: 4, net: "tcp", curve: "t.json", html: "p.html", explain: true,
				request: sizing.Request{Engine: "vllm"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if o, err := parsed(t, a.sizeCommand, c.args...); err != nil || o != c.want {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	for name, args := range map[string][]string{
		"no model": nil, "two models": {"a", "b"}, "tp 0": {"m", "--tp", "0"}, "negative context": {"m", "--context", "-1"},
		"a machine and a GPU": {"m", "--machine", "hgx-h100", "--gpu", "h100-sxm"},
	} {
		t.Run(name, func(t *testing.T) {
			if o, err := parsed(t, a.sizeCommand, args...); err == nil {
				t.Errorf("accepted as %+v", o)
			}
		})
	}
}
