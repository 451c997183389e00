package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The late garbage collection is the first one alone.
func TestCollectLate(t *testing.T) {
	t.Setenv("GOGC", "")
	usual := percent()
	collectLate()
	if got := percent(); got != latePercent {
		t.Fatalf("the heap grows by %d %% before the first garbage collection, want %d", got, latePercent)
	}
	runtime.GC()
	for end := time.Now().Add(10 * time.Second); percent() != usual; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the heap grows by %d %% after the first garbage collection, want %d", percent(), usual)
		}
	}
}

func TestCollectLateLeavesGOGC(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := percent()
	collectLate()
	if got := percent(); got != before {
		t.Errorf("the heap grows by %d %%, want %d", got, before)
	}
}

// percent is by how much the heap grows until it is collected.
func percent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
