package junos

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// partitions are the partitions of the shared buffer (CLI reference, buffer-partition).
var partitions = map[string][]string{"ingress": {"lossless", "lossless-headroom", "lossy"}, "egress": {"lossless", "lossy", "multicast"}}

// readBuffers reads the partitions of the shared buffer.
func (r *reader) readBuffers() {
	for _, direction := range []string{"ingress", "egress"} {
		sum, whole := 0, true
		parts := r.cos.all("shared-buffer", direction, "buffer-partition")
		for _, n := range parts {
			if !slices.Contains(partitions[direction], n.word) {
				r.problem(fabric.TextRange, n.at, "the "+direction+" buffer has no partition "+n.word, "Junos takes "+strings.Join(partitions[direction], ", "))
			}
			threshold := r.number(n.value("dynamic-threshold"), direction+" dynamic-threshold of "+n.word, 0, 10)
			v := n.value("percent")
			if v == nil {
				whole = false
				continue
			}
			percent := r.number(v, direction+" buffer-partition "+n.word, 0, 100)
			if percent == nil {
				whole = false
				continue
			}
			sum += percent.Is
			r.out.Buffers = append(r.out.Buffers, fabric.BufferShare{Direction: direction, Name: n.word, Percent: float64(percent.Is), At: percent.At, Threshold: threshold})
		}
		if len(parts) > 0 && whole && sum != 100 {
			r.problem(fabric.TextConflict, parts[0].at, fmt.Sprintf("the partitions of the %s buffer total %d %%", direction, sum),
				"by Juniper's CLI reference, buffer-partition, they must total 100, else the commit fails; Juniper prints such files of a QFX5240 itself")
		}
	}
}
