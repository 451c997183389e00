package facts

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/host"
)

func testTime() time.Time {
	return time.Date(2025, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
}

// TestCollectNothing holds the promise of Collect: whatever is not there is told, and nothing is made up.
func TestCollectNothing(t *testing.T) {
	f := Collect(context.Background(), fakeHost{}, testTime())
	if f.Kind != "Facts" || f.Node != "fake" || f.Collected != "2025-01-02T02:04:05Z" || f.Source != "tree" {
		t.Errorf("head: %+v", f)
	}
	for _, what := range []string{
		"kernel.release", "kernel.command_line", "modules", "sysctls.kernel.numa_balancing", "machine.vendor", "machine.product",
		"machine.hypervisor", "machine.iommu_groups", "machine.iommu_mode", "machine.numa_nodes", "machine.memlock_limit",
		"kernel.os", "kernel.peer_memory", "kernel.dma_buf", "machine.bios", "machine.memory_kib", "machine.swap_kib", "machine.cpu_model",
		"machine.cpus_online", "machine.cpus_present", "machine.governor", "machine.rdma_char_devices", "kernel_log",
		"pci", "gpus", "hcas", "nics", "nics.addresses", "routes", "rules", "neighbours", "lldp",
	} {
		if _, ok := f.MissingReason(what); !ok {
			t.Errorf("%s is empty without a reason", what)
		}
	}
	f.Missing = nil
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"fake","collected":"2025-01-02T02:04:05Z","source":"tree","kernel":{},"machine":{}}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("facts of an empty host (-want +got):\n%s", diff)
	}
}

func TestCollectCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := Collect(ctx, host.Local{}, testTime())
	if len(f.Missing) != len(sources()) || len(f.NICs) != 0 {
		t.Errorf("%d interfaces read after the context ended; missing: %v", len(f.NICs), missingText(f))
	}
}

func TestCollectPlatform(t *testing.T) {
	f := Collect(context.Background(), fakeHost{files: map[string]string{"/run/railwright/platform": "lab\n"}}, testTime())
	if f.Platform != "lab" {
		t.Errorf("platform %q", f.Platform)
	}
}

// TestCollectCapturedTree reads a whole captured machine.
func TestCollectCapturedTree(t *testing.T) {
	_, tree := capturedTree(t)
	f := Collect(context.Background(), tree, testTime())
	if f.Source != "tree" || len(f.PCI) != 32 || len(f.HCAs) != 10 || *f.Machine.IOMMUGroups != 36 || *f.Machine.IOMMUMode != "translated" {
		t.Errorf("source %s, %d PCI functions, %d RDMA devices, %d IOMMU groups", f.Source, len(f.PCI), len(f.HCAs), *f.Machine.IOMMUGroups)
	}
	// The capture has the links of the RDMA devices and not what they lead to: the names are known, the rest is not.
	if _, ok := f.MissingReason("hcas.ports rxe0"); !ok || f.HCAs[0].Name != "rxe0" || f.HCAs[0].PCI != "" {
		t.Errorf("%+v; missing: %v", f.HCAs[0], missingText(f))
	}
	if _, ok := f.MissingReason("nics"); !ok {
		t.Error("a tree has no netlink: its interfaces are unknown")
	}
}
