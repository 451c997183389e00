package check

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestPeerMemoryOwner: where the kernel has peer memory the finding says so, and whose it is otherwise (Broadcom RoCE guide 5.1
// no. 3).
func TestPeerMemoryOwner(t *testing.T) {
	for module, want := range map[string]string{"ib_uverbs": "of the kernel's ib_uverbs", "ib_core": "of the kernel's ib_core", "ib_peer_mem": "of the vendor's ib_peer_mem", "": "built in"} {
		w := newWorld()
		w.host1().Kernel.DMABuf, w.host1().Kernel.PeerMemory, w.host1().Kernel.PeerMemoryBy = ref(false), ref(true), module
		findings, _ := run(w.plan, nil, w.nodes...)
		i := slices.IndexFunc(findings, func(f fabric.Finding) bool { return f.ID == "gpu-direct" && f.Subject.Node == "host1" })
		if f := findings[i]; f.Status != fabric.Pass || !strings.HasSuffix(f.Evidence[0].Value, want) {
			t.Errorf("%s: %s by %v, want %q", module, f.Status, f.Evidence, want)
		}
	}
}
