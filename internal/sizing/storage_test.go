package sizing

import (
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestDownloads(t *testing.T) {
	for name, want := range map[string]bool{
		"model-00001-of-00191.safetensors":        true,
		"model.safetensors.index.json":            true,
		"config.json":                             true,
		"tokenizer.model":                         true,
		"tokenizer.json":                          true,
		"merges.txt":                              true,
		"chat_template.jinja":                     true,
		"modeling_deepseek.py":                    true,
		"original/mp8/consolidated.00.pth":        false,
		"original/model-00001.safetensors":        false,
		"original/tokenizer.model":                false,
		"metal/model.bin":                         false,
		"consolidated-00001-of-00009.safetensors": false,
		"pytorch_model.bin":                       false,
		"model-Q4_K_M.gguf":                       false,
		"onnx/model.onnx_data":                    false,
		"figures/benchmark.png":                   false,
		"":                                        false,
		"./config.json":                           true,
		"../original/config.json":                 false,
	} {
		if got := Downloads(name); got != want {
			t.Errorf("%q: downloaded %v, want %v", name, got, want)
		}
	}
}

func FuzzDownloads(f *testing.F) {
	f.Add("original/mp16/consolidated.00.pth")
	f.Add("a*b")
	f.Fuzz(func(t *testing.T, name string) {
		if Downloads(name) && (strings.HasPrefix(name, "original/") || strings.HasSuffix(name, ".pth")) {
			t.Errorf("%q passes", name)
		}
		if !match("*", name) || !match(strings.ReplaceAll(name, "*", ""), strings.ReplaceAll(name, "*", "")) {
			t.Errorf("%q does not match itself", name)
		}
	})
}

func TestRepositoryBytes(t *testing.T) {
	for _, test := range []struct {
		id    string
		times int64
		known bool
	}{
		{"meta-llama/Llama-3.1-405B-Instruct", 3, true},
		{"llama-3.1-405b", 3, true},
		{"meta-llama/Llama-3.1-8B", 2, true},
		{"openai/gpt-oss-120b", 2, true},
		{"deepseek-ai/DeepSeek-R1-0528", 1, false},
	} {
		bytes, source, known := RepositoryBytes(&Model{ID: test.id, DiskBytes: 1000})
		if bytes != 1000*test.times || known != test.known || source == "" {
			t.Errorf("%s: %d bytes, %q, %v", test.id, bytes, source, known)
		}
	}
	// VMware document, 10.4: 2.3 TB; its other sizes are GiB, so between both units
	whole, _, _ := RepositoryBytes(&Model{ID: "meta-llama/Llama-3.1-405B", DiskBytes: 811706777600})
	if tb, tib := float64(whole)/1e12, float64(whole)/(1<<40); tib > 2.3 || tb < 2.3 {
		t.Errorf("repository of 405B: %.2f TB, %.2f TiB, the document says 2.3", tb, tib)
	}
}

// TestPVC: the document orders 4 TiB a volume, which hold all three models, and each alone fits in less.
func TestPVC(t *testing.T) {
	const gb = int64(1e9)
	r1, whole405, qwen := 6886*gb/10, 3*8117*gb/10, 4702*gb/10
	if got := PVCBytes(r1 + whole405 + qwen); got > 4<<40 {
		t.Errorf("three models: %.2f TiB, the document has 4", float64(got)/(1<<40))
	}
	for _, files := range []int64{1, 64 << 30, r1, qwen} {
		got := PVCBytes(files)
		if got%(64<<30) != 0 || float64(got)*0.9 < float64(files) || float64(got) > float64(files)/0.9+64<<30 {
			t.Errorf("%d bytes of files: a volume of %d", files, got)
		}
	}
	if PVCBytes(0) != 0 || PVCBytes(-5) != 0 {
		t.Error("a volume for nothing")
	}
}

// TestDocumentLoads is VMware document, 10.4, and its log, example 6.
func TestDocumentLoads(t *testing.T) {
	for _, test := range []struct {
		bytes   int64
		minutes float64
		gbs     float64
		percent float64
	}{{688574802208, 7, 1.64, 13.1}, {470187269120, 7, 1.12, 9.0}, {811706777600, 12, 1.13, 9.0}} {
		gbs, share, err := ReadRate(test.bytes, 60*test.minutes, 100)
		if err != nil || math.Abs(gbs-test.gbs) > 0.005 || math.Abs(100*share-test.percent) > 0.06 {
			t.Errorf("%d bytes in %g min: %.3f GB/s, %.2f %%, %v", test.bytes, test.minutes, gbs, 100*share, err)
		}
	}
	for _, bad := range [][3]float64{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {1, math.NaN(), 1}} {
		if _, _, err := ReadRate(int64(bad[0]), bad[1], bad[2]); err == nil {
			t.Errorf("%v: a rate", bad)
		}
	}
	lines := strings.Join(DocumentLoads(), "\n")
	for _, want := range []string{"26 Gb/s, 26 % of 100 GbE", "1.13 GB/s a node", "in 147 s = 4.68 GB/s", "10 + 147 + 115 = 272 s"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q in\n%s", want, lines)
		}
	}
}

func TestLoads(t *testing.T) {
	one, two := Loads(100e9, 1), Loads(100e9, 2)
	for i, s := range Storages() {
		if one[i].Seconds <= 0 || math.Abs(one[i].Seconds*one[i].GBs-100) > 1e-6 {
			t.Errorf("%s: %+v", s.Name, one[i])
		}
		if shared := two[i].Seconds > 1.99*one[i].Seconds; shared != (s.Shared > 0) {
			t.Errorf("%s: two nodes take %.0f s, one %.0f", s.Name, two[i].Seconds, one[i].Seconds)
		}
	}
}

func TestAround(t *testing.T) {
	m := &Model{ID: "deepseek-ai/DeepSeek-R1", DiskBytes: 688574802208}
	h100 := Machine{Vendor: "nvidia", PerNode: 8, ScaleUp: 8, NICs: 8, GPU: fabric.SizingGPU{Name: "h100-sxm", MemoryBytes: 81559 << 20}}
	s, err := Around(m, h100, fabric.SizingPlan{Nodes: 2, GPUs: 16}, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.GroupSize != 2 || s.Copies != 2 || s.AccessMode != ReadWriteOnce || s.MMIOBytes != 1056<<30 || s.PVCBytes != 768<<30 {
		t.Errorf("around two nodes: %+v", s)
	}
	s, err = Around(m, h100, fabric.SizingPlan{Nodes: 2, GPUs: 16}, ReadWriteMany)
	if err != nil || s.Copies != 1 {
		t.Errorf("ReadWriteMany: %d copies, %v", s.Copies, err)
	}
	if _, err := Around(m, h100, fabric.SizingPlan{Nodes: 2}, "RWM"); err == nil || !strings.Contains(err.Error(), ReadWriteMany) {
		t.Errorf("access mode RWM: %v", err)
	}
	spark := Machine{Vendor: "nvidia", PerNode: 1, ScaleUp: 1, CUDAGiB: 121.69, IdleGiB: 101.3, GPU: fabric.SizingGPU{Name: "gb10", MemoryBytes: 1 << 37, Unified: true}}
	s, err = Around(m, spark, fabric.SizingPlan{Nodes: 2, GPUs: 2}, "")
	if err != nil || s.MMIOBytes != 0 || !strings.Contains(strings.Join(s.Notes, "\n"), "at most 0.83") {
		t.Errorf("two Sparks: %+v, %v", s, err)
	}
}
