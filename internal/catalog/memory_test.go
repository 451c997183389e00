package catalog

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the driver and CUDA show of a GPU's memory is what test/gpu/memory.sh read on such a GPU.
func TestMemoryIsWhatGPUsShow(t *testing.T) {
	captures, err := filepath.Glob("testdata/memory/*.txt")
	if err != nil || len(captures) == 0 {
		t.Fatalf("%d captures: %v", len(captures), err)
	}
	for _, file := range captures {
		id := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(id, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			gpu := embedded(t).GPUs[id]
			read := func(pattern string) float64 {
				found := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
				if found == nil {
					t.Fatalf("%s: not found", pattern)
				}
				v, err := strconv.ParseFloat(found[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			if got := read(`, ([0-9]+) MiB, [0-9]+ MiB,`); got != gpu.MemoryVisible.Value || gpu.MemoryVisible.Unit != unitMiB {
				t.Errorf("nvidia-smi: %v MiB, catalog %v %s", got, gpu.MemoryVisible.Value, gpu.MemoryVisible.Unit)
			}
			const rounding = 0.005 // GiB
			if got := read(`cuDeviceTotalMem ([0-9]+)`) / (1 << 30); got < gpu.MemoryCUDA.Value-rounding || got > gpu.MemoryCUDA.Value+rounding {
				t.Errorf("CUDA: %v GiB, catalog %v", got, gpu.MemoryCUDA.Value)
			}
		})
	}
}
