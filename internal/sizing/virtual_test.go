package sizing

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestMMIOSize(t *testing.T) {
	h100 := fabric.SizingGPU{Name: "h100-sxm", MemoryBytes: 81559 << 20}
	h200 := fabric.SizingGPU{Name: "h200-sxm", MemoryBytes: 143771 << 20}
	with := func(gpu fabric.SizingGPU, nics int) Machine {
		m := Machine{GPU: gpu, NICs: nics}
		if gpu == h100 || gpu == h200 {
			m.MMIOGB = 128 // VMware document, 10.1
		}
		return m
	}
	for _, test := range []struct {
		gpu        fabric.SizingGPU
		gpus, nics int
		want       int64
		note       string
	}{
		{h100, 8, 8, 1056, ""}, // VMware document, 10.1
		{h100, 4, 4, 544, ""},
		{h100, 2, 2, 288, ""},
		{h100, 1, 0, 160, ""},
		{h100, 8, 16, 1088, ""},
		{h200, 8, 8, 2080, "1056 GB"}, // nvidia-smi: BAR1 262144 MiB
		{fabric.SizingGPU{Name: "l40s", MemoryBytes: 46068 << 20}, 4, 0, 288, ""},
		{fabric.SizingGPU{Name: "even", MemoryBytes: 64 << 30}, 1, 0, 96, ""},
	} {
		t.Run(fmt.Sprintf("%d x %s, %d NICs", test.gpus, test.gpu.Name, test.nics), func(t *testing.T) {
			got, err := MMIOSize(with(test.gpu, test.nics), test.gpus)
			if err != nil || got.GB != test.want {
				t.Errorf("%s, %d GPUs, %d NICs: %d GB, %v, want %d", test.gpu.Name, test.gpus, test.nics, got.GB, err, test.want)
			}
			if notes := strings.Join(got.Notes, " "); (test.note == "") != (notes == "") || !strings.Contains(notes, test.note) {
				t.Errorf("%s: notes %q, want %q", test.gpu.Name, notes, test.note)
			}
		})
	}
	for _, test := range []struct {
		gpu        fabric.SizingGPU
		gpus, nics int
		want       string
	}{
		{h100, 0, 8, "0 GPUs"}, {h100, 8, -1, "-1 NICs"}, {h100, 1 << 20, 0, "1048576 GPUs"},
		{fabric.SizingGPU{Name: "x"}, 8, 8, "unknown"},
		{fabric.SizingGPU{Name: "gb10", MemoryBytes: 1 << 37, Unified: true}, 1, 1, "not passed through"},
	} {
		t.Run(test.want, func(t *testing.T) {
			if _, err := MMIOSize(with(test.gpu, test.nics), test.gpus); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v: %v, want %q", test, err, test.want)
			}
		})
	}
}

func TestSmallestDomain(t *testing.T) {
	for _, test := range []struct {
		name                  string
		servers, nics, ports  int
		wantCPU, wantSwitches int
		reason                string
	}{
		{"the document's 2 HGX and 2 without GPUs, one switch", 2, 8, 64, 2, 1, "2 standard servers"},
		{"the document's 4 HGX, one switch", 4, 8, 64, 0, 1, "max(4, 4) = 4"},
		{"figure 2: 16 HGX, 2 switches", 16, 8, 64, 0, 2, "4 of 8 rails"},
		{"one server needs no switch", 1, 8, 64, 3, 0, "no switch"},
		{"no NICs", 2, 0, 64, 2, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := SmallestDomain(test.servers, test.nics, test.ports)
			if err != nil || d.CPUServers != test.wantCPU || d.Switches != test.wantSwitches {
				t.Errorf("%s: %+v, %v", test.name, d, err)
			}
			if !strings.Contains(strings.Join(d.Reasons, "\n"), test.reason) {
				t.Errorf("%s: reasons %q lack %q", test.name, d.Reasons, test.reason)
			}
		})
	}
	for _, test := range []struct {
		servers, nics, ports int
		want                 string
	}{{0, 8, 64, "0 GPU servers"}, {2, -1, 64, "-1 NICs"}, {2, 8, 0, "0 ports"}, {65, 8, 64, "leaves and spines"}} {
		t.Run(test.want, func(t *testing.T) {
			if _, err := SmallestDomain(test.servers, test.nics, test.ports); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v: %v, want %q", test, err, test.want)
			}
		})
	}
}

func FuzzAround(f *testing.F) {
	f.Add(int64(81559<<20), 8, 8, 2, 64)
	f.Add(int64(-1), 0, -1, 0, 0)
	f.Fuzz(func(t *testing.T, memory int64, gpus, nics, servers, ports int) {
		if m, err := MMIOSize(Machine{GPU: fabric.SizingGPU{Name: "x", MemoryBytes: memory}, NICs: nics}, gpus); err == nil {
			if m.GB < 32 || m.GB<<30 < memory {
				t.Errorf("%d GPUs of %d bytes: %d GB", gpus, memory, m.GB)
			}
		}
		if d, err := SmallestDomain(servers, nics, ports); err == nil {
			if d.GPUServers+d.CPUServers < 4 || d.Switches < 0 || (servers > 1 && d.Switches*ports < servers*nics) {
				t.Errorf("%d servers, %d NICs, %d ports: %+v", servers, nics, ports, d)
			}
		}
	})
}
