package results

import (
	"fmt"
	"strings"
	"testing"
)

// Reading must keep up with logs of hundreds of MiB: of connections, of messages that every rank repeats, and of programs
// whose lines nobody knows.
func BenchmarkReadLogs(b *testing.B) {
	for name, line := range map[string]string{
		"connections": "gpu-node-%04d:40000:40100 [3] NCCL INFO Channel 05/0 : 11[3] -> 19[3] [send] via NET/IB/3/GDRDMA",
		"choices":     "gpu-node-%04d:40000:40100 [3] NCCL INFO Using network IB",
		"warnings":    "gpu-node-%04d:40000:40100 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<49152> with status=12 opcode=0 len=0 vendor err 129 (Send)",
		"unknown":     "INFO 11-22 10:11:12.131 [metrics.py:455] Avg prompt throughput: %d.4 tokens/s, running: 12 reqs, waiting: 3 reqs, KV cache usage: 12.5%%",
		"kernel":      "Nov 22 10:11:12 gpu-node-%04d kernel: [12345.678] mlx5_core 0000:3b:00.0 eth2: Link up",
		"suspect":     "step %d: the loss is lost, failed to find it, timeout 30 s",
	} {
		var text strings.Builder
		for i := range 10000 {
			fmt.Fprintf(&text, line+"\n", i%1000)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, err := Read("x", strings.NewReader(text.String())); err != nil && name != "unknown" && name != "kernel" {
					b.Fatal(err)
				}
			}
		})
	}
}
