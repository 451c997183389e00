package lategc

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The late garbage collection is the first one alone.
func TestDelay(t *testing.T) {
	t.Setenv("GOGC", "")
	usual := growth()
	delay()
	if got := growth(); got != percent {
		t.Fatalf("the heap grows by %d %% before the first garbage collection, want %d", got, percent)
	}
	runtime.GC()
	for end := time.Now().Add(10 * time.Second); growth() != usual; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the heap grows by %d %% after the first garbage collection, want %d", growth(), usual)
		}
	}
}

func TestDelayLeavesGOGC(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := growth()
	delay()
	if got := growth(); got != before {
		t.Errorf("the heap grows by %d %%, want %d", got, before)
	}
}

// growth is by how much the heap grows until it is collected.
func growth() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
