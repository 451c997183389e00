package sizing

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// TestPVC: the document orders 4 TiB per volume, which hold all three models, and each alone fits in less.
func TestPVC(t *testing.T) {
	const gb = int64(1e9)
	r1, whole405, qwen := 6886*gb/10, 3*8117*gb/10, 4702*gb/10
	if got := PVCBytes(r1 + whole405 + qwen); got > 4<<40 {
		t.Errorf("three models: %.2f TiB, the document has 4", float64(got)/(1<<40))
	}
	for _, files := range []int64{1, 64 << 30, r1, qwen} {
		t.Run(fmt.Sprintf("%d bytes", files), func(t *testing.T) {
			got := PVCBytes(files)
			if got%(64<<30) != 0 || float64(got)*0.9 < float64(files) || float64(got) > float64(files)/0.9+64<<30 {
				t.Errorf("%d bytes of files: a volume of %d", files, got)
			}
		})
	}
	if PVCBytes(0) != 0 || PVCBytes(-5) != 0 {
		t.Error("a volume for nothing")
	}
}

// TestDocumentLoads is VMware document, 10.4, and its log, example 6.
func TestDocumentLoads(t *testing.T) {
	want := []struct{ gbs, percent float64 }{{1.64, 13.1}, {1.12, 9.0}, {1.13, 9.0}}
	for i, l := range documentLoads() {
		t.Run(l.model, func(t *testing.T) {
			gbs, share := l.rate()
			if math.Abs(gbs-want[i].gbs) > 0.005 || math.Abs(100*share-want[i].percent) > 0.06 {
				t.Errorf("%.0f bytes in %g min: %.3f GB/s, %.2f %%", l.bytes, l.minutes, gbs, 100*share)
			}
		})
	}
	lines := strings.Join(DocumentLoads(), "\n")
	for _, want := range []string{"26 Gb/s, 26 % of 100 GbE", "1.13 GB/s per node", "in 147 s = 4.68 GB/s", "10 + 147 + 115 = 272 s"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q in\n%s", want, lines)
		}
	}
}

func TestLoads(t *testing.T) {
	one, two := Loads(100e9, 1), Loads(100e9, 2)
	for i, s := range Storages() {
		t.Run(s.Name, func(t *testing.T) {
			if one[i].Seconds <= 0 || math.Abs(one[i].Seconds*one[i].GBs-100) > 1e-6 {
				t.Errorf("%s: %+v", s.Name, one[i])
			}
			if shared := two[i].Seconds > 1.99*one[i].Seconds; shared != (s.Shared > 0) {
				t.Errorf("%s: two nodes take %.0f s, one %.0f", s.Name, two[i].Seconds, one[i].Seconds)
			}
		})
	}
}

func TestAround(t *testing.T) {
	m := &llm.Model{ID: "deepseek-ai/DeepSeek-R1", DiskBytes: 688574802208}
	h100 := Machine{Vendor: "nvidia", PerNode: 8, ScaleUp: 8, NICs: 8, GPU: fabric.SizingGPU{Name: "h100-sxm", MemoryBytes: 81559 << 20}}
	s, err := StorageFor(m, h100, fabric.SizingPlan{Nodes: 2, GPUs: 16}, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.GroupSize != 2 || s.Copies != 2 || s.AccessMode != ReadWriteOnce || s.MMIOBytes != 1056<<30 || s.PVCBytes != 768<<30 {
		t.Errorf("around two nodes: %+v", s)
	}
	s, err = StorageFor(m, h100, fabric.SizingPlan{Nodes: 2, GPUs: 16}, ReadWriteMany)
	if err != nil || s.Copies != 1 {
		t.Errorf("ReadWriteMany: %d copies, %v", s.Copies, err)
	}
	if _, err := StorageFor(m, h100, fabric.SizingPlan{Nodes: 2}, "RWM"); err == nil || !strings.Contains(err.Error(), ReadWriteMany) {
		t.Errorf("access mode RWM: %v", err)
	}
	spark := Machine{Vendor: "nvidia", PerNode: 1, ScaleUp: 1, CUDAGiB: 121.69, IdleGiB: 101.3, GPU: fabric.SizingGPU{Name: "gb10", MemoryBytes: 1 << 37, Unified: true}}
	s, err = StorageFor(m, spark, fabric.SizingPlan{Nodes: 2, GPUs: 2}, "")
	if err != nil || s.MMIOBytes != 0 || !strings.Contains(strings.Join(s.Notes, "\n"), "at most 0.83") {
		t.Errorf("two Sparks: %+v, %v", s, err)
	}
}
