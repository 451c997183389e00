package render

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func BenchmarkNetplanHost(b *testing.B) {
	n := node(fabric.Rail24, eight()...)
	b.ReportAllocs()
	for b.Loop() {
		Netplan(9000, fabric.Rail24, n)
	}
}
